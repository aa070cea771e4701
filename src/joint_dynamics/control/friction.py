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

"""Friction compensation along the desired motion.

The hysteresis of the model is driven by the desired motion, not by the measured one [M6 eq 29].

    f̂ = gain · (α1 F(τ_J,d) H(θ_d) + α2 θ̇_d + F_v(θ̇_d, T) + friction of coupled motors and further terms)

Bounded inputs give a bounded output [M6 6.5]: H is within ±1, τ_J,d within the torque limits, T within the range of
the temperature model, α within its region [M6 eq 27]. A temperature or an α that is NaN leaves the last valid one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm, RangeWatch, with_reversal
from joint_dynamics.arm.sample import drives_along, slip_directions
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.interface import LawParameter
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.laws import mapped

Kind = Literal['none', 'static', 'hysteresis']
#: Region of α: lower and upper bounds of (α1, α2), 1 and N·m·s/rad, as in the estimator; [M6 eq 27] has 1.5 at most for
#: α1.
ALPHA_BOUNDS = ((0.4, -0.05), (2.5, 0.05))
DRIVEN = 0.02
"""Speed of the desired motion [rad/s] above which the hysteresis counts in full; below, less of it."""


def friction_parameters(default: Kind) -> tuple[LawParameter, ...]:
    """Return the parameters of every law that compensates friction."""
    return (
        LawParameter(
            'friction',
            default,
            'none; static: the map over speed, with its jump at standstill; hysteresis: the extended Maxwell-slip '
            'model; without one in the description, friction reverses within 0.1 mrad',
            choices=('none', 'static', 'hysteresis'),
        ),
        LawParameter(
            'friction_gain',
            1.0,
            'share of the modelled friction that is compensated',
            lower=0.0,
            upper=1.5,
            per_joint=True,
        ),
        LawParameter(
            'rest_gain',
            1.0,
            'share of the hysteresis compensated while the desired motion rests; less is known of friction there, '
            'and too much compensation moves the joint',
            lower=0.0,
            upper=1.0,
        ),
        LawParameter(
            'friction_smoothing',
            0.0,
            'speed over which the sign of the static map is smoothed; 0: no smoothing',
            'rad/s',
            0.0,
            1.0,
        ),
        LawParameter('alpha_lower', list(ALPHA_BOUNDS[0]), 'lower bounds of α1 and of α2 in N·m·s/rad'),
        LawParameter('alpha_upper', list(ALPHA_BOUNDS[1]), 'upper bounds of α1 and of α2 in N·m·s/rad'),
        LawParameter(
            'viscous_share',
            0.5,
            'α2 may also be within this share of the viscous friction at 1 rad/s, as in the estimator; ignored if '
            'its bounds are equal',
            '',
            0.0,
            10.0,
        ),
    )


class FrictionCompensation:
    """Friction torque of the desired motion of all joints, with the state of its hysteresis.

    Joints described without a Maxwell-slip part get a narrow one (`with_reversal`).

    Attributes
    ----------
    arm
        the arm, with hysteresis.
    alpha
        present α (n, 2), [1, N·m·s/rad].
    temperature
        present temperature (n,) °C.
    gain
        share of the friction (n,) that is compensated.
    watch
        record of the motion against the range of validity.
    remarks
        deviations from the request or the description, by field and joint.

    Raises
    ------
    JointDynamicsError
        When the arm has no friction at all.
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
        self.arm, self.kind, self._rest_gain, self._smoothing = arm, kind, rest_gain, smoothing
        self.gain: FloatArray = np.broadcast_to(np.asarray(gain, dtype=float), (arm.n,)) * (kind != 'none')
        self._bounds = _alpha_bounds(arm, alpha_bounds, viscous_share)
        self.alpha = np.clip(arm.friction_scale, *self._bounds)
        parameters = None if arm.friction is None else arm.friction.parameters
        self.temperature = np.zeros(arm.n) if parameters is None else parameters['T_0'].copy()
        self._warmth = (0.0, 0.0) if parameters is None else (parameters['T_min'], parameters['T_max'])
        self._remark(arm)
        self.watch = RangeWatch(arm.validity if kind != 'none' else None, arm.joint_names)
        self.reset()

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
        for name, given, bounded in zip(arm.joint_names, arm.friction_scale, self.alpha, strict=True):
            if not np.array_equal(given, bounded):
                self.remarks.append(
                    f'joints.{name}.friction.scale: {given.tolist()} is beyond the bounds of α, {bounded.tolist()} is'
                    ' used'
                )

    def reset(self) -> None:
        """Reset the hysteresis and `watch`; α and temperature stay."""
        self._sliders = self.arm.begin()
        self.watch.reset()

    def take_temperature(self, temperature: FloatArray) -> None:
        """Take temperatures (n,) °C, held within the range of the temperature model; NaN keeps the last one."""
        self.watch.update_temperature(temperature)
        self.temperature = np.where(np.isnan(temperature), self.temperature, np.clip(temperature, *self._warmth))

    def take_scale(self, friction_scale: FloatArray) -> None:
        """Take α (n, 2) of the estimator, held within its bounds [M6 eq 27]; NaN keeps the last one."""
        self.alpha = np.where(np.isnan(friction_scale), self.alpha, np.clip(friction_scale, *self._bounds))

    def drive_torque(
        self, q: FloatArray, theta: FloatArray, speed: FloatArray, acceleration: FloatArray, load: FloatArray
    ) -> FloatArray:
        """Return τ_m − τ_J (N, n) [N·m] along a motion: rotors, compensated friction, further terms.

        A changing load drives the hysteresis of a resting motor as well; but where friction is overcompensated, nothing
        would hold the joint: hence `rest_gain`.

        Parameters
        ----------
        q, theta, speed, acceleration
            link angle and motor side (N, n) [rad, rad/s, rad/s²].
        load
            τ_J,d (N, n) [N·m].
        """
        self.watch.update(speed, load)
        if self.kind == 'hysteresis':
            H = mapped(slip_directions, (self.arm.constants, self._sliders), self.arm.n, theta, speed)
            H *= self._rest_gain + (1.0 - self._rest_gain) * np.minimum(np.abs(speed) / DRIVEN, 1.0)
        else:
            H = self._direction(speed)
        constants = (self.arm.constants, self.alpha, self.gain)
        return mapped(drives_along, constants, self.arm.n, H, q, speed, acceleration, load, self.temperature)

    def in_slip(self, q: FloatArray, omega: FloatArray, tau_J: FloatArray) -> FloatArray:
        """Return f̂ (N, n) N·m in steady slip, with the hysteresis fully deformed, at the present temperature and α."""
        H = np.sign(omega) if self.kind == 'hysteresis' else self._direction(omega)
        friction = self.arm.friction_torque(H, omega, tau_J, self.temperature, self.alpha)
        return self.gain * (friction + self.arm.terms.friction.torque(q, omega, tau_J, H, self.temperature))

    def _direction(self, speed: FloatArray) -> FloatArray:
        return np.tanh(speed / self._smoothing) if self._smoothing > 0.0 else np.sign(speed)


def _alpha_bounds(arm: Arm, bounds: tuple[ArrayLike, ArrayLike], viscous_share: float) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of α (n, 2); those of α2 at least `viscous_share` of the viscous friction.

    The ±0.05 N·m·s/rad of [M6 eq 27] is half a percent of the viscous friction of a shoulder. Equal bounds of α2 fix
    it.
    """
    lower, upper = (np.asarray(bound, dtype=float) for bound in bounds)
    if lower.shape != (2,) or upper.shape != (2,) or not np.all(lower <= upper):
        raise JointDynamicsError(f'alpha bounds: expected two numbers each, lower <= upper, found {lower} and {upper}')
    low, high = np.tile(lower, (arm.n, 1)), np.tile(upper, (arm.n, 1))
    if arm.friction is not None and lower[1] < upper[1]:
        viscous = viscous_share * np.abs(arm.friction.viscous(np.ones(arm.n)))
        low[:, 1], high[:, 1] = np.minimum(low[:, 1], -viscous), np.maximum(high[:, 1], viscous)
    return low, high
