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

"""Online estimation of one robot: one `update` per sample, all joints at once.

    raw q, θ, K_τ i, H(θ), F_v(ω)  →  one smoother, equal delay  →  τ_J (link model, spring, motor − friction), f, τ_ext
    →  learning (`sample`)  →  after each block of motion: changes, payload.

The hysteresis H and the speed part F_v of the friction follow from the raw motor angle and are smoothed like every
signal; an undelayed factor beside delayed ones would halve the gain of the adaptation.

Signs: M q̈ + C q̇ + g + τ_ext = τ_J [M2 eq 2.23]. τ_ext is the torque of the link on its surroundings; a push in the
direction of q is negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm, RangeWatch
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import sample, torques
from joint_dynamics.estimation.change_test import BODY, MOTOR
from joint_dynamics.estimation.changes import Change, ChangeDetector
from joint_dynamics.estimation.contact import ContactDetector
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.estimator_factory import (
    choose_friction_method,
    gain_of,
    make_friction,
    make_payload,
    make_stiffness,
    remarks_of,
)
from joint_dynamics.estimation.friction import FrictionEstimator
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.stiffness import StiffnessEstimator
from joint_dynamics.joint.constants import Tables
from joint_dynamics.records import Record
from joint_dynamics.robot.newton_euler import WORK_PER_LINK
from joint_dynamics.signals.state_estimator import StateEstimator

Array = FloatArray
NAMED = 100  # changes that are kept
TURN = 0.008  # s between two turns of a learning part
SPEED_SPAN = 0.003  # s, half the span of the difference that gives the speed for F_v
VISCOUS_LIMIT = 0.05  # s/rad, bound of α₂ without described friction, relative to the torque limit


class JointEstimator(sample.Estimates):
    """Estimates of n joints, see `Estimates`, from samples of q, motor torque (or current) and, with two encoders, θ.

    Parameters
    ----------
    arm
        the identified arm.
    period
        of the samples [s].
    settings
        EstimationSettings; None: the defaults. Without described friction, none is adapted.
    motor_side
        whether θ is measured (otherwise θ = q: no stiffness, no spring torque).
    effort
        whether `update` takes the motor's `current` [A] or its `torque` [N·m]; None: current where the arm has all
        drive gains.

    Attributes
    ----------
    gain
        (n,) N·m/A, factor of the current; None where torque is given.
    friction, stiffness
        FrictionEstimator or None; StiffnessEstimator or None.
    filter, lost_motion, watch
        the smoother, the records of `torques.Play`, and the range of the motion against the validity of the friction.
    learning
        whether α, stiffness and payload adapt; settable.
    payload, detector, changes
        PayloadEstimator, None while the described payload is in force; ContactDetector; ChangeDetector.
    named
        the last named changes, `changes.Change` each.
    remarks
        fields of the description that are not used or replaced.

    Raises
    ------
    JointDynamicsError
        For settings, arm and effort that contradict each other.
    """

    def __init__(
        self,
        arm: Arm,
        period: float,
        settings: EstimationSettings | None = None,
        *,
        motor_side: bool = True,
        effort: str | None = None,
    ) -> None:
        arm.check_drives()
        arm, use, self.remarks = choose_friction_method(arm, settings or EstimationSettings())
        self.arm, self.settings, described = arm, use, arm.friction is not None
        self.n, self.period, self.motor_side = arm.n, float(period), bool(motor_side)
        n, self.gain = arm.n, gain_of(arm, effort)
        signals = ['q', 'tau'] + ['theta'] * self.motor_side + ['H', 'F_v'] * described
        self.filter = StateEstimator(len(signals) * n, self.period, window=use.window, taper=use.taper)
        self.stride = max(int(round(TURN / self.period)), 1)
        turn = self.stride * self.period
        self._lag = max(int(round(SPEED_SPAN / self.period)), 1) if described else 0
        self.status, self.estimate = np.zeros(1, sample.Status.dtype), torques.estimate_of(arm, use)
        self.estimate['gain'] = 1.0 if self.gain is None else self.gain
        self.numbers = sample.Numbers.filled(
            1, motor_side=self.motor_side, lag=self._lag, stride=self.stride, turn=turn, omega_min=use.omega_min,
            per_span=0.5 / (max(self._lag, 1) * self.period), friction=described,
            **{name: signals.index(name) * n if name in signals else -1 for name in ('q', 'tau', 'theta', 'H', 'F_v')},
        )  # fmt: skip
        if not self.motor_side:
            self.numbers['theta'] = self.numbers['q']
        stated = arm.robot.limits.effort
        self.effort_limit = limit = np.where(np.isfinite(stated), stated, torques.NO_LIMIT)
        self.lost_motion = torques.play_of(arm, limit, turn)
        self.friction = make_friction(arm, use, turn)
        self.stiffness = make_stiffness(arm, use, turn) if motor_side else None
        self.watch = RangeWatch(arm.validity if arm.friction is not None or arm.terms else None, arm.joint_names)
        self._temperature, self._known_temperature = np.full(n, np.nan), np.full(n, np.nan)
        self.set_temperature(self._temperature)
        bare = arm.carrying(np.zeros_like(arm.payload)) if arm.payload.any() else arm
        self._unloaded, self._bare = bare.rigid, bare.constants.links
        self.detector = ContactDetector(
            self.n, turn, floor=use.contact_share * limit, noise=use.torque_noise * limit,
            deviations=use.contact_deviations, omega_min=use.omega_min,
        )  # fmt: skip
        self.payload: PayloadEstimator | None = None
        viscous = VISCOUS_LIMIT * limit if self.friction is None else self.friction.upper[:, 1]
        self.changes = ChangeDetector(self.n, turn, viscous)
        self.named: list[Change] = []
        self._learners = [part for part in (self.friction, self.stiffness) if part is not None]
        self._kept: dict[int, tuple[list[Any], Array]] = {}
        self.remarks += remarks_of(arm, self.friction, self.motor_side)
        self.learning = True
        self._sample = self._all()
        self._start, self._start_play = self.estimate.copy(), self.lost_motion.copy()
        # Compiles it now, or loads it: a signal may interrupt a node that is being configured.
        sample.take_sample(self._sample, False, sample.NOT_ESTIMATED, False)
        self.reset()

    def _all(self) -> sample.Sample:
        """Return the arrays of a sample; parts that the arm lacks are present and unused."""
        arm, n, changes, constants, zeros = self.arm, self.n, self.changes, self.arm.constants, np.zeros
        friction, numbers, estimate, tables = self.friction, self.numbers, self.estimate, Tables()
        tables.add(constants.tables)
        if arm.backlash is not None:
            estimate['backlash'] = arm.backlash.records(tables)
        if arm.kinematic_error_deviation is not None:
            estimate['deviations'] = arm.kinematic_error_deviation.records(tables)
        bare = constants.joints.copy()
        bare['error']['size'] = 0  # subtracted from θ once, for all uses
        spring = StiffnessEstimator(n, 1) if self.stiffness is None else self.stiffness
        numbers['adapts'], numbers['spring'] = friction is not None, self.stiffness is not None
        numbers['backlash'] = arm.backlash is not None
        numbers['per_block'], order = changes.per_block, spring.order
        return sample.Sample(
            arm=constants._replace(tables=tables.array(), links=constants.links.copy()), numbers=numbers,
            status=self.status, estimate=estimate, given=zeros((3, n)), bare=bare, sliders=arm.begin(),
            line=zeros((2 * self._lag + 1, self.filter.channels)), smoother=self.filter.smoother,
            temperature=self._known_temperature, work=zeros((len(constants.links), WORK_PER_LINK)), rows=zeros((5, n)),
            alpha=arm.friction_scale.copy() if friction is None else friction.alpha,
            friction=(friction or FrictionEstimator(n)).states, play=self.lost_motion, springs=spring.states,
            learnt=spring.learnt, spring=sample.InForce(*spring.in_force), contacts=self.detector.states,
            seen=self.watch.seen, blocks=changes.blocks, doubted=changes.spring_doubted, scale=zeros((n, 2)),
            carried=zeros(BODY), spring_map=zeros((n, order)), link_rows=zeros((n, BODY)),
            sides=zeros((2, 5, n)), scratch=zeros((2, order)),
        )  # fmt: skip

    def friction_scale(self) -> tuple[Array, Array]:
        """Return α (n, 2) relative to the described friction and its covariance (n, 2, 2)."""
        if self.friction is None:
            return self.arm.friction_scale.copy(), np.zeros((self.n, 2, 2))
        return self.friction.parameters, self.friction.covariance

    def reset_signals(self) -> None:
        """Restart the signals and the hysteresis, as after a gap or a jump of time; keep the learnt values."""
        self.filter.reset()
        self.lost_motion[:] = self._start_play
        self.status['count'], self.status['finite'], self._sample.sliders[:] = 0, True, np.nan
        deviation, elastic = self.motor_deviation, self.elastic
        self.estimate[:] = self._start
        self.motor_deviation, self.elastic = deviation, elastic
        self.detector.reset_signals()
        self.changes.begin_anew()

    def reset(self) -> None:
        """Restart from the description: signals, α, stiffness, payload, levels of the contact detector."""
        self.reset_signals()
        for part in (self.friction, self.stiffness, self.detector, self.changes):
            if part is not None:
                part.reset()
        self.payload = (
            make_payload(self._unloaded, self.settings, self.stride * self.period) if self.settings.payload else None
        )
        self._carry(self.arm.payload)
        self.watch.reset()
        if self.stiffness is not None:
            self._sample.spring_map[:] = self.stiffness.alpha

    @property
    def delay(self) -> float:
        """Delay of every estimate, s."""
        return self.filter.delay + self._lag * self.period

    @property
    def links(self) -> Record:
        """Constants of the links with the payload in force, of `newton_euler.Link`; changed in place."""
        return self._sample.arm.links

    def _carry(self, payload: Array) -> None:
        """Set the payload (10,) of the link model."""
        self.links[:] = self._bare
        self.links['body'][self.links['number'] == self.n - 1] += payload
        self._sample.carried[:] = payload

    @property
    def reference_stiffness(self) -> Array:
        """Mean stiffness of the last half minute, (n, P), scaled as `stiffness.alpha`; the reference of changes."""
        return self._sample.spring_map

    @property
    def finite(self) -> bool:
        """Whether all torques of the sample and its contact ratios are finite."""
        return bool(self.status['finite'][0])

    def begin_anew(self) -> None:
        """Restart the signals; where a learnt value is not finite, from the description."""
        s = self._sample
        learnt = [self.detector.level, s.alpha, s.friction['means'], *s.learnt, *s.spring, s.carried]
        if np.isfinite([part.sum() for part in learnt]).all():
            self.reset_signals()
        else:
            self.reset()

    def update(self, q: Array, effort: Array, theta: Array | None = None) -> bool:
        """Take one sample (n,): q rad; motor current A or torque N·m, as `effort` says; θ rad, reflected.

        Returns whether the estimates are valid: False until the smoother is full. Samples must come at the period; gaps
        are handled by the caller (`timeline`).
        """
        given = self._sample.given
        given[0], given[1] = q, effort
        if self.motor_side:
            if theta is None:
                raise JointDynamicsError('estimator: expected θ with every sample, found none')
            given[2] = theta
        payload = sample.NOT_ESTIMATED
        if self.payload is not None:
            payload = sample.KNOWN if self.payload.known else sample.UNKNOWN
        todo = sample.take_sample(self._sample, bool(self.learning), payload, self.changes.load_suspected)
        if todo > sample.READY:
            self._finish(todo)
        return todo != 0

    def _finish(self, todo: int) -> None:
        """Do the rare work that the flags of a sample ask for."""
        if self.stiffness is not None:
            self.stiffness.finish(todo)
        if todo & sample.BEGUN:
            self._kept[self.changes.open] = (
                [part.snapshot() for part in self._learners],
                self.reference_stiffness.copy(),
            )
        if not todo & sample.COMPLETE:
            return
        self.changes.complete()
        change, newest = self.changes.find(), self.changes.newest
        known = self.payload is None or self.payload.known
        if change is not None and (known or change.kind == 'load'):
            # An unknown load resembles any other change.
            return self._take_in(change)
        if self.payload is not None and not (known and self.changes.blocks.disturbed[newest]):
            self._weigh_payload([newest], newest)

    def _take_in(self, change: Change) -> None:
        """Continue with a named change; after a load, friction and stiffness return to their values before it."""
        blocks, since, before = self.changes.blocks, self.changes.since(change), self.changes.before(change)
        joint, (learnt, reference) = change.joint, self._kept[before]
        self.named = [*self.named[1 - NAMED :], change]
        if change.kind == 'load':
            for part, kept in zip(self._learners, learnt, strict=True):
                part.restore(kept)
            self._sample.spring_map[:], self._sample.scale[:] = reference, blocks.reference[before, MOTOR]
            self.payload = make_payload(self._unloaded, self.settings, self.stride * self.period)
            self._weigh_payload(since, before)
        elif change.kind == 'stiffness':
            assert self.stiffness is not None
            self.stiffness.changes[joint] += 1
            self._sample.spring_map[joint] = self._kept[since[0]][1][joint] * change.value
            self.stiffness.reopen(joint, self._sample.spring_map[joint])
            self.detector.reset_signals()
        elif self.friction is not None:
            self.friction.set_coulomb(joint, change.value)
            self._sample.scale[joint, 0] = change.value
        self.changes.begin_anew()

    def _weigh_payload(self, blocks: list[int], reference: int) -> None:
        """Let the payload learn from blocks, with the friction of block `reference`, and put it in force."""
        assert self.payload is not None
        self.payload.add(*self.changes.motor_information(blocks, reference))
        self.payload.judge()
        self._carry(self.payload.inertial)
        self.changes.blocks.payload[:] = self.payload.inertial

    def set_temperature(self, temperature: ArrayLike) -> None:
        """Take new joint temperatures (n,) °C.

        NaN keeps the last one; before the first, that of the settings or T0, without effect.
        """
        given = np.asarray(temperature, dtype=float)
        self._temperature[:] = np.where(np.isfinite(given), given, self._temperature)
        self.watch.update_temperature(given)
        model = self.arm.friction
        # NaN is the temperature without effect of further terms, each of which has its own.
        fallback = np.full(self.n, np.nan) if model is None else model.parameters['T_0']
        if self.settings.temperature is not None:
            fallback = np.full(self.n, self.settings.temperature)
        self._known_temperature[:] = np.where(np.isnan(self._temperature), fallback, self._temperature)

    @property
    def temperature(self) -> Array:
        """The last known joint temperatures, (n,) °C, NaN where there is none."""
        return self._temperature.copy()
