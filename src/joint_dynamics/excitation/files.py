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

"""Trajectories as text: CSV, a ROS `trajectory_msgs/JointTrajectory` in YAML, and coefficients in `summary.json`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from joint_dynamics.arrays import FloatArray
from joint_dynamics.documents import parse_json, parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.fourier import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.sequence import SampledTrajectory
from joint_dynamics.excitation.trajectory import MotionSamples, Trajectory

MAX_BYTES = 256 * 1024**2  # largest file; ten minutes of seven joints at 500 Hz need less
MAX_NODES = 20_000_000  # largest number of values in a YAML file
MAX_DURATION = 86_400.0  # s, longest motion
SHORTEST = 1e-6  # s, shortest period and ramp: a thousand times the 1 ns resolution of a message
LARGEST = 1e6  # rad, rad/s and rad/s², largest magnitude of a value; products of larger ones overflow
DECIMALS = 15  # decimals in a file; a rounding error e of positions T apart is one of 12 e / T² in the acceleration


def to_csv(samples: MotionSamples) -> str:
    """Return CSV with columns time [s], q<k> [rad], dq<k> [rad/s], ddq<k> [rad/s²].

    k = 1…n in the robot's joint order.
    """
    n = samples.q.shape[1]
    names = ['time', *(f'{kind}{k}' for kind in ('q', 'dq', 'ddq') for k in range(1, n + 1))]
    table = np.column_stack([samples.time, samples.q, samples.dq, samples.ddq])
    return '\n'.join([','.join(names), *(','.join(f'{value:.10g}' for value in row) for row in table)]) + '\n'


def to_joint_trajectory(trajectory: Trajectory, samples: MotionSamples) -> str:
    """Return a `trajectory_msgs/JointTrajectory` in YAML, the input of `ros2 topic pub`.

    Its stamp is zero, so the motion starts on arrival. samples: `trajectory.points`.
    """
    # the library quotes names that YAML would not read as text (on, 1e3) or as one name (with a comma)
    names = yaml.safe_dump(
        list(trajectory.joint_names), default_flow_style=True, allow_unicode=True, width=sys.maxsize
    ).strip()
    lines = ['header:', '  stamp: {sec: 0, nanosec: 0}', "  frame_id: ''", f'joint_names: {names}', 'points:']

    def row(values: Any) -> str:
        return '[' + ', '.join(np.format_float_positional(value, DECIMALS, trim='0') for value in values) + ']'

    for time, q, dq, ddq in zip(samples.time, samples.q, samples.dq, samples.ddq, strict=True):
        sec, nanosec = seconds_and_nanoseconds(time)
        lines += [
            f'- positions: {row(q)}',
            f'  velocities: {row(dq)}',
            f'  accelerations: {row(() if trajectory.jumps else ddq)}',
            '  effort: []',
            f'  time_from_start: {{sec: {sec}, nanosec: {nanosec}}}',
        ]
    return '\n'.join(lines) + '\n'


def seconds_and_nanoseconds(time: float) -> tuple[int, int]:
    """Split a time [s] into seconds and nanoseconds, as in `builtin_interfaces/Duration`."""
    total = round(float(time) * 1e9)
    return total // 10**9, total % 10**9


def coefficients(trajectory: FourierTrajectory) -> dict[str, Any]:
    """Return a Fourier series as a JSON document, the `trajectory` that `load_trajectory` reads."""
    basis = trajectory.basis
    return {
        'joint_names': list(trajectory.joint_names),
        'period': basis.period,
        'harmonics': basis.harmonics,
        'repeats': basis.repeats,
        'ramp': basis.ramp,
        'posture': None if trajectory.given_posture is None else trajectory.given_posture.tolist(),
        'coefficients': trajectory.coefficients.tolist(),
    }


def knot_points(trajectory: Trajectory) -> dict[str, Any]:
    """Return a motion of piecewise constant acceleration as points at its knots, which determine it."""
    samples = trajectory.points(1.0 / trajectory.duration)
    points = [
        {
            'positions': q.tolist(),
            'velocities': dq.tolist(),
            'time_from_start': dict(zip(('sec', 'nanosec'), seconds_and_nanoseconds(time), strict=True)),
        }
        for time, q, dq in zip(samples.time, samples.q, samples.dq, strict=True)
    ]
    return {'joint_names': list(trajectory.joint_names), 'points': points}


def load_trajectory(path: str | Path) -> Trajectory:
    """Read a motion from a `summary.json` of `excite` or from a JointTrajectory in YAML.

    Raises
    ------
    JointDynamicsError
        For any other file.
    """
    return load_plan(path)[0]


def load_plan(path: str | Path) -> tuple[Trajectory, bool]:
    """Read a motion as `load_trajectory` does; also return whether it was planned with a torque limit.

    A JointTrajectory is assumed to respect the torque limits.

    Raises
    ------
    JointDynamicsError
        As `load_trajectory` does.
    """
    what = f'trajectory {path}'
    text = read_text(path, what, MAX_BYTES)
    document = (
        parse_json(text, what, MAX_BYTES)
        if text.lstrip().startswith('{')
        else parse_yaml(text, what, MAX_BYTES, MAX_NODES)
    )
    try:
        if isinstance(document, Mapping) and isinstance(document.get('trajectory'), Mapping):
            motion = document['trajectory']
            trajectory = _from_points(motion) if 'points' in motion else _from_coefficients(motion)
            return trajectory, document.get('torque_limit') is not False
        if isinstance(document, Mapping) and 'points' in document:
            return _from_points(document), True
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise JointDynamicsError(f'trajectory {path}: expected all fields of a trajectory, found: {error}') from None
    raise JointDynamicsError(
        f'trajectory {path}: expected summary.json of excite, or a JointTrajectory in YAML, found neither'
    )


def _joint_names(document: Mapping[str, Any]) -> list[str]:
    names = document['joint_names']
    if (
        not isinstance(names, list)
        or not names
        or not all(isinstance(name, str) for name in names)
        or len(set(names)) != len(names)
    ):
        raise ValueError(f'joint_names {str(names)[:80]}')
    return names


def _bounded(given: Any, what: str) -> FloatArray:
    """Return the values as an array; raise ValueError for any that is not finite or exceeds `LARGEST`."""
    values = np.array(given, dtype=float)
    if not np.all(np.abs(values) <= LARGEST):
        raise ValueError(f'{what} that are no numbers of at most {LARGEST:g} rad, rad/s or rad/s²')
    return values


def _from_coefficients(document: Mapping[str, Any]) -> FourierTrajectory:
    names, posture = _joint_names(document), document['posture']
    basis = FourierBasis(
        float(document['period']),
        int(document['harmonics']),
        int(document['repeats']),
        float(document['ramp']),
        posture is None,
    )
    if not (
        basis.harmonics >= 1
        and basis.repeats >= 1
        and basis.period >= SHORTEST
        and basis.ramp >= SHORTEST
        and basis.duration <= MAX_DURATION
    ):
        raise ValueError(
            f'period {basis.period:g} s, harmonics {basis.harmonics:d}, repeats {basis.repeats:d}, ramp'
            f' {basis.ramp:g} s, where period and ramp take at least {SHORTEST:g} s, and all {MAX_DURATION:g} s at most'
        )
    values = _bounded(document['coefficients'], 'coefficients')
    if values.shape != (len(names), basis.count):
        raise ValueError(f'coefficients of shape {values.shape}')
    if posture is not None:
        posture = _bounded(posture, 'a posture')
        if posture.shape != (len(names),):
            raise ValueError(f'a posture of shape {posture.shape}')
    return FourierTrajectory(names, basis, values, posture)


def _from_points(document: Mapping[str, Any]) -> SampledTrajectory:
    points = document['points']
    time = [point['time_from_start']['sec'] + 1e-9 * point['time_from_start']['nanosec'] for point in points]
    keys = ('positions', 'velocities', 'accelerations')
    values = [
        _bounded([point[key] for point in points], key)
        for key in (keys if any(point.get('accelerations') for point in points) else keys[:2])
    ]
    if not 0 <= time[-1] - time[0] <= MAX_DURATION:
        raise ValueError(f'a motion of {time[-1] - time[0]:g} s')
    return SampledTrajectory(_joint_names(document), time, *values)
