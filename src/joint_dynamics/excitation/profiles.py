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

"""All test motions by name, built and checked: none is returned that breaks a limit.

Motions of one joint are in `single_joint`; those of all joints are bang-coast-bang with random pauses and a cycle
through waypoints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.assessment import Assessment, assess, keeps
from joint_dynamics.excitation.constraint import Constraint, excess, within_limits
from joint_dynamics.excitation.excitation_settings import KINDS, LimitSettings
from joint_dynamics.excitation.limits import MotionLimits, parameters_with_payload
from joint_dynamics.excitation.problem import all_constraints
from joint_dynamics.excitation.single_joint import ConstantSpeed, LoadSweep, SlowReversals, Trapezoids, joint_index
from joint_dynamics.excitation.trajectory import JointPieces, PiecewiseTrajectory, at_rest
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import Settings, refusal, setting
from joint_dynamics.settings.base import per_joint

WAYPOINTS = (
    (-110, 0, 0, -90, 90, 0),
    (-70, -30, -90, -130, 50, 120),
    (-140, -10, -130, -40, 125, 10),
    (-45, -55, 100, -90, 45, 150),
    (-45, -90, 0, -90, 0, 0),
    (-220, -90, 0, -90, 0, 0),
)
"""The six waypoints [deg] of a UR5e in [M6 table 1]."""

# s, step of the times of moves. The cubic between two knots this far apart has the acceleration of the motion within
# 6 / MOVE_STEP² times the rounding of a position, 2.7e-7 rad/s² at 2 rad.
MOVE_STEP = 1e-4


def _postures(postures: Sequence[Sequence[float]]) -> str | None:
    return None if len(postures) > 1 else 'at least two postures in degrees'


@dataclass(frozen=True)
class BangCoastBang(Settings):
    """Moves of full acceleration, coasting and full deceleration, each joint on its own, with random pauses [M3 VII.A].

    Before every move a joint waits 0 … `wait` s; the distance of its target from the posture, its speed and its
    acceleration are drawn between `least` and 100 % of the allowed values.
    """

    SECTION = 'bang_coast_bang'

    duration: float = setting(10.0, 'length of the motion', 's', above=0, upper=3600)
    joints: Sequence[str] | None = setting(None, 'the joints that move', none='all')
    wait: float = setting(1.0, 'longest pause before a move', 's', lower=0, upper=3600)
    least: float = setting(0.3, 'smallest random share of distance, speed and acceleration', above=0, upper=1)
    reach: float = setting(1.0, 'largest share of the way from the posture to the position limits', above=0, upper=1)
    seed: int = setting(0, 'seed of the moves', lower=0)

    def build(self, model: RobotModel, limits: MotionLimits, posture: FloatArray) -> PiecewiseTrajectory:
        """Return the motion, which begins at `posture` (n,) and ends at rest.

        Moves that would not end in time are omitted.
        """
        rng = np.random.default_rng(self.seed)
        joints = list(model.joint_names if self.joints is None else self.joints)
        pieces = at_rest(model.joint_names, posture, MOVE_STEP)
        for name in joints:
            index = joint_index(model, name)
            piece = pieces[name]
            while True:
                pause = rng.uniform(0, self.wait)
                share = rng.uniform(self.least, 1, 3)
                end = limits.upper[index] if rng.random() < 0.5 else limits.lower[index]
                target = posture[index] + share[0] * self.reach * (end - posture[index])
                speed, acceleration = share[1] * limits.velocity[index], share[2] * limits.acceleration[index]
                if piece.time + pause + MOVE_STEP + piece.time_of_move(target, speed, acceleration) > self.duration:
                    break
                piece.wait(pause)
                piece.move_to(target, speed, acceleration)
        return PiecewiseTrajectory(model.joint_names, list(pieces.values()), self.duration)


@dataclass(frozen=True)
class Waypoints(Settings):
    """A cycle through waypoints, from rest to rest along straight lines in joint space [M6 6.6.1].

    Attributes
    ----------
    velocity, acceleration
        of the joint with the longest distance, in addition to the robot's limits.
    """

    SECTION = 'waypoints'

    waypoints: Sequence[Sequence[float]] | None = setting(
        None, 'list of postures', '°', none='the six of the paper, for a robot of six joints', check=_postures
    )
    cycles: int = setting(1, 'how often', lower=1, upper=1000)
    velocity: float = setting(math.pi, 'largest speed', 'rad/s', above=0)
    acceleration: float = setting(2 * math.pi / 3, 'largest acceleration', 'rad/s²', above=0)
    rest: float = setting(0.0, 'stop at every waypoint', 's', lower=0, upper=3600)

    def build(self, model: RobotModel, limits: MotionLimits, posture: FloatArray) -> PiecewiseTrajectory:
        """Return the motion; it begins and ends at the first waypoint, whatever `posture` is."""
        if self.waypoints is None and model.n != 6:
            raise JointDynamicsError(
                f'waypoints.waypoints: expected postures for the {model.n} joints of this robot, found none'
            )
        points = [
            np.deg2rad(per_joint(point, model.joint_names, 'waypoints.waypoints'))
            for point in self.waypoints or WAYPOINTS
        ]
        pieces = at_rest(model.joint_names, points[0])
        for _ in range(self.cycles):
            for begin, end in zip(points, [*points[1:], points[0]], strict=True):
                travel = end - begin
                share = np.abs(travel) / np.abs(travel).max()
                moving = share > 0
                # along the line every joint does its share; the slowest of what each allows binds all
                fastest = min(self.velocity, (limits.velocity[moving] / share[moving]).min())
                steepest = min(self.acceleration, (limits.acceleration[moving] / share[moving]).min())
                time = JointPieces(0.0).time_of_move(np.abs(travel).max(), fastest, steepest)
                for j, piece in enumerate(pieces.values()):
                    if moving[j]:
                        piece.move_to(end[j], fastest * share[j], steepest * share[j])
                    else:
                        piece.wait(time)
                    piece.wait(self.rest)
        return PiecewiseTrajectory(model.joint_names, list(pieces.values()))


Profile = BangCoastBang | ConstantSpeed | SlowReversals | LoadSweep | Trapezoids | Waypoints
PROFILES: dict[str, type[Profile]] = {
    'bang_coast_bang': BangCoastBang,
    'constant_speed': ConstantSpeed,
    'slow_reversals': SlowReversals,
    'load_sweep': LoadSweep,
    'trapezoids': Trapezoids,
    'waypoints': Waypoints,
}
RATE = 100.0  # Hz, at which the excitation by a profile is assessed
FEW_RATE = 5.0  # Hz, at which most draws that break a limit of the whole arm are seen to
LIMIT_MARGIN = 1e-6  # share of every joint's limits kept free, so that rounding does not exceed them
DRAWS = 20  # random motions for each reach
REACHES = (1.0, 0.8, 0.6, 0.45, 0.3)  # shares of the distances of a bang-coast-bang


def make_profile(
    model: RobotModel,
    profile: str | Profile,
    options: Mapping[str, Any] | None = None,
    limits: LimitSettings | None = None,
    posture: Any = None,
) -> tuple[PiecewiseTrajectory, Assessment]:
    """Return a test motion and its assessment.

    A bang-coast-bang that breaks a limit of the whole arm (torque, end-effector, clearance) is drawn again, finally
    with smaller distances.

    Parameters
    ----------
    profile
        a name in PROFILES with its `options`, or the settings object itself.
    posture
        [rad] of the joints that do not move (and at which bang-coast-bang begins), a list or {joint: angle}; None: 0,
        or the nearest allowed angle.

    Raises
    ------
    JointDynamicsError
        For options that do not fit, and when the motion breaks a limit, which it names.
    """
    limits = limits or LimitSettings()
    if isinstance(profile, str):
        if profile not in PROFILES:
            raise refusal('profile', f'one of {", ".join(PROFILES)}', profile)
        if profile not in ('bang_coast_bang', 'waypoints') and 'joint' not in (options or {}):
            raise JointDynamicsError(f'{profile}.joint: expected one of {", ".join(model.joint_names)}, found none')
        profile = PROFILES[profile].from_mapping(options or {})
    motion_limits = MotionLimits.of(model, limits).inside(LIMIT_MARGIN)
    constraints = all_constraints(model, limits)
    rest = (
        np.clip(0.0, motion_limits.lower, motion_limits.upper)
        if posture is None
        else per_joint(posture, model.joint_names, 'posture')
    )
    if isinstance(profile, BangCoastBang):
        trajectory = _drawn(model, profile, motion_limits, rest, constraints)
    elif isinstance(profile, LoadSweep):
        trajectory = profile.build(model, motion_limits, rest, parameters_with_payload(model, limits))
    else:
        trajectory = profile.build(model, motion_limits, rest)
    return trajectory, checked(model, trajectory, constraints)


def checked(model: RobotModel, trajectory: PiecewiseTrajectory, constraints: list[Constraint]) -> Assessment:
    """Return the assessment of a motion; raise JointDynamicsError when it may break a limit."""
    assessment = assess(model, trajectory, trajectory.sample(RATE).time, constraints, KINDS)
    if not assessment.feasible:
        kind, margin = assessment.worst
        words = excess(model, trajectory, next(one for one in constraints if one.kind == kind), margin)
        raise JointDynamicsError(
            f'profile: expected a motion within the limits, found {words}: choose other ends, speeds or posture'
        )
    return assessment


def _drawn(
    model: RobotModel, profile: BangCoastBang, limits: MotionLimits, posture: FloatArray, constraints: list[Constraint]
) -> PiecewiseTrajectory:
    """Return the first of several draws that keeps the limits, the last one drawn if none does."""
    for reach in REACHES:
        for draw in range(DRAWS):
            trajectory = replace(profile, reach=reach * profile.reach, seed=profile.seed + draw).build(
                model, limits, posture
            )
            few = trajectory.sample(FEW_RATE).time
            if keeps(model, trajectory, few, constraints[3:]) and within_limits(model, trajectory, constraints):
                return trajectory
    return trajectory
