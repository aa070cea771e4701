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
from plants import from_tests

from joint_dynamics.identification.joint_tests.quadrants import (
    fit_quadrants,
    outside_stiction,
    quadrant_columns,
    usual_columns,
)

SEEDS = range(5)
FASTEST = 1.2  # rad/s


def measure(seed: int) -> dict[str, float]:
    """Return residuals and parameters of one set of recordings."""
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
    """Return the residual of least squares; dependent columns are allowed."""
    return tau - columns @ np.linalg.lstsq(columns, tau, rcond=None)[0]
