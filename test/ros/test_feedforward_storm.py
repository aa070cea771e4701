"""Bounded in, bounded out over DDS.

Whatever is sent to a streaming feedforward node, what it sends is finite, within limits, and nothing when inactive.

Twelve simulated seconds by default; JOINT_DYNAMICS_STORM=600 makes it ten minutes. The same for the loop alone, and
hypothesis looking for the sequence that gets a bad command through, are in test/control/test_loop.py.
"""

import os

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)

from builtin_interfaces.msg import Duration, Time  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState, Temperature  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from joint_dynamics.description import DynamicsDescription  # noqa: E402
from joint_dynamics.nodes.feedforward.node import FeedforwardNode  # noqa: E402
from joint_dynamics.robot import RobotModel  # noqa: E402
from joint_dynamics.simulation import ur5e_urdf  # noqa: E402

NODE, HOME, PERIOD = '/feedforward', np.array([0.0, -1.2, 1.4, -1.7, -1.5, 0.3]), 0.01
SECONDS = float(os.environ.get('JOINT_DYNAMICS_STORM', 12.0))
BAD = [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e20, 40.0, -3.0, 0.0]
# Slow enough that a step of the longest period that counts (20 ms) is a small part of the limit.
RATES = np.array([750.0, 750.0, 750.0, 140.0, 140.0, 140.0])


@pytest.fixture
def node(ros, tmp_path):
    """An active streaming node with the law that takes the most inputs, its loop closed, on simulated time."""
    model = RobotModel.from_urdf(ur5e_urdf())
    joints = {
        name: {
            'rotor_inertia': {'value': 0.9 if k < 3 else 0.3},
            'stiffness': {'coefficients': [2e4, -1e7]},
            'damping': {'value': 5.0},
            'friction': {
                'parameters': {'F_C0': 7.0 if k < 3 else 2.0, 'F_C1': 1e-3, 'F_V1': 4.0, 'F_T1': -0.05},
                'maxwell_slip': {'operators': 4, 'presliding': 5e-4},
            },
            'backlash': {'values': [5e-4]},
        }
        for k, name in enumerate(model.joint_names)
    }
    path = tmp_path / 'dynamics.yaml'
    DynamicsDescription({'robot': {'joint_names': list(model.joint_names)}, 'joints': joints}).save(path)
    gains = {
        f'{gain}__{name}': value
        for name in model.joint_names
        for gain, value in (('kp', 400.0), ('kd', 40.0), ('ki', 50.0))
    }
    rates = {f'effort_rate__{name}': float(rate) for name, rate in zip(model.joint_names, RATES, strict=True)}
    node = ros.node(
        FeedforwardNode,
        robot_file=str(ur5e_urdf()),
        description_file=str(path),
        mode='streaming',
        law='joint_torque_feedback',
        inputs=['joint_states', 'motor_states', 'temperatures'],
        joint_states_effort='none',
        motor_states_effort='none',
        feedback=True,
        use_sim_time=True,
        check_compensation=False,
        **gains,
        **rates,
    )
    assert ros.transition(NODE, 'configure'), node.diagnostics.message('state')
    return node


class Storm:
    """A robot, a planner and an estimator that are out of their minds for some of the time."""

    def __init__(self, ros, names, rng):
        self.ros, self.names, self.rng = ros, list(names), rng
        create = ros.probe.create_publisher
        self.clock = create(Clock, '/clock', 10)
        self.states, self.motors = (create(JointState, f'{kind}_states', 10) for kind in ('joint', 'motor'))
        self.reference = create(JointTrajectory, f'{NODE}/reference', 10)
        self.friction = create(Float64MultiArray, 'friction_parameters', 10)
        self.temperature_factor = [create(Temperature, f'{name}/temperature', 10) for name in names]
        self.commands = ros.listen(Float64MultiArray, f'{NODE}/commands', 100)
        self.now, self.raging, self.q, self.checked = 100.0, 0, HOME.copy(), 0
        self.last, self.limit = np.zeros(6), np.array([150.0, 150, 150, 28, 28, 28])
        for publisher in (self.clock, self.states, self.motors, self.reference, self.friction):
            ros.until(publisher.get_subscription_count, what=f'a listener to {publisher.topic_name}')

    def bad(self, share):
        return self.raging > 0 and self.rng.random() < share

    def spoilt(self, values, share=0.3):
        values = np.array(values, dtype=float)
        if self.bad(share):
            values[self.rng.integers(values.size)] = self.rng.choice(
                [*BAD, self.rng.normal() * 10.0 ** self.rng.integers(-3, 12)]
            )
        return values.tolist()

    def stamp(self):
        late = self.rng.choice([0.0, 0.03, 0.2, 50.0, -0.5, -1e4]) if self.bad(0.3) else 0.0
        moment = max(self.now - late, 0.0)
        return Time(sec=int(moment), nanosec=int(moment % 1 * 1e9)) if not self.bad(0.1) else Time()

    def joint_state(self, publisher, offset):
        if self.bad(0.3):
            return
        names = [self.names[k] for k in self.rng.permutation(6)]
        position = [self.q[self.names.index(name)] + offset for name in names]
        message = JointState(
            name=names, position=self.spoilt(position), velocity=self.spoilt(self.rng.normal(0, 0.01, 6))
        )
        if self.bad(0.3):
            # Too few, unknown, none, twice the same.
            broken = self.rng.integers(4)
            if broken == 0:
                message.position = message.position[:4]
            elif broken == 1:
                message.name[0] = 'knee'
            elif broken == 2:
                message.name, message.position, message.velocity = [], [], []
            else:
                message.name[1] = message.name[0]
        message.header.stamp = self.stamp()
        publisher.publish(message)

    def planner(self):
        names = self.names if not self.bad(0.2) else self.names[:-1]
        if self.bad(0.7):
            # A set point has no jerk, which the law needs.
            points = [(0.0, self.q, np.zeros(6), self.rng.normal(0, 0.5, 6))]
        else:
            count = self.rng.integers(0 if self.raging else 1, 4)
            times = np.cumsum(self.rng.uniform(0.3, 1.0, count)) * (
                self.rng.choice([1.0, -1.0, 1e-6, 1e9]) if self.bad(0.2) else 1.0
            )
            points = [(time, self.q + self.rng.normal(0, 0.05, 6), np.zeros(6)) for time in times]
        message = JointTrajectory(joint_names=names)
        for time, *rows in points:
            # A negative time to a trajectory's point is a message as well.
            point = JointTrajectoryPoint(
                time_from_start=Duration(
                    sec=int(np.clip(np.floor(time), -(2**31), 2**31 - 1)), nanosec=int(time % 1 * 1e9)
                )
            )
            for kind, row in zip(('positions', 'velocities', 'accelerations'), rows, strict=False):
                setattr(point, kind, self.spoilt(row, 0.2)[: 6 if not self.bad(0.1) else 5])
            message.points.append(point)
        if self.bad(0.3):
            message.header.stamp = self.stamp()
        self.reference.publish(message)

    def tick(self):
        rng = self.rng
        if self.raging == 0 and rng.random() < 0.02:
            self.raging = int(rng.integers(1, 40))
        self.raging = max(0, self.raging - 1)
        self.now += PERIOD
        if self.bad(0.02):
            self.now = max(self.now - rng.choice([1.0, 90.0]), 1.0)
        if not self.bad(0.2):
            self.clock.publish(Clock(clock=Time(sec=int(self.now), nanosec=int(self.now % 1 * 1e9))))
        self.joint_state(self.motors, 1e-3)
        self.joint_state(self.states, 0.0)
        if rng.random() < (0.5 if self.raging else 0.02):
            self.planner()
        if rng.random() < 0.1:
            alpha = np.column_stack([rng.uniform(0, 2, 6), rng.normal(0, 0.1, 6)]).ravel()
            self.friction.publish(Float64MultiArray(data=self.spoilt(alpha, 0.5)[: 12 if not self.bad(0.3) else 7]))
            self.temperature_factor[rng.integers(6)].publish(Temperature(temperature=self.spoilt([35.0], 0.5)[0]))
        for _ in range(10):
            self.ros.executor.spin_once(timeout_sec=0.0002)
        self.check()

    def check(self):
        for message in self.commands[self.checked :]:
            command = np.array(message.data)
            assert command.shape == (6,)
            assert np.isfinite(command).all()
            assert (np.abs(command) <= self.limit).all()
            assert (np.abs(command - self.last) <= RATES * 0.02 + 1e-9).all()
            self.last = command
        self.checked = len(self.commands)


@pytest.mark.slow
def test_a_storm_of_bad_messages_gets_no_bad_command_through(ros, node):
    rng = np.random.default_rng(11)
    storm = Storm(ros, node.robot.joint_names, rng)
    followed, reasons, activations, ticks = 0, set(), 0, int(SECONDS / PERIOD)
    for _ in range(3):
        storm.tick()
    assert not storm.commands, 'a command before the node is active'
    assert ros.transition(NODE, 'activate')
    for k in range(ticks):
        storm.tick()
        followed += node.loop.fallback_reason == '' and node.is_active
        reasons.add(' '.join(node.loop.fallback_reason.split()[:2]))
        if k % 400 == 399:
            assert ros.transition(NODE, 'deactivate')
            # Acknowledged before the transition ended, so they only have to be taken.
            for _ in range(200):
                ros.executor.spin_once(timeout_sec=0.0005)
            storm.check()
            assert not storm.last.any(), 'not zero at the end'
            silent = len(storm.commands)
            for _ in range(20):
                storm.tick()
            assert len(storm.commands) == silent, 'a command while the node is inactive'
            assert ros.transition(NODE, 'activate')
            activations += 1
    # It was a storm, and yet there was time to work.
    assert storm.checked > 0.5 * ticks
    assert followed > 0.1 * ticks
    assert len(reasons) > 4
    assert activations == ticks // 400
