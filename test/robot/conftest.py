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

"""Base parameters of a serial MDH chain in closed form, by the rules of Gautier and Khalil: truth for the numeric ones.

From the last link to the first: in the energy of link j, seen from link j−1, some parameters of j act like parameters
of j−1 [M5 eq 9, A eq 2.17, corrected]. A revolute joint regroups YY_j, MZ_j and M_j into link j−1; a prismatic one its
inertia tensor, rotated into frame j−1. Parameters that the first joints cannot excite are dropped.
"""

import numpy as np
import pytest

from joint_dynamics.robot import INERTIAL, BaseParameters

_TENSOR = {(0, 0): 0, (0, 1): 1, (0, 2): 2, (1, 1): 3, (1, 2): 4, (2, 2): 5}
PARALLEL = 1e-9


def _revolute_rules(alpha, a, r):
    """Return (10, 3): what YY_j, MZ_j, M_j add to the ten parameters of link j−1 (methods.md section 1)."""
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array(
        [
            # YY,  MZ,            M
            [1, 2 * r, r * r],  # XX
            [0, a * s, a * r * s],  # XY
            [0, -a * c, -a * r * c],  # XZ
            [c * c, 2 * r * c * c, a * a + r * r * c * c],  # YY
            [c * s, 2 * r * c * s, r * r * c * s],  # YZ
            [s * s, 2 * r * s * s, a * a + r * r * s * s],  # ZZ
            [0, 0, a],  # MX
            [0, -s, -r * s],  # MY
            [0, c, r * c],  # MZ
            [0, 0, 1],  # M
        ]
    )


def _tensor_rules(rotation):
    """Return (6, 6): how the inertia tensor of link j, XX … ZZ, adds to that of link j−1 of a joint that slides."""
    rules = np.zeros((6, 6))
    for (i, k), column in _TENSOR.items():
        unit = np.zeros((3, 3))
        unit[i, k] = unit[k, i] = 1.0
        turned = rotation @ unit @ rotation.T
        for (row, col), index in _TENSOR.items():
            rules[index, column] = turned[row, col]
    return rules


def _rotations(table):
    """Rotation of each frame in the one before, at q = 0."""
    rotations = []
    for alpha, theta in zip(table.alpha, table.theta, strict=True):
        ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
        rotations.append(np.array([[ct, -st, 0], [ca * st, ca * ct, -sa], [sa * st, sa * ct, ca]]))
    return rotations


def _without_effect(table, gravity):
    """Return (joint, parameter) pairs without effect on any motion, after the regrouping.

    Up to the second revolute direction every link turns about one line direction only: of its tensor just ZZ counts.
    Where that axis stays in place and gravity is along it, the first moments across it do nothing either.
    """
    dropped = set()
    first = np.flatnonzero(~table.prismatic)
    if not len(first):
        return {(j, name) for j in range(table.n) for name in INERTIAL[:9]}
    along = np.allclose(np.cross(gravity, [0.0, -np.sin(table.alpha[0]), np.cos(table.alpha[0])]), 0.0, atol=1e-9)
    dropped |= {(j, name) for j in range(first[0]) for name in INERTIAL[:9]}
    axis_in_frame = np.eye(3)
    for j in range(first[0], table.n):
        if j > first[0]:
            ca, sa = np.cos(table.alpha[j]), np.sin(table.alpha[j])
            twist = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
            axis_in_frame = twist.T @ axis_in_frame
            # about its own axis the next turn changes nothing; any other direction ends the rule at the next revolute
            # joint
            if abs(abs(axis_in_frame[2, 2]) - 1) > PARALLEL or table.prismatic[j]:
                break
        dropped |= {(j, name) for name in ('XX', 'XY', 'XZ', 'YZ')}
        if j == 0 and along:
            dropped |= {(j, 'MX'), (j, 'MY')}
    return dropped


def base_parameters_of(table, gravity):
    """Return the base parameters of the ten inertial parameters per link (names as in `INERTIAL`, no joint columns).

    Parameters
    ----------
    gravity
        (3,) [m/s²] in the base frame. Chains whose first joints are revolute are covered completely; where a prismatic
        joint comes before the second revolute direction the rules stop early (Khalil's special case) and the set may
        hold more than the minimum.
    """
    n = table.n
    names = tuple(f'{name}_{k}' for k in range(1, n + 1) for name in INERTIAL)
    # row (j, name) holds which combination of standard parameters stands in that parameter's place
    place = np.eye(10 * n)
    keep = np.ones((n, 10), dtype=bool)
    rotations = _rotations(table)
    for j in reversed(range(n)):
        own = place[10 * j : 10 * j + 10]
        before = place[10 * (j - 1) : 10 * j] if j else None
        if table.prismatic[j]:
            if before is not None:
                before[:6] += _tensor_rules(rotations[j]) @ own[:6]
            keep[j, :6] = False
            continue
        if before is not None:
            before += _revolute_rules(table.alpha[j], table.a[j], table.d[j]) @ own[[3, 8, 9]]
        own[0] -= own[3]
        keep[j, [3, 8, 9]] = False
    for j, name in _without_effect(table, gravity):
        keep[j, INERTIAL.index(name)] = False
    kept = np.flatnonzero(keep.ravel())
    return BaseParameters(names, kept, place[kept])


@pytest.fixture(scope='session')
def closed_form():
    """Return the closed form, a function (MDH table, gravity in the base frame (3,)) -> BaseParameters."""
    return base_parameters_of
