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

"""Criteria of excitation against their definitions, with their gradients."""

import numpy as np
import pytest

from joint_dynamics.excitation.assessment import CRITERION_FUNCTIONS, log_condition, negative_log_det


@pytest.fixture
def W():
    rng = np.random.default_rng(3)
    return rng.standard_normal((40, 7)) * [1, 5, 0.1, 2, 1, 30, 1] + rng.standard_normal((40, 1))


def scaled_condition(W):
    return np.linalg.cond(W / np.linalg.norm(W, axis=0))


@pytest.mark.parametrize('name', ['condition_number', 'log_det'])
@pytest.mark.parametrize('sharpness', [1.0, 8.0, 64.0])
def test_gradients_are_derivatives(W, name, sharpness):
    criterion = CRITERION_FUNCTIONS[name]
    G = W.T @ W
    direction = np.random.default_rng(1).standard_normal(G.shape)
    direction = (direction + direction.T) * 1e-3 * np.sqrt(np.outer(np.diag(G), np.diag(G)))
    gradient = criterion(G, sharpness)[1]
    slope = (criterion(G + 1e-4 * direction, sharpness)[0] - criterion(G - 1e-4 * direction, sharpness)[0]) / 2e-4
    assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_smooth_condition_number_tends_to_the_true_from_above(W):
    true = np.log(scaled_condition(W))
    values = [log_condition(W.T @ W, sharpness)[0] for sharpness in (1, 4, 16, 64, 1000)]
    assert all(np.diff(values) <= 1e-12)
    assert values[-1] >= true - 1e-12
    assert values[-1] == pytest.approx(true, abs=2e-3)


def test_column_scale_has_no_effect(W):
    scaled = W * np.geomspace(1e-3, 1e3, 7)
    assert log_condition(scaled.T @ scaled, 8)[0] == pytest.approx(log_condition(W.T @ W, 8)[0], rel=1e-9)


def test_log_det_is_that_of_the_information(W):
    assert negative_log_det(W.T @ W, 1.0)[0] == pytest.approx(-np.linalg.slogdet(W.T @ W)[1] / 7)
