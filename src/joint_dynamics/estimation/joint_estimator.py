"""The whole online estimation of one robot: one `update` per sample, all joints at once.

    raw q, θ, K_τ i, H(θ), F_v(ω)  →  one smoother, equal delay  →  τ_J (link model, spring, motor − friction), f, τ_ext
    →  what is learnt from them (`sample`)  →  what comes seldom: changes that are named, payload

The hysteresis H and the speed part F_v of the friction are computed from the raw motor angle and then smoothed like
every signal: an undelayed factor beside delayed ones would halve the gain of the adaptation, and F_v is strongly
nonlinear. Signs: M q̈ + C q̇ + g + τ_ext = τ_J, so the external torque is that of the link on its surroundings, and a
push in the direction of q is negative [M2 eq 2.23].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm, RangeWatch
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import learning, torques
from joint_dynamics.estimation.change_test import BODY
from joint_dynamics.estimation.changes import Change, ChangeDetector
from joint_dynamics.estimation.contact import ContactDetector
from joint_dynamics.estimation.estimation_settings import STIFFNESS_SOURCES, EstimationSettings
from joint_dynamics.estimation.estimator_factory import gain_of, make_friction, make_payload, make_stiffness, remarks_of
from joint_dynamics.estimation.friction import CoulombViscousEstimator, FrictionEstimator
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.sample import (
    KNOWN,
    NOT_ESTIMATED,
    NUMBERS,
    STATUS,
    UNKNOWN,
    Estimates,
    InForce,
    Sample,
    entry_for,
)
from joint_dynamics.estimation.stiffness import StiffnessEstimator
from joint_dynamics.estimation.torques import LostMotion
from joint_dynamics.joint.constants import Record, Tables, filled
from joint_dynamics.robot.newton_euler import WORK_PER_LINK
from joint_dynamics.signals.state_estimator import StateEstimator

Array = FloatArray
# Changes that are remembered.
NAMED = 100
# s between two turns of one learning part, and over which the speed for F_v is taken, to either side.
TURN, SPEED_SPAN = 0.008, 0.003


class JointEstimator(Estimates):
    """Estimates of n joints, see `Estimates`, from samples of q, motor torque (or current) and, with two encoders, θ.

    Parameters
    ----------
    arm
        the identified arm.
    period
        of the samples [s].
    settings
        EstimationSettings; None: the defaults.
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
        FrictionEstimator, CoulombViscousEstimator or None; StiffnessEstimator or None.
    filter, lost_motion, watch
        the smoother, the play of the gears, and the record of the range of validity of the friction.
    numbers, status, estimate
        what is estimated and by what settings, as `sample.Sample` has it.
    learning
        whether α, stiffness and payload adapt; settable.
    payload, detector, changes
        PayloadEstimator, None while the described payload is the one that is carried; ContactDetector; ChangeDetector.
    named
        the last changes that were named, `changes.Change` each.
    remarks
        what of the arm is not used, by field and joint.

    Raises
    ------
    JointDynamicsError
        Where settings, arm and effort do not fit each other.
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
        self.arm, self.settings = arm, settings or EstimationSettings()
        self.n, self.period, self.motor_side = arm.n, float(period), bool(motor_side)
        use, n, self.gain = self.settings, self.n, gain_of(arm, effort)
        self.friction_model = None if use.friction == 'coulomb_viscous' else arm.friction
        slip = None if self.friction_model is None else self.friction_model.maxwell_slip
        if use.friction == 'adaptive' and slip is None:
            raise JointDynamicsError(
                'friction: expected a friction model with a Maxwell-slip part for the method adaptive, found none; '
                'take coulomb_viscous'
            )
        signals = ['q', 'tau'] + ['theta'] * self.motor_side + ['H', 'F_v'] * (slip is not None)
        self.filter = StateEstimator(len(signals) * n, self.period, window=use.window, taper=use.taper)
        self.stride = max(int(round(TURN / self.period)), 1)
        turn = self.stride * self.period
        self._lag = max(int(round(SPEED_SPAN / self.period)), 1) if slip is not None else 0
        self.status, self.estimate = np.zeros(1, STATUS), torques.estimate_of(arm, use)
        static = torques.NO_FRICTION if arm.friction is None else torques.STATIC
        self.estimate['gain'] = 1.0 if self.gain is None else self.gain
        self.numbers = filled(
            1, NUMBERS, motor_side=self.motor_side, lag=self._lag, stride=self.stride, turn=turn,
            omega_min=use.omega_min, per_span=0.5 / (max(self._lag, 1) * self.period),
            source=STIFFNESS_SOURCES.index(use.stiffness_source),
            method=torques.OWN if use.friction == 'coulomb_viscous' else torques.HYSTERESIS if slip else static,
            **{name: signals.index(name) * n if name in signals else -1 for name in ('q', 'tau', 'theta', 'H', 'F_v')},
        )  # fmt: skip
        if not self.motor_side:
            self.numbers['theta'] = self.numbers['q']
        self.effort_limit = np.where(np.isfinite(arm.robot.limits.effort), arm.robot.limits.effort, 100.0)
        self.lost_motion = LostMotion(
            n, arm.backlash, self.effort_limit, turn, arm.backlash_deviation, arm.load_shares, arm.load_lag
        )
        self.friction = make_friction(arm, use, turn)
        self.stiffness = make_stiffness(arm, use, turn) if motor_side else None
        self.watch = RangeWatch(arm.validity if self.friction_model is not None or arm.terms else None, arm.joint_names)
        self._temperature, self._known_temperature = np.full(n, np.nan), np.full(n, np.nan)
        self.set_temperature(self._temperature)
        limit = self.effort_limit
        bare = arm.carrying(np.zeros_like(arm.payload)) if arm.payload.any() else arm
        self._unloaded, self._bare = bare.rigid, bare.constants.links
        self.detector = ContactDetector(
            self.n, turn, floor=use.contact_share * limit, noise=use.torque_noise * limit,
            deviations=use.contact_deviations, memory=use.contact_memory, omega_min=use.omega_min,
        )  # fmt: skip
        self.payload: PayloadEstimator | None = None
        viscous = self.friction.upper[:, 1] if isinstance(self.friction, FrictionEstimator) else 0.05 * limit
        self.changes = ChangeDetector(self.n, 1 if self.stiffness is None else self.stiffness.order, turn, viscous)
        self.named: list[Change] = []
        self._learners = [part for part in (self.friction, self.stiffness) if part is not None]
        self._kept: dict[int, list[Any]] = {}
        self.remarks = remarks_of(arm, use, self.motor_side)
        self.learning = True
        self._sample = self._all()
        self._start = self.estimate.copy()
        self._step = entry_for(self._sample).call
        self.reset()

    def _all(self) -> Sample:
        """Return all that a sample changes; what an arm lacks is there, but not used."""
        arm, n, changes, constants, zeros = self.arm, self.n, self.changes, self.arm.constants, np.zeros
        friction, numbers, estimate, tables = self.friction, self.numbers, self.estimate, Tables()
        tables.add(constants.tables)
        if arm.backlash is not None:
            estimate['backlash'] = arm.backlash.records(tables)
        if arm.kinematic_error_deviation is not None:
            estimate['deviations'] = arm.kinematic_error_deviation.records(tables)
        bare = constants.joints.copy()
        # It is taken off before, once for all uses; without θ there is none to take off.
        bare['error']['size'] = 0
        adaptive = friction if isinstance(friction, FrictionEstimator) else FrictionEstimator(n)
        coulomb = friction if isinstance(friction, CoulombViscousEstimator) else CoulombViscousEstimator(n)
        spring = StiffnessEstimator(n, 1) if self.stiffness is None else self.stiffness
        numbers['learns'] = learning.ADAPTIVE if friction is adaptive else learning.AS_DESCRIBED
        if friction is coulomb:
            described = 0.0 if arm.friction is None else arm.friction.parameters['F_C0']
            unit = np.maximum(described, 0.02 * self.effort_limit)
            numbers['learns'], estimate['coulomb_unit'] = learning.COULOMB_VISCOUS, unit
        numbers['spring'], numbers['backlash'] = self.stiffness is not None, arm.backlash is not None
        numbers['per_block'], order = changes.per_block, spring.order
        return Sample(
            constants._replace(tables=tables.array(), links=constants.links.copy()), numbers, self.status, estimate,
            zeros((3, n)), bare, arm.begin(), zeros((2 * self._lag + 1, self.filter.channels)), self.filter.smoother,
            self._known_temperature, zeros((len(constants.links), WORK_PER_LINK)), zeros((5, n)),
            arm.friction_scale.copy() if friction is None else friction.alpha, adaptive.states, coulomb.states,
            coulomb.P, self.lost_motion.states, spring.states, spring.learnt, InForce(*spring.in_force),
            self.detector.states, self.watch.seen, changes.blocks, changes.spring_doubted, zeros((n, 2)), zeros(BODY),
            zeros((n, order)), zeros((n, BODY)), zeros((4 + order, n)), zeros(BODY + 4 + order), zeros((2, order)),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != '_step'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._step = entry_for(self._sample).call

    def friction_scale(self) -> tuple[Array, Array]:
        """Return α (n, 2) against the described friction and its covariance (n, 2, 2).

        [F_C, F_V] and theirs where none is described.
        """
        friction, described = self.friction, self.arm.friction
        if friction is None:
            return self.arm.friction_scale.copy(), np.zeros((self.n, 2, 2))
        if isinstance(friction, CoulombViscousEstimator) and described is not None:
            return friction.against(described.parameters['F_C0'], described.parameters['F_V1'])
        return friction.parameters, friction.covariance

    def reset_signals(self) -> None:
        """Forget the signals and the hysteresis (after a gap or a jump of time); what was learnt stays."""
        self.filter.reset()
        self.lost_motion.reset()
        self.status['count'], self.status['finite'], self._sample.sliders[:] = 0, True, np.nan
        deviation, elastic = self.motor_deviation, self.elastic
        self.estimate[:] = self._start
        self.motor_deviation, self.elastic = deviation, elastic
        self.detector.reset_signals()
        self.changes.begin_anew()

    def reset(self) -> None:
        """Begin again from the model: signals, α, stiffness, payload, levels of the contact detector."""
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
        """Constants of the links with the payload in force, of `newton_euler.LINK`; changed in place."""
        return self._sample.arm.links

    def _carry(self, payload: Array) -> None:
        """Take the payload (10,) to be this one in the link model."""
        self.links[:] = self._bare
        self.links['body'][self.links['number'] == self.n - 1] += payload
        self._sample.carried[:] = payload

    @property
    def usual_stiffness(self) -> Array:
        """Stiffness over the last half minute, (n, P), scaled as `stiffness.alpha`: changes are compared with it."""
        return self._sample.spring_map

    @property
    def finite(self) -> bool:
        """Whether all torques of the sample, and what tells a contact in them, are finite."""
        return bool(self.status['finite'][0])

    def begin_anew(self) -> None:
        """Forget the signals, and of what was learnt the parts that are not finite."""
        friction, stiffness, payload = self.friction, self.stiffness, self.payload
        if friction is not None and not np.isfinite(friction.covariance.sum() + friction.parameters.sum()):
            friction.reset()
        if stiffness is not None and not np.isfinite(stiffness.covariance.sum() + stiffness.coefficients.sum()):
            stiffness.reset()
        if payload is not None and not np.isfinite(payload.parameters.sum()):
            payload.reset()
            self._carry(self.arm.payload)
        if not np.isfinite(self.detector.level.sum()):
            self.detector.reset()
        self.reset_signals()

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
        payload = NOT_ESTIMATED if self.payload is None else KNOWN if self.payload.known else UNKNOWN
        todo = self._step(bool(self.learning), payload, self.changes.load_suspected)
        if todo > learning.READY:
            self._finish(todo)
        return todo != 0

    def _finish(self, todo: int) -> None:
        """Do what a sample left to do, which comes seldom."""
        if self.stiffness is not None:
            self.stiffness.finish(todo)
        if todo & learning.BOUND and isinstance(self.friction, CoulombViscousEstimator):
            self.friction.bound()
        if todo & learning.BEGUN:
            self._kept[self.changes.open] = [part.snapshot() for part in self._learners]
        if not todo & learning.COMPLETE:
            return
        self.changes.complete()
        change, newest = self.changes.find(), self.changes.newest
        known = self.payload is None or self.payload.known
        # a load that is still being weighed passes for a change of anything
        if change is not None and (known or change.kind == 'load'):
            self._take_in(change)
            return
        if self.payload is not None and not (known and self.changes.blocks.disturbed[newest]):
            self._weigh_payload([newest], newest)
        if self.changes.weighed is not None:
            j, factor = self.changes.weighed
            self._scale_spring(j, self._sample.spring_map[j] * factor)

    def _take_in(self, change: Change) -> None:
        """Go on with what was named; what was learnt since is taken back where the load spoilt it."""
        blocks, since, before = self.changes.blocks, self.changes.since(change), self.changes.before(change)
        self.named = [*self.named[1 - NAMED :], change]
        if change.kind == 'load':
            for part, kept in zip(self._learners, self._kept[before], strict=True):
                part.restore(kept)
            self._sample.spring_map[:], self._sample.scale[:] = blocks.spring_map[before], blocks.friction[before]
            self.payload = make_payload(self._unloaded, self.settings, self.stride * self.period)
            self._weigh_payload(since, before)
        elif change.kind == 'stiffness':
            assert self.stiffness is not None
            self.stiffness.changes[change.joint] += 1
            self._scale_spring(change.joint, blocks.spring_map[since[0], change.joint] * change.value)
            self.changes.weigh(change)
            self.detector.reset_signals()
            return
        elif self.friction is not None:
            unit = float(self.estimate['coulomb_unit'][change.joint])
            self.friction.set_coulomb(change.joint, change.value * unit)
            self._sample.scale[change.joint, 0] = change.value
        self.changes.begin_anew()

    def _scale_spring(self, joint: int, scaled: Array) -> None:
        """Take the stiffness of a joint to be `scaled` (P,), as of the map, for all that is judged as well."""
        assert self.stiffness is not None
        self.stiffness.reopen(joint, scaled)
        self._sample.spring_map[joint] = scaled
        self.changes.blocks.spring_map[:, joint] = scaled

    def _weigh_payload(self, blocks: list[int], reference: int) -> None:
        """Let the payload learn from blocks, by the friction when `reference` began, and carry it, known or not."""
        assert self.payload is not None
        self.payload.add(*self.changes.motor_information(blocks, reference))
        self.payload.judge()
        self._carry(self.payload.inertial)
        self.changes.blocks.payload[:] = self.payload.inertial

    def set_temperature(self, temperature: ArrayLike) -> None:
        """Take new joint temperatures (n,) °C.

        NaN: the last known one stays, or that of the settings, or T0, at which it has no effect.
        """
        given = np.asarray(temperature, dtype=float)
        self._temperature[:] = np.where(np.isfinite(given), given, self._temperature)
        self.watch.update_temperature(given)
        model = self.friction_model
        # Further terms take NaN for the temperature without effect; each of them has its own.
        fallback = np.full(self.n, np.nan) if model is None else model.parameters['T_0']
        if self.settings.temperature is not None:
            fallback = np.full(self.n, self.settings.temperature)
        self._known_temperature[:] = np.where(np.isnan(self._temperature), fallback, self._temperature)

    @property
    def temperature(self) -> Array:
        """The last known joint temperatures, (n,) °C, NaN where there is none."""
        return self._temperature.copy()
