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

"""Friction against speed from any motion of a joint, where it has no plateaus or too few: the ramps count too.

    τ − τ_J = sgn(ω) F_C + F_V ω + J ω̇ (+ τ_0)

J takes up the rotor, and the link where its torque is not known. Coarser than plateaus: inertia and friction share the
ramps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.result import (
    JointTestResult,
    LinearFit,
    Series,
    friction_document,
    least_squares,
)
from joint_dynamics.signals.filtering import zero_phase_lowpass

ONE_DIRECTION = 'one direction only: Coulomb friction cannot be told from a torque offset or an error in gravity'
UNITS = {'F_C': 'N·m', 'F_V1': 'N·m·s/rad', 'inertia': 'kg·m²', 'offset': 'N·m'}


def identify_friction_from_motion(recordings: Sequence[JointData], min_speed: float, bins: int = 12) -> JointTestResult:
    """Fit F_C, F_V1, inertia and, with both directions, an offset to all fast samples.

    The curve is also given without a model of the speed: mean friction with its deviation over bins of speed per
    direction, inertia taken off. The result is not reliable with one direction only, and with a speed that hardly
    changes, so that F_C and F_V1 are collinear.

    Parameters
    ----------
    recordings
        with a motor torque, of one joint.
    min_speed
        rad/s; slower samples are left out.
    bins
        of speed, per direction.

    Raises
    ------
    JointDynamicsError
        Without a motor torque.
    NotReliableError
        Where hardly any sample is fast enough.
    """
    rows = [_rows(data, min_speed, 4.0) for data in recordings]
    omega, alpha, torque = (np.concatenate(x) for x in zip(*rows, strict=True))
    if omega.size < 20:
        raise NotReliableError(
            f'{recordings[0].joint} moves faster than {min_speed:g} rad/s in only {omega.size} samples'
        )
    both_directions = bool(omega.min() < 0 < omega.max())
    columns = {'F_C': np.sign(omega), 'F_V1': omega, 'inertia': alpha}
    if both_directions:
        columns['offset'] = np.ones_like(omega)
    fit = least_squares(np.column_stack([*columns.values()]), torque, [*columns])
    result = JointTestResult('friction', recordings[0].joint)
    result.take(fit, UNITS)
    result.judge_fit(torque, fit.residual)
    # The curve takes more rows than are independent, so that the ramps fill their bins too; its deviations count
    # independent ones.
    dense = [np.concatenate(x) for x in zip(*(_rows(data, min_speed, 40.0) for data in recordings), strict=True)]
    curve = _curve(dense[0], dense[2] - fit['inertia'] * dense[1], fit, bins)
    result.quality.update(
        {
            'method': 'motion',
            'rows': int(omega.size),
            'directions': 2 if both_directions else 1,
            'load_source': recordings[0].load_source,
            'speed_range': [float(np.abs(omega).min()), float(np.abs(omega).max())],
            'points': [{'speed': s, 'torque': t, 'std': d, 'samples': c} for s, t, d, c in curve],
        }
    )
    if not both_directions:
        result.reasons.append(ONE_DIRECTION)
    result.flag_insignificant(
        ['F_C', 'F_V1'], 'the motion changes its speed too little, or friction is lost in the noise of the torque'
    )
    speed, mean, std = (np.array([item[k] for item in curve]) for k in range(3))
    series = [Series('means over speed', speed, mean, std=std)]
    for side in np.unique(np.sign(omega)):
        grid = side * np.linspace(1e-3, 1, 50) * np.abs(omega).max()
        line = side * fit['F_C'] + fit['F_V1'] * grid + fit.get('offset')
        series.append(Series('fit' if len(series) == 1 else '', grid, line, 'line'))
    result.plot('friction against speed, from the whole motion', 'speed ω [rad/s]', 'friction torque [N·m]', *series)
    values = {{'F_C': 'F_C0'}.get(name, name): item for name, item in result.parameters.items() if name != 'inertia'}
    result.document = friction_document(values, range={'speed': result.quality['speed_range']})
    return result


def _rows(data: JointData, min_speed: float, per_period: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Speed, acceleration and friction torque.

    Low-passed alike and thinned to `per_period` rows per period of the cut-off.
    """
    step = max(1, int(data.rate / (per_period * data.cutoff)))
    edge = min(int(data.rate / data.cutoff), data.samples // 10)
    keep = np.arange(edge, data.samples - edge, step)
    keep = keep[np.abs(data.omega[keep]) > min_speed]
    torque = zero_phase_lowpass(data.friction(), data.cutoff, data.rate)
    return data.omega[keep], data.alpha[keep], torque[keep]


def _curve(omega: FloatArray, friction: FloatArray, fit: LinearFit, bins: int) -> list[tuple[float, float, float, int]]:
    """(mean speed, mean friction, deviation of the mean, samples) per bin of speed and direction.

    The deviation is that of the mean of as many samples as the cut-off leaves independent (four per period), with that
    of F_C, which all share.
    """
    points = []
    for side in np.unique(np.sign(omega)):
        part = np.flatnonzero(np.sign(omega) == side)
        speed = np.abs(omega[part])
        edges = np.linspace(speed.min(), speed.max() * (1 + 1e-9), bins + 1)
        label = np.digitize(speed, edges[1:-1])
        for k in range(bins):
            rows = part[label == k]
            if rows.size >= 3:
                spread = float(np.std(fit.residual) / np.sqrt(max(1.0, rows.size / 10)))
                std = float(np.hypot(spread, fit.deviation('F_C')))
                points.append((float(omega[rows].mean()), float(friction[rows].mean()), std, int(rows.size)))
    return points
