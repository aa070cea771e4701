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

"""The signals of one joint, as they come out of a recording."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.data import joint_data
from joint_dynamics.recording import Recording

RATE = 200.0


@pytest.mark.parametrize(('name', 'wanted'), [('tau', 'tau'), ('temperature', 'temperature'), ('tau_J', 'load')])
def test_a_missing_signal_is_named(of_speed, name, wanted):
    with pytest.raises(JointDynamicsError, match=f'^run: j: .*{wanted}'):
        of_speed(np.ones(10)).need(name)


def test_friction_is_the_motor_torque_less_a_known_load(of_speed):
    whole = of_speed(np.ones(10), tau=np.full(10, 3.0), q=lambda theta, omega: theta)
    whole.need('tau', 'theta')
    np.testing.assert_array_equal(whole.friction(), 3.0)
    np.testing.assert_array_equal(replace(whole, tau_J=np.full(10, 1.0)).friction(), 2.0)
    with pytest.raises(JointDynamicsError):
        of_speed(np.ones(10)).friction()


@pytest.fixture
def moved(ur):
    """Time and six joints (N, 6) [rad] of an arm."""
    t = np.arange(800) / RATE
    return ur.joint_names, t, np.sin(np.outer(t, np.arange(1, 7)) / 2)


def test_a_joint_taken_out_of_a_recording(moved):
    (names, t, q), j, inside = moved, 2, slice(100, -100)
    current = np.cos(np.outer(t, np.arange(1, 7)))
    recording = Recording(names, t, q, current=current, theta=q + 1e-3, temperature=30 + q, name='run')
    data = joint_data(recording, names[j], drive_gains={names[j]: 7.0, names[0]: 1.0}, cutoff=15.0)
    np.testing.assert_allclose(data.tau, 7.0 * current[:, j])
    for signal, expected in ((data.theta, q + 1e-3), (data.q, q), (data.temperature, 30 + q)):
        np.testing.assert_array_equal(signal, expected[:, j])
    np.testing.assert_allclose(data.omega[inside], 1.5 * np.cos(1.5 * t)[inside], atol=1e-3)
    np.testing.assert_allclose(data.alpha[inside], -2.25 * np.sin(1.5 * t)[inside], atol=1e-2)
    assert data.two_sided and data.tau_J is None
    bare = joint_data(Recording(names, t, q, name='run'), names[j])
    assert bare.tau is None and bare.temperature is None and not bare.two_sided


def test_a_recorded_load_precedes_that_of_the_bodies(moved, ur):
    names, t, q = moved
    recording = Recording(names, t, q, load_torque=np.full_like(q, 4.0), name='run')
    loaded = joint_data(recording, names[2], arm=Arm(ur, parameters=np.zeros(14 * 6)))
    np.testing.assert_array_equal(loaded.tau_J, 4.0)
    with pytest.raises(JointDynamicsError, match='found hand'):
        joint_data(recording, 'hand')
