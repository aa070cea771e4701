"""Gains of the laws' PID: what flexible joints bear with a torque as late as was stated, and up to twice as late."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.cli.main import main
from joint_dynamics.control.elastic_loop import ElasticJoints, elastic_joints
from joint_dynamics.control.law import delay_margin
from joint_dynamics.control.law_gains import law_gains
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

PERIOD = 0.004
ROTORS = np.array([0.9, 0.9, 0.9, 0.2, 0.2, 0.2])
STIFFNESS = np.array([20e3, 20e3, 20e3, 4e3, 4e3, 4e3])
VISCOUS = np.array([8.0, 11.0, 10.0, 2.4, 2.8, 2.6])


@pytest.fixture(scope='module')
def arm():
    stiffness = TorsionalStiffness(np.column_stack([STIFFNESS, 1e8 * np.ones(6)]))
    return Arm(RobotModel.load(ur5e_urdf()), rotor_inertia=ROTORS, stiffness=stiffness)


@pytest.fixture(scope='module')
def joints(arm):
    return [replace(joint, viscous=VISCOUS) for joint in elastic_joints(arm)]


def grows(arm, joint, gains, late, q, seconds=4.0):
    """Whether a push of the loop grows, sample by sample: the linear arm, its torques `late` periods under way."""
    link = arm.rigid.mass_matrix(q)
    loop, mass = joint.sampled(link, PERIOD), link + np.diag(ROTORS)
    x, under_way, sizes = np.full(24, 1e-3), [np.zeros(6)] * late, []
    x[12:] = 0.0
    for _ in range(round(seconds / PERIOD)):
        under_way.append(-mass @ (gains['kp'] * x[:6] + gains['kd'] * x[12:18]))
        x = loop.A @ x + loop.B @ under_way.pop(0)
        sizes.append(np.abs(x[12:]).max())
    half = len(sizes) // 2
    return max(sizes[half:]) > max(sizes[:half])


def test_a_rigid_arm_has_what_it_had(arm):
    assert law_gains(Arm(arm.robot), PERIOD) == {'kp': 400.0, 'ki': 0.0, 'kd': 40.0}


@pytest.mark.parametrize(('delay', 'late'), [(0.0, (0, 1, 2)), (2 * PERIOD, (2, 3, 4)), (1.5 * PERIOD, (1, 2, 3, 4))])
def test_nothing_rings_from_the_stated_delay_to_twice_as_long(arm, joints, delay, late):
    gains = law_gains(arm, PERIOD, joints, delay)
    # A damping ratio of 0.5, and no more than a rigid arm has.
    assert gains['kp'] == pytest.approx(min(400.0, gains['kd'] ** 2), rel=5e-3)
    postures = np.random.default_rng(3).uniform(-np.pi, np.pi, (3, 6))
    assert not any(grows(arm, joint, gains, count, q) for joint in joints for count in late for q in postures)


def test_as_much_as_they_bear_and_no_less(arm, joints):
    """A third more rings in one of a few postures; so do the rigid arm's gains, for topics as within the manager."""
    for delay in (0.0, 2 * PERIOD):
        gains = law_gains(arm, PERIOD, joints, delay)
        assert 5.0 < gains['kd'] < 40.0
        more = {'kp': gains['kp'] * 1.33**2, 'kd': gains['kd'] * 1.33}
        rest = {'kp': 400.0, 'kd': 40.0}
        late = range(round(delay / PERIOD), max(2, 2 * round(delay / PERIOD)) + 1)
        postures = np.random.default_rng(4).uniform(-np.pi, np.pi, (12, 6))
        for loud in (more, rest):
            assert any(grows(arm, joint, loud, count, q) for joint in joints for count in late for q in postures)


@pytest.mark.parametrize('delay', [0.0, 2 * PERIOD])
def test_it_is_the_damping_that_rings_and_a_lower_stiffness_buys_none(arm, joints, delay):
    """A third more k_d rings with the k_p that it damps critically, too, which is less than half of the one given."""
    gains = law_gains(arm, PERIOD, joints, delay)
    late = range(round(delay / PERIOD), max(2, 2 * round(delay / PERIOD)) + 1)
    softer = {'kp': 0.25 * (1.33 * gains['kd']) ** 2, 'kd': 1.33 * gains['kd']}
    assert softer['kp'] < 0.5 * gains['kp']
    postures = np.random.default_rng(4).uniform(-np.pi, np.pi, (12, 6))
    assert any(grows(arm, joint, softer, count, q) for joint in joints for count in late for q in postures)


def test_a_rigid_arm_bears_twice_the_stated_delay(arm):
    delay = 10 * PERIOD
    gains = law_gains(Arm(arm.robot), PERIOD, (), delay)
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


def test_what_cannot_be_is_refused(arm):
    with pytest.raises(JointDynamicsError, match=r'^gains: expected a delay of 0 to 10 periods, found 0.1 s$'):
        law_gains(arm, PERIOD, (), 0.1)
    bare = ElasticJoints(STIFFNESS, np.zeros(6), np.zeros(6), np.diag(ROTORS))
    with pytest.raises(JointDynamicsError, match=r'all make them ring'):
        law_gains(arm, PERIOD, [bare], 0.0)


def test_the_command_says_and_writes_them(arm, capsys, tmp_path):
    status = main(
        ['gains', '--robot', str(ur5e_urdf()), '--rate', '250', '--plugin', '--out', str(tmp_path / 'c.yaml')]
    )
    assert status == 0
    said = capsys.readouterr().out
    assert 'law: kp 400 1/s², kd 40 1/s, for a torque up to two periods late; feedforward refuses to go on' in said
    assert 'with one 32 ms late' in said
