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

"""Torque of joints at rest: the rest torque τ_0 with the band ± F of the Coulomb level.

Friction at rest takes any value in ± F, so τ = τ_0 ± F, with τ_0 the torque without friction that depends on direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression.residuals import Fit


def rest_torque(arm: Arm, observation: Observation) -> tuple[FloatArray, FloatArray]:
    """Return τ_0 and F (samples, n) [N·m] at the full rate: mean and half difference of the torque at H = ±1."""
    o = observation
    load = arm.link_torque(o.q, o.dq, o.ddq)
    high, low = (
        arm.drive_torque(np.full(load.shape, H), o.q, o.dtheta, o.ddtheta, load, o.temperature) for H in (1.0, -1.0)
    )
    return load + 0.5 * (high + low), 0.5 * np.abs(high - low)


def resting_summary(fits: Sequence[Fit]) -> dict[str, Any]:
    """Return the entry `resting` of summary.json: samples at rest, the share within their band [%], its mean [N·m]."""
    names = fits[0].joint_names
    at_rest = np.concatenate([fit.resting for fit in fits])
    band = np.concatenate([fit.band_of_rest for fit in fits])
    within = at_rest & (np.abs(np.concatenate([fit.residual for fit in fits])) <= band)
    count = at_rest.sum(axis=0)

    def by_joint(sums: FloatArray) -> dict[str, float | None]:
        return {name: float(s / c) if c else None for name, s, c in zip(names, sums, count, strict=True)}

    overall = 100.0 * float(within.sum() / count.sum()) if count.any() else None
    return {
        'samples': int(count.sum()),
        'within_percent': by_joint(100.0 * within.sum(axis=0)) | {'overall': overall},
        'half_width': by_joint(np.where(at_rest, band, 0.0).sum(axis=0)),
    }
