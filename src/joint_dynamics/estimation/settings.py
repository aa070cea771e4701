"""How the online estimation is tuned; every field with its unit, checked once."""
from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from joint_dynamics.errors import JointDynamicsError

FRICTION_METHODS = ('adaptive', 'coulomb_viscous', 'none')
STIFFNESS_SOURCES = ('motor', 'link', 'fused')


@dataclass(frozen=True)
class EstimationSettings:
    """Settings of `JointEstimator`; times in seconds, so that they hold at any sample rate.

    window            length of the smoother of all signals, s; its delay is half of it and one sample.
    taper             Hann-weighted smoother; False: the thesis's Savitzky-Golay filter.
    friction          adaptive: gradient law on the Maxwell-slip model; coulomb_viscous: F_C sgn ω + F_V ω by least squares; none: as described.
    friction_rate     rates of α₁ and α₂, 1/s.
    friction_lower, friction_upper  bounds of α; α₂ in N·m·s/rad. [M6 eq 27] has 1.5 at most for α₁; a worn joint is beyond.
    viscous_share     α₂ may also be within ± this share of the viscous friction at 1 rad/s, where that is more; 0: the bounds alone.
    friction_memory   s of motion over which the information in the regressor is taken (adaptive), or that is remembered (coulomb_viscous).
    information       smallest eigenvalue of the correlation matrix of the regressor, below which nothing adapts.
    omega_min, hold   no adaptation when |ω| stays below omega_min (rad/s) for hold (s).
    stiffness_source  virtual measure of the elastic torque: motor side, link side, or both by their noise.
    stiffness_preset  default, or the thesis's run (for 1 kHz).
    stiffness_order   terms of the polynomial.
    stiffness_memory  s of excited motion.
    stiffness_scale   rad, deformation at which the terms are of like size.
    stiffness_gate    rad; 0: a fifth of the scale, or the backlash where that is more.
    deformation_noise rad, deviation of the smoothed deformation (encoders, kinematic error that is left).
    friction_noise    deviation of the friction model in slip, as a share of its Coulomb level.
    link_noise        deviation of the link model, as a share of its torque.
    torque_noise      N·m, smallest deviation of any torque, as a share of the joint's torque limit.
    backlash_load     load that halves the lost motion, as a share of the joint's torque limit.
    contact_deviations, contact_share  a contact is reported when the external torque exceeds so many of its usual deviations, and this
                      share of the joint's torque limit.
    contact_memory    s, over which the usual deviation is learnt.
    temperature       °C, taken where no temperature is measured; None: the temperature at which the friction model has no such part.
    payload           estimate the payload at the last link.
    payload_memory    s of motion; inf: everything since the reset.
    """

    window: float = 0.1
    taper: bool = True
    friction: str = 'adaptive'
    friction_rate: tuple[float, float] = (1.0, 1.0)
    friction_lower: tuple[float, float] = (0.4, -0.05)
    friction_upper: tuple[float, float] = (2.5, 0.05)
    viscous_share: float = 0.5
    friction_memory: float = 10.0
    information: float = 0.02
    omega_min: float = 0.01
    hold: float = 0.05
    stiffness_source: str = 'motor'
    stiffness_preset: str = 'default'
    stiffness_order: int = 2
    stiffness_memory: float = 5.0
    stiffness_scale: float = 1e-3
    stiffness_gate: float = 0.0
    deformation_noise: float = 5e-6
    friction_noise: float = 0.1
    link_noise: float = 0.05
    torque_noise: float = 0.002
    backlash_load: float = 0.02
    contact_deviations: float = 6.0
    contact_share: float = 0.008
    contact_memory: float = 30.0
    temperature: float | None = None
    payload: bool = False
    payload_memory: float = 30.0

    def __post_init__(self) -> None:
        for name, choices in (('friction', FRICTION_METHODS), ('stiffness_source', STIFFNESS_SOURCES), ('stiffness_preset', ('default', 'thesis'))):
            if getattr(self, name) not in choices:
                raise JointDynamicsError(f'{name}: expected one of {", ".join(choices)}, found {getattr(self, name)!r}')
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None or isinstance(value, (str, bool)):
                continue
            numbers = np.atleast_1d(np.asarray(value, dtype=float))
            endless = field.name in ('payload_memory', 'stiffness_memory')
            if np.isnan(numbers).any() or (np.isinf(numbers).any() and not endless):
                raise JointDynamicsError(f'{field.name}: expected finite numbers, found {value!r}')
            free = ('friction_lower', 'friction_upper', 'temperature')
            if field.name not in free and (numbers < 0).any():
                raise JointDynamicsError(f'{field.name}: expected numbers >= 0, found {value!r}')
        if self.stiffness_order < 1:
            raise JointDynamicsError(f'stiffness_order: expected at least 1, found {self.stiffness_order}')
        for low, high in zip(self.friction_lower, self.friction_upper, strict=True):
            if low > high:
                raise JointDynamicsError(f'friction_lower: expected numbers <= friction_upper, found {self.friction_lower} and {self.friction_upper}')

    @classmethod
    def thesis(cls, **changes: Any) -> EstimationSettings:
        """Return the thesis's numbers for 1 kHz: 101 samples, untapered; RLS-DF* in raw units; the published excitation condition."""
        return cls(**{'window': 0.1, 'taper': False, 'information': 0.0, 'friction_upper': (1.5, 0.05), 'viscous_share': 0.0,
                      'stiffness_preset': 'thesis', **changes})

    def replaced(self, **changes: Any) -> EstimationSettings:
        """Return the settings with these changes, checked."""
        return replace(self, **changes)
