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

"""The estimator node over DDS.

It gives the estimates of the same samples in this process, names faults, saves and goes on.
"""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('numba', reason='the simulated robot is compiled by numba')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from sensor_msgs.msg import JointState, Temperature
from std_msgs.msg import Float64MultiArray, String

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.estimation import EstimationSession, estimates
from joint_dynamics.nodes.estimator.node import EstimatorNode
from joint_dynamics.nodes.framework.tables import LATCHED, STATE
from joint_dynamics.nodes.interfaces.listening import Listener
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, play, ur5e_urdf

START = 1_700_000_000_000_000_000
RATE = 500.0


@pytest.fixture(scope='module')
def arm(true_description):
    """Eight seconds of all joints swinging, at 500 Hz."""
    robot = FlexibleJointRobot(seed=2, rate=RATE, temperature=30.0)
    t = np.arange(0.0, 8.0, 0.01)
    home = robot.truth.position
    swing = np.array([0.6, 0.4, 0.5, 0.7, 0.8, 0.9]) * np.sin(
        np.outer(t, 2 * np.pi * np.array([0.31, 0.37, 0.41, 0.43, 0.47, 0.53]))
    )
    q = home + swing * np.minimum(t, 1.0)[:, None] ** 2
    samples = play(robot, TrajectoryPoints(t, q, np.gradient(q, t, axis=0)))
    return SimpleNamespace(robot=robot, samples=samples, description=true_description(robot, scale=[0.6, 0.0]))


class Publisher:
    """Publishes samples of the arm as a driver would.

    Joints in reverse order, motor side apart, one temperature per joint. `seen` holds the stamp of the last sample that
    the node's session was given, by quantity.
    """

    def __init__(self, ros, arm, node):
        self.ros, self.arm, self.names, self.node = ros, arm, arm.robot.joint_names[::-1], node
        self.seen = {}
        take = node.session.take

        def note(quantity, stamp, names, values):
            take(quantity, stamp, names, values)
            self.seen[quantity] = stamp

        node.session.take = note
        self.link, self.motor = (
            ros.probe.create_publisher(JointState, name, 20000) for name in ('joint_states', 'motor_states')
        )
        self.warm = [ros.probe.create_publisher(Temperature, f'{name}/temperature', 100) for name in self.names]

    def ready(self):
        """Wait until either side knows the other: a sample sent earlier may be lost."""
        publishers = {item.topic_name: item for item in (self.link, self.motor, *self.warm)}
        inputs = [item for item in self.node.subscriptions if item.topic_name in publishers]
        assert len(inputs) == len(publishers)
        self.ros.until(
            lambda: (
                all(item.get_subscription_count() for item in publishers.values())
                and all(item.get_publisher_count() for item in inputs)
            ),
            what='subscriptions',
        )

    def send(self, k, names=None):
        """Publish one sample of the joints `names`; return its stamp."""
        names = self.names if names is None else names
        stamp = START + round(self.arm.samples.time[k] * 1e9)
        order = [self.arm.robot.joint_names.index(name) for name in names]
        samples = self.arm.samples
        message = JointState(name=list(names), position=samples.q[k, order].tolist(), effort=[0.0] * len(names))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self.link.publish(message)
        message = JointState(
            name=list(names), position=samples.theta[k, order].tolist(), effort=samples.current[k, order].tolist()
        )
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self.motor.publish(message)
        if k % 500 == 0:
            for publisher, j in zip(
                self.warm, [self.arm.robot.joint_names.index(name) for name in self.names], strict=True
            ):
                publisher.publish(Temperature(temperature=float(samples.temperature[k, j])))
        return stamp

    def play(self, start, end, **options):
        """Send samples, each when the node has seen the one before: none is dropped from a queue that fills up."""
        for k in range(start, end):
            stamp = self.send(k, **options)
            self.ros.until(
                lambda stamp=stamp: self.seen.get('q') == self.seen.get('motor_position') == stamp, what=f'sample {k}'
            )


@pytest.fixture
def start(ros, arm, tmp_path):
    """A function that starts the node on the arm's description and returns it, active, with a publisher."""
    path = tmp_path / 'described.yaml'
    arm.description.save(path)

    def begin(**parameters):
        options = {
            'robot_file': str(ur5e_urdf()),
            'description_file': str(path),
            'inputs': ['joint_states', 'motor_states', 'temperatures'],
            'joint_states_effort': 'none',
            'reliable_inputs': True,
            'output_folder': str(tmp_path / 'out'),
            'save_period': 0.0,
            **parameters,
        }
        node = ros.active(EstimatorNode, **options)
        publisher = Publisher(ros, arm, node)
        publisher.ready()
        return node, publisher

    return begin


def given(node):
    return node.session.timeline.given


def in_process(arm, samples):
    """The session of the same samples in this process, and its torques by stamp."""
    here = EstimationSession(
        arm.robot.model, arm.description, ('q', 'current', 'theta', 'temperature'), period=1 / RATE
    )
    kept = {}
    for k in range(samples):
        stamp = START + round(arm.samples.time[k] * 1e9)
        if k % 500 == 0:
            here.take('temperature', stamp, arm.robot.joint_names, arm.samples.temperature[k])
        for quantity in ('q', 'theta', 'current'):
            here.take(quantity, stamp, arm.robot.joint_names, getattr(arm.samples, quantity)[k])
        kept |= {estimate.stamp: estimate.torque for estimate in here.run()}
    return here, kept


def test_estimates_over_dds_are_those_in_process(ros, arm, start):
    node, publisher = start(sample_rate=RATE)
    torques = ros.listen(JointState, 'estimator/joint_torques')
    parameters = ros.listen(Float64MultiArray, 'estimator/friction_parameters')
    covariance = ros.listen(Float64MultiArray, 'estimator/stiffness_covariance')
    samples = 3000
    publisher.play(0, samples)
    here, kept = in_process(arm, samples)
    alpha = here.estimator.friction.parameters
    assert given(node) == samples
    assert node.session.estimator.friction.parameters == pytest.approx(alpha, abs=0.05)
    assert alpha[:, 0] == pytest.approx(np.ones(6), abs=0.25)
    # The torques on the topic are those of their stamps, at 100 Hz.
    ros.until(lambda: len(torques) >= samples / 5 - 15, what='torques')
    known = np.array(sorted(kept))
    for message in torques[100:]:
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        # the grid of the node began with another sample: the same instants, except for the rounding of its period
        nearest = int(known[np.abs(known - stamp).argmin()])
        assert abs(nearest - stamp) < 1_000_000
        assert np.array(message.effort) == pytest.approx(kept[nearest], rel=0.03, abs=0.3)
    ros.until(lambda: parameters and np.allclose(np.reshape(parameters[-1].data, (6, 2)), alpha, atol=0.05), 'α')
    ros.until(lambda: covariance, what='the covariance')
    blocks = np.reshape(covariance[-1].data, [dim.size for dim in covariance[-1].layout.dim])
    assert blocks.shape == (6, 2, 2)
    assert np.linalg.eigvalsh(blocks / np.sqrt(np.einsum('jaa,jbb->jab', blocks, blocks))).min() > 0


def test_a_save_without_samples_is_refused(ros, start):
    start()
    refused = ros.trigger('estimator/save')
    assert not refused.success
    assert 'samples' in refused.message


def test_a_save_writes_and_publishes_the_estimates(ros, start, tmp_path):
    node, publisher = start()
    descriptions = ros.listen(String, 'estimator/dynamics_description', LATCHED)
    publisher.play(0, 3000)
    assert given(node) == 3000
    answer = ros.trigger('estimator/save')
    assert answer.success
    path = tmp_path / 'out' / 'dynamics.yaml'
    assert answer.message == str(path)
    saved = DynamicsDescription.load(path)
    alpha = node.session.estimator.friction.parameters
    assert saved.scale() == pytest.approx(alpha, abs=0.05)
    assert alpha[:, 0] == pytest.approx(np.ones(6), abs=0.25)
    ros.until(
        lambda: (
            descriptions
            and DynamicsDescription.from_yaml(descriptions[-1].data).scale() == pytest.approx(saved.scale())
        ),
        what='description',
    )


def test_a_restart_resumes_and_a_reset_goes_back(ros, start, tmp_path):
    node, publisher = start()
    path = tmp_path / 'out' / 'dynamics.yaml'
    publisher.play(0, 3000)
    alpha = node.session.estimator.friction.parameters.copy()
    assert ros.transition('estimator', 'deactivate')
    assert path.exists()
    for verb in ('cleanup', 'configure', 'activate'):
        assert ros.transition('estimator', verb)
    assert 'saved estimates' in node.diagnostics.message('setup')
    assert node.session.arm.friction_scale == pytest.approx(DynamicsDescription.load(path).scale())
    assert node.session.arm.friction_scale == pytest.approx(alpha, abs=0.05)
    assert ros.trigger('estimator/reset').success
    assert node.session.arm.friction_scale[:, 0] == pytest.approx(np.full(6, 0.6))
    assert json.dumps(node.session.adapted('now').document)


def test_diagnostics_and_recovery_over_dds(ros, conditions, arm, start):
    """Nothing yet, running, a joint that leaves, samples of the past: each has its words, and passes by itself."""
    node, publisher = start(sample_rate=RATE)

    def until_said(words, level):
        def said():
            found, message = conditions.of('estimator', 'samples')
            return found == level and words in message

        ros.until(said, what=words)

    until_said('no samples yet of q', DiagnosticStatus.ERROR)
    publisher.play(0, 300)
    until_said('aligned', DiagnosticStatus.OK)
    names = arm.robot.joint_names
    publisher.play(300, 600, names=names[:5])
    until_said(f'q of {names[5]}', DiagnosticStatus.ERROR)
    # Half a second until the sources are found anew, then the filters fill.
    publisher.play(600, 1100)
    until_said('aligned', DiagnosticStatus.OK)
    # A bag that loops. The last message may still be of the time before it.
    publisher.play(0, 300)
    ros.until(lambda: node.session.timeline.jumps >= 1, what='the jump of time')
    conditions.messages.clear()
    until_said('aligned', DiagnosticStatus.OK)
    assert np.isfinite(node.session.estimator.external).all()


def test_inactive_it_listens_to_nothing(ros, start):
    node, publisher = start()
    assert ros.transition('estimator', 'deactivate')
    heard = ros.listen(JointState, 'joint_states')
    for k in range(200):
        publisher.send(k)
        ros.until(lambda k=k: len(heard) > k, what=f'sample {k}')
    assert given(node) == 0


def test_a_joint_that_the_description_doubts_is_warned_of_once(ros, arm, tmp_path, monkeypatch):
    """The one joint, with the reason and what helps; nothing where all joints are reliable."""
    good, poor = arm.robot.joint_names[0], arm.robot.joint_names[5]
    reliable = {'state': 'reliable', 'error': 0.1, 'why': '', 'help': ''}
    weak = {'state': 'weak', 'error': 0.25, 'why': 'at the floor of its sensor', 'help': 'more load would help'}
    path = tmp_path / 'described.yaml'

    def describe(verdict):
        provenance = {'joints': {good: reliable, poor: verdict}}
        DynamicsDescription({**arm.description.document, 'provenance': provenance}).save(path)

    describe(weak)
    node = ros.node(
        EstimatorNode,
        robot_file=str(ur5e_urdf()),
        description_file=str(path),
        inputs=['joint_states', 'motor_states'],
        joint_states_effort='none',
        output_folder=str(tmp_path / 'out'),
    )
    warned = []
    monkeypatch.setattr(node.get_logger(), 'warning', warned.append)
    for verdict in (weak, weak, reliable):
        describe(verdict)
        assert ros.transition('estimator', 'configure'), node.diagnostics.message('state')
        expected = node.description.doubtful_joints()
        assert node.diagnostics.message('description') == ''.join(expected)
        assert (node.diagnostics.level('description') == DiagnosticStatus.WARN) == (verdict is weak)
        assert ros.transition('estimator', 'cleanup')
    (line,) = [text for text in warned if weak['why'] in text]
    assert poor in line and weak['help'] in line and good not in line


def has_heard(watched, arm, found):
    """Whether all that is published has come, and is what the session holds now."""
    return set(watched.values) == set(found) and all(
        list(watched.values[name]) == list(arm.robot.joint_names)
        and np.array_equal(list(watched.values[name].values()), value, equal_nan=True)
        and (
            not watched.deviations[name]
            if deviation is None
            else np.array_equal(list(watched.deviations[name].values()), deviation, equal_nan=True)
        )
        for name, (value, deviation) in found.items()
    )


def test_estimates_carry_their_names_and_a_table_shows_them(ros, arm, start):
    """The values of the session, by joint name; `watch` hears the same, and its command prints it."""
    node, publisher = start(sample_rate=RATE, parameter_rate=50.0)
    listener = Listener(ros.probe, 'estimator')
    publisher.play(0, 600)
    here = node.session
    found = {name: (item.value, item.deviation) for name, item in estimates(here).items()}
    assert {'friction_scale', 'viscous_change', 'stiffness', 'temperature', 'contact', 'health'} <= set(found)
    ros.until(lambda: has_heard(listener.watched, arm, found), what='estimates')
    ros.until(lambda: 'samples' in listener.watched.statuses, what='diagnostics')
    assert listener.watched.torques.keys() == {'joint', 'external'}
    assert listener.age < ros.PATIENCE
    command = [sys.executable, '-m', 'joint_dynamics', 'watch', '--once', '--timeout', str(ros.PATIENCE)]
    process = ros.start(command, 'watch')
    ros.until(lambda: process.poll() is not None, what='the table')
    ros.processes.remove(process)
    assert process.returncode == 0, process.output
    for joint in arm.robot.joint_names:
        assert joint in process.output
    assert 'stiffness, N·m/rad' in process.output


def test_a_contact_of_one_sample_is_said_at_once(ros, conditions, arm, start):
    """It is over before any report of the conditions could have looked."""
    node, publisher = start(sample_rate=RATE)
    publisher.play(0, 300)
    ros.until(lambda: conditions.of('estimator', 'contact')[1], what='a first report')
    run, joint = node.session.run, arm.robot.joint_names[3]

    def one_contact():
        # Asked before the samples have come, it gives none.
        for estimate in run():
            node.session.run = run
            node.session.estimator.contact = np.arange(6) == 3
            yield estimate._replace(contact=np.arange(6) == 3)
        node.session.estimator.contact = np.zeros(6, dtype=bool)

    node.session.run = one_contact
    publisher.play(300, 310)
    ros.until(
        lambda: any(f'contact: {joint}' == one.message for each in conditions.messages for one in each.status),
        what='the contact',
    )


def test_a_table_shown_once_waits_for_all_topics(ros):
    """Health came, other estimates did not: topics have no order among each other."""
    listener = Listener(ros.probe, 'other')
    names = ('friction_scale', 'stiffness', 'health')
    estimates_ = {name: ros.probe.create_publisher(JointState, f'/other/estimates/{name}', STATE) for name in names}
    torques = [
        ros.probe.create_publisher(JointState, f'/other/{kind}_torques', STATE) for kind in ('joint', 'external')
    ]
    said = ros.probe.create_publisher(DiagnosticArray, '/diagnostics', STATE)
    publishers = [*estimates_.values(), *torques, said]
    ros.until(lambda: all(item.get_subscription_count() for item in publishers), what='subscriptions')
    message = JointState(name=['a'], position=[1.0], effort=[0.1])
    for publisher in (*torques, estimates_['health'], estimates_['friction_scale']):
        publisher.publish(message)
    said.publish(DiagnosticArray(status=[DiagnosticStatus(name='/other: state', message='active')]))
    ros.until(
        lambda: listener.watched.statuses and len(listener.watched.values) == len(listener.watched.torques) == 2,
        what='all but the stiffness',
    )
    assert not listener.whole
    estimates_['stiffness'].publish(message)
    ros.until(lambda: listener.whole, what='the stiffness')


# Ctrl-C in the worst moment: while rclpy makes the message that the publisher's bytes become.
INTERRUPTED = """
import signal
import sys

from diagnostic_msgs.msg import DiagnosticArray

from joint_dynamics.cli.main import main

make = DiagnosticArray.__init__


def interrupted(self, **values):
    signal.raise_signal(signal.SIGINT)
    make(self, **values)


DiagnosticArray.__init__ = interrupted
sys.exit(main(['watch']))
"""


def test_watch_ends_well_wherever_it_is_interrupted(ros):
    publisher = ros.probe.create_publisher(DiagnosticArray, '/diagnostics', 10)
    process = ros.start([sys.executable, '-c', INTERRUPTED], 'watch')
    ros.processes.remove(process)

    def ended():
        publisher.publish(DiagnosticArray())
        return process.poll() is not None

    ros.until(ended, what='the end of watch')
    assert process.returncode == 0, process.output


def test_watch_says_that_nobody_speaks(ros):
    command = [sys.executable, '-m', 'joint_dynamics', 'watch', '/nobody', '--once', '--timeout', '0.5']
    process = ros.start(command, 'watch')
    ros.processes.remove(process)
    status, output = process.ended()
    assert status == 2
    assert 'watch: expected an estimator named /nobody' in output
    assert len(output.strip().splitlines()) == 1
