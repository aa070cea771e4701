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

"""The parts of the motor torque, and the arm sample by sample: identities between them."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.robot import StandardParameters
from joint_dynamics.robot.standard_parameters import body_of, point_mass


@pytest.fixture
def arm(tools, arm3):
    return Arm.from_description(arm3, DynamicsDescription(tools.described(arm3)))


@pytest.fixture
def motion(tools, arm3):
    """q, dq, ddq (N, 3), motor side of its own, temperatures."""
    states, temperature = tools.motion_of(arm3)
    q, dq, ddq = (np.ascontiguousarray(states[:, k]) for k in range(3))
    return (q, dq, ddq), (q + 1e-3 * np.sin(q), 1.01 * dq, 0.98 * ddq), temperature


def test_the_motor_torque_is_the_sum_of_its_parts(arm, motion):
    (q, dq, ddq), (theta, dtheta, ddtheta), temperature = motion
    load = arm.link_torque(q, dq, ddq)
    H = arm.slip_direction(theta, dtheta)
    parts = load + arm.rotor_inertia * ddtheta + arm.friction_torque(H, dtheta, load, temperature)
    motor = {'theta': theta, 'dtheta': dtheta, 'ddtheta': ddtheta, 'temperature': temperature}
    np.testing.assert_allclose(arm.motor_torque(q, dq, ddq, **motor), parts, atol=1e-12)
    # without a motor side it moves with the link, except for its angle
    lone = arm.motor_torque(q, dq, ddq)
    angle = arm.motor_angle(q, load)
    np.testing.assert_allclose(lone, arm.motor_torque(q, dq, ddq, theta=angle, dtheta=dq, ddtheta=ddq), atol=1e-12)
    # a given load changes the friction, not the link torque
    heavy = replace(arm, friction=FrictionModel({'F_C0': 1.0, 'F_Cl': 0.5}, joints=3))
    own = heavy.motor_torque(q, dq, ddq, load=0 * load)
    np.testing.assert_allclose(
        heavy.motor_torque(q, dq, ddq) - own, 0.5 * np.sign(dq) * np.abs(load), atol=1e-11 * np.abs(load).max()
    )


@pytest.mark.parametrize(
    'given', [(), ('theta',), ('dtheta', 'ddtheta'), ('theta', 'dtheta', 'ddtheta', 'temperature')]
)
def test_transmission_torque_inverts_the_motor_torque(arm, motion, given):
    links, motor, temperature = motion
    known = dict(zip(('theta', 'dtheta', 'ddtheta', 'temperature'), (*motor, temperature), strict=True))
    known = {name: known[name] for name in given}
    torque = arm.motor_torque(*links, **known)
    size = np.abs(torque).max()
    np.testing.assert_allclose(
        arm.transmission_torque(torque, *links, **known), arm.link_torque(*links), rtol=0, atol=1e-13 * size
    )


def test_plain_arm_has_only_bodies_and_rotors(arm3, motion):
    (q, dq, ddq), _, _ = motion
    arm = Arm(arm3, rotor_inertia=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(
        arm.motor_torque(q, dq, ddq), arm.link_torque(q, dq, ddq) + [1.0, 2.0, 3.0] * ddq, atol=1e-12
    )
    assert not arm.friction_torque(np.ones(3), np.ones(3), np.ones(3)).any()
    np.testing.assert_array_equal(arm.slip_direction(q, dq), np.sign(dq))
    np.testing.assert_array_equal(arm.motor_angle(q, 50.0 + q), q)
    assert not arm.deformation(q).any()


def test_alpha_scales_the_dry_part_and_adds_to_the_viscous(arm):
    rng = np.random.default_rng(2)
    H, speed, load = rng.uniform(-1, 1, 3), rng.normal(size=3), rng.normal(size=3)
    alpha = np.array([[1.5, 0.2], [0.7, -0.1], [1.0, 0.0]])
    plain = arm.friction_torque(H, speed, load)
    scaled = arm.friction_torque(H, speed, load, scale=alpha)
    expected = (alpha[:, 0] - 1) * arm.friction.dry(H, speed, load) + alpha[:, 1] * speed
    np.testing.assert_allclose(scaled - plain, expected, atol=1e-13)
    adapted = replace(arm, friction_scale=alpha)
    np.testing.assert_array_equal(adapted.friction_torque(H, speed, load), scaled)
    zero = np.zeros(3)
    np.testing.assert_allclose(adapted.drive_torque(H, zero, speed, zero, load), scaled, atol=1e-14)


def test_a_payload_is_a_mass_at_the_last_link(arm):
    q, zero = np.array([0.3, 0.1, -0.4]), np.zeros(3)
    loaded = arm.with_payload(2.0, [0.1, -0.2, 0.3])
    np.testing.assert_allclose(loaded.payload, point_mass(2.0, [0.1, -0.2, 0.3]))
    np.testing.assert_allclose(loaded.with_payload(1.0).payload, loaded.payload + point_mass(1.0, [0, 0, 0]))
    np.testing.assert_allclose(loaded.carrying(arm.payload).payload, np.zeros(10))
    assert arm.carrying(range(10)).payload.tolist() == list(range(10))
    parameters = StandardParameters(arm.parameters.copy(), 3).with_payload(loaded.payload)
    expected = arm.robot.inverse_dynamics(q, zero, zero, parameters.links_only().values)
    np.testing.assert_allclose(loaded.link_torque(q, zero, zero), expected, atol=1e-10)
    standard = loaded.standard
    np.testing.assert_array_equal(standard.rotor_inertia, arm.rotor_inertia)
    np.testing.assert_allclose([body_of(link) for link in standard.inertias()], standard.links, rtol=0, atol=1e-12)
    assert not (standard.viscous.any() or standard.coulomb.any() or standard.offset.any())


@pytest.mark.parametrize(
    ('mass', 'centre'), [(-1.0, (0, 0, 0)), (np.nan, (0, 0, 0)), (1.0, (0, 0)), (1.0, (0, 0, np.inf))]
)
def test_wrong_payloads_are_refused(arm, mass, centre):
    with pytest.raises(JointDynamicsError, match=f'^payload: .*{mass}'):
        arm.with_payload(mass, centre)


@pytest.mark.parametrize('parameters', [[0.3, 5.0, 4.0, 0.2, 2.0, 1.0], [0, 0, 4, 0, 0, 1]])
def test_coupled_drives_are_columns_of_the_regressor(arm3, parameters):
    robot = arm3.standing(coupling=[[1.0, 0.0, 0.0], [0.0, 1.0, -0.5], [0.1, 0.5, 1.0]])
    arm = Arm(robot, [*arm3.parameters, *parameters], rotor_inertia=np.zeros(3))
    speed, acceleration = np.random.default_rng(3).normal(size=(2, 25, 3))
    values, none = np.array(parameters, dtype=float), np.zeros((25, 3))

    def expected(speed):
        return np.einsum('jps,p->sj', robot.coupling.regressor_rows(speed.T, acceleration.T), values)

    rotors, friction = arm.rotor_torque(acceleration), arm.friction_torque(none, speed, none)
    np.testing.assert_allclose(rotors, expected(none), atol=1e-13)
    np.testing.assert_allclose(rotors + friction, expected(speed), atol=1e-13)
    np.testing.assert_allclose(arm.friction_torque(none[3], speed[3], none[3]), friction[3], atol=1e-14)
    np.testing.assert_allclose(arm.rotor_torque(acceleration[3]), rotors[3], atol=1e-14)
    assert not arm.friction_torque(none, none, none).any()


@pytest.mark.parametrize(
    ('field', 'value', 'found'),
    [
        ('parameters', np.zeros(5), '5'),
        ('parameters', np.full(42, np.nan), '42'),
        ('rotor_inertia', [1.0, 2.0], '[1.0, 2.0]'),
        ('rotor_inertia', [1.0, 2.0, np.inf], '[1.0, 2.0, inf]'),
        ('drive_gain', [0.0, 1.0, 1.0], '[0.0, 1.0, 1.0]'),
        ('damping', [0.0, -1.0, 0.0], '[0.0, -1.0, 0.0]'),
        ('friction_scale', [1.0, 0.0], '[1.0, 0.0]'),
        ('payload', np.zeros(9), '[0.0'),
        ('friction', FrictionModel({'F_C0': 1.0}, joints=2), '2'),
        ('kinematic_error', PeriodicMap.stack([PeriodicMap([0.0])] * 4), '4'),
        ('stiffness', TorsionalStiffness([[1.0], [2.0]]), '2'),
    ],
)
def test_wrong_fields_are_named(arm3, field, value, found):
    with pytest.raises(JointDynamicsError, match=r'^arm: ') as caught:
        Arm(arm3, **{field: value})
    assert field.partition('_')[0] in str(caught.value) and found in str(caught.value)


def test_motor_angle_adds_deformation_and_error(arm3):
    stiffness = TorsionalStiffness([[2e4, 1e8], [1e4, 0.0], [3e4, -1e6]])
    error = PeriodicMap.stack([PeriodicMap(1e-4 * np.sin(np.arange(24.0)))] * 3)
    q, tau = np.array([0.3, -0.2, 0.1]), np.array([50.0, -20.0, 5.0])

    def bent(stiffness, error):
        return Arm(arm3, stiffness=stiffness, kinematic_error=error)

    phi = bent(stiffness, error).deformation(tau)
    np.testing.assert_allclose(stiffness.torque(phi), tau, rtol=1e-12)
    np.testing.assert_array_equal(bent(stiffness, error).motor_angle(q, tau), q + phi + error(q + phi))
    np.testing.assert_array_equal(bent(stiffness, None).motor_angle(q, tau), q + phi)
    np.testing.assert_array_equal(bent(None, error).motor_angle(q, tau), q + error(q))
    assert bent(None, None).deformation(tau).tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(bent(None, None).motor_angle(q, tau), q)
