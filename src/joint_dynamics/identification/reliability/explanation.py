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

r"""One other explanation of motion and torque, and the evidence that it needs.

The joints share parameters. With parameters of its own for every joint the likelihood rises by ΔL_own: in a right model
by half a nat for each of the k further parameters, in a wrong model by more. A log-likelihood is therefore divided by
the variance factor of the quasi-likelihood [McCullagh and Nelder 1989, ch. 9; Burnham and Anderson 2002, sect. 2.5],

    ĉ = max(1, 2 ΔL_own / k),

of the other explanation, so that a corrupted recording does not count against its correction. Of a true model the
likelihood of another one is eˣ times as large with probability e⁻ˣ at most [Ville 1939].

Each explanation is clear by its own effective number of samples; explanations are compared by the largest of any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.evidence import ExplanationFit, NormalEquations, gain
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording.conversions import Corrections

_REMEDY = {
    'gravity': 'state what `effort` is (recording.torque_without_gravity)',
    'mounting': 'correct robot.mounting',
    'time_reversed': 'correct the time stamps',
    'payload_mixed': 'identify them apart, or give those with the payload as --loaded',
    'recordings_differ': 'look whether the robot and its signs were the same, or identify them apart',
}
"""Remedies of explanations without a correction of their own."""


@dataclass(frozen=True)
class Explanation:
    """Another explanation of motion and torque than the given one: its text, fit and gain.

    Attributes
    ----------
    names
        of the joints.
    given, fitted
        the fit that it is better than, and its own, by the columns as recorded.
    gain
        log-likelihood of one over the other [nats].
    dispersion
        see `overdispersion`; one where the gain is too small to ask.
    mend
        the correction that makes it so, None where there is none.
    mounting
        of the base, roll, pitch, yaw [rad].
    matters
        whether it is held against recordings where it is clear.
    figures
        its entry in summary.json.
    """

    code: str
    text: str
    names: Sequence[str]
    given: ExplanationFit
    fitted: ExplanationFit
    gain: float
    dispersion: float = 1.0
    mend: Corrections | None = None
    mounting: tuple[float, float, float] | None = None
    matters: bool = True
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> Reason:
        """That this explanation is clearly better than the given one, by how much, and what to correct."""
        j = int(np.argmax(self.given.unexplained - self.fitted.unexplained))
        before, after = (100 * np.sqrt(fit.unexplained[j]) for fit in (self.given, self.fitted))
        config: dict[str, Any] = {} if self.mend is None else {'recording': self.mend.stated()}
        settings = ', '.join(f'recording.{name}' for name in config.get('recording', {}))
        remedy = _REMEDY.get(self.code, f'correct the recording, or state {settings}')
        return Reason(
            self.code,
            f'{self.text}: that explains the torques clearly better ({before:.3g} % of the torque of {self.names[j]} '
            f'left over would become {after:.3g} %; log-likelihood +{self.gain:.0f}); {remedy}',
            mend=config if self.mounting is None else {'robot': {'mounting': list(self.mounting)}},
            joints=() if self.mend is None else self.mend.joints,
        )

    @property
    def clear(self) -> bool:
        """Whether it gains more than a model that is somewhat wrong gains by any freedom."""
        return self.gain > thresholds.MIN_EVIDENCE * self.dispersion

    def gained(self, count: FloatArray) -> float:
        """Return ΔL over the given fit [nats]; count (n,): independent samples, the same for all that are compared."""
        return gain(self.given, self.fitted, count)


def overdispersion(normal: NormalEquations, target: FloatArray, fit: ExplanationFit, count: FloatArray) -> float:
    """Return ĉ of an explanation, at least one.

    normal, target: its normal equations, and the torque (joints, samples) that they are to explain; fit: its fit;
    count (joints,): effective samples.
    """
    alone = [normal.of_joint(j).fit(target[[j]]) for j in range(len(target))]
    own = np.array([fitted.unexplained[0] for fitted in alone])
    further = sum(fitted.rank for fitted in alone) - fit.rank
    rise = float(count @ np.log((fit.unexplained + thresholds.RESOLVED**2) / (own + thresholds.RESOLVED**2)))
    return max(1.0, rise / further) if further > 0 else 1.0


def most_samples(fits: Iterable[ExplanationFit]) -> FloatArray:
    """Return the largest effective number of samples of each joint by any of some fits, (n,)."""
    return np.asarray(np.max([fit.count for fit in fits if fit.count is not None], axis=0))
