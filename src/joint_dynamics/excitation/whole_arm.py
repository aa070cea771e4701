"""Test motions of all joints: bang-coast-bang with random pauses, and the cycle through waypoints."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.checks import check_integer, check_number, per_joint
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.piecewise import JointPieces, PiecewiseTrajectory, at_rest
from joint_dynamics.excitation.single_joint import joint_index
from joint_dynamics.robot import RobotModel

WAYPOINTS = ((-110, 0, 0, -90, 90, 0), (-70, -30, -90, -130, 50, 120), (-140, -10, -130, -40, 125, 10), (-45, -55, 100, -90, 45, 150),
             (-45, -90, 0, -90, 0, 0), (-220, -90, 0, -90, 0, 0))
"""The six waypoints [deg] of a UR5e in [M6 table 1]."""


@dataclass(frozen=True)
class BangCoastBang:
    """Moves of full acceleration, coasting and full deceleration, each joint on its own, with random pauses [M3 VII.A].

    Before every move a joint waits 0 … `wait` s; distance of its target from the posture, speed and acceleration are drawn between
    `least` and 100 % of what is allowed.

    duration [s]; joints: those that move, None for all; wait [s]; least: fraction; reach: share of the way from the posture to the position
    limits that is used; seed.
    """

    duration: float = 10.0
    joints: Sequence[str] | None = None
    wait: float = 1.0
    least: float = 0.3
    reach: float = 1.0
    seed: int = 0

    def build(self, model: RobotModel, limits: MotionLimits, posture: NDArray) -> PiecewiseTrajectory:
        """Return the motion, which begins at `posture` (n,) and ends at rest; moves that would not end in time are left out."""
        where = 'bang_coast_bang'
        duration, wait = check_number(self.duration, f'{where}.duration', above=0), check_number(self.wait, f'{where}.wait', least=0)
        least, reach = check_number(self.least, f'{where}.least', above=0, most=1), check_number(self.reach, f'{where}.reach', above=0, most=1)
        rng = np.random.default_rng(check_integer(self.seed, f'{where}.seed', 0))
        joints = list(model.joint_names if self.joints is None else self.joints)
        pieces = at_rest(model.joint_names, posture)
        for name in joints:
            index = joint_index(model, name)
            piece = pieces[name]
            while True:
                pause = rng.uniform(0, wait)
                share = rng.uniform(least, 1, 3)
                end = limits.upper[index] if rng.random() < 0.5 else limits.lower[index]
                target = posture[index] + share[0] * reach * (end - posture[index])
                speed, acceleration = share[1] * limits.velocity[index], share[2] * limits.acceleration[index]
                if piece.time + pause + JointPieces.time_of_move(target - piece.position, speed, acceleration) > duration:
                    break
                piece.wait(pause)
                piece.move_to(target, speed, acceleration)
        return PiecewiseTrajectory(model.joint_names, list(pieces.values()), duration)


@dataclass(frozen=True)
class Waypoints:
    """A cycle through waypoints, from rest to rest along straight lines in joint space [M6 6.6.1].

    waypoints [deg]: list of postures; None: the six of the paper, for a robot of six joints. cycles: how often. velocity [rad/s] and
    acceleration [rad/s²]: of the joint with the longest way, π and 2π/3 in the paper; what the robot allows bounds them further.
    rest [s]: at every waypoint.
    """

    waypoints: Sequence[Sequence[float]] | None = None
    cycles: int = 1
    velocity: float = float(np.pi)
    acceleration: float = 2 * float(np.pi) / 3
    rest: float = 0.0

    def build(self, model: RobotModel, limits: MotionLimits, posture: NDArray) -> PiecewiseTrajectory:
        """Return the motion; it begins and ends at the first waypoint, whatever `posture` is."""
        where = 'waypoints'
        if self.waypoints is None and model.n != 6:
            raise JointDynamicsError(f'{where}.waypoints: expected postures for the {model.n} joints of this robot, found none')
        if self.waypoints is not None and (not isinstance(self.waypoints, Sequence) or len(self.waypoints) < 2):
            raise JointDynamicsError(f'{where}.waypoints: expected at least two postures in degrees, found {self.waypoints!r}')
        points = [np.deg2rad(per_joint(point, model.joint_names, f'{where}.waypoints')) for point in (self.waypoints or WAYPOINTS)]
        velocity = check_number(self.velocity, f'{where}.velocity', above=0)
        acceleration = check_number(self.acceleration, f'{where}.acceleration', above=0)
        pieces = at_rest(model.joint_names, points[0])
        for _ in range(check_integer(self.cycles, f'{where}.cycles', 1)):
            for begin, end in zip(points, [*points[1:], points[0]], strict=True):
                way = end - begin
                share = np.abs(way) / np.abs(way).max()
                moving = share > 0
                # along the line every joint does its share; the slowest of what each allows binds all
                fastest = min(velocity, (limits.velocity[moving] / share[moving]).min())
                steepest = min(acceleration, (limits.acceleration[moving] / share[moving]).min())
                time = JointPieces.time_of_move(np.abs(way).max(), fastest, steepest)
                for j, piece in enumerate(pieces.values()):
                    if moving[j]:
                        piece.move_to(end[j], fastest * share[j], steepest * share[j])
                    else:
                        piece.wait(time)
                    piece.wait(check_number(self.rest, f'{where}.rest', least=0))
        return PiecewiseTrajectory(model.joint_names, list(pieces.values()))
