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

"""Health of the joints: stiffness and Coulomb friction against the stored reference [patent 1].

A transmission that wears loses stiffness and gains (or loses) Coulomb friction. The stiffness is compared by the torque
that deforms the joint over its working range, not coefficient by coefficient:
ratio = Σ τ̂_E(φ) τ_E(φ) / Σ τ_E(φ)², φ in the range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.settings import Settings, setting

if TYPE_CHECKING:
    from joint_dynamics.estimation.joint_estimator import JointEstimator

Array = FloatArray
OK = 'ok'
WARNING = 'warning'
ERROR = 'error'
UNKNOWN = 'unknown'
RETURN = 0.8  # share of a threshold below which a worn joint is healthy again; friction drifts by 5 % with the work


def _rising(levels: Sequence[float]) -> str | None:
    return None if levels[0] <= levels[1] else 'warning and error, warning ≤ error'


@dataclass(frozen=True)
class HealthThresholds(Settings):
    """Relative changes from the reference at which a joint counts as worn, and the required certainty."""

    SECTION = 'health'

    stiffness: tuple[float, ...] = setting(
        (0.1, 0.25), 'relative changes of stiffness called worn: warning, error', above=0, length=2, check=_rising
    )
    friction: tuple[float, ...] = setting(
        (0.25, 0.4),
        'relative changes of Coulomb friction called worn: warning, error',
        above=0,
        length=2,
        check=_rising,
    )
    excitation: float = setting(5.0, 'excited motion before an estimate is judged', 's', lower=0)
    deviations: float = setting(2.0, 'deviations of the estimate that a change must exceed', lower=0)


@dataclass(frozen=True)
class JointHealth:
    """Status of one joint (`ok`, `warning`, `error`, or `unknown` where nothing can be judged), its reason, and ratios.

    The ratios are those to the reference: NaN until there was motion enough, None without a reference.
    """

    status: str
    reason: str
    stiffness_ratio: float | None = None
    friction_ratio: float | None = None


@dataclass
class HealthMonitor:
    """Compare estimates with the reference.

    Attributes
    ----------
    reference
        TorsionalStiffness of n joints, or None: only friction is judged.
    working_range
        φ, (n,) rad, up to which the stiffness is compared.
    friction_reference
        α₁ of a new joint, (n,).
    """

    reference: TorsionalStiffness | None
    working_range: ArrayLike = 1e-3
    thresholds: HealthThresholds = field(default_factory=HealthThresholds)
    friction_reference: ArrayLike = 1.0
    # The last decided level, by part and joint.
    _decided: dict[tuple[str, int], str] = field(default_factory=dict, repr=False)

    def reset(self) -> None:
        """Forget the last decisions; the next ones have no hysteresis."""
        self._decided.clear()

    def stiffness_ratios(self, coefficients: Array) -> Array:
        """Return the ratio of the estimated torque over the working range to the reference, (n,).

        NaN without a reference.
        """
        coefficients = np.atleast_2d(coefficients)
        n = len(coefficients)
        if self.reference is None:
            return np.full(n, np.nan)
        phi = np.broadcast_to(np.asarray(self.working_range, dtype=float), (n,)) * np.linspace(0.05, 1.0, 20)[:, None]
        known = self.reference.torque(phi)
        return np.sum(TorsionalStiffness(coefficients, self.reference.reach).torque(phi) * known, axis=0) / np.maximum(
            np.sum(known * known, axis=0), 1e-300
        )

    def of(self, estimator: JointEstimator) -> list[JointHealth]:
        """Return the health of every joint of a running estimation."""
        spring, friction, n = estimator.stiffness, estimator.friction, estimator.n
        parts: list[tuple[str, Array, Array, Array, Sequence[float]]] = []
        if spring is not None:
            reach = np.broadcast_to(np.asarray(self.working_range, dtype=float), (n,))
            deviation = np.sqrt(spring.variance(reach)) / np.maximum(np.abs(spring.torque(reach)), 1e-12)
            ratios = self.stiffness_ratios(spring.coefficients)
            parts.append(('stiffness', ratios, deviation, spring.excitation, self.thresholds.stiffness))
        if friction is not None:
            scale = friction.parameters[:, 0] / np.asarray(self.friction_reference, dtype=float)
            deviation = np.sqrt(friction.covariance[:, 0, 0])
            parts.append(('Coulomb friction', scale, deviation, friction.excitation, self.thresholds.friction))
        if not parts:
            return [JointHealth(UNKNOWN, 'no stiffness and no described friction')] * n
        return [self._joint(j, parts) for j in range(n)]

    def _joint(self, j: int, parts: Sequence[tuple[str, Array, Array, Array, Sequence[float]]]) -> JointHealth:
        findings: list[tuple[str, str]] = []
        shown: dict[str, float] = {}
        for name, ratio, deviation, excitation, limits in parts:
            if np.isfinite(ratio[j]):
                findings.append(self._part(name, j, ratio[j], deviation[j], excitation[j], limits))
                shown[name] = np.nan if findings[-1][0] == UNKNOWN else float(ratio[j])
        order = (ERROR, WARNING, OK, UNKNOWN)
        status = min((part[0] for part in findings), key=order.index, default=UNKNOWN)
        reason = '; '.join(part[1] for part in findings if part[0] == status) or 'no reference'
        return JointHealth(status, reason, shown.get('stiffness'), shown.get('Coulomb friction'))

    def _part(
        self, name: str, j: int, ratio: float, deviation: float, excitation: float, limits: Sequence[float]
    ) -> tuple[str, str]:
        if excitation < self.thresholds.excitation:
            self._decided.pop((name, j), None)
            return UNKNOWN, f'{name} not excited yet'
        change, doubt = ratio - 1.0, self.thresholds.deviations * deviation
        before, status = self._decided.get((name, j), OK), OK
        for level, limit in zip((WARNING, ERROR), limits, strict=True):
            # A level begins when the change is certainly beyond its limit, and ends when it is certainly below.
            inside = before in (ERROR, level)
            if abs(change) + doubt >= RETURN * limit if inside else abs(change) - doubt >= limit:
                status = level
        self._decided[name, j] = status
        return status, f'{name} {100 * change:+.0f} % against the reference'
