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

"""Effect of wrong gains on the parameters, by solving again with wrong ones, and the assumed deviation."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains import conversion
from joint_dynamics.identification.drive_gains.conversion import (
    GainUncertainty,
    as_body,
    gain_covariance,
    gain_sensitivity,
    motor_part,
    stated_or_assumed,
)
from joint_dynamics.identification.regression.rows import Block

COUPLING = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.5, -1.0, 3.0]])
NAMES = ('a', 'b', 'c')


def test_motor_parts_add_up_to_the_joint_torque():
    tau = np.random.default_rng(1).normal(size=(3, 20))
    parts = motor_part(tau, COUPLING)
    np.testing.assert_allclose(parts.sum(axis=1), tau)
    motors = np.linalg.inv(COUPLING.T) @ tau
    for j in range(3):
        for m in range(3):
            np.testing.assert_allclose(parts[j, m], COUPLING[m, j] * motors[m], atol=1e-12)
    np.testing.assert_allclose(motor_part(tau, np.eye(3)), np.eye(3)[:, :, None] * tau[None])


@pytest.mark.parametrize('coupling', [np.eye(3), COUPLING])
def test_sensitivity_is_the_change_with_a_wrong_gain(coupling):
    rng = np.random.default_rng(2)
    rows, tau, factor = rng.normal(size=(3, 4, 60)), rng.normal(size=(3, 60)), rng.uniform(0.3, 2.0, (3, 60))

    def solved(tau):
        A = (rows * factor[:, None]).transpose(0, 2, 1).reshape(-1, 4)
        return np.linalg.lstsq(A, (tau * factor).ravel(), rcond=None)[0], np.linalg.inv(A.T @ A)

    chi, inverse = solved(tau)
    solution = SimpleNamespace(chi=chi, inverse=inverse, row_factors=lambda block: factor[:, block.kept])
    blocks = [Block(rows[:, :, part], tau[:, part], tau[:, part], 0, part) for part in (slice(0, 25), slice(25, 60))]
    found = gain_sensitivity(blocks, solution, coupling)
    for m in range(3):
        off = np.eye(3)
        off[m, m] = 1.1
        changed = coupling.T @ off @ np.linalg.inv(coupling.T) @ tau
        np.testing.assert_allclose(found[:, m], (solved(changed)[0] - chi) / 0.1, rtol=1e-8, atol=1e-10)
    relative = np.diag([0.01, 0.04, 0.0]) + 0.002
    spread = GainUncertainty(relative, found, coupling).spread
    np.testing.assert_allclose(spread, found @ relative @ found.T, atol=1e-12)
    np.testing.assert_array_equal(spread, spread.T)


def test_stated_deviations_of_one_or_of_each_motor():
    np.testing.assert_allclose(gain_covariance(0.1, NAMES), 0.01 * np.eye(3))
    np.testing.assert_allclose(gain_covariance({'c': 0.3, 'a': 0.1, 'b': 0.2}, NAMES), np.diag([0.01, 0.04, 0.09]))


def test_ten_percent_are_assumed_for_currents_only():
    current, torque = SimpleNamespace(current=np.zeros((2, 3))), SimpleNamespace(current=None)
    gains = {'a': 10.0}
    assert stated_or_assumed(0.0, gains, [current]) == (0.0, None)
    assert stated_or_assumed({'a': 0.1}, None, [current]) == ({'a': 0.1}, None)
    for known, runs in ((None, [current]), ({}, [current]), (gains, [torque, torque])):
        assert stated_or_assumed(None, known, runs) == (0.0, None)
    share, note = stated_or_assumed(None, gains, [torque, current])
    assert share == pytest.approx(0.1 / math.sqrt(3.0))
    assert note == (
        'drive_gain_deviation is not stated, assumed are 5.8 % (standard deviation; ± 10 % of a data sheet)'
    )


def test_a_payload_that_is_no_body_is_kept_with_a_note(monkeypatch):
    notes = []
    monkeypatch.setattr(conversion, 'payload_body', lambda payload: ('body of', payload))
    assert as_body('estimate', notes) == ('body of', 'estimate') and notes == []

    def refuse(payload):
        raise JointDynamicsError('mass below zero')

    monkeypatch.setattr(conversion, 'payload_body', refuse)
    assert as_body('estimate', notes) == 'estimate'
    assert len(notes) == 1 and notes[0].endswith('mass below zero')
