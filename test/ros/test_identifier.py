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

"""The identifier hears a recording played over DDS and finds what identification in this process finds."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from joint_dynamics.cli.main import main
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.nodes.framework.tables import LATCHED, STATUS
from joint_dynamics.nodes.framework.worker import Worker
from joint_dynamics.nodes.identifier.node import IdentifierNode
from joint_dynamics.nodes.interfaces.messages import seconds
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

JOINTS = ('shoulder', 'elbow', 'wrist')
START = 1_700_000_000  # s
GAINS = {'shoulder': 12.0, 'elbow': 9.0, 'wrist': 4.0}


def urdf():
    links = ''.join(
        f'<link name="l{k}"><inertial><origin xyz="0.15 0.01 0.02"/><mass value="{4 - k}"/><inertia ixx="0.03"'
        ' iyy="0.05" izz="0.06" ixy="0.001" ixz="-0.002" iyz="0.0015"/></inertial></link>'
        for k in range(4)
    )
    axes = ('0 0 1', '0 1 0', '0 1 0')
    joints = ''.join(
        f'<joint name="{name}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><origin'
        f' xyz="{0.3 if k else 0} 0 0"/><axis xyz="{axes[k]}"/><limit lower="-3" upper="3" effort="80"'
        ' velocity="3"/></joint>'
        for k, name in enumerate(JOINTS)
    )
    return f'<robot name="arm">{links}{joints}</robot>'


def motion(seconds, rate=250.0, seed=0):
    """Multi-sine motion with exact derivatives: time, q, dq, ddq."""
    rng = np.random.default_rng(seed)
    time_ = np.arange(round(seconds * rate)) / rate
    omega = 2 * np.pi * 0.25 * np.arange(1, 6)
    amplitude = rng.uniform(-1, 1, (2, 5, len(JOINTS))) * 0.5
    sine, cosine = np.sin(np.outer(time_, omega)), np.cos(np.outer(time_, omega))
    q = sine @ amplitude[0] + cosine @ amplitude[1]
    dq = (cosine * omega) @ amplitude[0] - (sine * omega) @ amplitude[1]
    ddq = -(sine * omega**2) @ amplitude[0] - (cosine * omega**2) @ amplitude[1]
    return time_, q, dq, ddq


def simulated(model, seconds, seed=0):
    """A recording with currents of the model's rigid dynamics with friction and noise."""
    time_, q, dq, ddq = motion(seconds, seed=seed)
    parameters = model.parameters.copy()
    parameters[model.columns(['Fv'])] = [2.0, 1.5, 0.5]
    parameters[model.columns(['Fc'])] = [4.0, 3.0, 1.0]
    parameters[model.columns(['Ia'])] = [0.3, 0.2, 0.05]
    tau = model.inverse_dynamics(q, dq, ddq, parameters) + np.random.default_rng(seed + 1).normal(0, 0.2, q.shape)
    return Recording(JOINTS, time_, q, dq=dq, current=tau / [GAINS[name] for name in JOINTS])


@pytest.fixture
def robot_file(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(urdf())
    return path


def play(ros, recording, namespace):
    """Publish a recording as a driver would, joints in another order, in step with the hearing of the identifier."""
    publisher = ros.publisher(JointState, f'{namespace}/joint_states', 1000)
    heard = ros.listen(JointState, f'{namespace}/identifier/heard')
    ros.until(lambda: ros.probe.count_publishers(f'{namespace}/identifier/heard'))
    for k in range(recording.samples):
        publisher.publish(message_of(recording, k, recording.current, slice(None, None, -1)))
        if k % 100 == 99:  # it says so of every twentieth
            reached = START + recording.time[k] - 1e-6
            ros.until(lambda reached=reached: heard and seconds(heard[-1].header.stamp) > reached, f'sample {k}')


def message_of(recording, k, effort, order=slice(None)):
    """Joint states of one sample of a recording."""
    values = {'position': recording.q[k], 'velocity': recording.dq[k], 'effort': effort[k]}
    message = JointState(name=list(recording.joint_names[order]), **{key: row[order] for key, row in values.items()})
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(
        START * 10**9 + round(recording.time[k] * 1e9), 10**9
    )
    return message


def identified(ros, robot_file, out, recording):
    """Identify over DDS in another process; the description that it publishes."""
    parameters = {
        'autostart': 'true',
        'joint_states_effort': 'current',
        'reliable_inputs': 'true',
        'output_folder': out,
        'robot_file': robot_file,
        'selection': 'false',
        **{f'drive_gain.{name}': gain for name, gain in GAINS.items()},
    }
    node = '/cell/left/identifier'
    ros.process('joint_dynamics.nodes.identifier.node', namespace='/cell/left', parameters=parameters)
    status = ros.listen(String, f'{node}/status', STATUS)
    descriptions = ros.listen(String, f'{node}/dynamics_description', LATCHED)
    ros.until_state(node, 'active')
    assert ros.trigger(f'{node}/start_recording').success
    play(ros, recording, '/cell/left')
    assert f'{recording.samples} on joint_states' in ros.trigger(f'{node}/stop_recording').message
    answer = ros.trigger(f'{node}/identify')
    assert answer.success, answer.message
    ros.until(lambda: descriptions and status[-1].data.startswith('done'))
    assert any('identifying: solving' in message.data for message in status)
    return descriptions[-1].data


def test_over_dds_it_finds_what_identify_finds(ros, robot_file, tmp_path):
    model, out = RobotModel.load(robot_file), tmp_path / 'out'
    recording = simulated(model, 5.2)
    published = identified(ros, robot_file, out, recording)
    result = identify(model, [recording], settings=IdentificationSettings(drive_gains=GAINS, selection=False))
    parameters = json.loads((out / 'summary.json').read_text())['parameters']
    assert [p['name'] for p in parameters] == result.names
    np.testing.assert_allclose([p['value'] for p in parameters], result.solution.chi, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose([p['std'] for p in parameters], result.deviation, rtol=1e-6)
    assert published == (out / 'dynamics.yaml').read_text()
    assert DynamicsDescription.from_yaml(published).joint_names == JOINTS
    assert '<html' in (out / 'report.html').read_text()[:2000].lower()
    inputs = {'joint_states': {'topic': '/cell/left/joint_states', 'effort': 'current'}}
    saved = Recording.load(out / 'recording_1', inputs, JOINTS)
    np.testing.assert_allclose(saved.current, recording.current, atol=1e-12)
    assert not [path for path in out.iterdir() if path.name.startswith('.')]


@pytest.fixture
def identifier(ros, robot_file, tmp_path):
    def start(**parameters):
        given = {'robot_file': str(robot_file), 'autostart': True, 'output_folder': str(tmp_path / 'out')}
        given |= {'save_recordings': False, 'selection': False, **parameters}
        node = ros.node(IdentifierNode, '/x', **given)
        ros.until(lambda: node.is_active or not given['autostart'], what='the identifier')
        return node

    return start


def feed(node, recording, quantity='tau'):
    """Give the node's recording samples directly, as the subscription would."""
    # the node takes effort as a torque where it is not told otherwise, and questions it where it is a current
    values = getattr(recording, quantity)
    values = recording.current * list(GAINS.values()) if values is None else values
    for k in range(recording.samples):
        node.recording.add_message('joint_states', message_of(recording, k, values), 0)


def record(ros, node, recording, **options):
    assert ros.trigger('/x/identifier/start_recording').success
    feed(node, recording, **options)
    assert ros.trigger('/x/identifier/stop_recording').success


def test_services_refuse_what_makes_no_sense_with_one_line(ros, identifier):
    node = identifier(autostart=False)
    assert ros.transition('/x/identifier', 'configure')
    refused = {
        'start_recording': 'expected the node to be active',
        'identify': 'expected the node to be active',
        'stop_recording': 'expected a recording, found none going on',
    }
    for name, reason in refused.items():
        response = ros.trigger(f'/x/identifier/{name}')
        assert not response.success
        assert reason in response.message
    assert ros.transition('/x/identifier', 'activate')
    assert 'expected more recordings' in ros.trigger('/x/identifier/identify').message
    assert ros.trigger('/x/identifier/start_recording').success
    assert 'going on already' in ros.trigger('/x/identifier/start_recording').message
    assert 'stop it first' in ros.trigger('/x/identifier/identify').message
    assert ros.transition('/x/identifier', 'deactivate')
    assert node.recording is None


@pytest.mark.parametrize(
    ('spoil', 'reason'),
    [
        (lambda r: replace(r, q=r.q[:1].repeat(len(r.q), 0)), 'a joint that moves, found every position constant'),
        (lambda r: replace(r, joint_names=('shoulder', 'knee', 'wrist')), 'not found: elbow'),
    ],
)
def test_an_unusable_recording_is_refused_and_forgotten(ros, identifier, robot_file, tmp_path, spoil, reason):
    node = identifier()
    good = simulated(RobotModel.load(robot_file), 4.0)
    record(ros, node, spoil(good))
    answer = ros.trigger('/x/identifier/identify')
    assert not answer.success
    assert reason in answer.message
    assert '\n' not in answer.message
    assert node.diagnostics.message('identification') == answer.message
    assert not (tmp_path / 'out' / 'dynamics.yaml').exists()
    assert ros.trigger('/x/identifier/clear').message == '1 recordings forgotten'
    assert ros.trigger('/x/identifier/start_recording').success


def test_the_command_to_go_on_with_can_be_pasted(ros, identifier, tmp_path, monkeypatch):
    """The URDF that came over the topic lies beside the description."""
    ros.probe.create_publisher(String, '/x/robot_description', LATCHED).publish(String(data=urdf()))
    node = identifier(robot_file='')
    record(ros, node, simulated(RobotModel.load(urdf()), 6.0))
    answer = ros.trigger('/x/identifier/identify')
    assert answer.success, answer.message
    words = shlex.split(answer.message.rpartition('; next: ')[2])
    assert words[0] == 'joint-dynamics'
    assert words[words.index('--rate') + 1] == '250'
    assert (tmp_path / 'out' / 'robot.urdf').read_text() == urdf()
    monkeypatch.chdir(tmp_path)
    assert main(words[1:]) == 0
    assert (tmp_path / 'controllers.yaml').exists()


def test_unusable_recordings_are_left_out_with_a_note(ros, identifier, robot_file):
    """A leftover of an abort, one without motion, and one that ended with a stopped motion beside good ones."""
    node = identifier()
    publisher = ros.publisher(String, '/x/motion_status')
    status = ros.listen(String, '/x/identifier/status', STATUS)
    good = simulated(RobotModel.load(robot_file), 6.0)
    record(ros, node, good)
    few = 20
    record(ros, node, Recording(JOINTS, good.time[:few], good.q[:few], dq=good.dq[:few], current=good.current[:few]))
    noise = 1e-4 * np.random.default_rng(1).normal(size=good.q.shape)
    record(ros, node, replace(good, q=0.3 + noise, dq=noise))
    assert ros.trigger('/x/identifier/start_recording').success
    feed(node, simulated(RobotModel.load(robot_file), 6.0, seed=5))
    publisher.publish(String(data='playing, 21.7 s'))
    publisher.publish(String(data='stopped: protective stop'))
    ros.until(
        lambda: [message.data for message in status][-2:] == ['recording 4', 'idle'], what='the end of the recording'
    )
    # As the pages have it, whoever stops the motion stops the recording next.
    assert 'protective stop' in ros.trigger('/x/identifier/stop_recording').message
    answer = ros.trigger('/x/identifier/identify')
    assert answer.success, answer.message
    left_out = answer.message.partition('left out: ')[2]
    assert 'recording_2 (' in left_out and 'recording_3 (' in left_out
    assert 'recording_4' in left_out and 'protective stop' in left_out
    assert ros.trigger('/x/identifier/clear').success
    assert not ros.trigger('/x/identifier/stop_recording').success


def test_stop_during_a_motion_says_what_is_left(ros, identifier):
    node = identifier()
    publisher = ros.publisher(String, '/x/motion_status')
    for ends in ('playing, 500.0 s', 'done'):
        assert ros.trigger('/x/identifier/start_recording').success
        publisher.publish(String(data=ends))
        ros.until(lambda ends=ends: (node.motion_end is None) == (ends == 'done'), what='the status')
        answer = ros.trigger('/x/identifier/stop_recording')
        assert ('before the end' not in answer.message) == (ends == 'done')


def test_a_folder_deleted_meanwhile_is_not_called_saved(ros, identifier, tmp_path):
    identifier(save_recordings=True)
    assert ros.trigger('/x/identifier/start_recording').success
    (folder,) = (tmp_path / 'out').glob('recording_*')
    shutil.rmtree(folder)
    answer = ros.trigger('/x/identifier/stop_recording')
    assert 'saved as' not in answer.message
    assert str(folder) in answer.message
    assert not folder.exists()


def test_a_recording_without_all_joints_is_not_begun(ros, identifier, robot_file):
    node = identifier()
    publisher = ros.publisher(JointState, '/x/joint_states')
    publisher.publish(JointState(name=list(JOINTS[:2]), position=[0.0, 0.0]))
    ros.until(lambda: node.diagnostics.message('joints'), what='the missing joint')
    answer = ros.trigger('/x/identifier/start_recording')
    assert not answer.success
    assert f'found none of {JOINTS[2]}' in answer.message


@pytest.mark.slow
def test_motion_that_does_not_excite_is_not_reliable_unless_told(ros, identifier, robot_file, tmp_path):
    node = identifier()
    good = simulated(RobotModel.load(robot_file), 4.0)
    still = np.column_stack([good.q[:, 0], 0.3 + 1e-5 * np.sin(good.time), 0.2 + 1e-5 * np.cos(good.time)])
    record(ros, node, Recording(JOINTS, good.time, still, dq=good.dq * [1, 0, 0], current=good.current))
    descriptions = ros.listen(String, '/x/identifier/dynamics_description', LATCHED)
    answer = ros.trigger('/x/identifier/identify')
    assert not answer.success
    assert 'excite' in answer.message
    assert (tmp_path / 'out' / 'summary.not_reliable.json').exists()
    assert not (tmp_path / 'out' / 'dynamics.yaml').exists()
    assert not descriptions
    assert ros.set_parameter('/x/identifier', 'proceed', True).successful
    assert ros.trigger('/x/identifier/identify').success
    ros.until(lambda: descriptions)


def test_a_loaded_recording_gives_the_payload(ros, identifier, robot_file, tmp_path):
    node = identifier(payload_mass=2.0, joint_states_effort='torque')
    model = RobotModel.load(robot_file)
    free, again = simulated(model, 6.0), simulated(model, 6.0, seed=5)
    # A point mass at the origin of the last joint's frame, known to weigh 2 kg.
    column = model.parameter_names.index('M_3')
    with_mass = model.parameters.copy()
    with_mass[column] += 2.0
    time_, q, dq, ddq = motion(6.0, seed=5)
    more = model.inverse_dynamics(q, dq, ddq, with_mass) - model.inverse_dynamics(q, dq, ddq, model.parameters)
    gains = [GAINS[name] for name in JOINTS]
    record(ros, node, Recording(JOINTS, free.time, free.q, dq=free.dq, tau=free.current * gains))
    assert ros.set_parameter('/x/identifier', 'loaded', True).successful
    assert ros.trigger('/x/identifier/start_recording').success
    feed(node, Recording(JOINTS, time_, q, dq=dq, tau=again.current * gains + more))
    assert 'loaded' in ros.trigger('/x/identifier/stop_recording').message
    answer = ros.trigger('/x/identifier/identify')
    assert answer.success, answer.message
    payload = json.loads((tmp_path / 'out' / 'summary.json').read_text())['payload']
    assert payload['M'] == {'value': 2.0, 'std': 0.0, 'known': True}
    for name in ('MX', 'MY', 'MZ'):
        assert abs(payload[name]['value']) < 3 * payload[name]['std'] + 0.02


@pytest.fixture
def at_work(ros, identifier, robot_file):
    """An identifier whose worker is at work, and the answer to come."""
    node = identifier()
    record(ros, node, simulated(RobotModel.load(robot_file), 6.0))
    future = ros.ask('/x/identifier/identify')
    ros.until(lambda: node.worker is not None)
    return node, future


def test_the_executor_goes_on_while_the_worker_works(ros, at_work):
    _, future = at_work
    arrays = ros.listen(DiagnosticArray, '/diagnostics')
    assert not ros.trigger('/x/identifier/identify').success
    assert ros.trigger('/x/identifier/start_recording').success
    assert not future.done()
    assert ros.trigger('/x/identifier/stop_recording').success
    ros.until(future.done)
    assert future.result().success, future.result().message
    assert arrays


def test_deactivating_cancels_the_work_and_leaves_no_process(ros, at_work):
    node, future = at_work
    pid = node.worker.pid
    assert ros.transition('/x/identifier', 'deactivate')
    ros.until(future.done)
    assert future.result().message == 'cancelled: the node was deactivated'
    assert not Path(f'/proc/{pid}').exists()


def test_a_defect_in_the_worker_is_reported(ros, identifier, robot_file, monkeypatch):
    node = identifier()
    record(ros, node, simulated(RobotModel.load(robot_file), 2.0))
    monkeypatch.setattr(
        'joint_dynamics.nodes.identifier.node.Worker',
        lambda module, *job: Worker('joint_dynamics.no_such_module', *job),
    )
    answer = ros.trigger('/x/identifier/identify')
    assert not answer.success
    assert 'a defect ended the identification' in answer.message
