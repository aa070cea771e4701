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

"""The terms of a description: their torque is the sum of their columns, each at the joint it belongs to."""

import numpy as np
import pytest

from joint_dynamics.arm.described_terms import DescribedTerms
from joint_dynamics.arm.terms import fourier_term, friction_term, spring_term, stribeck_term

PARTS = (
    (0, fourier_term('a', [1]), np.array([2.0, -3.0])), (0, friction_term('a', 'F_V2'), np.array([0.4])),
    (2, friction_term('c', 'F_Cl'), np.array([0.2])), (2, friction_term('c', 'F_T1', 30.0), np.array([0.05])),
    (1, stribeck_term('b', 0.3), np.array([1.5])), (1, spring_term('b', [1, 3]), np.array([7.0, -2.0])),
)  # fmt: skip


@pytest.fixture
def states():
    rng = np.random.default_rng(4)
    q, speed, load, H = rng.normal(scale=[[[1.0]], [[1.0]], [[20.0]], [[0.5]]], size=(4, 50, 3))
    return q, speed, load, np.clip(H, -1, 1), rng.uniform(20.0, 45.0, (50, 3))


def friction_of(speed, load, H, temperature):
    root = np.sign(speed[:, 2]) * np.sqrt(np.abs(speed[:, 2]))
    squared = 0.4 * np.abs(speed[:, 0]) * speed[:, 0]
    stribeck = 1.5 * H[:, 1] * np.exp(-np.abs(speed[:, 1]) / 0.3)
    warm = 0.05 * root * np.nan_to_num(temperature[:, 2] - 30.0)
    return np.stack([squared, stribeck, 0.2 * H[:, 2] * np.abs(load[:, 2]) + warm], axis=1)


def springs_of(q):
    return np.stack(
        [2.0 * np.sin(q[:, 0]) - 3.0 * np.cos(q[:, 0]), 7.0 * q[:, 1] - 2.0 * q[:, 1] ** 3, 0 * q[:, 2]], axis=1
    )


def test_the_torque_is_the_sum_of_the_columns(states):
    q, speed, load, H, temperature = states
    terms = DescribedTerms(PARTS)
    found = terms.torque(q, speed, load, H, temperature)
    np.testing.assert_allclose(found, friction_of(speed, load, H, temperature) + springs_of(q), atol=1e-12)
    np.testing.assert_allclose(
        terms.friction.torque(q, speed, load, H, temperature), friction_of(speed, load, H, temperature), atol=1e-12
    )
    for k in (0, 7):
        single = terms.torque(q[k], speed[k], load[k], H[k], temperature[k])
        np.testing.assert_allclose(single, found[k], atol=1e-13)


def test_unknown_temperature_is_the_reference(states):
    q, speed, load, H, temperature = states
    terms = DescribedTerms(PARTS)
    at = terms.torque(q, speed, load, H, np.full_like(q, 30.0))
    np.testing.assert_allclose(terms.torque(q, speed, load, H), at, atol=1e-12)
    some = temperature.copy()
    some[::2, 2] = np.nan
    expected = np.where(np.isnan(some), at, terms.torque(q, speed, load, H, temperature))
    np.testing.assert_allclose(terms.torque(q, speed, load, H, some), expected, atol=1e-12)
