"""The compiled step as a C function: `int64_t step(void ** table)`, no interpreter, no lock, no allocation in it.

The table holds the addresses of all arrays of a `Loop`, the sizes first; whoever calls keeps them alive (`entry_for`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from joint_dynamics.arm.sample import MOTOR, TERM, ArmConstants
from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.compilation import Entry, address_of, arrays_of, inlined_early
from joint_dynamics.control.inputs import JUMP, Inputs, take, take_entry
from joint_dynamics.control.interface import REFERENCES, STATES
from joint_dynamics.control.law_sample import AXIS, LAW, LawConstants, LawMemory
from joint_dynamics.control.loop_sample import BOUND, CLOSED, FAILED, GATE, HANDOVER, STATUS, Gate, Loop, hold, step
from joint_dynamics.joint.constants import JOINT
from joint_dynamics.joint.laws import held
from joint_dynamics.robot.newton_euler import LINK, WORK_PER_LINK

STATE_ROWS, REFERENCE_ROWS = len(STATES), len(REFERENCES)


class Host(NamedTuple):
    """Arrays that a host outside Python writes and reads, see `HostedLoop`.

    Attributes
    ----------
    clock, state, state_time, reference, reference_time, command, safe
        as of `HostedLoop`.
    written
        (9,) s, stamps of the values read last.
    known, slow
        (9,) whether the loop uses the quantity, and whether it may arrive joint by joint.
    factor, shift
        (9, n) reflection to the joint side: factor · value + shift.
    timeout
        (1,) s, largest age of an effort.
    values, given
        (n,), written.
    code
        (5,) outcome, fault, row and joint of this step, values that the law does without.

    """

    clock: FloatArray
    state: FloatArray
    state_time: FloatArray
    reference: FloatArray
    reference_time: FloatArray
    command: FloatArray
    safe: FloatArray
    written: FloatArray
    known: IntArray
    slow: IntArray
    factor: FloatArray
    shift: FloatArray
    timeout: FloatArray
    values: FloatArray
    given: BoolArray
    code: IntArray


@inlined_early
def take_inputs(host, loop):  # type: ignore[no-untyped-def]
    """Read the host's arrays into the loop."""
    status, n = loop.status[0], len(host.values)
    status.time = host.clock[0]
    for row in range(STATE_ROWS):
        when = host.state_time[row]
        if not host.known[row] or when != when or when == host.written[row]:
            continue
        host.written[row] = when
        for j in range(n):
            host.values[j] = host.factor[row, j] * host.state[row, j] + host.shift[row, j]
            host.given[j] = not host.slow[row] or np.isfinite(host.values[j])
        take(loop.inputs, row, host.values, host.given, when)
    for j in range(n):
        host.given[j] = True
    when = host.reference_time[0]
    if when == when:
        for row in range(3):
            take(loop.reference, row, host.reference[row], host.given, when)
    only, young = 1, status.time - host.reference_time[1] <= host.timeout[0]
    for j in range(n):
        asked = np.isfinite(host.reference[3, j]) and young
        loop.external_effort[j] = host.reference[3, j] if asked else 0.0
        only = only if asked else 0
    status.may_be_effort_only = only


@inlined_early
def give_command(host, loop, outcome):  # type: ignore[no-untyped-def]
    """Write command and safe command for the host."""
    status = loop.status[0]
    host.code[0], host.code[1], host.code[2], host.code[3] = outcome, status.fault, status.row, status.joint
    host.code[4] = status.missing
    if outcome == CLOSED:
        return
    hold(loop)
    for j in range(len(host.values)):
        safe = loop.gate.safe[j]
        host.safe[j] = held(safe, loop.gate.bounds[j].limit) if np.isfinite(safe) else 0.0
        if outcome != FAILED:
            host.command[j] = loop.gate.last[j]


@inlined_early
def loop_of(p):  # type: ignore[no-untyped-def]
    """Return the `Loop` of a table of addresses, in the order of its fields; the sizes first.

    Those are joints, points of the arm's tables, terms, coupled motors, operators, quantities required, done without
    and desired, and links; then whether there is a host.
    """
    sizes = carray(p[0], (10,), np.int64)
    n, points, terms, motors = sizes[0], sizes[1], sizes[2], sizes[3]
    number = np.float64
    arm = ArmConstants(
        carray(p[1], (n,), JOINT), carray(p[2], (points,), number), carray(p[3], (sizes[8],), LINK),
        carray(p[4], (terms,), TERM), carray(p[5], (motors, n), number), carray(p[6], (motors,), MOTOR),
    )  # fmt: skip
    law = LawConstants(carray(p[7], (1,), LAW), carray(p[8], (n,), AXIS), carray(p[9], (n,), number))
    memory = LawMemory(
        carray(p[10], (n, 2), number), carray(p[11], (n,), number), carray(p[12], (n, sizes[4]), number),
        carray(p[13], (n,), number), carray(p[14], (4, n), number), carray(p[15], (n,), number),
        carray(p[16], (n,), number), carray(p[17], (n,), number), carray(p[18], (n,), number),
        carray(p[19], (n,), number), carray(p[20], (n,), number), carray(p[21], (n,), number),
        carray(p[22], (n,), number), carray(p[23], (7, n), number), carray(p[24], (sizes[8], WORK_PER_LINK), number),
    )  # fmt: skip
    inputs = Inputs(
        carray(p[25], (STATE_ROWS, n), number), carray(p[26], (STATE_ROWS, n), number),
        carray(p[27], (STATE_ROWS,), number), carray(p[28], (STATE_ROWS,), np.int64),
        carray(p[29], (STATE_ROWS, n), JUMP), carray(p[30], (n,), number), carray(p[31], (1,), number),
    )  # fmt: skip
    reference = Inputs(
        carray(p[32], (REFERENCE_ROWS, n), number), carray(p[33], (REFERENCE_ROWS, n), number),
        carray(p[34], (REFERENCE_ROWS,), number), carray(p[35], (REFERENCE_ROWS,), np.int64),
        carray(p[36], (REFERENCE_ROWS, n), JUMP), carray(p[37], (n,), number), carray(p[38], (1,), number),
    )  # fmt: skip
    required, optional = carray(p[39], (sizes[5],), np.int64), carray(p[40], (sizes[6],), np.int64)
    desired, measured = carray(p[41], (sizes[7],), np.int64), carray(p[42], (STATE_ROWS, n), number)
    gate = Gate(
        carray(p[43], (1,), GATE), carray(p[44], (n,), BOUND), carray(p[45], (n,), number),
        carray(p[46], (n,), number), carray(p[47], (n,), number), carray(p[48], (n,), number),
        carray(p[49], (n,), np.bool_),
    )  # fmt: skip
    return Loop(
        arm, law, memory, inputs, reference, required, optional, desired, measured, gate,
        carray(p[50], (1,), HANDOVER), carray(p[51], (n,), number), carray(p[52], (1,), STATUS),
        carray(p[53], (n,), number), carray(p[54], (n,), number), carray(p[55], (n,), number),
    )  # fmt: skip


@inlined_early
def host_of(p):  # type: ignore[no-untyped-def]
    """Return the `Host` behind the `Loop` of a table."""
    n, number = carray(p[0], (10,), np.int64)[0], np.float64
    return Host(
        carray(p[56], (2,), number), carray(p[57], (STATE_ROWS, n), number), carray(p[58], (STATE_ROWS,), number),
        carray(p[59], (4, n), number), carray(p[60], (2,), number), carray(p[61], (n,), number),
        carray(p[62], (n,), number), carray(p[63], (STATE_ROWS,), number), carray(p[64], (STATE_ROWS,), np.int64),
        carray(p[65], (STATE_ROWS,), np.int64), carray(p[66], (STATE_ROWS, n), number),
        carray(p[67], (STATE_ROWS, n), number), carray(p[68], (1,), number), carray(p[69], (n,), number),
        carray(p[70], (n,), np.bool_), carray(p[71], (5,), np.int64),
    )  # fmt: skip


def step_entry(p):  # type: ignore[no-untyped-def]
    """Take what a host has written, step at its clock, write command and safe command; return what it came to.

    Without a host only the clock is behind the `Loop`.
    """
    loop, hosted, clock = loop_of(p), carray(p[0], (10,), np.int64)[9], carray(p[56], (2,), np.float64)
    if hosted:
        take_inputs(host_of(p), loop)
    loop.status[0].time, loop.status[0].period = clock[0], clock[1]
    outcome = step(loop)
    if hosted:
        give_command(host_of(p), loop, outcome)
    return outcome


def compile_entries() -> None:
    """Compile what C calls, or load it: what would take half a minute when a loop is first configured."""
    address_of(step_entry)
    address_of(take_entry, int, int, float)


def entry_for(loop: Loop, behind: tuple[Any, ...]) -> Entry:
    """Return the compiled step of a loop; behind it a `Host`, or nothing but a clock (2,): time and period, s."""
    arm = loop.arm
    counts = [len(arm.joints), len(arm.tables), len(arm.terms), len(arm.motors), loop.memory.sliders.shape[1]]
    counts += [len(loop.required), len(loop.optional), len(loop.desired), len(arm.links), isinstance(behind, Host)]
    return Entry(step_entry, [np.array(counts, dtype=np.int64), *arrays_of(loop), *arrays_of(behind)])
