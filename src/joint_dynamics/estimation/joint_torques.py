"""The torques of one robot, online: one `update` per sample, all joints at once.

    raw q, θ, K_τ i, H(θ), F_v(ω)  →  one smoother, equal delay  →  τ_J (link model, spring, motor − friction), f, τ_ext

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
from joint_dynamics.estimation.coulomb_viscous import CoulombViscousEstimator
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.estimator_factory import gain_of, make_friction, make_stiffness
from joint_dynamics.estimation.friction import FrictionEstimator
from joint_dynamics.estimation.kernels import HYSTERESIS, NO_FRICTION, OWN, ROWS, STATIC, speed_part, torques
from joint_dynamics.estimation.lost_motion import LostMotion
from joint_dynamics.estimation.torques import TorqueFusion
from joint_dynamics.robot.newton_euler import WORK
from joint_dynamics.signals.state_estimator import StateEstimator

Array = FloatArray
# s between two turns of one learning part, and over which the speed for F_v is taken, to either side.
TURN, SPEED_SPAN = 0.008, 0.003


class JointTorques:
    """Torques of n joints from samples of q, motor torque (or current) and, where there are two encoders, θ.

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
    external, external_deviation
        τ_ext (n,) [N·m] and its deviation.
    spring_weight, link_weight
        of the spring beside the motor side and of the link model beside both, (n,), 0 … 1, of the next sample.
    gain
        (n,) N·m/A, factor of the current; None where torque is given.
    friction, stiffness
        FrictionEstimator, CoulombViscousEstimator or None; StiffnessEstimator or None.
    filter, fusion, lost_motion, watch
        the smoother, the weights, the play of the gears, and the record of the range of validity of the friction.

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
        self._kinematic = arm.kinematic_error if motor_side else None
        # The kinematic error is taken off before, once for all uses; without θ there is none to take off.
        self._slip = None if slip is None else slip.without_kinematic_error()
        signals = ['q', 'tau'] + ['theta'] * self.motor_side + ['H', 'F_v'] * (slip is not None)
        self._slot = {name: slice(k * n, (k + 1) * n) for k, name in enumerate(signals)}
        self._side = self._slot['theta' if self.motor_side else 'q']
        # The speed for F_v is a difference over 2 d samples, so all else waits d samples for it.
        self._lag = max(int(round(SPEED_SPAN / self.period)), 1) if slip is not None else 0
        self._line = np.zeros((2 * self._lag + 1, len(signals) * n))
        self.filter = StateEstimator(len(signals) * n, self.period, window=use.window, taper=use.taper)
        self._bind()
        self._method = OWN if use.friction == 'coulomb_viscous' else HYSTERESIS if slip is not None else STATIC
        if self._method == STATIC and arm.friction is None:
            self._method = NO_FRICTION
        self._work = np.zeros((len(arm.robot.link_names), WORK)), np.zeros((3, n))
        starts = [self._slot[name].start for name in ('q', 'tau', 'theta' if self.motor_side else 'q')]
        self._columns = (*starts, *(self._slot[name].start if name in self._slot else 0 for name in ('H', 'F_v')))
        self.stride = max(int(round(TURN / self.period)), 1)
        turn = self.stride * self.period
        self.links = arm.constants.links
        self.fusion = TorqueFusion(arm, use)
        self.effort_limit = np.where(np.isfinite(arm.robot.limits.effort), arm.robot.limits.effort, 100.0)
        self.lost_motion = LostMotion(n, arm.backlash, self.effort_limit, turn, arm.backlash_deviation)
        self.friction = make_friction(arm, use, turn)
        self.stiffness = make_stiffness(arm, use, turn) if motor_side else None
        self.watch = RangeWatch(arm.validity if self.friction_model is not None or arm.terms else None, arm.joint_names)
        self._temperature = np.full(n, np.nan)
        self.set_temperature(self._temperature)
        JointTorques.reset_signals(self)

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
        """Delay of every estimate, s."""
        return self.filter.delay + self._lag * self.period

    def reset_signals(self) -> None:
        """Discard the signals and the hysteresis, as after a gap or a jump of time; learnt values stay."""
        n = self.n
        self.filter.reset()
        if self._slip is not None:
            self._slip.reset()
        self._count = 0
        self.lost_motion.reset()
        self.deformation, self.rotor_torque, self.friction_torque, self.friction_error = np.zeros((4, n))
        self.torque_link, self.torque_spring, self.torque_motor, self.torque, self.external = np.zeros((5, n))
        self.coulomb_level, self.coulomb_friction, self.held_speed, self.damping_torque = np.zeros((4, n))
        self.spring_weight, self.link_weight = np.zeros((2, n))
        self.external_deviation = np.full(n, 1e6)

    def set_temperature(self, temperature: ArrayLike) -> None:
        """Take new joint temperatures (n,) °C.

        NaN: the last known one stays, or that of the settings, or T0, at which it has no effect.
        """
        given = np.asarray(temperature, dtype=float)
        self._temperature = np.where(np.isfinite(given), given, self._temperature)
        self.watch.update_temperature(given)
        model = self.friction_model
        # Further terms take NaN for the temperature without effect; each of them has its own.
        fallback = np.full(self.n, np.nan) if model is None else model.parameters['T_0']
        if self.settings.temperature is not None:
            fallback = np.full(self.n, self.settings.temperature)
        self._known_temperature = np.where(np.isnan(self._temperature), fallback, self._temperature)

    @property
    def temperature(self) -> Array:
        """The last known joint temperatures, (n,) °C, NaN where there is none."""
        return self._temperature.copy()

    def update(self, q: Array, effort: Array, theta: Array | None = None) -> bool:
        """Take one sample (n,): q rad; motor current A or torque N·m, as `effort` says; θ rad, reflected.

        Returns whether the estimates are valid: False until the smoother is full. Samples must come at the period; gaps
        are handled by the caller (`timeline`).
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
        return True

    def _with_speed_part(self, newest: int) -> Array:
        """Return the sample d before the newest, with F_v(ω, T) by the central difference about it."""
        per_span = 0.5 / (self._lag * self.period)
        given = (self._line, newest, self._lag, per_span, self._columns)
        row: int = speed_part(self.arm.constants, self._known_temperature, *given)
        return self._line[row]

    def _torques(self) -> None:
        friction, stiffness, n = self.friction, self.stiffness, self.n
        alpha = friction.parameters if isinstance(friction, FrictionEstimator) else self.arm.friction_scale
        found, own = np.zeros((len(ROWS), n)), np.zeros(n)
        if isinstance(friction, CoulombViscousEstimator):
            own, found[2] = friction.predict(self.omega), self.coulomb_level
        torques(
            self.arm.constants, self.links, self._method, alpha, own,
            self._known_temperature, self.filter.states, self._columns,
            np.array([self.torque, self.spring_weight, self.link_weight]), self.lost_motion.motion,
            None if stiffness is None else stiffness.scaled, self._work, found,
        )  # fmt: skip
        (
            self.rotor_torque, self.held_speed, self.coulomb_level, self.coulomb_friction, self.friction_torque,
            self.friction_error, self.torque_motor, self.deformation, self.damping_torque, self.torque_spring,
            self.external, self.torque, self.torque_link,
        ) = found  # fmt: skip
