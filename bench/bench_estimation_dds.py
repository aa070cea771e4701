"""The papers' figures of the online estimation through the `estimator` node itself over DDS.

Chapters 3 and 6 of the thesis, faster than real time.

`python bench/bench_estimation_dds.py [stiffness friction]`; some three minutes each. Samples go out as a driver sends
them (link side, motor side, temperature, stamped), reliably, and estimates are read from the node's topics.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from helpers import from_tests

os.environ.setdefault('ROS_DOMAIN_ID', '94')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

MAKE, DESCRIBED = from_tests('estimation/conftest.py'), from_tests('conftest.py').described
# One joint about a vertical axis, 3 kg·m², as in the joint of thesis chapter 3.
ROBOT = """<robot name="joint"><link name="base"/>
<link name="arm"><inertial><mass value="10"/><origin xyz="0 0 0"/>
  <inertia ixx="3" iyy="3" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  <limit effort="150" velocity="4"/></joint></robot>"""


class Player:
    """A robot's driver and the estimator in one process, two participants' topics between them.

    Keeps what the node publishes.
    """

    def __init__(self, robot_file, description, names, **parameters):
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.parameter import Parameter
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState, Temperature
        from std_msgs.msg import Float64MultiArray

        from joint_dynamics.nodes.estimator.node import EstimatorNode

        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / 'dynamics.yaml'
        description.save(path)
        rclpy.init()
        options = {
            'robot_file': str(robot_file),
            'description_file': str(path),
            'joint_states_effort': 'none',
            'reliable_inputs': True,
            'save_period': 0.0,
            'parameter_rate': 100.0,
            'torque_rate': 10.0,
            'output_folder': self.folder.name + '/out',
            **parameters,
        }
        self.node = EstimatorNode(parameter_overrides=[Parameter(name, value=value) for name, value in options.items()])
        self.node.trigger_configure()
        self.node.trigger_activate()
        self.player, self.names, self.message = rclpy.create_node('player'), list(names), JointState
        self.link, self.motor = (
            self.player.create_publisher(JointState, name, QoSProfile(depth=1000))
            for name in ('joint_states', 'motor_states')
        )
        warm = names if 'temperatures' in options['inputs'] else ()
        self.warm = [self.player.create_publisher(Temperature, f'{name}/temperature', 10) for name in warm]
        self.Temperature, self.tables = Temperature, {}
        for name in ('friction_parameters', 'stiffness_parameters'):
            self.player.create_subscription(
                Float64MultiArray,
                f'estimator/{name}',
                lambda m, name=name: self.tables.__setitem__(name, np.array(m.data)),
                100,
            )
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.executor.add_node(self.player)
        while not (self.link.get_subscription_count() and self.motor.get_subscription_count()):
            self.executor.spin_once(timeout_sec=0.05)
        self.sent = 0

    def _stamped(self, position, effort, nanoseconds):
        message = self.message(
            name=self.names, position=position.tolist(), effort=[] if effort is None else effort.tolist()
        )
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)
        return message

    def play(self, period, q, theta, effort, temperature=None):
        """Send the samples (N, n), each one taken before the next but some."""
        for k in range(len(q)):
            stamp = 10**18 + self.sent * round(period * 1e9)
            if temperature is not None and k % 500 == 0:
                for publisher, value in zip(self.warm, temperature[k], strict=True):
                    publisher.publish(self.Temperature(temperature=float(value)))
            self.link.publish(self._stamped(q[k], None, stamp))
            self.motor.publish(self._stamped(theta[k], effort[k], stamp))
            self.sent += 1
            self.executor.spin_once(timeout_sec=0.0)
            while self.sent - self.node.session.timeline.given > 50 + 150 * (self.sent < 400):
                self.executor.spin_once(timeout_sec=0.01)
        while self.node.session.timeline.given < self.sent:
            self.executor.spin_once(timeout_sec=0.05)
        for _ in range(200):
            self.executor.spin_once(timeout_sec=0.002)

    def close(self):
        """Say what the node was given, and end it."""
        import rclpy

        line = self.node.session.timeline
        print(
            f'  node: {line.given} samples of {self.sent} sent, {line.bridged} bridged, {line.gaps} gaps, {line.late}'
            ' out of order'
        )
        self.node.destroy_node()
        self.player.destroy_node()
        rclpy.try_shutdown()
        self.folder.cleanup()


def stiffness():
    """Thesis chapter 3: bang-coast-bang, 35 s at 1 kHz, friction model 5 % wrong.

    The joint half as stiff from the first rest after 10 s.
    """
    from joint_dynamics.description import DynamicsDescription

    print(
        'Stiffness map NRMSE [%] over DDS, friction model 5 % wrong; goals: 95.2 at 10 s; half as stiff at 10 s: 90'
        ' after 5 s of motion, 94.0 at 35 s'
    )
    friction = {'F_C0': 8.0, 'F_S': 9.0, 'V_S': 0.1, 'mu': 1.0, 'F_V1': 8.0, 'F_V2': -0.6}
    wrong = {name: 1.05 * value if name.startswith('F_') else value for name, value in friction.items()}
    description = DynamicsDescription(
        {
            'robot': {'joint_names': ['joint']},
            'joints': {
                'joint': {
                    'rotor_inertia': {'value': 2.5},
                    'damping': {'value': 20.0},
                    'friction': {'parameters': wrong},
                }
            },
        }
    )
    for name, seeds, change in (
        ('default', (0, 1, 2), {}),
        ('thesis', (0,), {'stiffness_preset': 'thesis', 'taper': False}),
    ):
        for seed in seeds:
            whole = MAKE.make_joint(seed=seed)
            half = MAKE.make_joint(seed=seed, stiffness=tuple(0.5 * k for k in whole.stiffness))
            at = 10000 + int(np.argmax(np.abs(whole.torque[10000:]) < 1e-3))
            with tempfile.NamedTemporaryFile('w', suffix='.urdf') as file:
                file.write(ROBOT)
                file.flush()
                player = Player(
                    file.name,
                    description,
                    ['joint'],
                    inputs=['joint_states', 'motor_states'],
                    motor_states_effort='torque',
                    sample_rate=1000.0,
                    friction='none',
                    window=0.1 if name == 'thesis' else 0.05,
                    **change,
                )
            moved = at + int(np.searchsorted(np.cumsum(np.abs(half.dtheta[at:]) > 0.01) * 1e-3, 5.0))
            row = []
            for joint, first, last in ((whole, 0, at), (half, at, moved), (half, moved, len(half.q))):
                part = slice(first, last)
                player.play(1e-3, joint.q[part, None], joint.theta[part, None], joint.motor_torque[part, None])
                row.append(
                    MAKE.map_nrmse(player.tables['stiffness_parameters'], joint.stiffness, np.abs(joint.phi).max())
                )
            print(
                f'  {name:8s} seed {seed}: {row[0]:6.1f} at {at * 1e-3:.1f} s; half as stiff: {row[1]:6.1f} after 5 s'
                f' of motion, {row[2]:6.1f} at 35 s; changes detected'
                f' {player.node.session.estimator.stiffness.changes[0]}'
            )
            player.close()


def friction():
    """Thesis chapter 6: six waypoints, 7.5 kg, α from [0.47, 0.04].

    Torque MSE of the last ten seconds, adapted and not.
    """
    from joint_dynamics.simulation import FlexibleJointRobot, Payload, TrajectoryPoints, play, ur5e_urdf

    print('Adaptive friction over DDS; paper: torque MSE -84.2 % on average over joints after 50 s, goal 90 %')
    robot = FlexibleJointRobot(seed=1, rate=500.0, temperature=35.0)
    robot.attach_payload(Payload(7.5, (0.0, 0.0, 0.08)))
    description = MAKE.changed(DESCRIBED(robot), friction=lambda part: {**part, 'scale': [0.47, 0.04]})
    t, q = MAKE.waypoint_motion(6)
    samples = play(robot, TrajectoryPoints(t, q, np.gradient(q, t, axis=0)))
    mse = []
    for rate in ([0.0, 0.0], [1.0, 1.0]):
        player = Player(
            ur5e_urdf(),
            description,
            robot.joint_names,
            inputs=['joint_states', 'motor_states', 'temperatures'],
            sample_rate=500.0,
            friction_rate=rate,
        )
        part = slice(0 if rate[0] else 25000, None)
        player.play(1 / 500.0, samples.q[part], samples.theta[part], samples.current[part], samples.temperature[part])
        # f - f̂ of the node over the last ten seconds of motion, two cycles being 26 s.
        error = player.node.session.estimator.friction.noise
        alpha = player.tables['friction_parameters'].reshape(-1, 2)
        mse.append(error**2)
        print(
            f'  rates {rate}: alpha_1 {np.round(alpha[:, 0], 3)}, friction error over the last ten seconds [N m]'
            f' {np.round(error, 3)}'
        )
        player.close()
    share = 100 * (1 - mse[1] / mse[0])
    print(f'  reduction of torque MSE [%] {np.round(share, 1)}, mean {share.mean():.1f}')


ALL = {'stiffness': stiffness, 'friction': friction}


def main(names=None):
    for name in names or ALL:
        ALL[name]()


if __name__ == '__main__':
    main(sys.argv[1:])
