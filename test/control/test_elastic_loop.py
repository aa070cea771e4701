"""Gains that a rigid arm bears make flexible joints ring; with their stiffness known they are lowered until not."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from scipy.integrate import solve_ivp

from joint_dynamics.arm import Arm
from joint_dynamics.cli.main import main
from joint_dynamics.control.effort_gains import effort_gains
from joint_dynamics.control.elastic_loop import GAIN_MARGIN, ElasticJoints, SampledArm, elastic_joints, law_gains
from joint_dynamics.control.law import delay_margin
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, TorsionalStiffness
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


def postures(count, seed):
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 6))


def worst(joints, gains, arm, late=0, period=PERIOD, count=6):
    """The largest spectral radius in a few postures."""
    loops = [joints.sampled(arm.rigid.mass_matrix(q), period) for q in postures(count, 7)]
    return max(loop.spectral_radius(gains.p, gains.d, late) for loop in loops)


def test_gains_of_the_rigid_arm_ring_and_those_for_flexible_joints_do_not(arm):
    """On softer plants than what was described, without the viscous friction that helps."""
    rigid, gains = effort_gains(arm, PERIOD), effort_gains(arm, PERIOD, joints=elastic_joints(arm))
    for plant in plants(range(2)):
        assert worst(plant, rigid, arm, count=12) > 1.05
        assert worst(plant, gains, arm, count=12) < 1.0


def test_the_margin_is_kept(arm):
    joints = elastic_joints(arm)
    gains = effort_gains(arm, PERIOD, joints=joints)
    for factor in (1.0, GAIN_MARGIN):
        louder = replace(gains, p=factor * gains.p, d=factor * gains.d)
        assert all(worst(joint, louder, arm, count=12) < 1.0 for joint in joints)


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
    plant = joints[0] if flexible else replace(elastic_joints(arm)[0], stiffness=1e8 * np.ones(6))
    assert worst(plant, late, arm, 6) < 1.0


def test_topics_between_controller_and_drives_have_to_be_stated(arm):
    """A state waits up to a period for the update, a command up to one for the robot: two more than counted."""
    period, added = 0.004, 2
    joints = elastic_joints(arm, STIFFNESS)
    counted, stated = (effort_gains(arm, period, joints=joints, delay=periods * period) for periods in (0, added))
    for late in range(added + 2):
        assert worst(joints[0], stated, arm, late, period) < 1.0
    assert worst(joints[0], counted, arm, 1, period) < 1.0
    assert worst(joints[0], counted, arm, 1 + added, period) > 1.02


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
    late = 1 + round(delay / period)
    for each in joints:
        for q in postures(6, 7):
            assert each.sampled(arm.rigid.mass_matrix(q), period).stable(gains.p, gains.d, late)


def test_a_delay_out_of_range_is_refused(arm):
    with pytest.raises(JointDynamicsError, match='expected a delay of 0 to 10 periods'):
        effort_gains(arm, PERIOD, delay=0.1)


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


@pytest.mark.parametrize('feedback', ['link', 'motor'])
def test_the_radius_of_a_loop_is_how_fast_it_dies_away(feedback):
    """Against stepping the loop itself, its torque so many periods late."""
    rng = np.random.default_rng(5)
    K = np.array([4e3, 3e3])
    joints = ElasticJoints(K, np.array([2.0, 3.0]), np.array([1.0, 0.5]), np.diag([0.3, 0.2]), feedback)
    loop = joints.sampled(np.array([[0.6, 0.1], [0.1, 0.4]]), 0.002)
    p, d = np.array([30.0, 20.0]), np.array([3.0, 2.0])
    offset = 0 if feedback == 'link' else 2

    def dying(late):
        x, under_way = rng.normal(size=8), [np.zeros(2)] * late
        sizes = []
        for _ in range(6000):
            asked = -p * x[offset : offset + 2] - d * x[4 + offset : 6 + offset]
            under_way.append(asked)
            x = loop.A @ x + loop.B @ under_way.pop(0)
            sizes.append(np.linalg.norm(x / [1, 1, 1, 1, 100, 100, 100, 100]))
        return (max(sizes[-500:]) / max(sizes[-3500:-3000])) ** (1 / 3000)

    rates = [dying(late) for late in (0, 1, 2)]
    for late in (0, 1, 2):
        assert loop.spectral_radius(p, d, late) == pytest.approx(max(rates[: late + 1]), rel=2e-4)
    assert loop.stable(p, d) == all(loop.spectral_radius(f * p, f * d) < 1 for f in (1.0, 2.0))
    assert not loop.stable(1e4 * p, d)
    one = joints.single(1)
    assert (one.stiffness, one.damping, one.viscous, one.rotors, one.feedback) == (3e3, 3.0, 0.5, 0.2, feedback)
    assert isinstance(loop, SampledArm)


def test_flexible_joints_are_those_at_their_softest_and_stiffest(make_arm):
    arm = make_arm(damping=np.array([5.0, 0.0, 5.0, 0.0, 5.0, 5.0]))
    limit = arm.robot.limits.effort
    slopes = arm.stiffness.stiffness(arm.deformation(np.linspace(0, 1, 33)[:, None] * limit))
    found = sorted(elastic_joints(arm, damping_ratio=0.1, feedback='motor'), key=lambda one: one.stiffness[0])
    inertia = np.diag(arm.rigid.mass_matrix(np.zeros(6)))
    rotors = np.diag(arm.rotor_torque(np.eye(6)))
    for one, K in zip(found, (slopes.min(axis=0), slopes.max(axis=0)), strict=True):
        np.testing.assert_allclose(one.stiffness, K)
        assumed = 0.2 * np.sqrt(K * inertia * rotors / (inertia + rotors))
        np.testing.assert_allclose(one.damping, np.where(arm.damping > 0, arm.damping, assumed))
        np.testing.assert_allclose(one.rotors, np.diag(rotors))
        np.testing.assert_allclose(one.viscous, np.where(arm.friction_described, 6.0, 0.0))
        assert one.feedback == 'motor'
    (stated,) = elastic_joints(arm, np.full(6, 1e4))
    assert stated.stiffness.tolist() == [1e4] * 6 and stated.feedback == 'link'
    falling = FrictionModel({'F_C0': np.full(6, 7.0), 'F_V1': np.array([3.0, -2.0, 1.0, 1.0, 1.0, 1.0])})
    scaled = make_arm(
        friction=falling, friction_scale=np.tile([0.5, 0.0], (6, 1)), friction_described=np.arange(6) != 3
    )
    (one,) = elastic_joints(scaled, np.full(6, 1e4))
    assert one.viscous.tolist() == [1.5, 0.0, 0.5, 0.0, 0.5, 0.5]


LAW_PERIOD = 0.004
VISCOUS = np.array([8.0, 11.0, 10.0, 2.4, 2.8, 2.6])


@pytest.fixture(scope='module')
def joints(arm):
    return [replace(joint, viscous=VISCOUS) for joint in elastic_joints(arm)]


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


def test_a_rigid_arm_has_what_it_had(arm):
    assert law_gains(Arm(arm.robot), LAW_PERIOD) == {'kp': 400.0, 'ki': 0.0, 'kd': 40.0}


@pytest.mark.parametrize(
    ('delay', 'late'), [(0.0, (0, 1, 2)), (2 * LAW_PERIOD, (2, 3, 4)), (1.5 * LAW_PERIOD, (1, 2, 3, 4))]
)
def test_nothing_rings_from_the_stated_delay_to_twice_as_long(arm, joints, delay, late):
    gains = law_gains(arm, LAW_PERIOD, joints, delay)
    # A damping ratio of 0.5, and no more than a rigid arm has.
    assert gains['kp'] == pytest.approx(min(400.0, gains['kd'] ** 2), rel=5e-3)
    assert not any(grows(arm, joint, gains, count, q) for joint in joints for count in late for q in postures(3, 3))


@pytest.mark.parametrize('delay', [0.0, 2 * LAW_PERIOD])
def test_as_much_as_they_bear_and_no_less(arm, joints, delay):
    """A third more rings in one of a few postures; so do the rigid arm's gains, for topics as within the manager.

    It is the damping that rings: a third more k_d does with the k_p that it damps critically, too, which is less than
    half of the one given.
    """
    gains = law_gains(arm, LAW_PERIOD, joints, delay)
    assert 5.0 < gains['kd'] < 40.0
    more = {'kp': gains['kp'] * 1.33**2, 'kd': gains['kd'] * 1.33}
    softer = {'kp': 0.25 * more['kd'] ** 2, 'kd': more['kd']}
    assert softer['kp'] < 0.5 * gains['kp']
    late = range(round(delay / LAW_PERIOD), max(2, 2 * round(delay / LAW_PERIOD)) + 1)
    for loud in (more, {'kp': 400.0, 'kd': 40.0}, softer):
        assert any(grows(arm, joint, loud, count, q) for joint in joints for count in late for q in postures(12, 4))


def test_a_rigid_arm_bears_twice_the_stated_delay(arm):
    delay = 10 * LAW_PERIOD
    gains = law_gains(Arm(arm.robot), LAW_PERIOD, (), delay)
    assert gains['kp'] < 400.0
    assert delay_margin(gains['kp'], gains['kd'])[0] > 2 * delay


def swing(kp, kd, ki, delay, seconds=20.0, step=1e-4):
    """Largest deflection of a double integrator in the first and in the last quarter after a push."""
    late = round(delay / step)
    under_way, x, v, integral, sizes = [0.0] * late, 0.0, 1.0, 0.0, []
    for _ in range(round(seconds / step)):
        integral += ki * x * step
        under_way.append(-kp * x - kd * v - integral)
        v += step * under_way.pop(0)
        x += step * v
        sizes.append(abs(x))
    quarter = len(sizes) // 4
    return max(sizes[:quarter]), max(sizes[-quarter:])


@pytest.mark.parametrize('gains', [(400.0, 40.0, 0.0), (400.0, 20.5, 0.0), (100.0, 5.0, 20.0)])
def test_a_push_dies_below_the_delay_margin_and_grows_above_it(gains):
    margin = delay_margin(*gains)[0]
    begin, end = swing(*gains, 0.9 * margin)
    assert end < begin
    begin, end = swing(*gains, 1.1 * margin)
    assert end > begin


def test_delay_margins_of_several_joints():
    assert delay_margin(np.array([400.0, 0.0]), np.array([40.0, 0.0])) == pytest.approx([0.03236, np.inf], rel=1e-3)
    # Nothing damps; the integral takes all that there is.
    assert not (delay_margin(np.array([400.0, 400.0]), np.array([0.0, 5.0]), np.array([0.0, 4000.0])) > 0).any()


def test_gains_of_a_law_that_cannot_be_are_refused(arm):
    with pytest.raises(JointDynamicsError, match=r'^gains: expected a delay of 0 to 10 periods, found 0.1 s$'):
        law_gains(arm, LAW_PERIOD, (), 0.1)
    bare = ElasticJoints(STIFFNESS, np.zeros(6), np.zeros(6), np.diag(ROTORS))
    with pytest.raises(JointDynamicsError, match=r'all make them ring'):
        law_gains(arm, LAW_PERIOD, [bare], 0.0)


def test_the_command_says_and_writes_the_gains_of_the_law(arm, capsys, tmp_path):
    status = main(
        ['gains', '--robot', str(ur5e_urdf()), '--rate', '250', '--plugin', '--out', str(tmp_path / 'c.yaml')]
    )
    assert status == 0
    said = capsys.readouterr().out
    assert 'law: kp 400 1/s², kd 40 1/s, for a torque up to two periods late; feedforward refuses to go on' in said
    assert 'with one 32 ms late' in said
