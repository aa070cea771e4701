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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.friction import FrictionEstimator
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.settings import Settings, setting

if TYPE_CHECKING:
    from joint_dynamics.estimation.joint_estimator import JointEstimator

Array = FloatArray
OK, WARNING, ERROR, UNKNOWN = 'ok', 'warning', 'error', 'unknown'
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
    excitation: float = setting(5.0, 'excited motion that an estimate needs before it is judged', 's', lower=0)
    deviations: float = setting(2.0, 'a change must exceed so many deviations of the estimate', lower=0)


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
        stiffness, friction = estimator.stiffness, estimator.friction
        given: dict[str, Any] = {}
        n = estimator.n
        if stiffness is not None:
            reach = np.broadcast_to(np.asarray(self.working_range, dtype=float), (n,))
            torque = np.maximum(np.abs(stiffness.torque(reach)), 1e-12)
            given = {
                'stiffness': stiffness.coefficients,
                'stiffness_deviation': np.sqrt(stiffness.variance(reach)) / torque,
                'stiffness_excitation': stiffness.excitation,
            }
        if isinstance(friction, FrictionEstimator):
            given |= {
                'friction': friction.parameters[:, 0],
                'friction_deviation': np.sqrt(friction.covariance[:, 0, 0]),
                'friction_excitation': friction.excitation,
            }
        if not given:
            return [JointHealth(UNKNOWN, 'neither stiffness nor a described friction')] * n
        return self.judge(**given)

    def judge(
        self,
        *,
        stiffness: Array | None = None,
        stiffness_deviation: Array | None = None,
        stiffness_excitation: Array | None = None,
        friction: Array | None = None,
        friction_deviation: Array | None = None,
        friction_excitation: Array | None = None,
    ) -> list[JointHealth]:
        """Return the health of every joint.

        Parameters
        ----------
        stiffness
            coefficients (n, P), N·m/rad^{2p−1}; None: not judged.
        stiffness_deviation
            relative standard deviation (n,) of their torque.
        stiffness_excitation
            excited motion (n,) s.
        friction
            α₁ (n,); None: not judged.
        friction_deviation
            its standard deviation (n,).
        friction_excitation
            time of adaptation (n,) s.

        """
        given = stiffness if stiffness is not None else friction
        if given is None:
            raise JointDynamicsError('health: expected stiffness or friction, found neither')
        ratios = self.stiffness_ratios(stiffness) if stiffness is not None else None
        scale = None if friction is None else friction / np.asarray(self.friction_reference, dtype=float)
        parts = (
            ('stiffness', ratios, stiffness_deviation, stiffness_excitation, self.thresholds.stiffness),
            ('Coulomb friction', scale, friction_deviation, friction_excitation, self.thresholds.friction),
        )
        joints = []
        for j in range(len(given)):
            findings: list[tuple[str, str]] = []
            shown: list[float | None] = []
            for name, ratio, deviation, excitation, limits in parts:
                if ratio is None or not np.isfinite(ratio[j]):
                    shown.append(None)
                    continue
                findings.append(self._part(name, ratio[j], deviation, excitation, j, limits))
                shown.append(np.nan if findings[-1][0] == UNKNOWN else float(ratio[j]))
            order = (ERROR, WARNING, OK, UNKNOWN)
            status = min((part[0] for part in findings), key=order.index, default=UNKNOWN)
            reason = '; '.join(part[1] for part in findings if part[0] == status) or 'no reference'
            joints.append(JointHealth(status, reason, *shown))
        return joints

    def _part(
        self,
        name: str,
        ratio: float,
        deviation: Array | None,
        excitation: Array | None,
        j: int,
        limits: Sequence[float],
    ) -> tuple[str, str]:
        if excitation is not None and excitation[j] < self.thresholds.excitation:
            self._decided.pop((name, j), None)
            return UNKNOWN, f'{name} not excited yet'
        change = ratio - 1.0
        doubt = self.thresholds.deviations * (0.0 if deviation is None else float(deviation[j]))
        before, status = self._decided.get((name, j), OK), OK
        for level, limit in zip((WARNING, ERROR), limits, strict=True):
            # A level begins when the change is certainly beyond its limit, and ends when it is certainly below.
            inside = before in (ERROR, level)
            if abs(change) + doubt >= RETURN * limit if inside else abs(change) - doubt >= limit:
                status = level
        self._decided[name, j] = status
        return status, f'{name} {100 * change:+.0f} % against the reference'
