"""The whole online estimation of one robot: one `update` per sample, all joints at once.

    raw q, θ, K_τ i, H(θ), F_v(ω)  →  one smoother, equal delay  →  τ_J (link model, spring, motor − friction), f, τ_ext
    →  α, stiffness

The hysteresis H and the speed part F_v of the friction are driven by the raw motor angle and then pass through the
smoother like every
signal: an undelayed factor beside delayed ones costs half the gain of the adaptation, and F_v is far from linear.
Signs: M q̈ + C q̇ + g + τ_ext = τ_J, so the external torque is what the link gives to its surroundings, and a push in
the direction of q is negative [M2 eq 2.23].

After the smoother nothing changes within some milliseconds. What learns or judges therefore takes turns, at most one
part per sample, each at some 125 Hz; the torques are of every sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm, RangeWatch
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.contact import ContactDetector, Evidence
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.estimator_factory import make_friction, make_payload, make_stiffness
from joint_dynamics.estimation.friction import CoulombViscousEstimator, FrictionEstimator
from joint_dynamics.estimation.known_torque import KnownTorque, gain_of
from joint_dynamics.estimation.lost_motion import LostMotion
from joint_dynamics.estimation.remarks import remarks_of
from joint_dynamics.estimation.torques import TorqueFusion
from joint_dynamics.signals.state_estimator import StateEstimator

Array = FloatArray
# s between two turns of one learning part, and over which the speed for F_v is taken, to either side.
TURN, SPEED_SPAN = 0.008, 0.003
# Share of the lost motion that is not known; share of a deformation that may be lost motion of unknown size for it to
# teach the stiffness.
SLACK, MAX_UNCERTAINTY = 0.1, 0.3


class JointEstimator:
    """Estimates of n joints from samples of q, motor torque (or current) and, where there are two encoders, θ.

    arm Arm; period s; settings EstimationSettings; motor_side: whether θ is measured (else θ = q: no stiffness, no
    spring torque); effort: whether `update` is given the motor's `current` (A) or its `torque` (N·m); None: current
    where the arm has all drive gains.

    After an `update` that returned True, (n,) each, for the time `delay` s before that sample: `q`, `dq`, `ddq` (link,
    smoothed), `theta`, `omega`, `rotor_acceleration` (motor side, reflected, kinematic error taken off), `hysteresis`
    H, `deformation` φ rad (elastic); `motor_torque`, `rotor_torque` (K_τ i − B ω̇ − coupled drives − further terms),
    `friction_torque` f̂ and of it `speed_friction` F_v and `coulomb_level` F(τ_J), `torque_link`, `torque_spring`,
    `torque_motor` (three estimates of τ_J), `torque` (fused), `external` τ_ext, `external_deviation`, N·m;
    `spring_weight` (beside the motor side) and `link_weight` (beside both), 0 … 1, of the next sample; `contact` (n,)
    bool. `learning` (bool, settable): whether α, stiffness and payload adapt. `gain` (n,) N·m/A: what the current is
    multiplied by; None where torque is given.

    The parts: `friction` (FrictionEstimator, CoulombViscousEstimator or None), `stiffness` (StiffnessEstimator or
    None), `payload` (PayloadEstimator or None), `detector`, `filter`, `fusion`, `watch` (what left the range in which
    the friction was checked). `remarks`: what of the arm is not used, by field and joint.
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
        self._known = KnownTorque(arm, slip is not None)
        if use.friction == 'adaptive' and slip is None:
            raise JointDynamicsError(
                'friction: expected a friction model with a Maxwell-slip part for the method adaptive, found none; '
                'take coulomb_viscous'
            )
        self._kinematic = arm.kinematic_error if motor_side else None
        self._slip = None if slip is None else slip.copy()
        if self._slip is not None:
            # The kinematic error is taken off before, once for all uses; without θ there is none to take off.
            self._slip.kinematic_error = None
        signals = ['q', 'tau'] + ['theta'] * self.motor_side + ['H', 'F_v'] * (slip is not None)
        self._slot = {name: slice(k * n, (k + 1) * n) for k, name in enumerate(signals)}
        self._side = self._slot['theta' if self.motor_side else 'q']
        # The speed for F_v is a difference over 2 d samples, so all else waits d samples for it.
        self._lag = max(int(round(SPEED_SPAN / self.period)), 1) if slip is not None else 0
        self._line = np.zeros((2 * self._lag + 1, len(signals) * n))
        self.filter = StateEstimator(len(signals) * n, self.period, window=use.window, taper=use.taper)
        self._bind()
        self._stride = max(int(round(TURN / self.period)), 1)
        turn = self._stride * self.period
        self.body = arm.rigid
        self._unloaded = (
            arm.carrying(np.zeros_like(arm.payload)).rigid if use.payload and arm.payload.any() else self.body
        )
        self.fusion = TorqueFusion(arm, use)
        limit = np.where(np.isfinite(arm.robot.limits.effort), arm.robot.limits.effort, 100.0)
        self.detector = ContactDetector(
            n,
            turn,
            floor=use.contact_share * limit,
            noise=use.torque_noise * limit,
            deviations=use.contact_deviations,
            memory=use.contact_memory,
            omega_min=use.omega_min,
        )
        self.lost_motion = LostMotion(n, arm.backlash, limit, turn)
        self.friction = make_friction(arm, use, turn)
        self.stiffness = make_stiffness(arm, use, turn) if motor_side else None
        self.payload = make_payload(self._unloaded, use, limit, turn)
        self._turns: tuple[Callable[[], None], ...] = (
            self._learn_stiffness,
            self._learn_friction,
            self._detect,
            self._weigh,
        )
        if self.payload is not None:
            self._turns += (self._learn_payload,)
        self.watch = RangeWatch(arm.validity if self.friction_model is not None or arm.terms else None, arm.joint_names)
        self.remarks = remarks_of(arm, use, self.motor_side)
        self.learning = True
        self._temperature = np.full(n, np.nan)
        self._warm: Array | None = None
        self.set_temperature(self._temperature)
        self.reset()

    def _bind(self) -> None:
        """Name the parts of the smoother's output, which are views; a copy needs its own."""
        value, first, second = self.filter.value, self.filter.first, self.filter.second
        self.q, self.dq, self.ddq = (array[self._slot['q']] for array in (value, first, second))
        self.theta, self.omega, self.rotor_acceleration = (array[self._side] for array in (value, first, second))
        self.motor_torque = value[self._slot['tau']]
        self.hysteresis, self.speed_friction = (
            value[self._slot[name]] if name in self._slot else np.zeros(self.n) for name in ('H', 'F_v')
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    @property
    def delay(self) -> float:
        """Time by which every estimate is late, s."""
        return self.filter.delay + self._lag * self.period

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
        n = self.n
        self.filter.reset()
        if self._slip is not None:
            self._slip.reset()
        self._count = 0
        self.detector.reset_signals()
        self.lost_motion.reset()
        self.contact = np.zeros(n, dtype=bool)
        self.deformation, self.rotor_torque, self.friction_torque, self.friction_error = np.zeros((4, n))
        self.torque_link, self.torque_spring, self.torque_motor, self.torque, self.external = np.zeros((5, n))
        self.coulomb_level, self._coulomb, self._speed, self._damping, self.spring_weight, self.link_weight = np.zeros(
            (6, n)
        )
        self._fused_deviation = np.ones(n)
        self.external_deviation = np.full(n, 1e6)

    def reset(self) -> None:
        """Begin again from the model: signals, α, stiffness, payload, levels of the contact detector."""
        self.reset_signals()
        for part in (self.friction, self.stiffness, self.payload, self.detector):
            if part is not None:
                part.reset()
        self.body = self.arm.rigid
        self.watch.reset()

    def set_temperature(self, temperature: ArrayLike) -> None:
        """Take new joint temperatures (n,) °C.

        NaN: the last known stays, or the one in the settings, or that without effect.
        """
        given = np.asarray(temperature, dtype=float)
        self._temperature = np.where(np.isfinite(given), given, self._temperature)
        self.watch.update_temperature(given)
        model = self.friction_model
        # Further terms take NaN for the temperature without effect; each of them has its own.
        fallback = np.full(self.n, np.nan) if model is None else model.parameters['T_0']
        if self.settings.temperature is not None:
            fallback = np.full(self.n, self.settings.temperature)
        self._known.temperature = np.where(np.isnan(self._temperature), fallback, self._temperature)
        self._warm = None if model is None else model.temperature_factor(self._known.temperature)

    @property
    def temperature(self) -> Array:
        """The last known joint temperatures, (n,) °C, NaN where there is none."""
        return self._temperature.copy()

    def update(self, q: Array, effort: Array, theta: Array | None = None) -> bool:
        """Take one sample (n,): q rad; motor current A or torque N·m, as `effort` says; θ rad, reflected.

        Returns whether the estimates are there: False until the smoother is full. Sample after sample at the period;
        gaps are the caller's business (`timeline`).
        """
        slot, line = self._slot, self._line
        newest = self._count % len(line)
        x = line[newest]
        self._count += 1
        x[slot['q']] = q
        x[slot['tau']] = effort if self.gain is None else effort * self.gain
        motor = q
        if self.motor_side:
            if theta is None:
                raise JointDynamicsError('estimator: expected θ with every sample, found none')
            motor = theta if self._kinematic is None else theta - self._kinematic(theta)
            x[slot['theta']] = motor
        if self._slip is not None:
            x[slot['H']] = self._slip.step(motor)
            if self._count < len(line):
                return False
            x = self._with_speed_part(newest)
        self.filter.update(x)
        if not self.filter.ready:
            return False
        self._torques()
        for k in range(self._count % self._stride, len(self._turns), self._stride):
            self._turns[k]()
        return True

    def _with_speed_part(self, newest: int) -> Array:
        """Return the sample d before the newest, with F_v(ω, T) by the central difference about it."""
        assert self.friction_model is not None
        line, length = self._line, len(self._line)
        middle = line[(newest - self._lag) % length]
        omega = (line[newest, self._side] - line[(newest + 1) % length, self._side]) * (0.5 / (self._lag * self.period))
        held = self._known.held_speed(omega)
        middle[self._slot['F_v']] = self.friction_model.speed_part(
            middle[self._slot['H']], held, temperature_factor=self._warm
        )
        return middle

    def _torques(self) -> None:
        self.torque_link = link = self.body.inverse_dynamics(self.q, self.dq, self.ddq)
        self.rotor_torque = self.motor_torque - self.arm.rotor_torque(self.rotor_acceleration)
        if self._known.further:
            self.rotor_torque = self.rotor_torque - self._known.further_torque(
                self.q, self.omega, self.torque, self.hysteresis
            )
        residual = self.rotor_torque - link
        friction, load, speed = self.friction, self._known.held_load(self.torque), self._known.held_speed(self.omega)
        self._speed = speed
        if isinstance(friction, CoulombViscousEstimator):
            known = friction.predict(self.omega)
        elif self.friction_model is not None and self._slip is not None:
            self.coulomb_level = self.friction_model.level(self.torque)
            self._coulomb = self._known.dry(self.coulomb_level, self.hysteresis, speed, load)
            known = self.speed_friction + (
                self._known.scaled(self._coulomb, speed) if friction is None else friction.predict(self._coulomb, speed)
            )
        else:
            known = 0.0 * residual if self.friction_model is None else self._known.static(speed, load)
        self.friction_torque = known
        self.friction_error = error = residual - known
        # τ_J = K_τ i − B ω̇ − f̂: what of the motor torque neither rotor nor friction takes.
        self.torque_motor = link + error
        measured = self.torque_motor
        if self.stiffness is not None:
            self.deformation = self.theta - self.q - self.lost_motion.motion
            self._damping = self.arm.damping * (self.omega - self.dq)
            self.torque_spring = self.stiffness.torque(self.deformation) + self._damping
            measured = measured + self.spring_weight * (self.torque_spring - measured)
        self.external = measured - link
        self.torque = measured - self.link_weight * self.external

    def _learn_stiffness(self) -> None:
        if self.stiffness is None:
            return
        self.lost_motion.update(self.theta, self.torque_link)
        if not self.learning:
            return
        source = self.settings.stiffness_source
        measure = self.torque_motor if source == 'motor' else self.torque_link if source == 'link' else self.torque
        moving = np.abs(self.omega) >= self.settings.omega_min
        phi = self.theta - self.q - self.lost_motion.motion
        clear = (self.lost_motion.uncertainty <= MAX_UNCERTAINTY * np.abs(phi)) & (
            self.fusion.rotor_inertia_deviation * np.abs(self.rotor_acceleration) <= MAX_UNCERTAINTY * np.abs(measure)
        )
        self.stiffness.update(phi, measure - self._damping, moving & clear & self.undisturbed())

    def _learn_friction(self) -> None:
        if self.friction is None or not self.learning:
            return
        residual = self.rotor_torque - self.torque_link
        if isinstance(self.friction, CoulombViscousEstimator):
            self.friction.update(residual, self.omega, self.undisturbed())
            self.coulomb_level = np.abs(self.friction.parameters[:, 0])
        else:
            self.friction.update(residual - self.speed_friction, self._coulomb, self._speed, self.undisturbed())

    def undisturbed(self) -> BoolArray:
        """Joints that may learn: no joint has a contact, but one that lasts so long that it is none.

        The payload known, where it is estimated.
        """
        free = ~np.any(self.contact & ~self.detector.lasting) and (self.payload is None or self.payload.known)
        return np.full(self.n, free)

    def _detect(self) -> None:
        self.watch.update(self.omega, self.torque)
        adapted = (
            np.ones(self.n, dtype=bool)
            if not isinstance(self.friction, FrictionEstimator)
            else self.friction.excitation > 15.0
        )
        if self.payload is not None:
            adapted = adapted & self.undisturbed()
        motor, deviation, none = self.torque_motor - self.torque_link, self.fusion.motor_deviation, np.zeros(self.n)
        evidence = Evidence(motor, deviation, motor, none, none, none, np.zeros(self.n, dtype=bool))
        if self.stiffness is not None:
            lost, elastic = self.lost_motion, self.fusion.elastic
            spring = np.where(elastic, self.torque_spring - self.torque_link, motor)
            k = np.where(elastic, self.stiffness.stiffness(self.deformation), 0.0)
            wrong = np.hypot(k * (SLACK * lost.slack + lost.uncertainty), self.settings.link_noise * self.torque_link)
            evidence = Evidence(
                motor, deviation, spring, np.where(elastic, wrong, 0.0), k * lost.motion, k * lost.uncertainty, elastic
            )
        self.contact = self.detector.update(evidence, self.omega, adapted)

    def _weigh(self) -> None:
        self.spring_weight, self.external_deviation = self.fusion.measured(self, self.coulomb_level)
        self.link_weight = self.fusion.link_weight(self, self.external_deviation)

    def _learn_payload(self) -> None:
        assert self.payload is not None
        if not self.learning:
            return
        slipping = np.abs(self.omega) >= 5.0 * self.settings.omega_min
        friction = self.speed_friction + self._coulomb if self._slip is not None else self.friction_torque
        bare = self._unloaded.inverse_dynamics(self.q, self.dq, self.ddq)
        direction = self._coulomb if self._slip is not None else np.sign(self.omega)
        self.payload.update(
            self.q, self.dq, self.ddq, self.rotor_torque - friction - bare, direction, self.omega, slipping
        )
        if self.payload.due:
            self._hold(self.payload.taken())

    def _hold(self, payload: Array) -> None:
        """Take the payload [M, MX, MY, MZ] into the link model."""
        self.body = self.arm.carrying(np.array([0.0] * 6 + [*payload[1:], payload[0]])).rigid
