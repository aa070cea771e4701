# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""One sample of a `JointEstimator`, compiled: the arrays it changes, and their order of evaluation.

    signals → torques → stiffness, friction, contact, weights, changes, one at a time

The torques are evaluated with every sample. The smoothed signals change little within some milliseconds, so the other
parts take turns, at most one per sample, each at about 125 Hz.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arm.sample import ArmConstants
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.change_test import Blocks
from joint_dynamics.estimation.evaluation import (
    READY,
    detect_contacts,
    learn_friction,
    learn_stiffness,
    watch_changes,
    weigh_torques,
)
from joint_dynamics.estimation.torques import torques
from joint_dynamics.records import Field, KernelRecord, Record
from joint_dynamics.signals.state_estimator import Smoother

NOT_ESTIMATED, UNKNOWN, KNOWN = range(3)
"""State of the payload."""
TURNS = 5
"""Parts that take turns."""


class Numbers(KernelRecord):
    """Settings of an estimator."""

    per_span: float  # 1/s, factor of the difference that gives the speed of F_v
    turn: float  # s, between two turns of a part
    omega_min: float  # rad/s
    motor_side: bool  # whether θ is measured
    spring: bool  # whether there is a stiffness
    backlash: bool  # whether a backlash is described
    q: int  # first column of each signal in the smoother
    tau: int
    theta: int
    H: int
    F_v: int
    method: int  # friction: NO_FRICTION, HYSTERESIS or STATIC
    adapts: bool  # whether friction adapts
    lag: int  # samples d of the speed for F_v
    stride: int  # samples between two turns of a part
    per_block: int  # samples of a block of the change detector


class Status(KernelRecord):
    """State of an estimator."""

    finite: bool  # whether the torques of the last sample and its contact ratios are finite
    count: int  # samples taken


class Signal:
    """Value or derivative (0, 1, 2) of one smoothed signal of all joints, (n,): a view, written by the next sample."""

    def __init__(self, column: str, derivative: int = 0) -> None:
        self._column, self._derivative = column, derivative

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        start = int(owner.numbers[self._column][0])
        return owner.filter.states[self._derivative, start : start + owner.n] if start >= 0 else np.zeros(owner.n)


class Estimates:
    """Estimates of n joints.

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
        records of `Numbers`, `Status` and `torques.Estimate`.
    """

    q, dq, ddq = Signal('q'), Signal('q', 1), Signal('q', 2)
    theta, omega, rotor_acceleration = Signal('theta'), Signal('theta', 1), Signal('theta', 2)
    motor_torque, hysteresis, speed_friction = Signal('tau'), Signal('H'), Signal('F_v')
    rotor_torque, held_speed, damping_torque = Field('estimate'), Field('estimate'), Field('estimate')
    coulomb_level, coulomb_friction = Field('estimate'), Field('estimate')
    friction_torque, friction_error = Field('estimate'), Field('estimate')
    torque_link, torque_spring, torque_motor = Field('estimate'), Field('estimate'), Field('estimate')
    torque, external, deformation = Field('estimate'), Field('estimate'), Field('estimate')
    contact, elastic = Field('estimate'), Field('estimate')
    spring_weight, link_weight = Field('estimate'), Field('estimate')
    external_deviation, motor_deviation = Field('estimate'), Field('estimate')


class InForce(NamedTuple):
    """Map of n springs in force, as in `StiffnessEstimator`."""

    P: FloatArray  # (n, P, P)
    alpha: FloatArray  # (n, P)
    square: FloatArray  # (n,) (N·m)², mean square of the prediction error


class Sample(NamedTuple):
    """Arrays of an estimator of n joints with order P of the stiffness, M operators and C signals."""

    arm: ArmConstants  # its links carry the payload in force
    numbers: Record  # (1,) of `Numbers`
    status: Record  # (1,) of `Status`
    estimate: Record  # (n,) of `torques.Estimate`
    given: FloatArray  # (3, n): q, effort and θ of the sample
    bare: Record  # (n,) of `JOINT` without the kinematic error
    sliders: FloatArray  # (n, M) rad, state of the hysteresis
    line: FloatArray  # (2 d + 1, C), last samples
    smoother: Smoother
    temperature: FloatArray  # (n,) °C
    work: FloatArray  # (N, WORK_PER_LINK) of N links, written
    rows: FloatArray  # (5, n), written
    alpha: FloatArray  # (n, 2), α of the friction
    friction: Record  # (n,) of `friction.Adaptive`
    play: Record  # (n,) of `Play`
    springs: Record  # (n,) of `Spring`
    learnt: tuple[FloatArray, FloatArray]  # P (n, P, P) and α (n, P) of the learnt map
    spring: InForce
    contacts: Record  # (n,) of `Contact`
    seen: FloatArray  # (4, n) of `RangeWatch`
    blocks: Blocks
    doubted: BoolArray  # (n,), stiffnesses in doubt
    scale: FloatArray  # (n, 2), reference of α: its mean over `SLOW`
    carried: FloatArray  # (10,), inertial parameters of the payload in force
    spring_map: FloatArray  # (n, P), reference of the stiffness: its mean over `SLOW`
    link_rows: FloatArray  # (n, 10), written
    spring_rows: FloatArray  # (4 + P, n), written
    row: FloatArray  # (14 + P,), written
    scratch: FloatArray  # (2, P), written


@compiled
def take_sample(e: Any, learning: bool, payload: int, suspected: bool) -> int:
    """Take the sample in `given` of a `Sample`; return flags of `evaluation` and `spring`, 0 without estimates.

    learning: whether α, stiffness and payload adapt. payload: NOT_ESTIMATED, UNKNOWN or KNOWN. suspected: whether a
    change of the load is suspected (`changes`).
    """
    u, todo = e.numbers[0], READY
    if not torques(e, u):
        return 0
    for turn in range(e.status[0].count % u.stride, TURNS, u.stride):
        # No joint learns during a contact of any joint, until it lasts longer than the patience.
        free = payload != UNKNOWN
        for j in range(len(e.contacts)):
            if 0.0 < e.contacts[j].since <= e.contacts[j].patience:
                free = False
        if turn == 0 and u.spring:
            todo |= learn_stiffness(e, u, learning, free)
        elif turn == 1 and learning and u.adapts:
            # A push that only some joints detect would be learnt as friction.
            learn_friction(e, u, free and not suspected)
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
