"""The parts of the motor torque, and the arm sample by sample: identities between them."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.robot import RobotModel, StandardParameters
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
    # without a motor side it moves as the link does, but for its angle
    lone = arm.motor_torque(q, dq, ddq)
    angle = arm.motor_angle(q, load)
    np.testing.assert_allclose(lone, arm.motor_torque(q, dq, ddq, theta=angle, dtheta=dq, ddtheta=ddq), atol=1e-12)
    # a load of one's own is what friction depends on, not what the links take
    heavy = replace(arm, friction=FrictionModel({'F_C0': 1.0, 'F_Cl': 0.5}, joints=3))
    own = heavy.motor_torque(q, dq, ddq, load=0 * load)
    np.testing.assert_allclose(
        heavy.motor_torque(q, dq, ddq) - own, 0.5 * np.sign(dq) * np.abs(load), atol=1e-11 * np.abs(load).max()
    )


@pytest.mark.parametrize(
    'given', [(), ('theta',), ('dtheta', 'ddtheta'), ('theta', 'dtheta', 'ddtheta', 'temperature')]
)
def test_what_is_taken_off_the_motor_is_what_was_put_on(arm, motion, given):
    links, motor, temperature = motion
    known = dict(zip(('theta', 'dtheta', 'ddtheta', 'temperature'), (*motor, temperature), strict=True))
    known = {name: known[name] for name in given}
    torque = arm.motor_torque(*links, **known)
    size = np.abs(torque).max()
    np.testing.assert_allclose(
        arm.transmission_torque(torque, *links, **known), arm.link_torque(*links), rtol=0, atol=1e-13 * size
    )


def test_a_load_of_ones_own_comes_back_too(arm, motion):
    links, _, _ = motion
    loaded = replace(arm, friction=FrictionModel({'F_C0': 1.0, 'F_Cl': 0.5}, joints=3))
    load = np.full_like(links[0], 7.0)
    torque = loaded.motor_torque(*links, load=load)
    np.testing.assert_allclose(
        loaded.transmission_torque(torque, *links, load=load), loaded.link_torque(*links), atol=1e-10
    )


def test_without_friction_and_stiffness_only_bodies_and_rotors_are_left(arm3, motion):
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


@pytest.mark.parametrize(('mass', 'centre', 'found'), [
    (-1.0, (0, 0, 0), '-1.0 and [0.0, 0.0, 0.0]'), (np.nan, (0, 0, 0), 'nan and [0.0, 0.0, 0.0]'),
    (np.inf, (0, 0, 0), 'inf and [0.0, 0.0, 0.0]'), (1.0, (0, 0), '1.0 and [0.0, 0.0]'),
    (1.0, (0, 0, np.inf), '1.0 and [0.0, 0.0, inf]'),
])  # fmt: skip
def test_a_payload_that_is_none_is_refused(arm, mass, centre, found):
    with pytest.raises(JointDynamicsError) as caught:
        arm.with_payload(mass, centre)
    assert str(caught.value) == f'payload: expected a mass >= 0 kg and a centre of 3 numbers in m, found {found}'


def test_a_rotor_below_zero_is_named(arm3):
    Arm(arm3, rotor_inertia=[0.0, 1.0, 1.0]).check_drives()
    with pytest.raises(JointDynamicsError, match=r'^arm: expected joints.j2.rotor_inertia >= 0, found -0.01235 kg·m²$'):
        Arm(arm3, rotor_inertia=[0.0, -0.01234567, -1.0]).check_drives()


def test_what_is_not_given_has_its_default(arm3):
    arm = Arm(arm3)
    np.testing.assert_array_equal(arm.parameters, arm3.parameters)
    assert arm.rotor_inertia.tolist() == arm.damping.tolist() == [0.0] * 3
    assert np.isnan(arm.drive_gain).all() and arm.drive_gain.shape == (3,)
    assert arm.friction_scale.tolist() == [[1.0, 0.0]] * 3
    assert arm.payload.tolist() == [0.0] * 10
    assert arm.rotor_identifiable.tolist() == [True] * 3
    assert arm.friction_described.tolist() == arm.stiffness_described.tolist() == [False] * 3
    assert arm.effort_limit.tolist() == [400.0] * 3
    assert (arm.n, arm.joint_names, arm.coupled, arm.remarks) == (3, ('j1', 'j2', 'j3'), None, ())
    full = Arm(arm3, friction=FrictionModel({'F_C0': 1.0}, joints=3), stiffness=TorsionalStiffness([2e4]))
    assert full.friction_described.tolist() == full.stiffness_described.tolist() == [True] * 3
    assert full.stiffness.coefficients.tolist() == [[2e4]] * 3
    # the friction is held where the joint's motor ends
    assert full.friction.parameters['tau_max'].tolist() == [400.0] * 3
    lower = Arm(arm3, friction=FrictionModel({'F_C0': 1.0, 'tau_max': [5.0, 500.0, 400.0]}, joints=3))
    assert lower.friction.parameters['tau_max'].tolist() == [5.0, 400.0, 400.0]


def test_parameters_may_leave_out_coupled_motors(arm3):
    coupled = arm3.standing(coupling=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    short = Arm(coupled, parameters=arm3.parameters)
    np.testing.assert_array_equal(short.parameters, [*arm3.parameters, 0.0, 0.0, 0.0])
    assert short.coupled is None
    whole = Arm(coupled, parameters=[*arm3.parameters, 0.3, 5.0, 4.0])
    speed = np.array([0.1, 0.2, 0.3])
    # τ = cᵀ (J c α + F_v c ω + F_s sgn c ω) less the own part of J and F_v, c = [0, 1, 1]
    np.testing.assert_allclose(whole.rotor_torque(speed), [0.0, 0.3 * 0.3, 0.3 * 0.2], atol=1e-14)
    np.testing.assert_allclose(
        whole.friction_torque(np.sign(speed), speed, 0 * speed), [0.0, 5 * 0.3 + 4, 5 * 0.2 + 4], atol=1e-14
    )


@pytest.mark.parametrize('parameters', [[0.3, 5.0, 4.0, 0.2, 2.0, 1.0], [0, 0, 4, 0, 0, 1]])
def test_rotors_and_friction_of_coupled_drives_are_the_columns_of_the_regressor(arm3, parameters):
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
    ('fields', 'message'),
    [
        ({'parameters': np.zeros(5)}, 'expected 42 finite standard parameters, found 5: the URDF has no inertials and'),
        ({'parameters': np.full(42, np.nan)}, 'expected 42 finite standard parameters, found 42: the URDF'),
        ({'rotor_inertia': [1.0, 2.0]}, 'expected finite rotor_inertia of shape (3,), found [1.0, 2.0]'),
        ({'rotor_inertia': [1.0, 2.0, np.inf]}, 'expected finite rotor_inertia of shape (3,), found [1.0, 2.0, inf]'),
        ({'drive_gain': [1.0]}, 'expected drive_gain of shape (3,), found [1.0]'),
        ({'damping': [[1.0]]}, 'expected finite damping of shape (3,), found [[1.0]]'),
        ({'friction_scale': [1.0, 0.0]}, 'expected finite friction_scale of shape (3, 2), found [1.0, 0.0]'),
        ({'payload': np.zeros(9)}, 'expected finite payload of shape (10,), found [0.0'),
        (
            {'damping': [0.0, -1.0, 0.0]},
            'expected damping >= 0 and drive gains other than 0, found [0.0, -1.0, 0.0] and [nan, nan, nan]',
        ),
        (
            {'drive_gain': [0.0, 1.0, 1.0]},
            'expected damping >= 0 and drive gains other than 0, found [0.0, 0.0, 0.0] and [0.0, 1.0, 1.0]',
        ),
        ({'friction': FrictionModel({'F_C0': 1.0}, joints=2)}, 'expected friction of 3 joints, found 2'),
        (
            {'kinematic_error': PeriodicMap.stack([PeriodicMap([0.0])] * 4)},
            'expected kinematic_error of 3 joints, found 4',
        ),
        ({'backlash': PeriodicMap.stack([PeriodicMap([0.0])] * 2)}, 'expected backlash of 3 joints, found 2'),
        ({'stiffness': TorsionalStiffness([[1.0], [2.0]])}, 'expected stiffness of 3 joints, found 2'),
    ],
    ids=lambda value: str(value)[:30],
)
def test_fields_that_do_not_fit_are_named(arm3, fields, message):
    with pytest.raises(JointDynamicsError) as caught:
        Arm(arm3, **fields)
    assert str(caught.value).startswith(f'arm: {message}')


def test_an_arm_without_inertials_says_so(scara_table):
    with pytest.raises(JointDynamicsError, match='arm: expected 56 finite standard parameters, found none: the URDF'):
        Arm(RobotModel.from_mdh(scara_table))


def test_the_encoder_stands_where_deformation_and_error_put_it(arm3):
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
