"""Gains that a rigid arm bears make flexible joints ring; with their stiffness known they are lowered until not."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from scipy.integrate import solve_ivp

from joint_dynamics.arm import Arm
from joint_dynamics.cli.main import main
from joint_dynamics.control.effort_gains import effort_gains
from joint_dynamics.control.elastic_loop import GAIN_MARGIN, ElasticJoints, elastic_joints
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ur5e_urdf

PERIOD = 0.002
ROTORS = np.array([0.9, 0.9, 0.9, 0.2, 0.2, 0.2])
STIFFNESS = np.array([20e3, 20e3, 20e3, 4e3, 4e3, 4e3])


@pytest.fixture(scope='module')
def arm():
    stiffness = TorsionalStiffness(np.column_stack([STIFFNESS, 1e8 * np.ones(6)]))
    return Arm(RobotModel.load(ur5e_urdf()), rotor_inertia=ROTORS, stiffness=stiffness)


@pytest.fixture(scope='module')
def one():
    """One joint: K, D, B, and a link of 0.5 kg·m²."""
    return ElasticJoints(np.array([4e3]), np.array([1.0]), np.array([2.0]), np.array([[0.2]])), np.array([[0.5]])


def plants(seeds):
    """The flexible arm as the simulator has it: laws of its own, drawn per seed."""
    for seed in seeds:
        truth = FlexibleJointRobot(seed=seed).truth
        yield ElasticJoints(truth.stiffness[:, 0], truth.damping, np.zeros(6), np.diag(truth.rotor_inertia))


def worst(joints, gains, arm, postures=12):
    rng = np.random.default_rng(7)
    loops = [joints.sampled(arm.rigid.mass_matrix(q), PERIOD) for q in rng.uniform(-np.pi, np.pi, (postures, 6))]
    return max(loop.spectral_radius(gains.p, gains.d) for loop in loops)


def test_gains_of_the_rigid_arm_ring(arm):
    """What the command wrote before, with rotors in the inertia: the simulated arm chattered with it."""
    rigid = effort_gains(arm, PERIOD)
    assert all(worst(plant, rigid, arm) > 1.05 for plant in plants(range(2)))


def test_gains_for_flexible_joints_do_not_ring(arm):
    """Softer plants than what was described, without the viscous friction that helps."""
    gains = effort_gains(arm, PERIOD, joints=elastic_joints(arm))
    assert all(worst(plant, gains, arm) < 1.0 for plant in plants(range(2)))


def test_the_margin_is_kept(arm):
    joints = elastic_joints(arm)
    gains = effort_gains(arm, PERIOD, joints=joints)
    for factor in (1.0, GAIN_MARGIN):
        louder = replace(gains, p=factor * gains.p, d=factor * gains.d)
        assert all(worst(joint, louder, arm) < 1.0 for joint in joints)


@pytest.mark.parametrize('feedback', ['link', 'motor'])
def test_one_period_is_what_integration_gives(one, feedback):
    joints, mass = one
    loop = replace(joints, feedback=feedback).sampled(mass, PERIOD)
    (K,), (D,), (F,), B, M = joints.stiffness, joints.damping, joints.viscous, joints.rotors[0, 0], mass[0, 0]
    x, u = np.array([0.01, -0.02, 0.3, 0.1]), 5.0

    def slope(_, x):
        through = K * (x[1] - x[0]) + D * (x[3] - x[2])
        return [x[2], x[3], through / M, (u - through - F * x[3]) / B]

    expected = solve_ivp(slope, (0.0, PERIOD), x, rtol=1e-11, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(loop.A @ x + loop.B @ [u], expected, rtol=1e-8)


def test_stability_is_what_a_simulated_loop_shows(one):
    """Grows above 1, dies away below: both sides of the limit, at once and a period late."""
    joints, mass = one
    loop = joints.sampled(mass, PERIOD)
    for scale, longest, grows in ((0.5, 1, False), (8.0, 1, True), (0.5, 3, False), (3.0, 1, False), (6.0, 9, True)):
        p, d = np.array([scale * 30.0]), np.array([scale * 3.0])
        assert (loop.spectral_radius(p, d, longest) > 1.0) == grows
        sizes = []
        for late in range(longest + 1):
            x, under_way = np.array([0.01, 0.01, 0.0, 0.0]), [np.zeros(1)] * late
            for _ in range(4000):
                under_way.append(-p * x[0] - d * x[2])
                x = loop.A @ x + loop.B @ under_way.pop(0)
            sizes.append(np.abs(x).max())
        assert (max(sizes) > 0.01) == grows


def test_an_undamped_joint_bears_no_gain_on_the_link_side(one):
    joints, mass = one
    bare = replace(joints, damping=np.zeros(1), viscous=np.zeros(1))
    assert bare.sampled(mass, PERIOD).spectral_radius(np.array([1e-3]), np.array([1e-2])) > 1.0
    on_motor = replace(bare, feedback='motor').sampled(mass, 1e-5)
    assert on_motor.spectral_radius(np.array([10.0]), np.array([1.0])) < 1.0


def test_less_damping_for_a_p_that_holds_and_the_sag_it_leaves(arm):
    """By default; what was asked for is kept."""
    joints = elastic_joints(arm)
    gains, asked = effort_gains(arm, PERIOD, joints=joints), effort_gains(arm, PERIOD, damping=0.5, joints=joints)
    np.testing.assert_allclose([gains.damping, asked.damping], np.outer([0.2, 0.5], np.ones(6)))
    assert (gains.p[:5] > 3 * asked.p[:5]).all()
    # Stretched out sideways the arm weighs most on the lift joint; the pan's axis is upright.
    heaviest = np.abs(arm.rigid.gravity(np.zeros(6))[1])
    assert gains.sag[1] == pytest.approx(heaviest / gains.p[1], rel=0.05)
    assert gains.sag[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('flexible', [False, True])
def test_a_delay_costs_gains(arm, flexible):
    """A rigid arm's by far; flexible ones are slow enough for some, and stable with it in either case."""
    joints = elastic_joints(arm) if flexible else ()
    at_once, late = (effort_gains(arm, PERIOD, joints=joints, delay=delay) for delay in (0.0, 0.01))
    assert flexible or (late.d < 0.3 * at_once.d).all()
    rng = np.random.default_rng(7)
    plant = joints[0] if flexible else replace(elastic_joints(arm)[0], stiffness=1e8 * np.ones(6))
    radius = [
        plant.sampled(arm.rigid.mass_matrix(q), PERIOD).spectral_radius(late.p, late.d, 6)
        for q in rng.uniform(-np.pi, np.pi, (6, 6))
    ]
    assert max(radius) < 1.0


def test_topics_between_controller_and_drives_have_to_be_stated(arm):
    """A state waits up to a period for the update, a command up to one for the robot: two more than counted."""
    period, added = 0.004, 2
    joints = elastic_joints(arm, STIFFNESS)
    counted, stated = (effort_gains(arm, period, joints=joints, delay=periods * period) for periods in (0, added))
    rng = np.random.default_rng(7)
    loops = [joints[0].sampled(arm.rigid.mass_matrix(q), period) for q in rng.uniform(-np.pi, np.pi, (6, 6))]
    for late in range(added + 2):
        assert max(loop.spectral_radius(stated.p, stated.d, late) for loop in loops) < 1.0
    assert max(loop.spectral_radius(counted.p, counted.d, 1) for loop in loops) < 1.0
    assert max(loop.spectral_radius(counted.p, counted.d, 1 + added) for loop in loops) > 1.02


@pytest.mark.parametrize(('period', 'delay'), [(0.002, 0.008), (0.004, 0.008)])
def test_friction_that_damps_more_than_a_late_torque_bears_is_no_reason_to_refuse(arm, period, delay):
    """Of the demonstration's size: with it alone, at the damping asked for, p would ring at the wrists."""
    viscous = np.array([8.5, 11.9, 9.4, 3.1, 2.5, 2.6])
    joints = [replace(each, viscous=viscous) for each in elastic_joints(arm)]
    gains = effort_gains(arm, period, joints=joints, delay=delay)
    assert (gains.d > 0.0).all()
    # Damped more where p is less, never less than asked for.
    assert (gains.damping >= 0.2 * (1 - 1e-9)).all()
    assert (gains.damping[3:] > 0.21).any()
    rng = np.random.default_rng(7)
    postures = rng.uniform(-np.pi, np.pi, (6, 6))
    late = 1 + round(delay / period)
    for each in joints:
        for q in postures:
            assert each.sampled(arm.rigid.mass_matrix(q), period).stable(gains.p, gains.d, late)


def test_a_delay_out_of_range_is_refused(arm):
    with pytest.raises(JointDynamicsError, match='expected a delay of 0 to 10 periods'):
        effort_gains(arm, PERIOD, delay=0.1)


def test_rigid_where_no_stiffness_is_known():
    assert elastic_joints(Arm(RobotModel.load(ur5e_urdf()))) == ()


def test_softest_and_stiffest_of_what_is_described(arm):
    soft, stiff = sorted(elastic_joints(arm), key=lambda joints: joints.stiffness[0])
    np.testing.assert_allclose(soft.stiffness, STIFFNESS)
    limit = arm.robot.limits.effort
    np.testing.assert_allclose(stiff.stiffness, arm.stiffness.stiffness(arm.stiffness.deformation(limit)))


@pytest.mark.parametrize(
    ('changes', 'stiffness', 'ratio', 'expected'),
    [
        ({}, [-1.0] * 6, 0.02, 'expected stiffness above 0'),
        ({}, [1e4] * 5, 0.02, 'expected 6 values of stiffness, found 5'),
        ({}, None, 0.0, 'expected a damping ratio between 0 and 1'),
        ({'rotor_inertia': np.zeros(6)}, None, 0.02, 'expected a rotor inertia above 0 for every joint'),
        ({'stiffness_described': np.arange(6) > 0}, None, 0.02, 'found none for shoulder_pan_joint'),
    ],
)
def test_what_cannot_be_judged_is_refused(arm, changes, stiffness, ratio, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        elastic_joints(replace(arm, **changes), stiffness, damping_ratio=ratio)


def test_joints_that_no_gain_suits_are_named(arm):
    undamped = replace(elastic_joints(arm)[0], damping=np.zeros(6))
    with pytest.raises(JointDynamicsError, match='all make them ring'):
        effort_gains(arm, PERIOD, joints=[undamped])


def test_the_command_takes_described_and_stated_stiffness(tmp_path, capsys):
    robot = RobotModel.load(ur5e_urdf())
    path, out = tmp_path / 'dynamics.yaml', tmp_path / 'controllers.yaml'
    joints = {
        name: {'rotor_inertia': {'value': float(B)}, 'stiffness': {'coefficients': [float(K)]}}
        for name, B, K in zip(robot.joint_names, ROTORS, STIFFNESS, strict=True)
    }
    DynamicsDescription({'robot': {'joint_names': list(robot.joint_names)}, 'joints': joints}).save(path)

    def written(*options):
        assert main(['gains', '--robot', str(ur5e_urdf()), '--out', str(out), *options]) == 0
        gains = yaml.safe_load(out.read_text())['/**']['effort_trajectory_controller']['ros__parameters']['gains']
        return np.array([gains[name]['d'] for name in robot.joint_names]), capsys.readouterr().out

    described, said = written('--description', str(path))
    assert 'stable with flexible joints of 4e+03 … 2e+04 N·m/rad, position of the link side' in said
    softer, _ = written('--description', str(path), '--stiffness', *(str(0.5 * K) for K in STIFFNESS))
    assert softer[0] < 0.95 * described[0]
    motor, said = written('--description', str(path), '--feedback', 'motor')
    assert 'motor side' in said and (motor > described).all()
    _, said = written()
    assert 'taken as rigid: no stiffness is known' in said
    assert main(['gains', '--robot', str(ur5e_urdf()), '--stiffness', '1e4']) == 2
    assert 'rotor inertia above 0' in capsys.readouterr().err
