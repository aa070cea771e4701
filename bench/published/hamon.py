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

"""Friction by load and speed in four quadrants [H tables I to IV], on data with the parameters of table II."""

from __future__ import annotations

import numpy as np
from helpers import from_tests

from joint_dynamics.identification.joint_tests.quadrants import (
    fit_quadrants,
    outside_stiction,
    quadrant_columns,
    usual_columns,
)
from published.figure import Figure

PAPER = 'H'
SEEDS = tuple(range(5))
PLANT = 'simulated joint 3 of an RX130L with the parameters of table II, without and with two payloads, noise of 3 N·m'
FASTEST = 1.2
_NOISE = 'what is left over is the noise stated, which only has to be plausible; the drop is what compares'
FIGURES = (
    Figure('usual', 'table III', 'residual, usual model, all samples', '0.0733', '{:.4f}', _NOISE),
    Figure('new', 'table III', 'residual, load-dependent model, all samples', '0.0484', '{:.4f}', _NOISE),
    Figure(
        'drop',
        'section V',
        'drop of the residual, all samples',
        '34 %',
        '{:.0f} %',
        'the truth is exactly the model here',
    ),
    Figure(
        'drop_slow',
        'section V',
        'the same below 10 % of the largest speed',
        '46 %',
        '{:.0f} %',
        'as above; nothing but friction and gravity is left at low speed',
    ),
    Figure(
        'drop_fast',
        'table III',
        'the same above 35 % of the largest speed',
        '−2 %',
        '{:.0f} %',
        'theirs is fitted to all samples and pays for the slow ones; ours has the very law of the truth',
    ),
    Figure(
        'drop_unloaded',
        'table IV',
        'the same without payload',
        '19 %',
        '{:.0f} %',
        'as above; a_m and a_g are not told from the masses without a payload, which the residual does not mind',
    ),
    Figure(
        'a_m', 'table II', 'a_m, motor quadrant', '0.942', '{:.3f}', 'the truth is 0.942: recovered, not found anew'
    ),
    Figure('a_g', 'table II', 'a_g, generator quadrant', '0.915', '{:.3f}', 'the truth is 0.915'),
    Figure('c_m', 'table II', 'c_m [N·m]', '21.152', '{:.2f}', 'the truth is 21.152'),
    Figure('c_g', 'table II', 'c_g [N·m]', '15.588', '{:.2f}', 'the truth is 15.588'),
    Figure('F_V', 'table II', 'F_V [N·m·s/rad]', '48.139', '{:.2f}', 'the truth is 48.139'),
)


def measure(seed: int) -> dict[str, float]:
    """Residuals and parameters of one set of recordings."""
    made = from_tests('identification/joint_tests/test_quadrants.py')
    rigid, dq, tau = made.data(made.TABLE_2, seed)
    fit = fit_quadrants(rigid, dq, tau, made.NAMES)
    known = outside_stiction(rigid, dq, tau, min_speed=5e-3, guard=8)
    X, dq, tau = rigid[known], dq[known], tau[known]
    left = [residual(columns, tau) for columns in (usual_columns(X, dq), quadrant_columns(X, dq, tau, fit.dq_s))]

    def drop(rows: np.ndarray) -> float:
        usual, new = (float(np.linalg.norm(one[rows])) for one in left)
        return 100 * (1 - new / usual)

    unloaded, *motion = made.data(made.TABLE_2, seed, payloads=(0.0,))
    alone = fit_quadrants(unloaded[:, :3], *motion, made.NAMES[:3])
    return {
        'usual': fit.relative_residual['usual'],
        'new': fit.relative_residual['new'],
        'drop': fit.gain_percent,
        'drop_slow': drop(np.abs(dq) < 0.1 * FASTEST),
        'drop_fast': drop(np.abs(dq) > 0.35 * FASTEST),
        'drop_unloaded': alone.gain_percent,
        'a_m': fit.new['a_m*Ma'],
        'a_g': fit.new['a_g*Ma'],
        **{name: fit.new[name] for name in ('c_m', 'c_g', 'F_V')},
    }


def residual(columns: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """What least squares leave of the torque; columns that others can replace do no harm."""
    return tau - columns @ np.linalg.lstsq(columns, tau, rcond=None)[0]
