"""Gains from the model are stable in every posture, late by a period too; those of a shoulder at a wrist are not."""

import math

import numpy as np
import pytest
import yaml

from joint_dynamics.arm import Arm
from joint_dynamics.cli.main import main
from joint_dynamics.control.effort_gains import EffortGains, controller_parameters, effort_gains
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel, StandardParameters
from joint_dynamics.simulation import ur5e_urdf

PERIOD = 0.002


@pytest.fixture(scope='module')
def robot():
    return RobotModel.load(ur5e_urdf())


@pytest.fixture(scope='module')
def gains(robot):
    return effort_gains(Arm(robot), PERIOD)


def spectral_radius(mass, p, d, period, late):
    """Of the sampled loop about rest, M q̈ = −P q − D q̇, the torque held over a period and `late` by one or not."""
    n = len(mass)
    inverse, eye, none = np.linalg.inv(mass), np.eye(n), np.zeros((n, n))
    # exact for a held torque: q⁺ = q + T q̇ + T²/2 M⁻¹ u, q̇⁺ = q̇ + T M⁻¹ u
    A = np.block([[eye, period * eye], [none, eye]])
    B = np.vstack([period**2 / 2 * inverse, period * inverse])
    K = -np.hstack([np.diag(p), np.diag(d)])
    closed = np.block([[A, B], [K, none]]) if late else A + B @ K
    return np.abs(np.linalg.eigvals(closed)).max()


@pytest.mark.parametrize('late', [False, True])
def test_the_sampled_loop_is_stable_in_every_posture(robot, gains, late):
    # Other postures than those the gains were taken from.
    body, rng = robot.rigid_body(), np.random.default_rng(7)
    for q in rng.uniform(-np.pi, np.pi, (300, 6)):
        assert spectral_radius(body.mass_matrix(q), gains.p, gains.d, PERIOD, late) < 1.0


def test_one_joint_by_hand(tmp_path):
    """A point mass on a rod, I = m l²: d = 0.4 I / T, p = d² / (4 ζ² I)."""
    text = (
        '<robot name="rod"><link name="base"/><link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
        '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>'
    )
    gains = effort_gains(Arm(RobotModel.from_urdf(text)), 0.01, damping=1.0)
    np.testing.assert_allclose([gains.d[0], gains.p[0]], [0.4 * 0.5 / 0.01, 20.0**2 / (4 * 0.5)])
    with_rotor = effort_gains(Arm(RobotModel.from_urdf(text), rotor_inertia=[0.5]), 0.01, damping=1.0)
    np.testing.assert_allclose(with_rotor.d, 2 * gains.d)


def test_twice_the_rate_allows_twice_the_damping(robot, gains):
    faster = effort_gains(Arm(robot), PERIOD / 2)
    np.testing.assert_allclose(faster.d, 2 * gains.d)
    np.testing.assert_allclose(faster.p, 4 * gains.p)


@pytest.mark.parametrize('wrong', [{'period': 0.0}, {'period': float('nan')}, {'ratio': 1.5}, {'damping': 0.0}])
def test_what_cannot_be_is_refused(robot, wrong):
    with pytest.raises(JointDynamicsError, match='expected'):
        effort_gains(Arm(robot), **{'period': PERIOD, **wrong})
    with pytest.raises(JointDynamicsError, match='positive in every posture'):
        effort_gains(Arm(robot, rotor_inertia=np.full(6, -5.0)), PERIOD)


def test_the_command_prints_and_writes_them(gains, tmp_path, capsys):
    path = tmp_path / 'controllers.yaml'
    assert main(['gains', '--robot', str(ur5e_urdf()), '--out', str(path)]) == 0
    assert 'wrist_3_joint' in capsys.readouterr().out
    document = yaml.safe_load(path.read_text())
    assert document == controller_parameters(gains)
    section = document['/**']
    assert section['controller_manager']['ros__parameters']['update_rate'] == 500
    written = section['effort_trajectory_controller']['ros__parameters']['gains']
    assert list(written) == list(gains.joint_names)
    for k, name in enumerate(gains.joint_names):
        assert written[name]['i'] == 0.0
        assert written[name]['d'] == pytest.approx(gains.d[k], rel=1e-3)


def test_ros_reads_the_file(tmp_path, gains):
    """By rcl's own parser, which knows no aliases (&id001)."""
    rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)
    path = tmp_path / 'controllers.yaml'
    assert main(['gains', '--robot', str(ur5e_urdf()), '--rate', '500', '--out', str(path)]) == 0
    context = rclpy.Context()
    rclpy.init(args=['--ros-args', '--params-file', str(path)], context=context)
    try:
        node = rclpy.create_node(
            'effort_trajectory_controller', context=context, automatically_declare_parameters_from_overrides=True
        )
        assert node.get_parameter('joints').value == list(gains.joint_names)
        assert node.get_parameter('command_interfaces').value == ['effort']
        assert node.get_parameter(f'gains.{gains.joint_names[0]}.d').value == pytest.approx(gains.d[0], rel=1e-3)
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


def test_the_command_says_how_far_the_arm_sags_and_warns_of_what_feedforward_would_refuse(robot, capsys):
    # A delay of ten periods of 4 ms takes gains down by as much, and p by the square.
    arguments = ['gains', '--robot', str(ur5e_urdf()), '--rate', '250', '--delay', '0.04']
    late = effort_gains(Arm(robot), 0.004, delay=0.04)
    assert late.sag.max() > 0.1
    assert main(arguments) == 0
    done = capsys.readouterr()
    worst = late.joint_names[late.sag.argmax()]
    assert f'sags by up to {late.sag.max():.2g} rad ({worst})' in done.out
    assert 'warning: expected a sag of at most 0.1 rad' in done.err
    assert f'{worst} {late.sag.max():.2g}' in done.err
    assert 'give --description' in done.err
    assert main([*arguments[:3], '--rate', '500']) == 0
    done = capsys.readouterr()
    assert 'without feedforward the arm sags' in done.out
    assert done.err == ''


def test_the_command_refuses_a_rate_that_cannot_be(capsys):
    assert main(['gains', '--robot', str(ur5e_urdf()), '--rate', '0']) == 2
    assert 'expected' in capsys.readouterr().err


def test_the_command_takes_an_identified_arm(tmp_path, robot):
    values = StandardParameters(robot.parameters, robot.n)
    standard = {name: values.link_document(k) for k, name in enumerate(robot.joint_names)}
    path, out = tmp_path / 'dynamics.yaml', tmp_path / 'controllers.yaml'
    DynamicsDescription(
        {
            'robot': {'joint_names': list(robot.joint_names)},
            'inertial': {'standard': standard},
            'joints': {name: {'rotor_inertia': {'value': 0.8}} for name in robot.joint_names},
            # What hangs on the arm is felt like the arm itself.
            'payload': {'mass': {'value': 2.0}, 'first_moments': [0.0, 0.0, 0.2], 'inertia': [0.02, 0, 0, 0.02, 0, 0]},
        }
    ).save(path)
    assert main(['gains', '--robot', str(ur5e_urdf()), '--description', str(path), '--out', str(out)]) == 0
    written = yaml.safe_load(out.read_text())['/**']['effort_trajectory_controller']['ros__parameters']['gains']
    expected = effort_gains(Arm(robot, rotor_inertia=np.full(6, 0.8)).with_payload(2.0, (0.0, 0.0, 0.1)), PERIOD)
    assert [written[name]['p'] for name in robot.joint_names] == pytest.approx(expected.p, rel=1e-3)


def test_coupled_rotors_are_felt_by_both_joints(robot):
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


def test_the_parameter_file_in_every_field():
    values = np.array([[123.456, 1.0], [0.98765, 2.0], [1.0, 2.0], [4.0, 3.0]])
    gains = EffortGains(('a', 'b'), 0.004, *values)
    pid = {
        'a': {'p': 123.5, 'i': 0.0, 'd': 0.9877, 'ff_velocity_scale': 0.0},
        'b': {'p': 1.0, 'i': 0.0, 'd': 2.0, 'ff_velocity_scale': 0.0},
    }
    assert gains.as_parameters() == pid
    follower = 'joint_trajectory_controller/JointTrajectoryController'
    forward = 'forward_command_controller/ForwardCommandController'
    common = {'type': follower, 'joints': ['a', 'b'], 'state_interfaces': ['position', 'velocity']}
    types = {
        'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
        'joint_trajectory_controller': follower,
        'effort_trajectory_controller': follower,
        'forward_effort_controller': forward,
    }
    manager = {'update_rate': 250, 'use_sim_time': True, **{name: {'type': kind} for name, kind in types.items()}}
    # Each with its type: the spawner gives it to a manager that runs already and was started without this file.
    sections = {
        'controller_manager': manager,
        'joint_trajectory_controller': {**common, 'command_interfaces': ['position']},
        'effort_trajectory_controller': {**common, 'command_interfaces': ['effort'], 'gains': pid},
        'forward_effort_controller': {'type': forward, 'joints': ['a', 'b'], 'interface_name': 'effort'},
    }
    document = {'/**': {name: {'ros__parameters': section} for name, section in sections.items()}}
    assert controller_parameters(gains, {'use_sim_time': True}) == document
    del document['/**']['controller_manager']['ros__parameters']['use_sim_time']
    assert controller_parameters(gains) == document


@pytest.mark.parametrize('described', [False, True])
def test_the_plugin_and_the_controller_before_it_are_in_the_file_when_asked_for(
    tmp_path, monkeypatch, robot, described
):
    """With the description by its full path, as the manager has another working folder; read back without aliases."""
    description = ['--description', 'dynamics.yaml'] if described else []
    if described:
        names = list(robot.joint_names)
        DynamicsDescription({'robot': {'joint_names': names}, 'joints': {name: {} for name in names}}).save(
            tmp_path / 'dynamics.yaml'
        )
    out = tmp_path / 'controllers.yaml'
    monkeypatch.chdir(tmp_path)
    assert main(['gains', '--robot', str(ur5e_urdf()), *description, '--plugin', '--out', str(out)]) == 0
    assert '*' not in out.read_text().replace('/**', '')
    document = yaml.safe_load(out.read_text())['/**']
    law = document['feedforward_controller']['ros__parameters']
    if described:
        assert law['law'] == 'adaptive_friction'
        assert law['description_file'] == str((tmp_path / 'dynamics.yaml').resolve())
    else:
        assert (law['law'], law['use_description']) == ('computed_torque', False)
    assert law['kp'] == dict.fromkeys(robot.joint_names, 400.0)
    before = document['feedforward_trajectory_controller']['ros__parameters']
    assert before['command_joints'] == [f'feedforward_controller/{name}' for name in robot.joint_names]
    assert before['command_interfaces'] == ['position', 'velocity', 'acceleration']
    types = document['controller_manager']['ros__parameters']
    assert types['feedforward_controller'] == {'type': 'joint_dynamics_controllers/FeedforwardController'}


def test_figures_of_gains_by_their_formulas():
    p, d = np.array([123456.0, 4.0]), np.array([6.0, 1.23456])
    smallest, largest, F = np.array([0.5, 0.1]), np.array([2.0, 0.3]), np.array([1.0, 0.0])
    gains = EffortGains(('a', 'b'), 0.01, p, d, smallest, largest, F, np.array([8.0, 2.0]))
    for k in range(2):
        assert gains.ratio[k] == pytest.approx(d[k] * 0.01 / smallest[k])
        assert gains.damping[k] == pytest.approx((d[k] + F[k]) / (2 * math.sqrt(p[k] * largest[k])))
        assert gains.sag[k] == pytest.approx([8.0, 2.0][k] / p[k])
    assert EffortGains(('a', 'b'), 0.01, p, d, smallest, largest).sag.tolist() == [0.0, 0.0]


def test_what_has_no_lever_does_not_sag(gains):
    """The axis of the shoulder is vertical; the last link's centre of mass is on its axis."""
    assert (gains.sag == 0.0).tolist() == [True, False, False, False, False, True]


@pytest.mark.parametrize('delay', [0.0, 0.0031])
def test_gains_of_a_rigid_arm_by_their_formulas(robot, delay):
    """d T/I at most the ratio of the bound for that many periods; p from the damping where the inertia is largest."""
    arm = Arm(robot, rotor_inertia=np.full(6, 0.3))
    gains = effort_gains(arm, 0.002, ratio=0.3, damping=0.7, delay=delay)
    late = 1 if delay == 0.0 else 3
    bound = 2 * math.sin(math.pi / (4 * late + 2))
    assert (gains.ratio <= 0.3 * bound * (1 + 1e-9)).all() and gains.ratio.max() > 0.2 * bound
    np.testing.assert_allclose(gains.damping, 0.7)
    rng = np.random.default_rng(0)
    low, high = np.clip(robot.limits.lower, -np.pi, np.pi), np.clip(robot.limits.upper, -np.pi, np.pi)
    for q in rng.uniform(low, high, (60, 6)):
        M = arm.rigid.mass_matrix(q) + 0.3 * np.eye(6)
        free = 1 / np.diag(np.linalg.inv(M))
        assert (free > 0.97 * gains.smallest).all() and (np.diag(M) < 1.03 * gains.largest).all()
        assert (np.abs(arm.rigid.gravity(q)) <= 1.05 * gains.gravity + 0.2).all()
        assert np.linalg.eigvals(0.002 * np.linalg.inv(M) * gains.d).real.max() < 0.95 * bound


def test_the_table_gives_the_units_of_a_joint_that_slides(tmp_path, capsys):
    path = tmp_path / 'lift.urdf'
    path.write_text(
        '<robot name="lift"><link name="base"/><link name="plate"><inertial><mass value="3"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="up" type="prismatic"><parent link="base"/><child link="plate"/><axis xyz="0 0 1"/>'
        '<limit lower="0" upper="1" effort="100" velocity="1"/></joint></robot>'
    )
    assert main(['gains', '--robot', str(path)]) == 0
    shown = capsys.readouterr().out
    assert all(unit in shown for unit in ('N/m', 'N·s/m', 'mm', ' m (up)'))
    assert 'N·m' not in shown and 'rad' not in shown
