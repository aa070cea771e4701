"""Test motions of all joints: bang-coast-bang with random pauses, and the cycle through waypoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.piecewise import JointPieces, PiecewiseTrajectory, at_rest
from joint_dynamics.excitation.single_joint import joint_index
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import Settings, setting
from joint_dynamics.settings.per_joint import per_joint

WAYPOINTS = (
    (-110, 0, 0, -90, 90, 0),
    (-70, -30, -90, -130, 50, 120),
    (-140, -10, -130, -40, 125, 10),
    (-45, -55, 100, -90, 45, 150),
    (-45, -90, 0, -90, 0, 0),
    (-220, -90, 0, -90, 0, 0),
)
"""The six waypoints [deg] of a UR5e in [M6 table 1]."""

TICK = 1e-4
"""What the moves of joints on their own are timed by [s]: the cubic between two knots so far apart has the acceleration
of the motion within 6 / TICK² times the rounding of a position, 2.7e-7 rad/s² at 2 rad."""


def _postures(postures: Sequence[Sequence[float]]) -> str | None:
    return None if len(postures) > 1 else 'at least two postures in degrees'


@dataclass(frozen=True)
class BangCoastBang(Settings):
    """Moves of full acceleration, coasting and full deceleration, each joint on its own, with random pauses [M3 VII.A].

    Before every move a joint waits 0 … `wait` s; distance of its target from the posture, speed and acceleration are
    drawn between `least` and 100 % of what is allowed.
    """

    SECTION = 'bang_coast_bang'

    duration: float = setting(10.0, 'length of the motion', 's', above=0)
    joints: Sequence[str] | None = setting(None, 'the joints that move', none='all')
    wait: float = setting(1.0, 'longest pause before a move', 's', lower=0)
    least: float = setting(0.3, 'least share of distance, speed and acceleration that is drawn', above=0, upper=1)
    reach: float = setting(
        1.0, 'share of the way from the posture to the position limits that is used', above=0, upper=1
    )
    seed: int = setting(0, 'draws the moves', lower=0)

    def build(self, model: RobotModel, limits: MotionLimits, posture: FloatArray) -> PiecewiseTrajectory:
        """Return the motion, which begins at `posture` (n,) and ends at rest.

        Moves that would not end in time are left out.
        """
        rng = np.random.default_rng(self.seed)
        joints = list(model.joint_names if self.joints is None else self.joints)
        pieces = at_rest(model.joint_names, posture, TICK)
        for name in joints:
            index = joint_index(model, name)
            piece = pieces[name]
            while True:
                pause = rng.uniform(0, self.wait)
                share = rng.uniform(self.least, 1, 3)
                end = limits.upper[index] if rng.random() < 0.5 else limits.lower[index]
                target = posture[index] + share[0] * self.reach * (end - posture[index])
                speed, acceleration = share[1] * limits.velocity[index], share[2] * limits.acceleration[index]
                if piece.time + pause + TICK + piece.time_of_move(target, speed, acceleration) > self.duration:
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
        of the joint with the longest distance; what the robot allows bounds them further.
    """

    SECTION = 'waypoints'

    waypoints: Sequence[Sequence[float]] | None = setting(
        None, 'list of postures', '°', none='the six of the paper, for a robot of six joints', check=_postures
    )
    cycles: int = setting(1, 'how often', lower=1)
    velocity: float = setting(math.pi, 'largest speed', 'rad/s', above=0)
    acceleration: float = setting(2 * math.pi / 3, 'largest acceleration', 'rad/s²', above=0)
    rest: float = setting(0.0, 'stop at every waypoint', 's', lower=0)

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
