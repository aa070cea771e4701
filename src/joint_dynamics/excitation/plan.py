"""From a configuration to a motion that may be played: any profile, with its worth and its margins."""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.assessment import Assessment
from joint_dynamics.excitation.checks import check_choice, check_keys, check_number, from_mapping
from joint_dynamics.excitation.files import coefficients
from joint_dynamics.excitation.fourier import FourierTrajectory
from joint_dynamics.excitation.optimise import ExcitationResult, Progress, optimise
from joint_dynamics.excitation.profiles import PROFILES, make_profile
from joint_dynamics.excitation.settings import ExcitationSettings, LimitSettings
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel

FOURIER = 'fourier'
NAMES = (FOURIER, *PROFILES)
NO_FLOOR = ('nothing keeps the arm above what it stands on: set limits.floor (needs collision geometry), or limits.height of the end-effector, '
            'unless there is nothing around it')
KEYS = ('profile', 'limits', 'posture', 'rate', 'condition_limit', *NAMES)


@dataclass(frozen=True)
class PlanSettings:
    """What the section `excitation` of a configuration says.

    profile: one of NAMES. limits, posture: for every profile. rate [Hz]: of the trajectory written or sent. condition_limit: above it a motion that
    should tell all parameters apart is not to be believed. options: of the profile, its own section.
    """

    profile: str
    limits: LimitSettings
    posture: Any
    rate: float
    condition_limit: float
    options: dict[str, Any]

    @classmethod
    def from_config(cls, section: Mapping[str, Any], profile: str | None = None) -> PlanSettings:
        """Read the section; `profile` goes before its key of that name. Raises JointDynamicsError for what is not known."""
        check_keys(section, KEYS, 'excitation')
        name = check_choice(str(profile or section.get('profile', FOURIER)).replace('-', '_'), 'profile', NAMES)
        options = section.get(name) or {}
        known = fields(ExcitationSettings if name == FOURIER else PROFILES[name])
        check_keys(options, [field.name for field in known if field.name not in ('limits', 'posture')], f'excitation.{name}')
        return cls(name, from_mapping(LimitSettings, section.get('limits') or {}, 'excitation.limits'), section.get('posture'),
                   check_number(section.get('rate', 100.0), 'excitation.rate', above=0),
                   check_number(section.get('condition_limit', 100.0), 'excitation.condition_limit', above=1), dict(options))


@dataclass(frozen=True)
class Plan:
    """A motion that keeps every limit, and the wall time it took to plan. `result` is that of the search, None for a profile without one."""

    settings: PlanSettings
    trajectory: Trajectory
    assessment: Assessment
    seconds: float
    result: ExcitationResult | None = None

    def summary(self) -> dict[str, Any]:
        """Return the content of `summary.json`, plain keys and numbers; `trajectory` holds the coefficients of a Fourier series."""
        found: dict[str, Any] = {'profile': self.settings.profile, **self.assessment.to_dict(), 'seconds': self.seconds, 'before': None,
                                 'duration': self.trajectory.duration, 'rate': self.settings.rate, 'joint_names': list(self.trajectory.joint_names)}
        if self.result is not None:
            found.update(before=self.result.before.to_dict(),
                         finished_starts=self.result.finished, ended=self.result.ended,
                         reproducible=self.result.reproducible, seed=self.result.settings.seed,
                         history=[list(entry) for entry in self.result.history])
        if isinstance(self.trajectory, FourierTrajectory):
            found['trajectory'] = coefficients(self.trajectory)
        return found

    @property
    def notes(self) -> list[str]:
        """What whoever plays the motion should know."""
        found = []
        if self.settings.limits.floor is None and self.settings.limits.height is None:
            found.append(NO_FLOOR)
        if 'clearance' not in self.assessment.margins:
            found.append('the arm may hit itself: clearance was not checked, as it is switched off or the robot has no collision geometry')
        if self.result is not None and not self.result.reproducible:
            found.append(f'the time budget of {self.result.settings.time_budget:g} s ended the search after {self.result.finished} of '
                         f'{self.result.settings.starts} starts; the same seed may give another motion')
        return found

    @property
    def doubt(self) -> str | None:
        """Why the motion is not to be believed as an excitation of all parameters, None where it may be."""
        if self.settings.profile == FOURIER and self.assessment.condition_number > self.settings.condition_limit:
            return (f'condition number {self.assessment.condition_number:.4g} of the base regressor is above {self.settings.condition_limit:g}: '
                    'give the search more starts, the joints more room, or a longer period')
        return None


def plan(model: RobotModel, settings: PlanSettings, on_progress: Callable[[Progress], None] | None = None) -> Plan:
    """Return a motion by the settings; raises JointDynamicsError for what does not fit, and when no motion keeps the limits."""
    began = time.monotonic()
    if settings.profile != FOURIER:
        trajectory, assessment = make_profile(model, settings.profile, settings.options, settings.limits, settings.posture)
        return Plan(settings, trajectory, assessment, time.monotonic() - began)
    try:
        options = ExcitationSettings(limits=settings.limits, posture=settings.posture, **settings.options)
    except TypeError as error:
        raise JointDynamicsError(f'excitation.fourier: {error}') from None
    result = optimise(model, options, on_progress)
    return Plan(settings, result.trajectory, result.assessment, result.seconds, result)


def with_options(settings: PlanSettings, **options: Any) -> PlanSettings:
    """Return the settings with options of the profile replaced, those that are None left as they are."""
    return replace(settings, options={**settings.options, **{name: value for name, value in options.items() if value is not None}})
