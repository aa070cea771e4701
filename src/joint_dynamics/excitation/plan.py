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

"""From a configuration to a motion that may be played: any profile, with its assessment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.assessment import Assessment
from joint_dynamics.excitation.excitation_settings import ExcitationSettings, LimitSettings
from joint_dynamics.excitation.files import coefficients, knot_points
from joint_dynamics.excitation.fourier import FourierTrajectory
from joint_dynamics.excitation.optimise import ExcitationResult, Progress, optimise
from joint_dynamics.excitation.profiles import PROFILES, make_profile
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import Settings, check_keys, declarations, setting

FOURIER = 'fourier'
NAMES = (FOURIER, *PROFILES)
NO_FLOOR = (
    'no floor is set, so the arm may hit its table: set limits.floor (needs collision geometry), or limits.height '
    'of the end-effector'
)
GONE = ('weights', 'time_budget', 'information_weight')  # settings of a search that 0.2 had
KEYS = ('profile', 'limits', 'posture', 'rate', 'condition_limit', *NAMES)


@dataclass(frozen=True)
class PlanSettings(Settings):
    """The section `excitation` of a configuration; `options` are the profile's own section."""

    SECTION = 'excitation'

    profile: str = setting(FOURIER, 'kind of motion', choices=NAMES)
    limits: LimitSettings = setting(LimitSettings(), 'the limits of the motion')
    posture: Sequence[float] | Mapping[str, float] | None = setting(
        None,
        'position of joints that do not move, and start and end of a motion of all joints: a list or {joint: angle}',
        'rad',
        none='0; of a Fourier series free',
    )
    rate: float = setting(100.0, 'samples per second of the trajectory', 'Hz', above=0, upper=10_000)
    condition_limit: float = setting(
        100.0, 'condition number above which a motion does not separate the parameters', above=1
    )
    options: Mapping[str, Any] = setting({}, 'settings of the profile, in a section of its name')

    @classmethod
    def from_config(cls, section: Mapping[str, Any], profile: str | None = None) -> PlanSettings:
        """Read the section; `profile` overrides its key of that name.

        Raises
        ------
        JointDynamicsError
            For unknown keys, profiles and values.
        """
        check_keys(section, KEYS, cls.SECTION)
        name = str(profile or section.get('profile', FOURIER)).replace('-', '_')
        given = {key: section[key] for key in ('posture', 'rate', 'condition_limit') if key in section}
        settings = cls.from_mapping({**given, 'profile': name, 'limits': section.get('limits')})
        kind = ExcitationSettings if name == FOURIER else PROFILES[name]
        known = [key for key in declarations(kind) if key not in ('limits', 'posture')]
        options = section.get(name) or {}
        gone = set(GONE) & set(options) if isinstance(options, Mapping) else set()
        if gone:
            raise JointDynamicsError(
                f'{cls.SECTION}.{name}: expected no {" and ".join(GONE)} since 0.3.0, found {", ".join(sorted(gone))}:'
                ' use `criterion: condition_number` or `log_det`, and fewer `starts` for a shorter search'
            )
        return settings.replaced(options=check_keys(options, known, f'{cls.SECTION}.{name}'))


@dataclass(frozen=True)
class Plan:
    """A motion that keeps every limit, and the wall time it took to plan.

    `result` is that of the search, None for a profile without one.
    """

    settings: PlanSettings
    trajectory: Trajectory
    assessment: Assessment
    seconds: float
    result: ExcitationResult | None = None

    def summary(self) -> dict[str, Any]:
        """Return the content of `summary.json`, plain keys and numbers.

        `trajectory` holds the coefficients of a Fourier series, of other motions the points at their knots.
        """
        summary: dict[str, Any] = {
            'profile': self.settings.profile,
            'torque_limit': self.settings.limits.torque_limit,
            **self.assessment.to_dict(),
            'seconds': self.seconds,
            'before': None,
            'duration': self.trajectory.duration,
            'rate': self.settings.rate,
            'joint_names': list(self.trajectory.joint_names),
        }
        if self.result is not None:
            summary.update(
                before=self.result.before.to_dict(),
                finished_starts=self.result.finished,
                ended=self.result.ended,
                reproducible=self.result.reproducible,
                seed=self.result.settings.seed,
                history=[list(entry) for entry in self.result.history],
            )
        motion = self.trajectory
        summary['trajectory'] = coefficients(motion) if isinstance(motion, FourierTrajectory) else knot_points(motion)
        return summary

    @property
    def notes(self) -> list[str]:
        """Notes for the person who plays the motion."""
        notes = []
        limits = self.settings.limits
        if limits.floor is None and limits.height is None:
            notes.append(NO_FLOOR)
        if 'torque' in self.assessment.margins and limits.viscous_friction == limits.coulomb_friction == 0.0:
            notes.append(
                'the torque limit is checked without friction, because a robot file states none: set'
                ' limits.viscous_friction and limits.coulomb_friction if they are known'
            )
        if 'clearance' not in self.assessment.margins:
            notes.append(
                'the arm may hit itself: clearance was not checked, as it is switched off or the robot has no collision'
                ' geometry'
            )
        if self.result is not None and not self.result.reproducible:
            notes.append(
                f'the search was ended ({self.result.ended}) after {self.result.finished} of'
                f' {self.result.settings.starts} starts; the same seed may give another motion'
            )
        return notes

    @property
    def poor_excitation(self) -> str | None:
        """Why the motion does not excite all parameters enough, None where it does."""
        if self.settings.profile == FOURIER and self.assessment.condition_number > self.settings.condition_limit:
            return (
                f'condition number {self.assessment.condition_number:.4g} of the base regressor is above'
                f' {self.settings.condition_limit:g}: give the search more starts, the joints more room, or a longer'
                ' period'
            )
        return None


def plan(
    model: RobotModel,
    settings: PlanSettings,
    on_progress: Callable[[Progress], None] | None = None,
    earlier: Sequence[Trajectory] = (),
) -> Plan:
    """Return a motion by the settings; `earlier`: see `optimise`.

    Raises
    ------
    JointDynamicsError
        For settings that do not fit the robot, and when no motion keeps the limits.
    """
    began = time.monotonic()
    if settings.profile != FOURIER:
        trajectory, assessment = make_profile(
            model, settings.profile, settings.options, settings.limits, settings.posture
        )
        return Plan(settings, trajectory, assessment, time.monotonic() - began)
    whole = {**settings.options, 'limits': settings.limits, 'posture': settings.posture}
    options = ExcitationSettings.from_mapping(whole, 'excitation.fourier')
    result = optimise(model, options, on_progress, earlier)
    return Plan(settings, result.trajectory, result.assessment, result.seconds, result)


def with_options(settings: PlanSettings, **options: Any) -> PlanSettings:
    """Return the settings with options of the profile replaced, except those that are None."""
    given = {name: value for name, value in options.items() if value is not None}
    return settings.replaced(options={**settings.options, **given})
