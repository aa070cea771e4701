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

"""The verdict of each joint, in N·m and of its rated torque, and the uses of a result.

A joint is **wrong** if a fault is named of it or of the whole arm; **weak** if its residual is large but at the floor
of its sensor (`FLOOR_SHARE` of its rated torque), or if it does not move or has no torque; else **reliable** within its
residual in motion, in the validation or else the training. A weak joint refuses no arm.

The rated torque is the effort limit of the robot file, unless that is a placeholder: all limits are one round number,
or far above the weight of the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.identification.regression.residuals import Fit, relative_of_squares
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.verdict import CODES, Reason
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.limits import column_unit, joint_unit

POSTURES = 200
"""Random postures in which the weight of an arm is looked at."""
NO_TORQUE = 'its torque was not recorded'
HELP = {
    'reliable': '',
    'weak': 'identify again with a motion that loads it more',
    'wrong': 'identify again from a recording without this fault: `joint-dynamics doctor` names the correction',
}
"""What would help, by state."""
NOT_POSITIVE = 'a rotor inertia, or the inertia matrix in a posture, is below 0 (identification.physical avoids it)'


@dataclass(frozen=True)
class JointVerdict:
    """The verdict of one joint.

    state: a key of `HELP`; error, torque: rms of residual and torque in motion [unit]; rated: rated torque [unit], None
    where no limit is believed; why: it is weak or wrong; unit: N·m or N.
    """

    name: str
    state: str
    error: float
    torque: float
    rated: float | None
    why: str = ''
    unit: str = 'N·m'

    @property
    def percent(self) -> float:
        """The error in percent of the torque."""
        return 100 * self.error / self.torque if self.torque > 0 else np.nan

    @property
    def help(self) -> str:
        """What would improve the verdict, '' where it is reliable."""
        return 'record its torque as well' if self.why == NO_TORQUE else HELP[self.state]

    def __str__(self) -> str:
        why = f' ({self.why}; {self.help})' if self.why else ''
        if not np.isfinite(self.error):
            return f'{self.name}: {self.state}{why}'
        rated = '' if self.rated is None else f', {100 * self.error / self.rated:.2g} % of its rated torque'
        known = f'within {self.error:.3g} {self.unit} ({self.percent:.3g} % of its torque{rated})'
        return f'{self.name}: {self.state} {known}{why}'

    def summary(self) -> dict[str, Any]:
        """Return the entry of one joint in summary.json and in the description: numbers that do not exist are None."""
        return {
            'state': self.state,
            'error': finite(self.error),
            'percent': finite(self.percent),
            'rated': self.rated,
            'unit': self.unit,
            'why': self.why,
            'help': self.help,
        }


def rated_torques(model: RobotModel) -> tuple[FloatArray, str]:
    """Return the rated torques (n,) [N·m or N], NaN where not known, and why limits are not believed."""
    limits = np.asarray(model.limits.effort, dtype=float)
    known = np.isfinite(limits) & (limits > 0)
    unknown = np.full(model.n, np.nan)
    if not known.any():
        return unknown, ''
    if known.all() and model.n > 2 and np.ptp(limits) == 0 and limits[0] == float(f'{limits[0]:.0e}'):
        return unknown, f'all are {limits[0]:g} {column_unit("N·m", model.prismatic)}'
    weights = weight_torques(model)
    beyond = []
    for slides in sorted(set(model.prismatic[known].tolist())):
        alike, unit = model.prismatic == slides, joint_unit('N·m', slides)
        least, need = limits[known & alike].min(), weights[alike].max()
        if not least > thresholds.PLACEHOLDER_FACTOR * need > 0:
            return np.where(known, limits, np.nan), ''
        beyond.append(f'the smallest is {least:g} {unit}, the weight of the arm needs {need:.3g} {unit}')
    return unknown, '; '.join(beyond)


def weight_torques(model: RobotModel) -> FloatArray:
    """Return the largest torque that the weight of the robot file's links makes in each joint (n,) [N·m or N]."""
    if model.parameters is None or not np.any(model.parameters):
        return np.zeros(model.n)
    model = model.standing(weightless=False)
    q = model.random_states(POSTURES, np.random.default_rng(0))[0]
    weight = model.inverse_dynamics(q, np.zeros_like(q), np.zeros_like(q), model.parameters)
    return np.asarray(np.abs(weight).max(axis=0))


def judge_joints(
    fits: Sequence[Fit], reasons: Sequence[Reason], weak: Sequence[str], rated: FloatArray
) -> list[JointVerdict]:
    """Return the verdict of each joint.

    Parameters
    ----------
    fits
        of the validation, else of the training.
    reasons
        why the result cannot be relied on; one that can be mended and names no joint makes those wrong of which little
        is explained.
    weak
        joints whose torque is no better known than their sensor resolves.
    rated
        (n,) [N·m], NaN where not known.
    """
    verdicts = []
    whole = next((CODES[reason.code] for reason in reasons if reason.mend and not reason.joints), '')
    for j, name in enumerate(fits[0].joint_names):
        moving = [fit.moving[:, j] for fit in fits]
        error, torque = (
            _rms(np.concatenate([getattr(fit, key)[where, j] for fit, where in zip(fits, moving, strict=True)]))
            for key in ('residual', 'tau')
        )
        faults = [CODES[reason.code] for reason in reasons if name in reason.joints]
        little = error >= thresholds.MIN_UNEXPLAINED_SHARE * torque
        if faults:
            state, why = 'wrong', faults[0]
        elif little and whole:
            state, why = 'wrong', whole
        elif not any(fit.measured[j] for fit in fits):
            state, why, error = 'weak', NO_TORQUE, np.nan
        elif name in weak:
            state, why = 'weak', 'at the floor of its sensor'
        elif not np.isfinite(error):
            state, why = 'weak', 'it does not move'
        elif little:
            state, why = 'weak', 'little of its torque is explained'
        else:
            state, why = 'reliable', ''
        verdicts.append(JointVerdict(name, state, error, torque, finite(rated[j]), why, fits[0].units[j]))
    return verdicts


def uses(
    joints: Sequence[JointVerdict],
    reasons: Sequence[Reason],
    determined: bool,
    positive: bool,
    weightless: bool = False,
) -> dict[str, str]:
    """Return {use: '' where the result is good for it, else why not}.

    determined: whether every parameter is; positive: whether rotor inertias and mass matrix are; weightless:
    whether the torques leave gravity out.

    feedforward: the torque of a motion, by laws that take no negative rotor inertia; contact: the residual is a
    contact; payload: a mass by the torques that it adds; simulation: a forward model, which needs every
    parameter and a positive mass matrix.
    """
    if reasons:
        return dict.fromkeys(('feedforward', 'contact', 'payload', 'simulation'), 'the result is not reliable')
    poor = [one.name for one in joints if one.state == 'reliable' and not one.percent <= thresholds.FEEDFORWARD_PERCENT]
    weak = [one.name for one in joints if one.state != 'reliable']
    rated = [(one.name, one.error, one.rated) for one in joints if one.rated is not None]
    coarse = [name for name, error, limit in rated if not error <= thresholds.CONTACT_SHARE * limit]
    contact = '' if rated else 'no rated torques are known'
    if coarse:
        contact = f'{", ".join(coarse)} not within {100 * thresholds.CONTACT_SHARE:g} % of the rated torque'
    feedforward = f'{", ".join(poor)} not within {thresholds.FEEDFORWARD_PERCENT:g} % of torque' if poor else ''
    silent = [one.name for one in joints if one.why == NO_TORQUE]
    feedforward = f'no torque of {", ".join(silent)} was recorded' if silent else feedforward
    simulation = '' if determined else 'not every parameter is determined'
    simulation = 'gravity is not in the recorded torques' if weightless else simulation
    simulation = NOT_POSITIVE if not positive else f'weak: {", ".join(weak)}' if weak else simulation
    error, torque = np.nan_to_num([(one.error**2, one.torque**2) for one in joints]).T
    percent = relative_of_squares(error, torque, len({one.unit for one in joints}) > 1)[1]
    return {
        'feedforward': NOT_POSITIVE if not positive else feedforward,
        'contact': contact,
        'payload': '' if percent < thresholds.PAYLOAD_PERCENT else f'the residual is {percent:.2g} % of all torque',
        'simulation': simulation,
    }


def _rms(x: FloatArray) -> float:
    return float(np.sqrt(np.mean(x**2))) if x.size else np.nan
