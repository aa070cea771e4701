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

"""Robot, data sheet and motions of the demonstration and of the chain benchmark.

The work is the cycle of the paper; a short motion of constant speeds shows the friction of all joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control import Path
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.excitation.profiles import WAYPOINTS
from joint_dynamics.simulation import Payload

#: Height of the floor over the robot's base, which stands on a pedestal, m.
FLOOR = -0.6
#: Relative spread of the true masses and inertias about the URDF's.
INERTIA_ERROR = 0.2
#: Relative standard deviation of a data sheet's drive gains, ± 5 % as a uniform distribution; the plant draws others.
GAIN_DEVIATION = 0.05 / 3**0.5
WEAR = 0.8  # of the worn joints: Coulomb friction +48 %, stiffness −20 %
HEATING_TIME = 15.0  # s, of simulated time, for wearing and heating
#: Share of the friction compensated while the desired motion of a joint stands: the breakaway torque is known to some
#: 30 % (static friction, angle, temperature), and 1/(1 + 0.3) of it never drives a joint at rest.
REST_GAIN = 0.75
#: Heat brought in from outside, W for the strongest joint: half a degree per second.
HEATING = 500.0


def heating(effort: FloatArray) -> FloatArray:
    """Return the heat (n,) [W] that warms joints with torque limits `effort` (n,) [N·m] alike."""
    return HEATING * (effort / effort.max()) ** 0.6


def unknown_tool(seed: int) -> Payload:
    """Return the tool of this seed's robot, which is in no model: a box of 2 to 5 kg, up to 0.2 m off the flange."""
    rng = np.random.default_rng([seed, 0x70])
    mass, com = rng.uniform(2.0, 5.0), rng.uniform([-0.12, -0.12, 0.05], [0.12, 0.12, 0.15])
    sides = rng.uniform(0.05, 0.2, 3)
    return Payload(float(mass), com, np.diag(mass / 12.0 * (np.sum(sides**2) - sides**2)))


def tool_parameters(tool: Payload) -> dict[str, Any]:
    """Return a payload as the simulator's parameters."""
    inertia = np.asarray(tool.inertia)
    return {
        'payload_mass': tool.mass,
        'payload_com': np.asarray(tool.com).tolist(),
        'payload_inertia': inertia[np.triu_indices(3)].tolist(),
    }


SPEED = np.pi  # rad/s, largest of the work
STEEPEST = 2.0 * np.pi / 3.0  # rad/s², largest acceleration of the work
#: Speeds [rad/s] and how long each is held [s]; fast ones need less time to settle, and more room.
SPEEDS = ((0.02, 1.2), (0.04, 1.2), (0.08, 1.0), (0.15, 0.8), (0.3, 0.8), (0.6, 0.8), (1.0, 0.8), (1.5, 0.8))
ACCELERATION = 8.0  # rad/s², between constant speeds
#: Joints that go the other way, so that the arm does not fold up.
DIRECTIONS = (1.0, -1.0, 1.0, -1.0, 1.0, 1.0)
POSITION_MARGIN = 0.9  # rad, of the exciting motion beyond the angles of the work


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
    return (samples.q.min(axis=0) - POSITION_MARGIN).tolist(), (samples.q.max(axis=0) + POSITION_MARGIN).tolist()


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
