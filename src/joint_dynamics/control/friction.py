"""Friction compensation along the desired motion.

The hysteresis of the model is driven by the desired motion, not by the measured one [M6 eq 29].

    f̂ = gain · (α1 F(τ_J,d) H(θ_d) + α2 θ̇_d + F_v(θ̇_d, T) + friction of coupled motors and further terms)

Bounded inputs give a bounded output [M6 6.5]: H is within ±1, τ_J,d is limited to what the joints can transmit, T to
the range in which the temperature model was identified, α to its region [M6 eq 27]. Where a temperature or an α is NaN,
the last valid one stays.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm, RangeWatch, with_reversal
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.interface import ControllerParameter
from joint_dynamics.control.law_sample import AXIS, LAW, LawConstants, LawMemory, compensations
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.laws import mapped
from joint_dynamics.robot.newton_euler import WORK_PER_LINK

Kind = Literal['none', 'static', 'hysteresis']
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

    Keeps its own hysteresis state, the last temperature and the last α. Joints described without a Maxwell-slip part
    get a narrow one (`with_reversal`).

    Attributes
    ----------
    arm
        the arm, with hysteresis.
    constants, memory
        as `law_sample` takes them; entries that do not concern friction are neutral.
    alpha, temperature, gain
        α (n, 2), (n,) °C and (n,), part of memory and constants.
    watch
        record of the motion against the range of validity.
    remarks
        deviations from what was requested or described, by field and joint.

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
        self.arm, self.kind, n, model = arm, kind, arm.n, arm.friction
        lower, upper = (np.asarray(bound, dtype=float) for bound in alpha_bounds)
        if lower.shape != (2,) or upper.shape != (2,) or not np.all(lower <= upper):
            raise JointDynamicsError(
                f'alpha bounds: expected two numbers each, lower <= upper, found {lower} and {upper}'
            )
        self.gain = np.broadcast_to(np.asarray(gain, dtype=float), (n,)) * (kind != 'none')
        options, axes = np.zeros(1, LAW), np.zeros(n, AXIS)
        options['hysteresis'], options['smoothing'], options['rest_gain'] = kind == 'hysteresis', smoothing, rest_gain
        options['gravity'], axes['scale'] = 1, 1.0
        # The paper's ±0.05 N·m·s/rad is half a percent of the viscous friction of a shoulder.
        free = model is not None and lower[1] < upper[1]
        viscous = viscous_share * np.abs(model.viscous(np.ones(n))) if free and model is not None else np.zeros(n)
        axes['alpha_1_low'], axes['alpha_1_high'] = lower[0], upper[0]
        axes['alpha_2_low'] = np.minimum(lower[1], -viscous) if free else lower[1]
        axes['alpha_2_high'] = np.maximum(upper[1], viscous) if free else upper[1]
        for field, name in (('coldest', 'T_min'), ('warmest', 'T_max')):
            axes[field] = 0.0 if model is None else model.parameters[name]
        self.constants = LawConstants(options, axes, self.gain)
        bounds = [(axes[f'alpha_{k}_low'], axes[f'alpha_{k}_high']) for k in (1, 2)]
        self.alpha = np.stack([np.clip(row, *bound) for row, bound in zip(arm.friction_scale.T, bounds, strict=True)])
        self.alpha = np.ascontiguousarray(self.alpha.T)
        self.temperature = np.zeros(n) if model is None else model.parameters['T_0'].copy()
        self._remark(arm)
        self.watch = RangeWatch(arm.validity if kind != 'none' else None, arm.joint_names)
        rows = {name: np.zeros(n) for name in LawMemory._fields}
        rows |= {'alpha': self.alpha, 'temperature': self.temperature, 'sliders': arm.begin(), 'seen': self.watch.seen}
        work = np.zeros((len(arm.robot.link_names), WORK_PER_LINK))
        self.memory = LawMemory(**{**rows, 'spare': np.zeros((7, n)), 'work': work})

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
        self.memory.sliders.fill(np.nan)
        self.watch.reset()

    def in_slip(self, q: FloatArray, omega: FloatArray, tau_J: FloatArray) -> FloatArray:
        """Return f̂ (…, n) N·m in steady slip, with the hysteresis fully deformed, at the last temperature and α."""
        smoothing = float(self.constants.options['smoothing'][0])
        smooth = smoothing > 0.0 and self.kind != 'hysteresis'
        H = np.tanh(omega / smoothing) if smooth else np.sign(omega)
        constants = (self.arm.constants, self.constants, self.memory)
        return mapped(compensations, constants, self.arm.n, H, q, omega, tau_J)
