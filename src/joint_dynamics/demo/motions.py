"""The motions of the demonstration.

The cycle of the paper, and one short motion from which the friction of all joints is read at once.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control import Path
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.excitation.profiles import WAYPOINTS

#: Of the work, rad/s and rad/s² at most.
SPEED, STEEPEST = np.pi, 2.0 * np.pi / 3.0
#: Speeds [rad/s] and how long each is held [s]; fast ones need less time to settle, and more room.
SPEEDS = ((0.02, 1.2), (0.04, 1.2), (0.08, 1.0), (0.15, 0.8), (0.3, 0.8), (0.6, 0.8), (1.0, 0.8), (1.5, 0.8))
ACCELERATION = 8.0
#: Joints that go the other way, so that the arm does not fold up.
DIRECTIONS = (1.0, -1.0, 1.0, -1.0, 1.0, 1.0)
#: How far beyond the cycle's angles the exciting motion may go, rad.
ROOM = 0.9


def cycle(rate: float = 50.0) -> MotionSamples:
    """Return one cycle through the six waypoints of a UR arm [M6 table 1], from rest to rest, at `rate` Hz."""
    path = cycle_path(rate)
    time = np.arange(round(path.end * rate) + 1) / rate
    motion = path.sample(time)
    return MotionSamples(time, motion[:, 0], motion[:, 1], motion[:, 2])


def cycle_path(rate: float = 50.0) -> Path:
    """Return that cycle as a path, each way a whole number of samples of `rate` Hz.

    Each way is a polynomial of the seventh degree: a trapezoid of speed makes a flexible arm ring, and no feedforward
    of torque can undo that.
    """
    q = np.radians([*WAYPOINTS, WAYPOINTS[0]])
    distance = np.abs(np.diff(q, axis=0)).max(axis=1)
    # the largest speed and acceleration of such a polynomial over a unit distance in a unit of time
    duration = np.ceil(np.maximum(2.1875 * distance / SPEED, np.sqrt(7.5132 * distance / STEEPEST)) * rate) / rate
    rest = np.zeros_like(q)
    return Path(np.append(0.0, np.cumsum(duration)), q, rest, rest)


def working_range(samples: MotionSamples) -> tuple[list[float], list[float]]:
    """Return lower and upper angles [rad] that the exciting motion keeps to.

    Where the robot will work, and some room about it.
    """
    return (samples.q.min(axis=0) - ROOM).tolist(), (samples.q.max(axis=0) + ROOM).tolist()


def constant_speeds(start: FloatArray, rate: float = 200.0) -> MotionSamples:
    """Return a motion from `start` (n,) rad that holds SPEEDS to and fro, all joints at once [M4 4.2.1, A §5.3]."""
    pieces, last = [np.zeros(1)], 0.0
    for speed, seconds in SPEEDS:
        for goal in (speed, -speed):
            pieces += [_ramp(last, goal, rate), np.full(round(seconds * rate), goal)]
            last = goal
    pieces += [_ramp(last, 0.0, rate), np.zeros(1)]
    v = np.concatenate(pieces)
    x = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1])) / rate])
    q, dq, ddq = (np.outer(values, DIRECTIONS) for values in (x, v, np.gradient(v, 1.0 / rate)))
    return MotionSamples(np.arange(v.size) / rate, start + q, dq, ddq)


def _ramp(begin: float, end: float, rate: float) -> FloatArray:
    count = max(2, round(abs(end - begin) / ACCELERATION * rate))
    return np.linspace(begin, end, count + 1)[1:]
