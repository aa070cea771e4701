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

"""Whether efforts are in N·m, by the inertials and effort limits of the robot file."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import regressor_columns
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot import INERTIAL


def check_units(alternatives: Alternatives, rated: FloatArray) -> list[Reason]:
    """Return a reason where torques are a fraction of those by inertials and limits.

    rated: rated torques (n,) [N·m], NaN where not known (`joints.rated_torques`).
    """
    model, samples = alternatives.model, alternatives.samples
    largest = np.quantile(np.abs(samples.tau), 0.99, axis=1)
    if np.isfinite(rated).all() and np.all(largest < thresholds.SMALL_TORQUE_SHARE * rated):
        return [
            Reason(
                'current',
                f'no effort reaches {100 * thresholds.SMALL_TORQUE_SHARE:g} % of its limit in the robot file (largest: '
                f'{100 * float((largest / rated).max()):.2g} %): '
                'check whether it is a current (then give drive gains), or in another unit than N·m',
            )
        ]
    known = model.parameters is not None and np.any(model.parameters)
    factors = _factors(alternatives) if known else np.full(model.n, np.nan)
    seen = factors[np.isfinite(factors)]
    # far above them says nothing: many robot files hold a mass of 1 kg for every link
    if len(seen) >= 2 and np.median(seen) < 1 / thresholds.DISAGREEMENT_FACTOR:
        listed = ', '.join(
            f'{name} {factor:.3g}'
            for name, factor in zip(alternatives.names, factors, strict=True)
            if np.isfinite(factor)
        )
        return [
            Reason(
                'current',
                f'the efforts differ from those expected by the inertials of the robot file by these factors: '
                f'{listed}; check whether they are currents (then give drive gains), or in another unit than N·m',
            )
        ]
    return []


def _factors(alternatives: Alternatives) -> FloatArray:
    """Return s_j (n,) of τ_j ≈ s_j τ_file,j + friction + offset, NaN where the file's torque is not clearly in it."""
    model, samples = alternatives.model, alternatives.samples
    inertial = model.columns(INERTIAL)
    rows = regressor_columns(samples, model, independent=inertial)[:, : len(inertial)]
    stated = np.einsum('jps,p->js', rows, np.asarray(model.parameters, dtype=float)[inertial])
    factors = np.full(model.n, np.nan)
    for j, (weight, count) in enumerate(zip(samples.weight, alternatives.count, strict=True)):
        basis = np.linalg.qr((samples.own_rows(j) * weight).T)[0]
        y, x = (signal - basis @ (basis.T @ signal) for signal in (samples.tau[j] * weight, stated[j] * weight))
        power = float(x @ x)
        if power <= 0 or y @ y <= 0:
            continue
        share = float(x @ y) ** 2 / power / float(y @ y)
        clear = -0.5 * count * np.log(1 - min(share, 1 - 1e-9)) > thresholds.LOG_LIKELIHOOD_THRESHOLD
        if share > thresholds.EXPLAINED_SHARE and x @ y > 0 and clear:
            factors[j] = float(x @ y) / power
    return factors
