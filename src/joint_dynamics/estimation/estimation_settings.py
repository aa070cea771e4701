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

"""Settings of the online estimation, from which the node's parameters follow as well, and checks of arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Settings, refusal, setting

FRICTION_METHODS = ('adaptive', 'none')


@dataclass(frozen=True)
class EstimationSettings(Settings):
    """Settings of `JointEstimator`; times in seconds, so that they hold at any sample rate.

    Attributes
    ----------
    friction
        `adaptive`: gradient law on the Maxwell-slip model; `none`: as described.
    friction_lower, friction_upper
        [M6 eq 27] bounds α₁ by 1.5; a worn joint exceeds it.
    stiffness_scale
        the deformation at which the terms of the polynomial have similar size.

    Raises
    ------
    JointDynamicsError
        For values that are not allowed.

    """

    GONE: ClassVar[Mapping[str, str]] = {
        'stiffness_source': 'the stiffness learns from the torque of the motor side',
        'stiffness_preset': 'StiffnessEstimator.thesis in Python has the numbers of the thesis',
        'friction_memory': 'information on friction is gathered over 10 s of motion',
        'hold': 'nothing adapts after 0.05 s below omega_min',
        'deformation_noise': 'the deformation has a deviation of 5e-6 rad',
        'friction_noise': 'the friction has a deviation of 10 % of its Coulomb level',
        'link_noise': 'the torque of the robot model has a deviation of 5 %',
        'contact_memory': 'error levels are learnt over 100 visits',
    }

    window: float = setting(
        0.1, 'length of the smoother of all signals; the estimates lag by half of it', 's', lower=0.01, upper=1
    )
    taper: bool = setting(True, 'Hann-weighted smoother; false: the Savitzky-Golay filter of the thesis')
    friction: str = setting(
        'adaptive',
        'how friction is followed: adaptive, scale and viscous part of the described friction; none',
        choices=FRICTION_METHODS,
    )
    friction_rate: tuple[float, ...] = setting(
        (1.0, 1.0), 'rates of the two parameters of the adaptive law', '1/s', lower=0, upper=1000, length=2
    )
    friction_lower: tuple[float, ...] = setting((0.4, -0.05), 'lower bounds of α1 and of α2 in N·m·s/rad', length=2)
    friction_upper: tuple[float, ...] = setting((2.5, 0.05), 'upper bounds of α1 and of α2 in N·m·s/rad', length=2)
    viscous_share: float = setting(
        0.5,
        'α2 may also be within this share of the viscous friction at 1 rad/s; 0: the bounds alone',
        lower=0,
        upper=10,
    )
    information: float = setting(
        0.02,
        'least independence of the two friction terms: smallest eigenvalue of their correlation matrix; '
        '0: the published condition, speed alone',
        lower=0,
        upper=1,
    )
    omega_min: float = setting(0.01, 'speed below which nothing adapts', 'rad/s', lower=0, upper=1)
    stiffness_order: int = setting(2, 'number of odd terms of the elastic torque', lower=1, upper=5)
    stiffness_memory: float = setting(
        5.0, 'memory of the stiffness, in excited motion', 's', lower=0.1, upper=1e6, infinite=True
    )
    stiffness_scale: float = setting(1e-3, 'typical deformation in operation', 'rad', lower=1e-6, upper=1)
    stiffness_gate: float = setting(
        0.0, 'deformation below which samples are ignored; 0: a fifth of stiffness_scale', 'rad', lower=0, upper=1
    )
    torque_noise: float = setting(
        0.002, 'smallest deviation of a torque, as a share of the torque limit', lower=1e-6, upper=1
    )
    contact_deviations: float = setting(
        4.0, 'threshold of a contact, in rms of the largest errors in free motion', lower=1, upper=20
    )
    contact_share: float = setting(
        0.008, 'least threshold of a contact, as a share of the torque limit', lower=1e-6, upper=1
    )
    temperature: float | None = setting(
        None,
        'joint temperature if none is measured',
        '°C',
        lower=-273.15,
        upper=200,
        none='that of the described friction',
    )
    payload: bool = setting(False, 'estimate the payload from the start; a load picked up later is detected either way')
    payload_memory: float = setting(30.0, 'memory of the payload, in motion', 's', lower=1, upper=1e6, infinite=True)

    def check(self) -> None:
        """Check that the bounds of α leave room."""
        for low, high in zip(self.friction_lower, self.friction_upper, strict=True):
            if not low <= high:
                raise refusal(
                    'friction_lower', f'numbers of at most friction_upper, {self.friction_upper}', self.friction_lower
                )


def positive(name: str, value: float) -> float:
    """Return a number > 0 (inf included), or raise JointDynamicsError with its name."""
    if not value > 0:
        raise JointDynamicsError(f'{name}: expected a number > 0, found {value!r}')
    return float(value)


def per_joint(name: str, value: ArrayLike, joints: int, *, zero: bool = False) -> FloatArray:
    """Return (n,) finite numbers > 0 (≥ 0 with `zero`) from a number or (n,), or raise JointDynamicsError."""
    array = np.asarray(value, dtype=float)
    if (
        array.shape not in ((), (1,), (joints,))
        or not np.all(np.isfinite(array))
        or np.any(array < 0)
        or (not zero and np.any(array == 0))
    ):
        raise JointDynamicsError(
            f'{name}: expected one number {">=" if zero else ">"} 0 or {joints} of them, found {value!r}'
        )
    return np.broadcast_to(array, (joints,)).copy()
