"""The host of the plugin, compiled alone: the node's torque, nothing allocated, and what becomes of a bad law."""

import os

import numpy as np
import pytest
from joint_dynamics.control.hosted_parameters import parameters_of
from joint_dynamics.control.loop_parameters import GivenValues, build_loop

from joint_dynamics.control import Path, available
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif('adaptive_friction' not in available(), reason='the laws of the package are not installed'),
]
PERIOD = 2e-3
HOME = np.array([0.0, -1.2, 1.4, -1.7, -1.5, 0.3])
CLOSED, LAW, SAFE, FAILED, LATE = range(5)
RUNNING, RAMPING, ENDED = range(3)


@pytest.fixture(scope='module')
def robot():
    return RobotModel.from_urdf(ur5e_urdf())


@pytest.fixture(scope='module')
def description(law_document):
    return DynamicsDescription(law_document)


def rows_of(robot, standing=None):
    """Rows of a motion that is tracked to 0.1 mrad, with α and temperatures now and then; or of standing still."""
    rng = np.random.default_rng(11)
    if standing is None:
        points = HOME + rng.uniform(-0.3, 0.3, (3, robot.n)).cumsum(axis=0)
        zero = np.zeros_like(points)
        path = Path([0.0, 0.6, 1.2], points, zero, zero)
        motion = path.sample(np.arange(0.0, path.end, PERIOD))
    else:
        motion = np.zeros((standing, 5, robot.n))
        motion[:, 0] = HOME
    count, n = len(motion), robot.n
    measured = motion[:, 0] + 1e-4 * rng.standard_normal((count, n))
    slow = np.full((count, 3, n), np.nan)
    slow[::50, 0] = 1.0 + 0.2 * rng.standard_normal(slow[::50, 0].shape)
    slow[::50, 1] = 0.01 * rng.standard_normal(slow[::50, 1].shape)
    slow[::100, 2] = 30.0 + rng.uniform(0, 8, slow[::100, 2].shape)
    effort = np.zeros((count, 1, n))
    blocks = [measured[:, None], motion[:, 1:2], motion[:, :3], effort, slow]
    return np.hstack([np.full((count, 1), PERIOD), np.concatenate(blocks, axis=1).reshape(count, -1)])


def parameters(robot, law='adaptive_friction', **more):
    gains = {'kp': 400.0, 'kd': 40.0, 'ki': 50.0}
    per_joint = {f'{name}.{joint}': value for name, value in gains.items() for joint in robot.joint_names}
    return {'law': law, 'joints': list(robot.joint_names), 'ramp_time': 0.5, 'feedback': True, **per_joint, **more}


def node_torque(robot, description, rows, given):
    """What the node's loop commands, its inputs written as the node writes them."""
    loop = build_loop(GivenValues(parameters_of(given['law']), given, robot.joint_names), robot, description)
    loop.activate()
    found, time = [], 0.0
    for row in rows:
        time += row[0]
        q, dq, *desired, _, alpha1, alpha2, temperature = row[1:].reshape(9, -1)
        for quantity, values in (('position', q), ('velocity', dq)):
            loop.state.write(quantity, values, time, robot.joint_names)
        slow = {'friction_scale': alpha1, 'viscous_excess': alpha2, 'temperature': temperature}
        for quantity, values in slow.items():
            if np.isfinite(values[0]):
                loop.state.write(quantity, values, time, robot.joint_names)
        for quantity, values in zip(('position', 'velocity', 'acceleration'), desired, strict=True):
            loop.reference.write(quantity, values, time)
        found.append(loop.step(time, row[0]))
    return np.array(found)


def gravity(robot, description, q):
    loop = build_loop(GivenValues(parameters_of(''), {}, robot.joint_names), robot, description)
    return loop.arm.rigid.gravity(q)


@pytest.mark.parametrize('law', ['computed_torque', 'adaptive_friction'])
def test_the_host_commands_what_the_node_commands(play, robot, description, law):
    rows, given = rows_of(robot), parameters(robot, law)
    run = play(ur5e_urdf().read_text(), description.to_yaml(), given, rows)
    expected = node_torque(robot, description, rows, given)
    assert np.abs(run.command - expected).max() <= 1e-9
    assert np.abs(expected).max() > 20.0
    assert (run.outcome == LAW).all()
    # The calling thread is the controller manager's.
    assert run.answer['allocations'] == 0
    assert run.answer['errors'] == 0


@pytest.mark.parametrize('source', ['measured', 'left'])
def test_it_takes_over_from_the_effort_that_is_on_the_joints(play, robot, description, source):
    rows = rows_of(robot, standing=700)
    holds = gravity(robot, description, HOME)
    # Within what friction bears at rest.
    held = holds + np.array([0.5, -2.0, 1.0, -0.2, 0.1, 0.1])
    unknown = np.full(robot.n, np.nan)
    begin = [HOME, *((held, unknown) if source == 'measured' else (unknown, held))]
    given = parameters(robot, 'computed_torque', handover_time=1.0, feedback=False)
    run = play(ur5e_urdf().read_text(), description.to_yaml(), given, rows, begin=begin)
    assert (run.outcome == LAW).all()
    assert run.command[0] == pytest.approx(held, abs=1e-9)
    # At rest the law is gravity.
    share = np.maximum(1.0 - np.arange(len(rows)) * PERIOD / 1.0, 0.0)[:, None]
    assert run.command == pytest.approx(holds + share * (held - holds), abs=1e-9)
    assert run.answer['allocations'] == 0


def test_a_law_that_is_late_from_the_beginning_holds_what_it_took_over(play, robot, description, foreign):
    held = gravity(robot, description, HOME) + 1.0
    begin = [HOME, held, np.full(robot.n, np.nan)]
    options = ('--step-timeout', 0.5, '--late-timeout', 0.02)
    given = parameters(robot, 'sleeps')
    rows = rows_of(robot, standing=300)
    run = play(ur5e_urdf().read_text(), description.to_yaml(), given, rows, *options, path=[foreign], begin=begin)
    end = int(np.argmax(run.phase == RAMPING))
    assert (run.outcome[:end] == LATE).all()
    assert run.command[:end] == pytest.approx(np.tile(held, (end, 1)), abs=1e-9)
    assert run.phase[-1] == ENDED
    assert run.command[-1] == pytest.approx(gravity(robot, description, HOME), abs=1e-9)


SECONDS = float(os.environ.get('JOINT_DYNAMICS_STORM', 60.0))
BAD = np.array([np.nan, np.inf, -np.inf, 1e300, -1e9, 1e3, -0.7])


def test_a_storm_never_gets_a_bad_command_through(play, robot, description):
    """A minute of states, references, α, temperatures and periods that are often bad; JOINT_DYNAMICS_STORM=600: ten."""
    rng = np.random.default_rng(5)
    calm = rows_of(robot)
    rows = np.tile(calm, (int(np.ceil(SECONDS / (len(calm) * PERIOD))), 1))
    count, n = len(rows), robot.n
    bad = np.repeat(rng.random(count // 25 + 1) < 0.2, 25)[:count]
    blocks = rows[:, 1:].reshape(count, 9, n).copy()
    hit = bad[:, None, None] & (rng.random(blocks.shape) < 0.03)
    worst = rng.choice(BAD, blocks.shape)
    # An effort that is asked for and is infinite is a failure; everything else is to be got over.
    worst[:, 5] = np.where(np.isinf(worst[:, 5]), np.nan, worst[:, 5])
    blocks[hit] = worst[hit]
    rows[:, 1:] = blocks.reshape(count, -1)
    odd = bad & (rng.random(count) < 0.05)
    rows[odd, 0] = rng.choice([0.0, -1e-3, np.nan, 1e9, 0.05, 1e-9], odd.sum())
    run = play(ur5e_urdf().read_text(), description.to_yaml(), parameters(robot), rows)
    limit = robot.limits.effort
    assert np.isfinite(run.command).all()
    assert (np.abs(run.command) <= limit * (1 + 1e-12)).all()
    period = np.where(rows[:, 0] > 0, np.minimum(rows[:, 0], 0.02), 0.0)
    change = np.abs(np.diff(run.command, axis=0, prepend=0.0))
    assert (change <= 50.0 * limit * period[:, None] + 1e-9).all()
    assert (run.phase == RUNNING).all(), run.answer
    # It was a hard time, and yet the law was followed for much of it.
    assert 0.3 < np.mean(run.outcome == LAW) < 0.95
    assert run.answer['allocations'] == 0


LAWS = """
class Raises(Bad):
    def go_wrong(self):
        raise RuntimeError('broken')


class NotFinite(Bad):
    def go_wrong(self):
        self.command['effort'][2] = np.nan


class Exits(Bad):
    def go_wrong(self):
        raise SystemExit(3)


class Hangs(Bad):
    def go_wrong(self):
        time.sleep(600)


class Sleeps(Bad):
    # Not while it is warmed up, at a posture of zeros.
    def update(self, moment, period):
        super().update(moment, period)
        if self._steps == 1 and self.state['position'][1] != 0.0:
            time.sleep(600)


class Stumbles(Bad):
    def go_wrong(self):
        if self._steps == 401:
            time.sleep(0.05)


class Seizes(Bad):
    # As a law in C does that never comes back: with the interpreter in its hands.
    def go_wrong(self):
        ctypes.PyDLL(None).sleep(600)


class Shouts(Bad):
    def go_wrong(self):
        raise RuntimeError('x' * 2**26)
"""


@pytest.fixture
def foreign(bad_laws):
    """A folder with a package of somebody else, whose laws go wrong after 400 steps."""
    return bad_laws(LAWS)


@pytest.mark.parametrize(
    ('law', 'said'), [('raises', 'RuntimeError: broken'), ('notfinite', 'not finite'), ('exits', 'SystemExit')]
)
def test_a_law_that_fails_ends_in_gravity_and_in_an_error(play, robot, description, foreign, law, said):
    rows = rows_of(robot, standing=900)
    run = play(ur5e_urdf().read_text(), description.to_yaml(), parameters(robot, law), rows, path=[foreign])
    assert run.phase.tolist() == [RUNNING] * 400 + [RAMPING] * 249 + [ENDED] * 251
    # The step in which the ramp ends is the last that is no error.
    assert run.answer['errors'] == 250
    assert said in run.answer['reason']
    holds = gravity(robot, description, rows[400, 1:7])
    before = run.command[399]
    assert run.command[-1] == pytest.approx(holds, abs=1e-9)
    share = np.arange(1, 251)[:, None] * PERIOD / 0.5
    assert run.command[400:650] == pytest.approx(before + share * (holds - before), abs=1e-9)


def test_a_law_that_hangs_is_held_then_led_to_gravity_and_never_waited_for(play, robot, description, foreign):
    rows = rows_of(robot, standing=900)
    # Ten steps late in a row end it, each waited for so long that no busy machine makes ten of them late by itself.
    options = ('--step-timeout', 0.5, '--late-timeout', 0.02)
    given = parameters(robot, 'hangs')
    run = play(ur5e_urdf().read_text(), description.to_yaml(), given, rows, *options, path=[foreign])
    # The hang begins with the 401st that was asked.
    end = int(np.argmax(run.phase == RAMPING))
    assert end > 400
    assert (run.outcome[end - 9 : end] == LATE).all()
    assert (run.command[end - 9 : end] == run.command[end - 10]).all()
    assert run.phase[-1] == ENDED or len(rows) - end < 250
    after = np.diff(run.command[end - 1 :], axis=0)
    assert np.abs(after).max() <= np.abs(run.command[end - 1] - gravity(robot, description, HOME)).max() * 0.0041
    assert run.answer['allocations'] == 0


def test_a_law_that_stumbles_goes_on(play, robot, description, foreign):
    rows = rows_of(robot, standing=900)
    options = ('--step-timeout', 0.001, '--late-timeout', 10, '--rate', 500)
    given = parameters(robot, 'stumbles')
    run = play(ur5e_urdf().read_text(), description.to_yaml(), given, rows, *options, path=[foreign])
    late = np.flatnonzero(run.outcome[1:] == LATE) + 1
    assert len(late) >= 20
    assert (run.command[late] == run.command[late - 1]).all()
    assert (run.phase == RUNNING).all()
    assert run.outcome[-100:].tolist().count(LAW) > 0


def test_a_late_step_and_closing_the_gate_share_one_deadline(play, robot, description, foreign):
    options = ('--step-timeout', 0.001, '--late-timeout', 10)
    # The last step is late by 0.05 s when the gate is closed: what is waited for is that, and then the gate.
    rows = rows_of(robot, standing=401)
    given = parameters(robot, 'stumbles')
    run = play(ur5e_urdf().read_text(), description.to_yaml(), given, rows, *options, path=[foreign])
    assert run.answer['deactivated']
    assert run.answer['deadlines'] == 1


def test_a_law_that_hangs_does_not_keep_another_arm_from_being_cleaned_up(play, robot, description, foreign):
    """It has the interpreter; the program, which ends the other arm's host in the end, comes back all the same."""
    options = ('--step-timeout', 0.5, '--late-timeout', 0.02, '--beside', 'computed_torque')
    rows = rows_of(robot, standing=450)
    given = parameters(robot, 'seizes')
    run = play(ur5e_urdf().read_text(), description.to_yaml(), given, rows, *options, path=[foreign])
    assert run.outcome[-1] == LATE
    assert not run.answer['deactivated']


def test_what_the_host_itself_cannot_do_is_a_failure_of_the_law(play, robot, description, foreign):
    """No memory for the reason of a law that fails: the process is the controller manager's, and goes on."""
    rows = rows_of(robot, standing=700)
    run = play(ur5e_urdf().read_text(), description.to_yaml(), parameters(robot, 'shouts'), rows, path=[foreign])
    assert run.phase[-1] == ENDED
    assert run.command[-1] == pytest.approx(gravity(robot, description, rows[400, 1:7]), abs=1e-9)
    assert run.answer['reason'] == 'std::bad_alloc'


@pytest.mark.parametrize('early', [True, False])
def test_a_start_that_fails_leaves_no_thread_and_is_told_again(play, robot, description, monkeypatch, tmp_path, early):
    """Before there is an interpreter, and after, when its lock stays with a thread that is gone."""
    (tmp_path / 'sitecustomize.py').write_text('raise SystemExit')
    monkeypatch.setenv('PYTHONHOME' if early else 'PYTHONPATH', str(tmp_path))
    said = play(ur5e_urdf().read_text(), description.to_yaml(), parameters(robot), rows_of(robot, 1), refused=True)
    assert said.count('python: expected the interpreter to start') == 2
    assert '; 1 threads' in said


@pytest.mark.parametrize(
    ('change', 'said'),
    [
        ({'law': 'flexible_joint'}, 'which needs jerk and snap'),
        ({'law': 'talk'}, "found 'talk'"),
        ({'effort_limit.elbow_joint': -1.0}, 'effort_limit.elbow_joint: expected'),
    ],
)
def test_what_python_refuses_is_said_in_its_words(play, robot, description, change, said):
    given = {**parameters(robot), **change}
    assert said in play(ur5e_urdf().read_text(), description.to_yaml(), given, rows_of(robot, 1), refused=True)
