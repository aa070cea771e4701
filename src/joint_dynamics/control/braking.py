"""How a desired motion ends before its end: on its own path, ever slower.

The place on the path is q(t₀ + s(t)) with

    ṡ = 1 − S(t/T),    S(x) = 10 x³ − 15 x⁴ + 6 x⁵,    s(T) = T/2

so that the motion goes over into the braking with its speed, acceleration and jerk, comes to rest after T, and leaves
the path at no time: where the motion was clear of obstacles, the braking is.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.path import Path
from joint_dynamics.signals.polynomial import smooth_step

HARDER = 2.0
"""How many times harder than the motion itself ever does a braking may accelerate."""
DURATIONS = 0.1 * 2.0 ** (np.arange(11) / 2)
"""Times in which a motion is brought to rest [s], the shortest that is gentle enough counts, else the last."""
SPACING = 0.02
"""Time between the points of a braking [s]; at least nine."""


def braking(path: Path, at: float, longer_than: float = 0.0) -> Path:
    """Return how `path` comes to rest when it is left at its time `at` [s]; times count from there.

    Takes the shortest of a row of durations (0.1 … 3.2 s) at which no joint accelerates more than twice as hard as it
    ever does on the path, or the longest of them.

    Parameters
    ----------
    longer_than
        s, a shorter one was no good.
    """
    motion = path.at(at)
    allowed = HARDER * path.largest_acceleration
    found = _slowed(path, at, DURATIONS[-1])
    for duration in DURATIONS[longer_than < DURATIONS]:
        slowed = _slowed(path, at, duration)
        if (np.abs(slowed[3]) <= allowed * (1 + 1e-9)).all():
            found = slowed
            break
    time, q, dq, ddq = found
    return Path(time, q, dq, ddq, start=motion)


def _slowed(path: Path, at: float, duration: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return time (N,), q, dq and ddq (N, n) of the braking that lasts `duration` s."""
    x = np.linspace(0.0, 1.0, max(9, int(np.ceil(duration / SPACING)) + 1))
    step, slope, _ = smooth_step(x)
    speed, change = 1.0 - step, -slope / duration
    # The integral of S is 2.5 x⁴ − 3 x⁵ + x⁶.
    place = duration * (x - 2.5 * x**4 + 3.0 * x**5 - x**6)
    q, along, bend = path.sample(at + place)[:, :3].transpose(1, 0, 2)
    speed, change = speed[:, None], change[:, None]
    dq, ddq = along * speed, bend * speed**2 + along * change
    dq[-1] = ddq[-1] = 0.0
    return x * duration, q, dq, ddq
