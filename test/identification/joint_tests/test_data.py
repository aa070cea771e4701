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


def test_what_was_not_measured_is_named(of_speed):
    data = of_speed(np.ones(10))
    for name, wanted in (('tau', 'tau'), ('temperature', 'temperature'), ('tau_J', 'load'), ('theta', 'theta')):
        with pytest.raises(JointDynamicsError, match=f'^run: j: .*{wanted}'):
            data.need(name)
    with pytest.raises(JointDynamicsError, match='tau'):
        data.friction()
    whole = of_speed(np.ones(10), tau=np.full(10, 3.0), q=lambda theta, omega: theta)
    whole.need('tau', 'theta')
    np.testing.assert_array_equal(whole.friction(), 3.0)
    loaded = replace(whole, tau_J=np.full(10, 1.0), load_source='weighed')
    np.testing.assert_array_equal(loaded.friction(), 2.0)
    assert (loaded.load_source, whole.load_source, whole.samples) == ('weighed', 'none', 10)


def test_a_joint_taken_out_of_a_recording(ur):
    """Torque of its own gain, load as recorded, which goes before that of the rigid bodies."""
    t = np.arange(800) / RATE
    q = np.sin(np.outer(t, np.arange(1, 7)) / 2)
    current = np.cos(np.outer(t, np.arange(1, 7)))
    names = ur.joint_names
    recording = Recording(names, t, q, current=current, theta=q + 1e-3, temperature=30 + q, name='run')
    j, inside = 2, slice(100, -100)
    data = joint_data(recording, names[j], drive_gains={names[j]: 7.0, names[0]: 1.0}, cutoff=15.0)
    np.testing.assert_allclose(data.tau, 7.0 * current[:, j])
    np.testing.assert_array_equal(data.theta, q[:, j] + 1e-3)
    np.testing.assert_array_equal(data.q, q[:, j])
    np.testing.assert_array_equal(data.temperature, 30 + q[:, j])
    np.testing.assert_allclose(data.omega[inside], 1.5 * np.cos(1.5 * t)[inside], atol=1e-3)
    np.testing.assert_allclose(data.alpha[inside], -2.25 * np.sin(1.5 * t)[inside], atol=1e-2)
    assert (data.joint, data.name, data.rate, data.cutoff, data.two_sided) == (names[j], 'run', RATE, 15.0, True)
    assert data.tau_J is None and data.load_source == 'none'
    bare = joint_data(Recording(names, t, q, name='run'), names[j])
    assert bare.tau is None and bare.temperature is None and not bare.two_sided
    np.testing.assert_array_equal(bare.theta, q[:, j])
    with pytest.raises(JointDynamicsError, match=r'run: .* found hand'):
        joint_data(recording, 'hand')
    load = np.full_like(q, 4.0)
    loaded = joint_data(
        Recording(names, t, q, load_torque=load, name='run'), names[j], arm=Arm(ur, parameters=np.zeros(14 * 6))
    )
    assert loaded.load_source == 'recorded load'
    np.testing.assert_array_equal(loaded.tau_J, 4.0)
