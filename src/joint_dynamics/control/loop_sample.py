"""One step of the control loop, compiled: checks, law, hand-over and gate, as `ControlLoop` describes them.

`step` takes all of it as one `Loop`. A law that is not among the shipped ones is called between `begin` and `finish`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joint_dynamics.arm.sample import ArmConstants
from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.compilation import inlined_early
from joint_dynamics.control.inputs import FINE, Inputs, first_fault, is_fresh, is_whole
from joint_dynamics.control.law_sample import MOTOR_POSITION, POSITION, VELOCITY, LawConstants, LawMemory, law_torque
from joint_dynamics.joint.constants import Record
from joint_dynamics.joint.laws import held
from joint_dynamics.robot.newton_euler import inverse_dynamics

CLOSED, LAW, SAFE, FAILED = range(4)
"""What a step comes to."""
NO_SOURCE, BY_LAW, BY_EFFORT, BY_OTHERS = range(4)
"""Whose command goes out."""
REFUSED = 5
"""A fault beside those of `input_sample`: the gate has failed. Then those of the references, and of values that are
beyond their bounds: desired position, distance from it, desired speed, speed, delay of the loop; a time that does not
go on; and no step since it was activated."""
REFERENCE_FAULT, BEYOND, NO_TIME, NOT_YET = 10, 20, 30, 31
DELAY_TIME = 1.0
"""s, over which the delay of the loop is averaged: some periods of the slowest swing that a late torque feeds, and more
than one pause of a machine takes."""

GATE = np.dtype(
    [
        ('open', 'i8'),
        ('failed', 'i8'),  # 1: for good, 2: by a command that is not finite
        ('has_law', 'i8'),  # whether a law has commanded since it was opened
        ('weight', 'f8'),  # w
        ('ramp_time', 'f8'),  # s
        ('max_period', 'f8'),  # s
    ],
    align=True,
)
HANDOVER = np.dtype([('source', 'i8'), ('time', 'f8'), ('share', 'f8')], align=True)
STATUS = np.dtype(
    [
        ('time', 'f8'),  # s, of the step
        ('stepped', 'f8'),  # s, of the last step that was made
        ('outcome', 'i8'),  # of that one
        ('period', 'f8'),
        ('fault', 'i8'),  # why the law is not followed, where, FINE: it is
        ('row', 'i8'),
        ('joint', 'i8'),
        ('value', 'f8'),  # what was beyond its bounds
        ('may_be_effort_only', 'i8'),  # 1: what is added is passed on where there is no reference
        ('missing', 'i8'),  # values that the law does without
        ('effort_only', 'i8'),  # 1: that is so in this step
        ('gravity', 'i8'),  # 1: the safe command is gravity, 0: zero
        ('moved', 'i8'),  # 1: gravity is not that of the last known position yet
        ('age', 'f8'),  # s, of the oldest position that the last torque came from
        ('delay', 'f8'),  # s, from measurement to torque, averaged over DELAY_TIME
    ],
    align=True,
)
BOUND = np.dtype(
    [(name, 'f8') for name in ('limit', 'rate', 'position_low', 'position_high', 'tracking', 'speed', 'delay')],
    align=True,
)
"""Of one joint: N·m or A, the same per s, rad, rad/s, s."""


class Gate(NamedTuple):
    """Settings and state of the gate: `state` (1,) of `GATE`, `bounds` (n,) of `BOUND`.

    (n,): last command of the law, last command, safe command, the command asked for, whether it was `limited`.
    """

    state: Record
    bounds: Record
    law: FloatArray
    last: FloatArray
    safe: FloatArray
    command: FloatArray
    limited: BoolArray


class Loop(NamedTuple):
    """All of a loop.

    Attributes
    ----------
    arm, law, memory
        of a shipped law; for any other law only the arm is used.
    inputs, reference
        measured quantities in the order of `STATES`, and desired ones in that of `REFERENCES`.
    required, optional, desired
        rows of the inputs that the law needs, of those it can do without, and of the references.
    measured
        (9, n) the inputs passed to the law.
    gate
        settings and state of the gate.
    handover
        (1,) of `HANDOVER`.
    rest
        (n,) the difference that fades.
    status
        (1,) of `STATUS`.
    external_effort
        (n,) N·m, added to the law's torque.
    known
        (n,) rad, the last known position of the arm.
    holding
        (n,) N·m, gravity there.

    """

    arm: ArmConstants
    law: LawConstants
    memory: LawMemory
    inputs: Inputs
    reference: Inputs
    required: IntArray
    optional: IntArray
    desired: IntArray
    measured: FloatArray
    gate: Gate
    handover: Record
    rest: FloatArray
    status: Record
    external_effort: FloatArray
    known: FloatArray
    holding: FloatArray


@inlined_early
def beyond_bounds(loop, time):  # type: ignore[no-untyped-def]
    """Return which bound is broken, 0 … 4 or −1, the joint, and the value."""
    state, reference, n = loop.inputs.rows, loop.reference.rows, len(loop.external_effort)
    position = velocity = False
    for row in loop.desired:
        position, velocity = position or row == POSITION, velocity or row == VELOCITY
    moving = is_whole(loop.inputs, VELOCITY, time)
    for k in range(5):
        for j in range(n):
            bound, value, low, high = loop.gate.bounds[j], 0.0, 0.0, 0.0
            if k == 0 and position:
                value, low, high = reference[POSITION, j], bound.position_low, bound.position_high
            elif k == 1 and position:
                value, low, high = state[POSITION, j] - reference[POSITION, j], -bound.tracking, bound.tracking
            elif k == 2 and velocity:
                value, low, high = reference[VELOCITY, j], -bound.speed, bound.speed
            elif k == 3 and moving:
                value, low, high = state[VELOCITY, j], -bound.speed, bound.speed
            elif k == 4:
                value, low, high = loop.status[0].delay, -np.inf, bound.delay
            if not low <= value <= high:
                return k, j, value
    return -1, 0, 0.0


@inlined_early
def average_delay(loop, time, period):  # type: ignore[no-untyped-def]
    """Average the delay from measurement to torque: the age of the position, and the time for which the torque is held.

    A step longer than `max_period` counts as `max_period`, as in the gate, so that one absurd period has little effect.
    """
    status, row = loop.status[0], MOTOR_POSITION if loop.law.options[0].on_motor else POSITION
    share = min(period, loop.gate.state[0].max_period) / DELAY_TIME
    status.delay += share * (status.age + 0.5 * min(period, DELAY_TIME) - status.delay)
    oldest = loop.inputs.times[row, 0]
    for j in range(loop.inputs.times.shape[1]):
        oldest = min(oldest, loop.inputs.times[row, j])
    status.age = time - oldest


@inlined_early
def fault_now(loop, time, period):  # type: ignore[no-untyped-def]
    """Return why the law cannot be followed: fault, row, joint, value."""
    if not period > 0.0:
        return NO_TIME, 0, 0, period
    fault, row, joint = first_fault(loop.inputs, loop.required, time)
    if fault != FINE:
        return fault, row, joint, 0.0
    fault, row, joint = first_fault(loop.reference, loop.desired, time)
    if fault != FINE:
        return REFERENCE_FAULT + fault, row, joint, 0.0
    average_delay(loop, time, period)
    bound, joint, value = beyond_bounds(loop, time)
    if bound >= 0:
        return BEYOND + bound, 0, joint, value
    return FINE, 0, 0, 0.0


@inlined_early
def lacks_only_references(loop, time):  # type: ignore[no-untyped-def]
    """Whether the state is present and within its bounds, but the references are missing or old."""
    if first_fault(loop.inputs, loop.required, time)[0] != FINE:
        return False
    if first_fault(loop.reference, loop.desired, time)[0] == FINE:
        return False
    if is_whole(loop.inputs, VELOCITY, time):
        for j in range(len(loop.external_effort)):
            if not abs(loop.inputs.rows[VELOCITY, j]) <= loop.gate.bounds[j].speed:
                return False
    return True


@inlined_early
def begin(loop):  # type: ignore[no-untyped-def]
    """Check the inputs, record why the law is not followed, and pass the law its inputs; False: no step is to be made.

    That is so at the moment of the last step, as where a simulated clock ticks more slowly: its outcome stands.
    """
    status, gate = loop.status[0], loop.gate.state[0]
    time, period = status.time, status.period
    if period == 0.0 and time == status.stepped and not gate.failed:
        return False
    status.stepped = time
    status.effort_only, status.row, status.joint, status.value = 0, 0, 0, 0.0
    if gate.failed:
        status.fault = REFUSED
        return True
    status.fault, status.row, status.joint, status.value = fault_now(loop, time, period)
    if status.fault != FINE:
        if status.may_be_effort_only and period > 0.0 and lacks_only_references(loop, time):
            status.fault, status.effort_only = FINE, 1
        return True
    read_state(loop, time)
    return True


@inlined_early
def read_state(loop, time):  # type: ignore[no-untyped-def]
    """Pass the law its measured inputs; optional ones that are too old become NaN.

    The law then continues with the last valid value, or with its nominal one.
    """
    rows = loop.inputs.rows
    for row in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            loop.measured[row, j] = rows[row, j]
    loop.status[0].missing = 0
    for row in loop.optional:
        for j in range(len(loop.external_effort)):
            if not is_fresh(loop.inputs, row, j, time):
                loop.measured[row, j] = np.nan
                loop.status[0].missing += 1


@inlined_early
def blend(handover, rest, source, command, gate, period):  # type: ignore[no-untyped-def]
    """u(t) = u_new(t) + (1 − t/T) (u_old − u_new(0)) for 0 ≤ t < T, written into the command; see `handover`."""
    h = handover[0]
    if source != h.source:
        if h.source != NO_SOURCE and h.time > 0.0:
            for j in range(len(command)):
                rest[j] = gate.last[j] - held(command[j], gate.bounds[j].limit)
            h.share = 1.0
        h.source = source
    else:
        wait(handover, period)
    if h.share > 0.0:
        for j in range(len(command)):
            command[j] += h.share * rest[j]


@inlined_early
def wait(handover, period):  # type: ignore[no-untyped-def]
    """Let the difference fade for `period` s; a period that is NaN counts as 0."""
    h = handover[0]
    if h.share > 0.0:
        h.share = max(h.share - max(0.0, period) / h.time, 0.0)


@inlined_early
def gate_step(gate, given, period):  # type: ignore[no-untyped-def]
    """u(k) = clip(clip(w u_law + (1 − w) u_safe, u(k−1) ± r T), ±u_max), into `last`; see `SafetyGate`.

    given: whether `command` holds a command to follow.
    """
    state, n = gate.state[0], len(gate.last)
    T = min(period, state.max_period) if period > 0.0 else 0.0
    if given and not state.failed:
        for j in range(n):
            if not np.isfinite(gate.command[j]):
                state.failed = 2
        if not state.failed:
            state.has_law = 1
            for j in range(n):
                gate.law[j] = held(gate.command[j], gate.bounds[j].limit)
    follows, fade = given and not state.failed, T / state.ramp_time
    state.weight = min(1.0, state.weight + fade) if follows else max(0.0, state.weight - fade)
    for j in range(n):
        bound, safe = gate.bounds[j], 0.0
        if not state.failed and np.isfinite(gate.safe[j]):
            safe = held(gate.safe[j], bound.limit)
        # Opened a moment ago: the first way to the safe command is the rate limit's.
        target = state.weight * gate.law[j] + (1.0 - state.weight) * safe if state.has_law else safe
        reach = bound.rate * T
        out = held(min(max(target, gate.last[j] - reach), gate.last[j] + reach), bound.limit)
        gate.limited[j] = out != target or (follows and abs(gate.command[j]) > bound.limit)
        gate.last[j] = out


@inlined_early
def hold(loop):  # type: ignore[no-untyped-def]
    """Write the safe command in its unit: gravity at the last known position of the arm."""
    status, memory = loop.status[0], loop.memory
    if status.moved:
        inverse_dynamics(loop.arm.links, loop.known, memory.still, memory.still, memory.work, loop.holding)
        status.moved = 0
    for j in range(len(loop.holding)):
        loop.gate.safe[j] = loop.holding[j] * loop.law.axes[j].scale


@inlined_early
def finish(loop, given):  # type: ignore[no-untyped-def]
    """Turn the law's command, where given, into the output of the gate; return the outcome of the step."""
    status, gate, n = loop.status[0], loop.gate, len(loop.external_effort)
    state, valid = gate.state[0], status.fault == FINE and not status.effort_only
    if status.effort_only:
        given = True
        for j in range(n):
            gate.command[j] = 0.0
    if given:
        for j in range(n):
            gate.command[j] += loop.external_effort[j] * loop.law.axes[j].scale
        source = BY_EFFORT if status.effort_only else BY_LAW
        blend(loop.handover, loop.rest, source, gate.command, gate, status.period)
    else:
        wait(loop.handover, status.period)
    if status.gravity and (valid or first_fault(loop.inputs, loop.required[:1], status.time)[0] == FINE):
        for j in range(n):
            loop.known[j] = loop.inputs.rows[POSITION, j]
        status.moved = 1
    # A law that is followed in full has no share of the safe command in it.
    if not (given and state.weight >= 1.0 and not state.failed):
        hold(loop)
    gate_step(gate, given, status.period)
    if state.failed:
        status.fault, status.outcome = REFUSED, FAILED
    else:
        status.outcome = LAW if status.fault == FINE else SAFE
    return status.outcome


@inlined_early
def step(loop):  # type: ignore[no-untyped-def]
    """Make the step at `status.time`; the command is `gate.last` [N·m or A] unless it is CLOSED."""
    if not loop.gate.state[0].open:
        return CLOSED
    status = loop.status[0]
    if not begin(loop):
        return status.outcome
    given = status.fault == FINE and not status.effort_only
    if given:
        law_torque(loop.arm, loop.law, loop.memory, loop.measured, loop.reference.rows, status.period)
        for j in range(len(loop.memory.command)):
            loop.gate.command[j] = loop.memory.command[j]
    return finish(loop, given)
