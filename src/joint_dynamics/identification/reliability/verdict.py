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

"""The verdict on a result: reliable or not, and the reasons, each with a code that stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joint_dynamics.identification.regression.residuals import Fit, band_of_all, overall_residual
from joint_dynamics.recording.load import short_name

MAX_NAMES = 3  # recordings that the headline names

CODES = {
    'excitation': 'the motion does not excite the robot enough',
    'missing_samples': 'samples are missing inside a recording',
    'stuck': 'a signal keeps its value while the robot moves',
    'dead_band': 'a torque keeps one value in most samples of a moving joint: not measured, or in a dead band',
    'saturated': 'a torque is cut off at a bound',
    'spikes': 'a signal has outliers',
    'speed_mismatch': 'measured speeds are not the derivative of the positions',
    'motor_side': 'motor angles are not on the joint side',
    'time_scale': 'time stamps have another unit or rate than stated',
    'time_reversed': 'motion or torque runs backwards in time',
    'degrees': 'positions are not in rad',
    'torque_sign': 'the sign of a torque is inverted',
    'torque_order': 'torques belong to other joints',
    'position_sign': 'the sign of a position is inverted',
    'position_order': 'positions belong to other joints',
    'position_offset': 'the zero of a position is wrong',
    'axis_sign': 'an axis points the other way',
    'joint_order': 'joints are in another order',
    'gravity': 'gravity is not in the torques, or is in torques stated without it',
    'mounting': 'the base has another orientation to gravity',
    'delay': 'torque and motion have a delay between them',
    'drive_gain': 'the scale of one torque is wrong',
    'drive_gain_deviation': 'the loaded recordings do not show a drive gain',
    'current': 'effort is a current, or in another unit than N·m',
    'torque_unrelated': 'a torque is unrelated to the motion',
    'residual': 'the residual is larger than friction can explain',
    'payload_mixed': 'the recordings have different payloads',
    'recordings_differ': 'recordings differ in friction, offset or sign',
    'friction_sign': 'friction drives instead of braking',
    'negative_inertia': 'impossible inertias',
    'description': 'the description was not reliable when identified',
    'validation': 'another motion is predicted much worse than the training motion',
}
"""Every code, with its meaning."""


@dataclass(frozen=True)
class Reason:
    """Why a result cannot be relied on.

    code: one of `CODES`; text: the finding and the remedy; mend: the sections of a configuration that set it right,
    {} where there are none; joints: those that are wrong, none where it is a matter of the whole arm.
    """

    code: str
    text: str
    mend: Mapping[str, Any] = field(default_factory=dict)
    joints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f'reason: expected one of {", ".join(CODES)}, found {self.code!r}')

    def __str__(self) -> str:
        return self.text

    def summary(self) -> dict[str, Any]:
        """Return {code, text}, with `mend` (sections of a configuration) where there are any."""
        entries: dict[str, Any] = {'code': self.code, 'text': self.text}
        if self.mend:
            entries['mend'] = dict(self.mend)
        return entries


def headline(reasons: Sequence[Reason], fits: Sequence[Fit] = (), validated: bool = False) -> str:
    """Return the verdict in one line.

    Parameters
    ----------
    reasons
        why the result is not reliable.
    fits
        of the validation, else of the training.
    validated
        whether `fits` took no part in the training.
    """
    if reasons:
        more = f' (and {len(reasons) - 1} more)' if len(reasons) > 1 else ''
        return f'not reliable, because {reasons[0].text}{more}'
    moving = overall_residual(fits, moving=True)[1] if fits else float('nan')
    if moving != moving:
        return 'reliable'
    names = list(dict.fromkeys(short_name(fit.name) for fit in fits))
    shown = ', '.join(names[:MAX_NAMES]) + f' and {len(names) - MAX_NAMES} more' * (len(names) > MAX_NAMES)
    basis = f'validated on {shown}' if validated else 'not validated: training data only'
    return (
        f'reliable within {moving:.2g} % of the torque of moving joints {band_of_all(fits)}'.rstrip()
        + f' ({overall_residual(fits)[1]:.2g} % of all torque), {basis}'
    )


def summary_of(reasons: Sequence[Reason], line: str) -> dict[str, Any]:
    """Return the entries of summary.json that the verdict consists of."""
    return {
        'verdict': 'not reliable' if reasons else 'reliable',
        'verdict_line': line,
        'believable': not reasons,
        'reasons': [reason.summary() for reason in reasons],
    }


def without_duplicates(reasons: Iterable[Reason]) -> list[Reason]:
    """Return the reasons without repetitions, in their order."""
    unique: dict[tuple[str, str], Reason] = {}
    for reason in reasons:
        unique.setdefault((reason.code, reason.text), reason)
    return list(unique.values())
