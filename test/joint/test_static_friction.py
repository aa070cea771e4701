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

"""Friction in steady slip: against speed, temperature and load."""

import numpy as np
import pytest

from joint_dynamics.joint import FrictionModel

OMEGA = np.linspace(-3, 3, 61)
FREE = {'F_C0': 0.0}


def test_terms_one_by_one():
    friction = FrictionModel(
        {'F_C0': 5, 'F_S': 8, 'V_S': 0.1, 'mu': 1.3, 'F_V1': 2, 'F_V2': -0.5, 'F_V3': 0.1, 'offset': 0.3}
    )
    level = 5 + 3 * np.exp(-((np.abs(OMEGA) / 0.1) ** 1.3))
    rest = 2 * OMEGA - 0.5 * np.abs(OMEGA) * OMEGA + 0.1 * OMEGA**3 + 0.3
    assert np.allclose(friction.static(OMEGA), np.sign(OMEGA) * level + rest)
    assert np.allclose(friction.static(OMEGA, smoothing=0.2), np.tanh(OMEGA / 0.2) * level + rest)
    assert friction.static(0.0) == 0.3
    assert np.isclose(friction.static(1e-12), 8.3)


T = np.linspace(6, 79, 30)


def test_the_temperature_part_is_odd_and_continuous_in_speed():
    friction = FrictionModel({**FREE, 'F_T0': 1, 'F_T1': -0.01, 'F_T2': 100})
    at = {'temperature': T}
    assert np.allclose(friction.static(-2.0, **at), -friction.static(2.0, **at))
    assert np.allclose(friction.static(4.0, **at), 2 * (1 - 0.01 * (T - 25) + 100 * (T**-3 - 25.0**-3)))
    assert np.all(np.abs(friction.static(1e-12, **at)) < 1e-5)


@pytest.mark.parametrize('bound', [0.0, 0.5, 1.0, np.inf])
def test_a_bound_may_be_any_magnitude(bound):
    friction = FrictionModel({'F_C0': 5.0, 'F_Cl': 0.5, 'tau_max': bound})
    assert friction.level(-3.0) == 5.0 + 0.5 * min(3.0, bound)
