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

    ĉ = 2 ΔL_own / k,

if that is above one. ĉ belongs to the other explanation, so that a corrupted recording does not count against its
correction.

The gain grows with the effective number of samples, which is larger for a smaller residual. Each explanation is clear
by its own number; explanations are compared by one number, the largest of any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.changes import TIME_FACTORS, TORQUE_FACTORS, UP_DIRECTIONS
from joint_dynamics.identification.reliability.evidence import ExplanationFit, NormalEquations, gain
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording.conversions import Corrections
from joint_dynamics.robot import RobotModel

KINDS = 17  # kinds of faults: the twelve of `least_evidence`, zeros, a delay, scales, a payload, parts that differ
_REMEDY = {
    'gravity': 'state what `effort` is (recording.torque_without_gravity)',
    'mounting': 'correct robot.mounting',
    'degrees': 'correct the unit of the positions (recording.position_scale)',
    'time_scale': 'correct the time stamps (recording.time_scale)',
    'time_reversed': 'correct the time stamps',
    'delay': 'align the time stamps of efforts and positions (recording.torque_delay)',
    'drive_gain': 'correct the unit or the drive gain (recording.torque_scale)',
    'current': 'check whether they are currents (then give drive gains), or whether a unit or a drive gain is wrong',
    'torque_sign': 'correct the sign of the effort or of the drive gain (recording.torque_sign)',
    'position_offset': 'correct the zero position (recording.zero_offset)',
    'joint_order': 'correct the names of the joints',
    'torque_order': 'correct the order of the efforts (recording.torque_order)',
    'position_order': 'correct the order of the positions (recording.position_order)',
    'position_sign': 'correct the sign of the position (recording.position_sign)',
    'axis_sign': 'correct the axis in the robot file, or both signs',
    'payload_mixed': 'identify them separately, or give those with the payload as --loaded',
    'recordings_differ': 'check that robot, signs and temperature were the same, or identify the recordings separately',
}


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
    vuong_statistic
        see `evidence.vuong_statistic`; infinite where the gain is too small to ask.
    dispersion
        see `overdispersion`; one where the gain is too small to ask.
    least
        smallest gain of a clear one [nats].
    mend
        the correction that makes it so, None where there is none.
    mounting
        of the base, roll, pitch, yaw [rad].
    matters
        whether it is held against recordings where it is clear.
    notes : tuple of str
        remarks, whether it is clear or not.
    figures
        its entry in summary.json.
    """

    code: str
    text: str
    names: Sequence[str]
    given: ExplanationFit
    fitted: ExplanationFit
    gain: float
    vuong_statistic: float = np.inf
    dispersion: float = 1.0
    least: float = thresholds.MIN_EVIDENCE
    mend: Corrections | None = None
    mounting: tuple[float, float, float] | None = None
    matters: bool = True
    notes: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> Reason:
        """That this explanation is clearly better than the given one, by how much, and what to correct."""
        j = int(np.argmax(self.given.unexplained - self.fitted.unexplained))
        before, after = (100 * np.sqrt(fit.unexplained[j]) for fit in (self.given, self.fitted))
        config: dict[str, Any] = {} if self.mend is None else {'recording': self.mend.stated()}
        return Reason(
            self.code,
            f'{self.text}: this explains the torques significantly better (residual of {self.names[j]} '
            f'{after:.3g} % instead of {before:.3g} %; log-likelihood +{self.gain:.0f}); '
            f'{_REMEDY.get(self.code, "correct the recording or its settings")}',
            mend=config if self.mounting is None else {'robot': {'mounting': list(self.mounting)}},
            joints=() if self.mend is None else self.mend.joints,
        )

    @property
    def threshold(self) -> float:
        """Smallest gain before overdispersion [nats]: a sign is yes or no, and needs its evidence alone."""
        return self.least if self.code == 'torque_sign' else thresholds.LOG_LIKELIHOOD_THRESHOLD

    @property
    def better(self) -> bool:
        """Whether it gains enough: twice as much where the gain is that of a few blocks of time."""
        steady = self.vuong_statistic > thresholds.MIN_VUONG_STATISTIC
        return self.gain > (1 if steady else 2) * self.threshold

    @property
    def clear(self) -> bool:
        """Whether it gains enough, and more than a model that is somewhat wrong gains by any freedom."""
        return self.better and self.gain / self.dispersion > self.least

    def gained(self, count: FloatArray) -> float:
        """Return ΔL over the given fit [nats]; count (n,): independent samples, the same for all that are compared."""
        return gain(self.given, self.fitted, count)


def least_evidence(model: RobotModel, code: str) -> float:
    """Return the evidence that an alternative of a kind needs [nats], by how many others are of its kind.

    Of a true model the likelihood of another one is eˣ times as large with probability e⁻ˣ at most, by Markov's
    inequality [Ville 1939]. `FALSE_ALARMS` is shared by the kinds alike, and within a kind by its alternatives
    [Bonferroni].
    `MIN_EVIDENCE` where a code is none of these kinds.
    """
    n = model.n
    orders = n * (n - 1) // 2 + (n > 2)
    of_kind = {
        'torque_sign': n + 1,
        'drive_gain': n * len(TORQUE_FACTORS),
        'position_sign': n,
        'axis_sign': n,
        'degrees': 2,
        'time_reversed': 2,
        'torque_order': orders,
        'position_order': orders,
        'joint_order': orders,
        'time_scale': len(TIME_FACTORS),
        'mounting': len(UP_DIRECTIONS) - 1,
        'gravity': 1,
    }
    return (
        float(np.log(KINDS * of_kind[code] / thresholds.FALSE_ALARMS)) if code in of_kind else thresholds.MIN_EVIDENCE
    )


def overdispersion(normal: NormalEquations, target: FloatArray, fit: ExplanationFit, count: FloatArray) -> float:
    """Return ĉ of an explanation, at least one.

    normal, target: its normal equations, and the torque (joints, samples) that they are to explain; found: its fit;
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
