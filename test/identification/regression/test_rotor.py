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

"""Rotor compensation: the motor torque of a description's joints is subtracted before the identification."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.rotor import RotorSide
from joint_dynamics.robot import INERTIAL

COULOMB = np.array([5.0, 2.0])
VISCOUS = np.array([3.0, 1.5])
INERTIA = np.array([0.8, 0.3])


def described(model, inertial=True):
    """A document of Coulomb and viscous friction and a rotor of every joint; links of one kilogram."""
    joints = {}
    for k, name in enumerate(model.joint_names):
        friction = {'F_C0': float(COULOMB[k]), 'F_V1': float(VISCOUS[k])}
        joints[name] = {'rotor_inertia': {'value': float(INERTIA[k])}, 'friction': {'parameters': friction}}
    found = {'robot': {'joint_names': list(model.joint_names)}, 'joints': joints}
    link = dict.fromkeys(INERTIAL, 0.0) | {'M': 1.0}
    return found | ({'inertial': {'standard': dict.fromkeys(model.joint_names, link)}} if inertial else {})


@pytest.mark.parametrize('sides', [1, 2])
def test_friction_and_rotor_of_the_motor_are_taken_off(two_links, observed, sides):
    observation = observed(3, 200, tau=np.random.default_rng(0).normal(size=(200, 2)))
    if sides == 2:
        other = observed(4, 200)
        observation = replace(observation, theta=other.q, dtheta=other.dq, ddtheta=other.ddq)
    found = RotorSide.load(DynamicsDescription(described(two_links)), two_links).compensate(observation)
    speed, acceleration = observation.dtheta, observation.ddtheta
    moving = np.abs(speed) > 1e-2  # about rest the sign is passed through smoothly
    taken = COULOMB * np.sign(speed) + VISCOUS * speed + INERTIA * acceleration
    np.testing.assert_allclose((observation.tau - found.tau)[moving], taken[moving], rtol=1e-9, atol=1e-9)
    assert found.q is observation.q
    assert found.theta is observation.theta


def test_what_the_description_lacks_is_named(two_links):
    with pytest.raises(JointDynamicsError, match=r'^rotor: dynamics description: inertial: expected this field'):
        RotorSide.load(DynamicsDescription(described(two_links, inertial=False)), two_links)
    document = described(two_links)
    last = two_links.joint_names[-1]
    del document['joints'][last]['rotor_inertia']
    with pytest.raises(JointDynamicsError, match=f'^rotor: expected rotor_inertia and .* missing for {last}$'):
        RotorSide.load(DynamicsDescription(document), two_links)


@pytest.mark.parametrize('scale', [None, 0.5])
def test_what_is_found_beside_a_description_is_added_to_it(two_links, scale):
    """The described friction is that before its scale: an addition at the present scale counts for more."""
    document = described(two_links)
    first = two_links.joint_names[0]
    if scale is not None:
        document['joints'][first]['friction']['scale'] = [scale, 1.0]
    found = {'Ia': 0.1, 'Fv': 0.2, 'Fc': 0.3, 'off': -0.4}
    part = RotorSide.load(DynamicsDescription(document), two_links).document_of(first, found)
    assert part['rotor_inertia']['value'] == pytest.approx(INERTIA[0] + 0.1)
    values = part['friction']['parameters']
    assert values['F_C0'] == pytest.approx(COULOMB[0] + 0.3 / (scale or 1.0))
    assert [values['F_V1'], values['offset']] == pytest.approx([VISCOUS[0] + 0.2, -0.4])
