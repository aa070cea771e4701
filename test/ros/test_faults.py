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

"""Faults while the nodes work: one is killed, time jumps, the disk is full, a publisher is the wrong one.

The others go on; the killed node resumes when it is started again.
"""

import json
import os
import resource
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Duration as DurationMessage
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.excitation import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.files import coefficients
from joint_dynamics.nodes.estimator.node import EstimatorNode
from joint_dynamics.nodes.feedforward.node import FeedforwardNode
from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.nodes.identifier.node import IdentifierNode

JOINT = {
    'rotor_inertia': {'value': 0.5},
    'friction': {'parameters': {'F_C0': 3.0, 'F_V1': 2.0}, 'maxwell_slip': {'operators': 4, 'presliding': 5e-4}},
}


@pytest.fixture
def description_file(tmp_path):
    path = tmp_path / 'dynamics.yaml'
    DynamicsDescription({'robot': {'joint_names': ['hinge']}, 'joints': {'hinge': JOINT}}).save(path)
    return str(path)


KILLED_WHILE_SAVING = """
import os, signal, sys
from joint_dynamics.nodes.estimator import node as estimator

replace, saved = os.replace, []
def last_moment(source, target, **options):
    if str(target).endswith(estimator.FILE):
        saved.append(target)
        if len(saved) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target, **options)
os.replace = last_moment
sys.exit(estimator.main())
"""


@pytest.mark.slow
def test_an_estimator_killed_while_saving_uses_the_last_save(
    ros, hinge, make_hinge, conditions, description_file, tmp_path, monkeypatch
):
    (tmp_path / 'killed_estimator.py').write_text(KILLED_WHILE_SAVING, encoding='utf-8')
    parts = [str(tmp_path), *filter(None, [os.environ.get('PYTHONPATH')])]
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(parts))
    out, arm = tmp_path / 'out', make_hinge(moves=True, regular=True)
    parameters = {
        'robot_file': hinge,
        'description_file': description_file,
        'reliable_inputs': 'true',
        'output_folder': out,
        'autostart': 'true',
        'save_period': 0.0,
    }

    def aligned():
        return conditions.of('estimator', 'samples')[0] == DiagnosticStatus.OK

    process = ros.process('killed_estimator', parameters=parameters)
    arm.talk(aligned, 'samples')
    assert ros.trigger('/estimator/save').success
    files = sorted(out.rglob('*'))
    before = {path: path.read_bytes() for path in files if path.is_file()}
    arm.talk(aligned)
    ros.processes.remove(process)
    ros.ask('/estimator/save')
    ros.until(lambda: process.poll() is not None, what='the kill')
    assert process.returncode == -signal.SIGKILL
    # The first save is complete.
    assert all(path.read_bytes() == content for path, content in before.items())
    DynamicsDescription.load(next(path for path in before if path.suffix == '.yaml'))

    # Started again it resumes; then the disk is full for a while, which it survives.
    conditions.messages.clear()
    again = ros.process('joint_dynamics.nodes.estimator.node', parameters=parameters)
    arm.talk(aligned, 'samples again')
    soft, hard = resource.prlimit(again.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(again.pid, resource.RLIMIT_FSIZE, (64, hard))
    answer = ros.trigger('/estimator/save')
    assert not answer.success
    assert 'File too large' in answer.message
    assert answer.message.count('expected a file that can be written') == 1
    assert all(path.read_bytes() == content for path, content in before.items())
    resource.prlimit(again.pid, resource.RLIMIT_FSIZE, (soft, hard))
    assert ros.trigger('/estimator/save').success
    # a killed writer leaves its temporary folder, whose name is hidden
    left = [path for path in out.rglob('*') if path.is_file() and path not in before]
    assert all(path.parent.name.startswith('.joint_dynamics-') for path in left), left


@pytest.mark.slow
def test_a_killed_excitation_stops_the_robot_and_starts_again(ros, hinge, make_hinge, tmp_path):
    series = FourierTrajectory(('hinge',), FourierBasis(20.0, 2, 1, 0.8, True), np.array([[0.0, 0.3, 0.1, -0.2, 0.05]]))
    (tmp_path / 'summary.json').write_text(json.dumps({'trajectory': coefficients(series)}))
    node = ros.active(FeedforwardNode, robot_file=hinge, use_description=False, timeout=5.0)
    arm = make_hinge()
    statuses = ros.listen(String, 'excitation/status', LATCHED)

    def where():
        motion = node.follower.motion(node.clock_time())
        return (0.0, 0.0) if motion is None else motion[:2, 0]

    arm.follow = where
    parameters = {
        'robot_file': hinge,
        'trajectory_file': tmp_path / 'summary.json',
        'autostart': 'true',
        'output': 'topic',
        'state_timeout': 5.0,
        'tracking_error': 3.0,
    }
    for _ in range(2):
        process = ros.process(
            'joint_dynamics.nodes.excitation.node',
            parameters=parameters,
            remap={'~/joint_trajectory': '/feedforward/reference'},
        )
        statuses.clear()
        arm.talk(lambda: any(status.data == 'ready' for status in statuses), 'a motion')
        answer = ros.ask('excitation/start', arm.talk)
        arm.talk(answer.done, 'the answer to the start')
        assert answer.result().success, answer.result().message
        arm.talk(lambda: abs(where()[1]) > 0.01, 'motion')
        path = node.follower.path
        assert ros.stop(process, signal.SIGKILL)[0] == -signal.SIGKILL
        arm.talk(lambda path=path: node.follower.path is not path, 'the braking')
        arm.talk(lambda: where()[1] == 0.0, 'rest')
        assert 'was lost' in node.diagnostics.message('excitation heartbeat')


def at_work(arm, feedforward, estimator, identifier):
    """Whether all nodes have their inputs, and the estimator samples."""
    return (
        estimator.diagnostics.level('samples') == DiagnosticStatus.OK
        and arm.known(feedforward)
        and all(node.diagnostics.level('inputs') == DiagnosticStatus.OK for node in (estimator, identifier))
    )


@pytest.mark.slow
def test_clocks_that_jump_ahead_and_back_end_nothing(ros, hinge, make_hinge, description_file, tmp_path):
    arm = make_hinge(moves=True, clock=10_000 * 10**9)
    common = {'robot_file': hinge, 'use_sim_time': True}
    nodes = [
        ros.active(FeedforwardNode, use_description=False, **common),
        ros.active(EstimatorNode, description_file=description_file, output_folder=str(tmp_path / 'e'), **common),
        ros.active(IdentifierNode, output_folder=str(tmp_path / 'i'), **common),
    ]
    arm.talk(lambda: at_work(arm, *nodes), 'all at work')
    assert ros.trigger('/identifier/start_recording').success
    for jump in (-3000, 3600, -3000, 86400 * 365):
        arm.now += jump * 10**9
        steps = nodes[1].session.steps
        arm.talk(
            lambda steps=steps: at_work(arm, *nodes) and nodes[1].session.steps not in range(steps, steps + 50), 'work'
        )
    # The recording ended where time went back; another one can be made.
    assert 'time went back' in nodes[2].diagnostics.message('recording')
    assert ros.trigger('/identifier/start_recording').success
    assert ros.trigger('/identifier/stop_recording').success


def effort_at_rest(node, arm):
    """Effort at the end of a motion to 0."""
    count = len(arm.trajectories)
    arm.talk(lambda: arm.known(node), 'the position')
    point = JointTrajectoryPoint(positions=[0.0], time_from_start=DurationMessage(sec=1))
    arm.want(JointTrajectory(joint_names=['hinge'], points=[point]))
    arm.talk(lambda: len(arm.trajectories) > count, 'a trajectory')
    return arm.trajectories[-1].points[-1].effort[0]


def test_a_swapped_robot_counts_from_the_next_configuration(ros, hinge, standing):
    light = Path(hinge).read_text()
    heavy = light.replace('mass value="2"', 'mass value="4"')
    documents = ros.probe.create_publisher(String, 'robot_description', LATCHED)
    documents.publish(String(data=light))
    node, arm = ros.active(FeedforwardNode, use_description=False, timeout=5.0), standing
    assert effort_at_rest(node, arm) == pytest.approx(-arm.GRAVITY, rel=1e-3)
    documents.publish(String(data=heavy))
    arm.talk(lambda: node.diagnostics.level('robot_description') == DiagnosticStatus.WARN)
    documents.publish(String(data='<robot'))
    assert effort_at_rest(node, arm) == pytest.approx(-arm.GRAVITY, rel=1e-3)
    documents.publish(String(data=heavy))
    arm.talk(lambda: 'mass value="4"' in node.sources['robot'].text())
    for verb in ('deactivate', 'cleanup', 'configure', 'activate'):
        assert ros.transition('/feedforward', verb), node.diagnostics.message('state')
    assert effort_at_rest(node, arm) == pytest.approx(-2 * arm.GRAVITY, rel=1e-3)


@pytest.mark.slow
def test_a_disk_that_is_full_ends_no_recording_and_no_node(ros, hinge, make_hinge, conditions, tmp_path):
    out, arm = tmp_path / 'out', make_hinge(moves=True)
    process = ros.process(
        'joint_dynamics.nodes.identifier.node',
        parameters={'robot_file': hinge, 'output_folder': out, 'autostart': 'true', 'reliable_inputs': 'true'},
    )
    arm.talk(lambda: conditions.of('identifier', 'inputs')[0] == DiagnosticStatus.OK, 'inputs')
    soft, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (20_000, hard))
    assert ros.trigger('/identifier/start_recording').success
    arm.talk(lambda: 'in memory only' in conditions.of('identifier', 'recording')[1], 'the full disk')
    answer = ros.trigger('/identifier/stop_recording')
    assert answer.success
    assert f'; cut on disk: {out}/recording_1: expected a recording that can be written, found: ' in answer.message
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (soft, hard))
    # There is room again: the next one is saved whole.
    assert ros.trigger('/identifier/start_recording').success
    answer = ros.trigger('/identifier/stop_recording')
    assert answer.success
    assert 'saved as' in answer.message and 'cut' not in answer.message


@pytest.mark.slow
def test_a_killed_simulator_is_named_and_followed_again(ros, ur5e_file, tmp_path):
    process = ros.process('joint_dynamics.nodes.simulator.node', parameters={'autostart': 'true'})
    timed = {'use_sim_time': True, 'autostart': True}
    feedforward = ros.node(FeedforwardNode, use_description=False, **timed)
    estimator = ros.node(EstimatorNode, description_file=str(ur5e_file), output_folder=str(tmp_path / 'e'), **timed)
    identifier = ros.node(IdentifierNode, output_folder=str(tmp_path / 'i'), **timed)
    nodes = (feedforward, estimator, identifier)

    def at_work():
        return all(node.diagnostics.level('inputs') == DiagnosticStatus.OK for node in nodes)

    ros.until(at_work, what='inputs of all nodes')
    clock, jumps = identifier.get_clock(), []
    back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)
    watch = clock.create_jump_callback(back, post_callback=jumps.append)
    for _ in range(2):
        steps = estimator.session.steps
        ros.until(lambda steps=steps: estimator.session.steps not in range(steps, steps + 50), what='estimates')
        assert ros.trigger('/identifier/start_recording').success
        assert ros.stop(process, signal.SIGKILL)[0] == -signal.SIGKILL
        for node in nodes:
            ros.until(
                lambda node=node: node.diagnostics.message('inputs') == 'silent: joint_states',
                what=f'what {node.NAME} misses',
            )
        stopped = clock.now()
        jumps.clear()
        process = ros.process('joint_dynamics.nodes.simulator.node', parameters={'autostart': 'true'})
        ros.until(lambda stopped=stopped: clock.now() != stopped, what='simulated time again')
        ros.until(at_work, what='inputs of all nodes again')
        # Simulated time began anew: it went back, unless it was heard only when it was past where the last one ended.
        if jumps:
            assert 'time went back' in identifier.diagnostics.message('recording')
        else:
            assert ros.trigger('/identifier/stop_recording').success
    watch.unregister()
