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

"""Gains from the model are stable in every posture, late by a period too, of rigid and of flexible arms."""

import math
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.integrate import solve_ivp

from joint_dynamics.arm import Arm
from joint_dynamics.cli.main import main
from joint_dynamics.control.effort_gains import GAIN_MARGIN, effort_gains
from joint_dynamics.control.elastic_loop import (
    JOINT_DAMPING,
    RIGID,
    ElasticJoints,
    delay_margin,
    elastic_joints,
    law_gains,
)
from joint_dynamics.description import DynamicsDescription, next_command
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, TorsionalStiffness
from joint_dynamics.robot import INERTIAL, RobotModel, StandardParameters
from joint_dynamics.simulation import FlexibleJointRobot, ur5e_urdf

PERIOD = 0.002
LAW_PERIOD = 0.004
ROTORS = np.array([0.9, 0.9, 0.9, 0.2, 0.2, 0.2])
STIFFNESS = np.array([20e3, 20e3, 20e3, 4e3, 4e3, 4e3])
VISCOUS = np.array([8.0, 11.0, 10.0, 2.4, 2.8, 2.6])


@pytest.fixture(scope='module')
def robot():
    return RobotModel.load(ur5e_urdf())


@pytest.fixture(scope='module')
def gains(robot):
    return effort_gains(Arm(robot), PERIOD)


@pytest.fixture(scope='module')
def flexible(robot):
    stiffness = TorsionalStiffness(np.column_stack([STIFFNESS, 1e8 * np.ones(6)]))
    return Arm(robot, rotor_inertia=ROTORS, stiffness=stiffness)


@pytest.fixture(scope='module')
def joints(flexible):
    return [replace(joint, viscous=VISCOUS) for joint in elastic_joints(flexible)]


def damping(gains):
    """Return the damping ratio of each joint where its inertia is largest."""
    return gains.d / (2 * np.sqrt(gains.p * gains.largest))


def postures(count, seed):
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 6))


def is_stable(joints, gains, arm, late, period=PERIOD, count=6, factor=1.0):
    """Whether the loop on a flexible arm is stable in a few postures, with any delay up to `late` periods."""
    loops = [joints.sampled(arm.rigid.mass_matrix(q), period) for q in postures(count, 7)]
    p, d = np.diag(factor * gains.p), np.diag(factor * gains.d)
    return all(loop.is_stable(p, d, range(late + 1)) for loop in loops)


def test_one_joint_by_hand():
    """A point mass on a rod, I = m l²: d = 0.4 I / T, p = d² / (4 ζ² I), ζ = 0.5."""
    text = (
        '<robot name="rod"><link name="base"/><link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
        '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>'
    )
    gains = effort_gains(Arm(RobotModel.from_urdf(text)), 0.01)
    np.testing.assert_allclose([gains.d[0], gains.p[0]], [0.4 * 0.5 / 0.01, 20.0**2 / 0.5])
    with_rotor = effort_gains(Arm(RobotModel.from_urdf(text), rotor_inertia=[0.5]), 0.01)
    np.testing.assert_allclose(with_rotor.d, 2 * gains.d)


@pytest.mark.parametrize(
    ('arguments', 'named'), [({'period': 0.0}, '0.0'), ({'period': math.nan}, 'nan'), ({'delay': 0.1}, '0.1')]
)
def test_period_or_delay_out_of_range_is_refused(robot, arguments, named):
    for gains_of in (effort_gains, law_gains):
        with pytest.raises(JointDynamicsError, match=named):
            gains_of(Arm(robot), **{'period': PERIOD, **arguments})


@pytest.mark.parametrize('gains_of', [effort_gains, law_gains])
def test_an_inertia_that_no_body_has_is_refused(robot, gains_of):
    with pytest.raises(JointDynamicsError):
        gains_of(Arm(robot, rotor_inertia=np.full(6, -5.0)), PERIOD)


@pytest.mark.parametrize('delay', [0.0, 0.0031])
def test_gains_of_a_rigid_arm_by_their_formulas(robot, delay):
    """d T/I stays below the bound for the delay in periods; p follows from the damping at the largest inertia."""
    arm = Arm(robot, rotor_inertia=np.full(6, 0.3))
    gains = effort_gains(arm, 0.002, delay=delay)
    late = 1 if delay == 0.0 else 3
    bound = 2 * math.sin(math.pi / (4 * late + 2))
    ratio = gains.d * 0.002 / gains.smallest
    assert (ratio <= 0.4 * bound * (1 + 1e-9)).all() and ratio.max() > 0.3 * bound
    np.testing.assert_allclose(damping(gains), 0.5)
    rng = np.random.default_rng(0)
    low, high = np.clip(robot.limits.lower, -np.pi, np.pi), np.clip(robot.limits.upper, -np.pi, np.pi)
    for q in rng.uniform(low, high, (60, 6)):
        M = arm.rigid.mass_matrix(q) + 0.3 * np.eye(6)
        free = 1 / np.diag(np.linalg.inv(M))
        assert (free > 0.97 * gains.smallest).all() and (np.diag(M) < 1.03 * gains.largest).all()
        assert (np.abs(arm.rigid.gravity(q)) <= 1.05 * gains.gravity + 0.2).all()
        assert np.linalg.eigvals(0.002 * np.linalg.inv(M) * gains.d).real.max() < 0.95 * bound


def test_coupled_rotors_count_for_both_joints(robot):
    """A motor that turns with two joints carries what moves one over to the other: together they feel its rotor."""
    coupling = np.eye(6)
    coupling[5, 4] = 1.0
    standing = robot.standing(None, coupling)
    rotors = np.array([0.9, 0.9, 0.9, 0.2, 0.7, 0.7])
    apart = effort_gains(Arm(robot, rotor_inertia=rotors), PERIOD)
    coupled = effort_gains(Arm(standing, [*robot.parameters, 0.5, 0.0, 0.0], rotor_inertia=rotors), PERIOD)
    np.testing.assert_allclose(coupled.largest, apart.largest)
    # With its fellow free, a joint no longer feels the rotor that both turn; without it, 0.2 of its own.
    assert np.all(coupled.smallest[4:] < 0.7 * apart.smallest[4:])
    np.testing.assert_allclose(coupled.smallest[:4], apart.smallest[:4], rtol=1e-2)


# Flexible joints.


def test_flexible_joints_ring_at_gains_of_a_rigid_arm(flexible):
    """On softer plants than the described one, without the viscous friction that helps."""
    rigid, gains = (effort_gains(flexible, PERIOD, joints=joints) for joints in ((), elastic_joints(flexible)))
    for seed in range(2):
        truth = FlexibleJointRobot(seed=seed).truth
        plant = ElasticJoints(truth.stiffness[:, 0], truth.damping, np.zeros(6), np.diag(truth.rotor_inertia))
        assert not is_stable(plant, rigid, flexible, 0, count=12)
        assert is_stable(plant, gains, flexible, 0, count=12)
    np.testing.assert_allclose(damping(gains), 0.2)
    for joint in elastic_joints(flexible):
        assert is_stable(joint, gains, flexible, 0, count=12, factor=GAIN_MARGIN)


@pytest.mark.parametrize(('period', 'delay'), [(0.002, 0.008), (0.004, 0.008)])
def test_gains_are_stable_with_any_delay_up_to_the_stated_one(flexible, joints, period, delay):
    gains = effort_gains(flexible, period, joints=joints, delay=delay)
    assert (gains.d > 0.0).all()
    np.testing.assert_allclose(damping(gains), 0.2)
    for each in joints:
        assert is_stable(each, gains, flexible, 1 + round(delay / period), period)


def test_an_unstated_delay_makes_the_loop_unstable(flexible):
    joints = elastic_joints(flexible)
    counted = effort_gains(flexible, LAW_PERIOD, joints=joints)
    softest = min(joints, key=lambda each: each.stiffness[0])
    assert is_stable(softest, counted, flexible, 1, LAW_PERIOD)
    assert not is_stable(softest, counted, flexible, 12, LAW_PERIOD)


def test_one_period_is_the_integral_of_the_motion():
    joints = ElasticJoints(np.array([4e3]), np.array([1.0]), np.array([2.0]), np.array([[0.2]]))
    loop = joints.sampled(np.array([[0.5]]), PERIOD)
    (K,), (D,), (F,), B, M = joints.stiffness, joints.damping, joints.viscous, joints.rotors[0, 0], 0.5
    x, u = np.array([0.01, -0.02, 0.3, 0.1]), 5.0

    def slope(_, x):
        through = K * (x[1] - x[0]) + D * (x[3] - x[2])
        return [x[2], x[3], through / M, (u - through - F * x[3]) / B]

    expected = solve_ivp(slope, (0.0, PERIOD), x, rtol=1e-11, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(loop.A @ x + loop.B @ [u], expected, rtol=1e-8)
    bare = replace(joints, damping=np.zeros(1), viscous=np.zeros(1)).sampled(np.array([[0.5]]), PERIOD)
    assert not bare.is_stable(np.array([[1e-3]]), np.array([[1e-2]]), (0,))


def test_the_radius_of_a_loop_is_its_decay_per_period():
    """Against stepping the loop itself, its torque so many periods late."""
    rng = np.random.default_rng(5)
    joints = ElasticJoints(np.array([4e3, 3e3]), np.array([2.0, 3.0]), np.array([1.0, 0.5]), np.diag([0.3, 0.2]))
    loop = joints.sampled(np.array([[0.6, 0.1], [0.1, 0.4]]), 0.002)
    p, d = np.array([30.0, 20.0]), np.array([3.0, 2.0])
    for late in (0, 1, 2):
        x, under_way, sizes = rng.normal(size=8), [np.zeros(2)] * late, []
        for _ in range(6000):
            under_way.append(-p * x[:2] - d * x[4:6])
            x = loop.A @ x + loop.B @ under_way.pop(0)
            sizes.append(np.linalg.norm(x / [1, 1, 1, 1, 100, 100, 100, 100]))
        decay = (max(sizes[-500:]) / max(sizes[-3500:-3000])) ** (1 / 3000)
        assert loop.radius(np.diag(p), np.diag(d), late) == pytest.approx(decay, rel=2e-4)


def test_flexible_joints_at_their_softest_and_stiffest(make_arm):
    known = np.arange(6) != 5
    arm = make_arm(damping=np.array([5.0, 0.0, 5.0, 0.0, 5.0, 5.0]), stiffness_described=known)
    slopes = arm.stiffness.stiffness(arm.deformation(np.linspace(0, 1, 33)[:, None] * arm.robot.limits.effort))
    found = sorted(elastic_joints(arm), key=lambda one: one.stiffness[0])
    inertia, rotors = np.diag(arm.rigid.mass_matrix(np.zeros(6))), np.diag(arm.rotor_torque(np.eye(6)))
    for one, K in zip(found, (slopes.min(axis=0), slopes.max(axis=0)), strict=True):
        # A joint without a described stiffness is rigid.
        K = np.where(known, K, RIGID)
        np.testing.assert_allclose(one.stiffness, K)
        assumed = 2 * JOINT_DAMPING * np.sqrt(K * inertia * rotors / (inertia + rotors))
        np.testing.assert_allclose(one.damping, np.where(arm.damping > 0, arm.damping, assumed))
        np.testing.assert_allclose(one.rotors, np.diag(rotors))
        np.testing.assert_allclose(one.viscous, np.where(arm.friction_described, 6.0, 0.0))
    assert elastic_joints(make_arm(stiffness_described=np.zeros(6, dtype=bool))) == ()
    falling = FrictionModel({'F_C0': np.full(6, 7.0), 'F_V1': np.array([3.0, -2.0, 1.0, 1.0, 1.0, 1.0])})
    scaled = make_arm(
        friction=falling, friction_scale=np.tile([0.5, 0.0], (6, 1)), friction_described=np.arange(6) != 3
    )
    assert elastic_joints(scaled)[0].viscous.tolist() == [1.5, 0.0, 0.5, 0.0, 0.5, 0.5]
    with pytest.raises(JointDynamicsError, match='rotor inertia'):
        elastic_joints(replace(arm, rotor_inertia=np.zeros(6)))


def test_a_link_inertia_below_zero_is_replaced_by_the_robot_file(robot, flexible):
    """Behind a large rotor the inertia of the last link is hardly identifiable; the sum with the rotor's is right."""
    values = StandardParameters(robot.parameters.copy(), robot.n)
    values.links[-1, INERTIAL.index('ZZ')] = -1e-3
    identified = Arm(robot, values.values, rotor_inertia=ROTORS, stiffness=flexible.stiffness)
    found = effort_gains(identified, PERIOD, joints=elastic_joints(identified))
    expected = effort_gains(flexible, PERIOD, joints=elastic_joints(flexible))
    np.testing.assert_allclose(found.p, expected.p, rtol=0.02)
    np.testing.assert_allclose(found.d, expected.d, rtol=0.02)


def test_flexible_links_without_inertia_are_refused(flexible):
    text = re.sub(r'(mass value|i[xyz]{2})="[^"]*"', r'\1="0"', Path(ur5e_urdf()).read_text(encoding='utf-8'))
    massless = Arm(RobotModel.from_urdf(text), rotor_inertia=ROTORS, stiffness=flexible.stiffness)
    with pytest.raises(JointDynamicsError):
        elastic_joints(massless)


def test_joints_without_any_damping_are_refused(flexible):
    undamped = replace(elastic_joints(flexible)[0], damping=np.zeros(6))
    for gains_of in (effort_gains, law_gains):
        with pytest.raises(JointDynamicsError, match='damping'):
            gains_of(flexible, PERIOD, joints=[undamped])


# The PID of the C++ controller.


def grows(arm, joint, gains, late, q, seconds=4.0):
    """Whether a push of the loop grows, sample by sample: the linear arm, its torques `late` periods under way."""
    link = arm.rigid.mass_matrix(q)
    loop, mass = joint.sampled(link, LAW_PERIOD), link + np.diag(ROTORS)
    x, under_way, sizes = np.full(24, 1e-3), [np.zeros(6)] * late, []
    x[12:] = 0.0
    for _ in range(round(seconds / LAW_PERIOD)):
        under_way.append(-mass @ (gains['kp'] * x[:6] + gains['kd'] * x[12:18]))
        x = loop.A @ x + loop.B @ under_way.pop(0)
        sizes.append(np.abs(x[12:]).max())
    half = len(sizes) // 2
    return max(sizes[half:]) > max(sizes[:half])


def test_a_rigid_arm_is_critically_damped(robot):
    assert law_gains(Arm(robot), LAW_PERIOD) == {'kp': 400.0, 'ki': 0.0, 'kd': 40.0}


@pytest.mark.parametrize(('delay', 'late'), [(0.0, (0, 1, 2)), (2 * LAW_PERIOD, (2, 3, 4))])
def test_the_law_does_not_ring_up_to_twice_the_stated_delay(flexible, joints, delay, late):
    gains = law_gains(flexible, LAW_PERIOD, joints, delay)
    # A damping ratio of 0.5, and no more than a rigid arm has.
    assert gains['kp'] == pytest.approx(min(400.0, gains['kd'] ** 2), rel=5e-3)
    assert 5.0 < gains['kd'] < 40.0
    louder = {'kp': gains['kp'] * 1.33**2, 'kd': gains['kd'] * 1.33}
    for each, q in ((each, q) for each in joints for q in postures(3, 3)):
        assert not any(grows(flexible, each, gains, count, q) for count in late)
    assert any(grows(flexible, each, louder, count, q) for each in joints for count in late for q in postures(12, 4))


def test_a_rigid_arm_tolerates_twice_the_stated_delay(robot):
    delay = 10 * LAW_PERIOD
    gains = law_gains(Arm(robot), LAW_PERIOD, (), delay)
    assert gains['kp'] < 400.0
    assert delay_margin(gains['kp'], gains['kd']) > 2 * delay


def swing(kp, kd, delay, seconds=20.0, step=1e-4):
    """Largest deflection of a double integrator in the first and in the last quarter after a push."""
    under_way, x, v, sizes = [0.0] * round(delay / step), 0.0, 1.0, []
    for _ in range(round(seconds / step)):
        under_way.append(-kp * x - kd * v)
        v += step * under_way.pop(0)
        x += step * v
        sizes.append(abs(x))
    quarter = len(sizes) // 4
    return max(sizes[:quarter]), max(sizes[-quarter:])


@pytest.mark.parametrize('gains', [(400.0, 40.0), (400.0, 20.5)])
def test_a_push_grows_above_the_delay_margin_alone(gains):
    margin = delay_margin(*gains)
    begin, end = swing(*gains, 0.9 * margin)
    assert end < begin
    begin, end = swing(*gains, 1.1 * margin)
    assert end > begin
    assert delay_margin(0.0, 0.0) == math.inf


# The parameter file and the command.


def test_ros_reads_the_file(tmp_path):
    """By rcl's own parser, which knows no aliases (&id001)."""
    rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)
    path = tmp_path / 'controllers.yaml'
    assert main(['gains', '--robot', str(ur5e_urdf()), '--plugin', '--out', str(path)]) == 0
    context = rclpy.Context()
    rclpy.init(args=['--ros-args', '--params-file', str(path)], context=context)
    try:
        node = rclpy.create_node(
            'feedforward_controller', context=context, automatically_declare_parameters_from_overrides=True
        )
        assert node.get_parameter('fallback_controllers').value == ['joint_trajectory_controller']
        assert node.get_parameter('kp.elbow_joint').value == 400.0
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


def save_description(path, robot, **joint):
    values = StandardParameters(robot.parameters, robot.n)
    DynamicsDescription(
        {
            'robot': {'joint_names': list(robot.joint_names)},
            'inertial': {'standard': {name: values.link_document(k) for k, name in enumerate(robot.link_names)}},
            'joints': {
                name: {key: value(k) for key, value in joint.items() if value(k) is not None}
                for k, name in enumerate(robot.joint_names)
            },
            # A payload is felt like the arm itself.
            'payload': {'mass': {'value': 2.0}, 'first_moments': [0.0, 0.0, 0.2], 'inertia': [0.02, 0, 0, 0.02, 0, 0]},
        }
    ).save(path)


def test_the_command_takes_an_identified_arm(tmp_path, robot, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_description(tmp_path / 'dynamics.yaml', robot, rotor_inertia=lambda k: {'value': 0.8})
    arguments = ['gains', '--robot', str(ur5e_urdf()), '--description', 'dynamics.yaml', '--plugin']
    assert main([*arguments, '--rate', '250', '--out', 'controllers.yaml']) == 0
    document = yaml.safe_load((tmp_path / 'controllers.yaml').read_text())['/**']
    expected = effort_gains(Arm(robot, rotor_inertia=np.full(6, 0.8)).with_payload(2.0, (0.0, 0.0, 0.1)), 0.004)
    for name in ('effort_trajectory_controller', 'plain_trajectory_controller'):
        written = document[name]['ros__parameters']['gains']
        assert [written[joint]['p'] for joint in robot.joint_names] == pytest.approx(expected.p, rel=1e-3)
    law = document['feedforward_controller']['ros__parameters']
    # By its full path: the manager has another working folder.
    assert (law['law'], law['description_file']) == ('adaptive_friction', str((tmp_path / 'dynamics.yaml').resolve()))
    before = document['feedforward_trajectory_controller']['ros__parameters']
    assert before['command_joints'] == [f'feedforward_controller/{name}' for name in robot.joint_names]
    manager = document['controller_manager']['ros__parameters']
    assert manager['update_rate'] == 250
    # The controller that holds the arm after an error is in the same file.
    (fallback,) = law['fallback_controllers']
    assert document[fallback]['ros__parameters']['command_interfaces'] == ['position']
    assert fallback in manager
    assert manager['feedforward_controller']['fallback_controllers'] == [fallback]


@pytest.mark.parametrize('rate', [248.0, 251.3, 250.0])
def test_the_printed_next_command_runs(tmp_path, robot, monkeypatch, capsys, rate):
    """Of a description with the stiffness of some joints alone, at the rate of joint states that jitter."""
    monkeypatch.chdir(tmp_path)
    save_description(
        tmp_path / 'dynamics.yaml',
        robot,
        rotor_inertia=lambda k: {'value': float(ROTORS[k])},
        stiffness=lambda k: None if k == 5 else {'coefficients': [float(STIFFNESS[k])]},
    )
    program, *arguments = shlex.split(next_command(ur5e_urdf(), tmp_path, rate))
    assert program == 'joint-dynamics'
    assert main(arguments) == 0
    assert 'wrist_3_joint' in capsys.readouterr().out
    document = yaml.safe_load((tmp_path / 'controllers.yaml').read_text())['/**']
    assert document['controller_manager']['ros__parameters']['update_rate'] == 250
    assert 'feedforward_controller' in document


def test_the_command_warns_of_a_large_sag(robot, capsys):
    # A delay of ten periods of 4 ms takes gains down by as much, and p by the square.
    late = effort_gains(Arm(robot), 0.004, delay=0.04)
    assert late.sag.max() > 0.1
    assert main(['gains', '--robot', str(ur5e_urdf()), '--rate', '250', '--delay', '0.04']) == 0
    assert late.joint_names[late.sag.argmax()] in capsys.readouterr().err
    assert main(['gains', '--robot', str(ur5e_urdf()), '--rate', '500']) == 0
    assert capsys.readouterr().err == ''
    assert main(['gains', '--robot', str(ur5e_urdf()), '--rate', '0']) == 2
