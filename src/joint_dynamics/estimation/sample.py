"""One sample of a `JointEstimator`: all that it changes, and what it does, compiled, all joints in one C function.

    signals → torques → stiffness, friction, contact, weights, changes, one at a time

After the smoother nothing changes within some milliseconds. What learns or judges therefore takes turns, at most one
part per sample, each at some 125 Hz; the torques are of every sample.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from joint_dynamics.arm.sample import MOTOR, TERM, ArmConstants
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.compilation import Entry, address_of, arrays_of, compiled, inlined_early
from joint_dynamics.estimation.change_test import BODY, Blocks
from joint_dynamics.estimation.changes import WINDOW
from joint_dynamics.estimation.contact import CONTACT
from joint_dynamics.estimation.evaluation import detect_contacts, watch_changes, weigh_torques
from joint_dynamics.estimation.learning import COULOMB, FRICTION, PLAY, READY, SPRING, learn_friction, learn_stiffness
from joint_dynamics.estimation.torques import ESTIMATE, torques
from joint_dynamics.joint.constants import JOINT, Field, Record, record
from joint_dynamics.robot.newton_euler import LINK, WORK_PER_LINK
from joint_dynamics.signals.state_estimator import Smoother

NUMBERS = record(
    'per_span turn omega_min', 'motor_side spring backlash',
    'q tau theta H F_v method learns source lag stride per_block',
)  # fmt: skip
"""Settings: 1/s, of the difference for F_v; s, from turn to turn of a part; rad/s; whether there are such; the first
columns of the signals; method and learning of the friction, what teaches the stiffness; samples."""
STATUS = record('', 'finite', 'count')
"""Whether all torques of the last sample, and what tells a contact in them, are finite; samples taken."""
NOT_ESTIMATED, UNKNOWN, KNOWN = range(3)
"""The payload."""
TURNS = 5
"""Parts that learn or judge."""


class Signal:
    """Value or derivative (0, 1, 2) of one smoothed signal of all joints, (n,): a view that the next sample writes."""

    def __init__(self, column: str, derivative: int = 0) -> None:
        self._column, self._derivative = column, derivative

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        start = int(owner.numbers[self._column][0])
        return owner.filter.states[self._derivative, start : start + owner.n] if start >= 0 else np.zeros(owner.n)


class Estimates:
    """What is estimated of n joints.

    Attributes
    ----------
    q, dq, ddq
        of the link, smoothed, (n,) [rad, rad/s, rad/s²]. Like all estimates below, valid after an `update` that
        returned True, for the time `delay` s before that sample.
    theta, omega, rotor_acceleration
        of the motor side, reflected, less the kinematic error, (n,) [rad, rad/s, rad/s²].
    hysteresis, deformation
        H (n,); φ (n,) [rad], elastic.
    motor_torque, rotor_torque
        (n,) [N·m]; the latter K_τ i − B ω̇ − coupled drives − further terms.
    friction_torque, speed_friction, coulomb_level
        f̂ (n,) [N·m], and of it F_v and F(τ_J).
    torque_link, torque_spring, torque_motor, torque
        three estimates of τ_J and the fused one, (n,) [N·m].
    external, external_deviation, motor_deviation
        τ_ext (n,) [N·m] and its deviation; that of the torque of the motor side.
    contact, elastic
        (n,) bool; whether the torque of the spring is informative.
    spring_weight, link_weight
        of the spring beside the motor side and of the link model beside both, (n,), 0 … 1, of the next sample.
    numbers, status, estimate
        the records that hold it, as of `Sample`; `filter`: the smoother.
    """

    q, dq, ddq = Signal('q'), Signal('q', 1), Signal('q', 2)
    theta, omega, rotor_acceleration = Signal('theta'), Signal('theta', 1), Signal('theta', 2)
    motor_torque, hysteresis, speed_friction = Signal('tau'), Signal('H'), Signal('F_v')
    (
        rotor_torque, held_speed, coulomb_level, coulomb_friction, friction_torque, friction_error, torque_motor,
        deformation, damping_torque, torque_spring, external, torque, torque_link, contact, elastic, spring_weight,
        link_weight, external_deviation, motor_deviation,
    ) = (Field('estimate') for _ in range(19))  # fmt: skip


class InForce(NamedTuple):
    """Map of n springs, as of `StiffnessMap`: P (n, P, P), α (n, P), mean square of the error (n,)."""

    P: FloatArray
    alpha: FloatArray
    square: FloatArray


class Sample(NamedTuple):
    """All of an estimator of n joints, as one sample changes it.

    Attributes
    ----------
    arm
        `ArmConstants`; its links with the payload as it is estimated.
    numbers, status
        (1,) of `NUMBERS` and `STATUS`.
    estimate
        (n,) of `ESTIMATE`; points of the backlash are in the tables of the arm.
    given
        (3, n) q, effort and θ of the sample.
    bare, sliders
        (n,) of `JOINT` without the kinematic error; (n, M) state of the hysteresis.
    line
        (2 d + 1, C) last samples of C signals.
    smoother
        `Smoother`.
    temperature
        (n,) °C.
    work, rows
        (N, WORK_PER_LINK) of N links and (5, n), written.
    alpha, friction
        (n, 2) of the friction; (n,) of `FRICTION`.
    coulomb, coulomb_P
        (n,) of `COULOMB`, (n, 2, 2).
    play, springs, learnt, spring
        (n,) of `PLAY` and `SPRING`; the maps that are learnt and in force.
    contacts
        (n,) of `CONTACT`.
    seen
        (4, n) of `RangeWatch`.
    blocks, doubted
        of the changes: `Blocks`; (n,) springs in doubt.
    scale, carried, spring_map
        (n, 2) α over `SLOW`, (10,) payload in force, (n, P) stiffness over `SLOW`.
    link_rows, spring_rows, row, scratch
        (n, 10), (4 + P, n), (14 + P,), (2, P), written.

    """

    arm: ArmConstants
    numbers: Record
    status: Record
    estimate: Record
    given: FloatArray
    bare: Record
    sliders: FloatArray
    line: FloatArray
    smoother: Smoother
    temperature: FloatArray
    work: FloatArray
    rows: FloatArray
    alpha: FloatArray
    friction: Record
    coulomb: Record
    coulomb_P: FloatArray
    play: Record
    springs: Record
    learnt: tuple[FloatArray, FloatArray]
    spring: InForce
    contacts: Record
    seen: FloatArray
    blocks: Blocks
    doubted: BoolArray
    scale: FloatArray
    carried: FloatArray
    spring_map: FloatArray
    link_rows: FloatArray
    spring_rows: FloatArray
    row: FloatArray
    scratch: FloatArray


@inlined_early
def take_sample(e, learning, payload, suspected):  # type: ignore[no-untyped-def]
    """Take the sample in `given` of the `Sample` e; return what it comes to.

    learning: whether α, stiffness and payload adapt. payload: of NOT_ESTIMATED, UNKNOWN, KNOWN.
    suspected: whether another load is, see `changes`.
    """
    u, todo = e.numbers[0], READY
    if not torques(e, u):
        return 0
    for turn in range(e.status[0].count % u.stride, TURNS, u.stride):
        # Joints may learn where none has a contact, or had one just now, but one that lasts so long that it is none.
        free = payload != UNKNOWN
        for j in range(len(e.contacts)):
            if 0.0 < e.contacts[j].since <= e.contacts[j].patience:
                free = False
        if turn == 0 and u.spring:
            todo |= learn_stiffness(e, u, learning, free)
        elif turn == 1 and learning:
            # a push that not every joint feels would pass for friction
            todo |= learn_friction(e, u, free and not suspected)
        elif turn == 2:
            detect_contacts(e, u, payload == NOT_ESTIMATED or free)
        elif turn == 3:
            weigh_torques(e, u)
        elif turn == 4 and learning:
            todo |= watch_changes(e, u, payload != UNKNOWN, not free)
    total = 0.0
    for j in range(len(e.estimate)):
        s = e.estimate[j]
        total += s.torque + s.external + s.friction_torque + e.contacts[j].ratio
    e.status[0].finite = np.isfinite(total)
    return todo


@compiled
def sample_at(p, learning, payload, suspected):  # type: ignore[no-untyped-def]
    """`take_sample` of the `Sample` in a table of addresses, in the order of its fields; the sizes first.

    Those are joints, points of the arm's tables, links, terms, coupled motors, operators, signals, samples of the
    smoother and of the line, and P.
    """
    sizes = carray(p[0], (10,), np.int64)
    n, links, motors, C, K, P = sizes[0], sizes[2], sizes[4], sizes[6], sizes[7], sizes[9]
    number = np.float64
    arm = ArmConstants(
        carray(p[1], (n,), JOINT), carray(p[2], (sizes[1],), number), carray(p[3], (links,), LINK),
        carray(p[4], (sizes[3],), TERM), carray(p[5], (motors, n), number), carray(p[6], (motors,), MOTOR),
    )  # fmt: skip
    smoother = Smoother(
        carray(p[14], (3, K), number), carray(p[15], (2 * K, C), number), carray(p[16], (3, C), number),
        carray(p[17], (C,), number), carray(p[18], (2,), np.int64),
    )  # fmt: skip
    spring = InForce(carray(p[30], (n, P, P), number), carray(p[31], (n, P), number), carray(p[32], (n,), number))
    blocks = Blocks(
        carray(p[35], (WINDOW, n, BODY + 4, BODY + 4), number),
        carray(p[36], (WINDOW, n, BODY + 4 + P, BODY + 4 + P), number),
        carray(p[37], (WINDOW, 2, n), number), carray(p[38], (WINDOW, BODY), number),
        carray(p[39], (WINDOW, n, 2), number), carray(p[40], (WINDOW, n, P), number),
        carray(p[41], (WINDOW,), np.bool_), carray(p[42], (2,), np.int64),
    )  # fmt: skip
    e = Sample(
        arm, carray(p[7], (1,), NUMBERS), carray(p[8], (1,), STATUS), carray(p[9], (n,), ESTIMATE),
        carray(p[10], (3, n), number), carray(p[11], (n,), JOINT), carray(p[12], (n, sizes[5]), number),
        carray(p[13], (sizes[8], C), number), smoother, carray(p[19], (n,), number),
        carray(p[20], (links, WORK_PER_LINK), number), carray(p[21], (5, n), number), carray(p[22], (n, 2), number),
        carray(p[23], (n,), FRICTION), carray(p[24], (n,), COULOMB), carray(p[25], (n, 2, 2), number),
        carray(p[26], (n,), PLAY), carray(p[27], (n,), SPRING),
        (carray(p[28], (n, P, P), number), carray(p[29], (n, P), number)), spring, carray(p[33], (n,), CONTACT),
        carray(p[34], (4, n), number), blocks, carray(p[43], (n,), np.bool_), carray(p[44], (n, 2), number),
        carray(p[45], (BODY,), number), carray(p[46], (n, P), number), carray(p[47], (n, BODY), number),
        carray(p[48], (4 + P, n), number), carray(p[49], (BODY + 4 + P,), number), carray(p[50], (2, P), number),
    )  # fmt: skip
    return take_sample(e, learning, payload, suspected)


def sample_entry(p, learning, payload, suspected):  # type: ignore[no-untyped-def]
    """`sample_at` for C."""
    return sample_at(p, learning, payload, suspected)


def compile_entry() -> None:
    """Compile what C calls, or load it: what would take half a minute when an estimator is first made."""
    address_of(sample_entry, int, int, int)


def entry_for(sample: Sample) -> Entry:
    """Return the compiled sample of an estimator: `call(learning, payload, suspected)`."""
    arm, smoother = sample.arm, sample.smoother
    counts = [len(sample.estimate), len(arm.tables), len(arm.links), len(arm.terms), len(arm.motors)]
    counts += [sample.sliders.shape[1], smoother.ring.shape[1], smoother.kernels.shape[1], len(sample.line)]
    sizes = np.array([*counts, sample.spring_map.shape[1]], dtype=np.int64)
    return Entry(sample_entry, [sizes, *arrays_of(sample)], int, int, int)
