"""Friction compensation along the desired motion.

The model's own hysteresis, driven by what is wanted, not by what is measured [M6 eq 29].

    f̂ = gain · (α1 F(τ_J,d) H(θ_d) + α2 θ̇_d + F_v(θ̇_d, T) + what coupled motors and further terms rub)

Bounded inputs give a bounded output [M6 6.5]: H is within ±1, τ_J,d is limited to what the joints can transmit, T to
the range the temperature model was identified in, α to its region [M6 eq 27]; a temperature or an α that is not a
number leaves the last good one.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm, RangeWatch, with_reversal
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.interface import ControllerParameter
from joint_dynamics.control.packed_friction import compiled_kernels, packed_friction
from joint_dynamics.errors import JointDynamicsError

Kind = Literal['none', 'static', 'hysteresis']
#: Speed of the desired motion [rad/s] from which on a joint is driven; below it stands, the slower the more so.
DRIVEN = 0.02
#: Region of α: lower and upper bounds of (α1, α2), 1 and N·m·s/rad, as in the estimator; [M6 eq 27] has 1.5 at most for
#: α1.
ALPHA_BOUNDS = ((0.4, -0.05), (2.5, 0.05))


def friction_parameters(default: Kind) -> tuple[ControllerParameter, ...]:
    """Return the parameters of every law that compensates friction."""
    return (
        ControllerParameter(
            'friction',
            default,
            'none; static: the map over speed, with its jump at standstill; hysteresis: the extended '
            'Maxwell-slip model, where the description has none with friction that turns over within 0.1 mrad',
            choices=('none', 'static', 'hysteresis'),
        ),
        ControllerParameter(
            'friction_gain',
            1.0,
            'share of the modelled friction that is compensated',
            lower=0.0,
            upper=1.5,
            per_joint=True,
        ),
        ControllerParameter(
            'rest_gain',
            1.0,
            'share of the hysteresis that is compensated where the desired motion stands; what is known of friction '
            'there is less, and more than there is drives the joint away',
            lower=0.0,
            upper=1.0,
        ),
        ControllerParameter(
            'friction_smoothing',
            0.0,
            'speed over which the sign of the static map is smoothed; 0: not',
            'rad/s',
            0.0,
            1.0,
        ),
        ControllerParameter('alpha_lower', list(ALPHA_BOUNDS[0]), 'lower bounds of α1 and of α2 in N·m·s/rad'),
        ControllerParameter('alpha_upper', list(ALPHA_BOUNDS[1]), 'upper bounds of α1 and of α2 in N·m·s/rad'),
        ControllerParameter(
            'viscous_share',
            0.5,
            'α2 may also be within this share of the viscous friction at 1 rad/s, as in the '
            'estimator; no matter where its bounds are equal',
            '',
            0.0,
            10.0,
        ),
    )


class FrictionCompensation:
    """Friction torque (n,) of the desired motion of all joints.

    Keeps its own hysteresis state, the last temperature and the last α.

    `remarks`: what is not as asked for or as described, naming field and joint. `watch`: what of the motion left the
    range of validity. `compiled`: whether a kernel takes the steps; False, the array form that it is compared with,
    which also has what the kernel has not. Where the description has no Maxwell-slip part, friction turns over at once
    (`with_reversal`).
    Raises JointDynamicsError when the arm has no friction at all.
    """

    def __init__(
        self,
        arm: Arm,
        kind: Kind,
        *,
        gain: ArrayLike = 1.0,
        rest_gain: float = 1.0,
        smoothing: float = 0.0,
        alpha_bounds: tuple[ArrayLike, ArrayLike] = ALPHA_BOUNDS,
        viscous_share: float = 0.0,
    ):
        if kind != 'none' and arm.friction is None:
            raise JointDynamicsError(
                f'friction: expected a friction model in the dynamics description for {kind!r}, found none'
            )
        self.remarks: list[str] = []
        if kind == 'hysteresis':
            arm, reversal = with_reversal(arm)
            self.remarks += [f'friction: {remark}' for remark in reversal]
        self.kind = kind
        self.gain = np.broadcast_to(np.asarray(gain, dtype=float), (arm.n,)).copy()
        self.rest_gain, self.smoothing = float(rest_gain), smoothing
        lower, upper = (np.asarray(bound, dtype=float) for bound in alpha_bounds)
        if lower.shape != (2,) or upper.shape != (2,) or not np.all(lower <= upper):
            raise JointDynamicsError(
                f'alpha bounds: expected two numbers each, lower <= upper, found {lower} and {upper}'
            )
        self._lower, self._upper = np.tile(lower, (arm.n, 1)), np.tile(upper, (arm.n, 1))
        if arm.friction is not None and lower[1] < upper[1]:
            # The paper's ±0.05 N·m·s/rad is half a percent of the viscous friction of a shoulder.
            viscous = viscous_share * np.abs(arm.friction.static_part.viscous(np.ones(arm.n)))
            self._lower[:, 1], self._upper[:, 1] = (
                np.minimum(self._lower[:, 1], -viscous),
                np.maximum(self._upper[:, 1], viscous),
            )
        self._arm, self._model, self._terms = arm, arm.friction, arm.terms.friction or None
        slip = None if arm.friction is None else arm.friction.maxwell_slip
        self._slip = None if slip is None or kind != 'hysteresis' else slip.copy()
        self._packed = packed_friction(arm, self.gain, DRIVEN)
        self.compiled = self._slip is not None and self._packed is not None
        self._nominal = np.clip(arm.friction_scale, self._lower, self._upper)
        self._remark(arm)
        # What `warm` and `adapt` were given last.
        self._warmed = self._adapted = b''
        self._watched = arm.validity is not None and kind != 'none'
        self.watch = RangeWatch(arm.validity, arm.joint_names)
        self.alpha = self._nominal.copy()
        self.temperature = np.zeros(arm.n) if self._model is None else self._model.parameters['T_0'].copy()
        self._low = self._high = self.temperature
        self._temperature_factor = None if self._model is None else self._model.temperature_factor(self.temperature)
        if self._model is not None:
            self._low, self._high = self._model.parameters['T_min'], self._model.parameters['T_max']

        if self.compiled:
            self._load_kernel()

    def _load_kernel(self) -> None:
        """Compile or load what `torque` calls, before it has to be in time."""
        zero = np.zeros(self._arm.n)
        compiled_kernels().friction(zero, zero, zero, *self._idle_arguments())

    def _idle_arguments(self) -> tuple[Any, ...]:
        """What a kernel takes beside the motion, of the types of a step, with a hysteresis that is nobody's."""
        zero = np.zeros(self._arm.n)
        assert self._slip is not None
        slip = self._slip.copy()
        slip.reset(zero)
        seen = np.zeros_like(self.watch.largest) if self._watched else None
        return self._packed, self.alpha, self._temperature_factor, slip.advancing(), seen, self.rest_gain, zero

    def _remark(self, arm: Arm) -> None:
        if self.kind == 'none':
            if arm.friction is not None or arm.coupled is not None:
                self.remarks.append(
                    'joints.*.friction, inertial.coupling: friction is not compensated (friction is none)'
                )
            names = arm.terms.friction.names(arm.joint_names)
            self.remarks += [f'{name}: friction is not compensated (friction is none)' for name in names]
            return
        if self.kind == 'static' and arm.friction is not None and arm.friction.maxwell_slip is not None:
            self.remarks.append('joints.*.friction.maxwell_slip: not used (friction is static)')
        for name, given, bounded in zip(arm.joint_names, arm.friction_scale, self._nominal, strict=True):
            if not np.array_equal(given, bounded):
                self.remarks.append(
                    f'joints.{name}.friction.scale: {given.tolist()} is beyond the bounds of α, {bounded.tolist()} is'
                    ' used'
                )

    def reset(self) -> None:
        """Forget the hysteresis and what `watch` has seen; α and temperature stay."""
        if self._slip is not None:
            self._slip.reset()
        self.watch.reset()
        self._warmed = self._adapted = b''

    def adapt(self, scale: FloatArray, excess: FloatArray) -> None:
        """Take α of the estimator, (n,) each, into its region; what is not a number leaves the last one."""
        # The estimator speaks some times a second, the law is asked a thousand times.
        key = scale.tobytes() + excess.tobytes()
        if key == self._adapted:
            return
        self._adapted = key
        for column, given in enumerate((scale, excess)):
            bounded = np.minimum(np.maximum(given, self._lower[:, column]), self._upper[:, column])
            np.copyto(self.alpha[:, column], bounded, where=bounded == bounded)

    def warm(self, temperature: FloatArray) -> None:
        """Take joint temperatures (n,) °C into the model's range; what is not a number leaves the last one."""
        key = temperature.tobytes()
        if key == self._warmed:
            return
        self._warmed = key
        bounded = np.minimum(np.maximum(temperature, self._low), self._high)
        new = (bounded == bounded) & (bounded != self.temperature)
        if new.any():
            np.copyto(self.temperature, bounded, where=new)
            self.watch.update_temperature(temperature)
            self._temperature_factor = None if self._model is None else self._model.temperature_factor(self.temperature)

    def torque(self, q: FloatArray, theta: FloatArray | None, omega: FloatArray, tau_J: FloatArray) -> FloatArray:
        """Return f̂ (n,) N·m at q_d rad, θ_d rad, θ̇_d rad/s and τ_J,d N·m.

        Advance the hysteresis to θ_d (not needed without).
        """
        if self.kind == 'none':
            return np.zeros_like(omega)
        advancing = self._slip.advancing() if self.compiled and self._slip is not None and theta is not None else None
        if advancing is not None:
            found = np.empty_like(omega)
            compiled_kernels().friction(
                theta, omega, tau_J, self._packed, self.alpha, self._temperature_factor, advancing,
                self.watch.largest if self._watched else None, self.rest_gain, found,
            )  # fmt: skip
            return found
        if self._watched:
            self.watch.update(omega, tau_J)
        H = self._hysteresis(theta, omega)
        return self._at(H, q, omega, tau_J)

    def motor_torque(
        self,
        q: FloatArray,
        speed: FloatArray,
        acceleration: FloatArray,
        tau_J: FloatArray,
        drive: FloatArray,
        error: tuple[FloatArray, FloatArray] | None,
    ) -> FloatArray | None:
        """Return the motor torque (n,) N·m of joints that turn with their links, in one compiled call.

        None where the steps are not taken by a kernel, and before the first sample since `reset`: then by arrays.

        Parameters
        ----------
        q, speed, acceleration, tau_J
            rad, rad/s, rad/s² and N·m, (n,).
        drive, error
            as `kernels.rigid_drive` takes them.
        """
        advancing = self._slip.advancing() if self.compiled and self._slip is not None else None
        if advancing is None:
            return None
        found = np.empty(len(q))
        compiled_kernels().rigid_drive(
            q, speed, acceleration, tau_J, drive, error, self._packed, self.alpha, self._temperature_factor, advancing,
            self.watch.largest if self._watched else None, self.rest_gain, found,
        )  # fmt: skip
        return found

    def load_motor_torque(self, drive: FloatArray, error: tuple[FloatArray, FloatArray] | None) -> None:
        """Compile or load what `motor_torque` calls, before it has to be in time; nothing advances."""
        if not self.compiled:
            return
        zero = np.zeros(self._arm.n)
        compiled_kernels().rigid_drive(zero, zero, zero, zero, drive, error, *self._idle_arguments())

    def in_slip(self, q: FloatArray, omega: FloatArray, tau_J: FloatArray) -> FloatArray:
        """Return f̂ (…, n) N·m in steady slip, where the hysteresis has gone through, at the last temperature and α."""
        if self.kind == 'none':
            return np.zeros_like(omega)
        return self._at(np.sign(omega) if self._slip is not None else self._direction(omega), q, omega, tau_J)

    def _hysteresis(self, theta: FloatArray | None, omega: FloatArray) -> FloatArray:
        if self._slip is None or theta is None:
            return self._direction(omega)
        H = self._slip.step(theta)
        if self.rest_gain < 1.0:
            # A load that changes carries a resting motor through its hysteresis, too; but where friction is
            # compensated by more than there is, nothing holds the joint any more.
            H = H * (self.rest_gain + (1.0 - self.rest_gain) * np.minimum(np.abs(omega) / DRIVEN, 1.0))
        return H

    def _direction(self, omega: FloatArray) -> FloatArray:
        return np.tanh(omega / self.smoothing) if self.smoothing > 0 else np.sign(omega)

    def _at(self, H: FloatArray, q: FloatArray, omega: FloatArray, tau_J: FloatArray) -> FloatArray:
        found = self._arm.friction_torque(H, omega, tau_J, self.temperature, self.alpha, self._temperature_factor)
        if self._terms is not None:
            found = found + self._terms.torque(q, omega, tau_J, H, self.temperature)
        return self.gain * found
