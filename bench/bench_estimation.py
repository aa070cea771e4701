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

"""Online estimation: the papers' figures on the simulated UR5e, payload, the node at 1 kHz over DDS.

`python bench/bench_estimation.py [friction stiffness payload node]`; `node` takes seven minutes, with some of its
`MODES` (`node idle+reliable estimator+reliable`) one for each, the others one or two each. Contacts are in
bench_contact.py and bench_pushes.py.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from helpers import from_tests
from tables import Table

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import EstimationSettings, JointEstimator, StiffnessEstimator
from joint_dynamics.signals.state_estimator import StateEstimator
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, Payload, Sensors, TrajectoryPoints, play

MAKE, DESCRIBED = from_tests('estimation/conftest.py'), from_tests('conftest.py').described
RATE = 1000.0


def motion(cycles, dwell=0.0):
    t, q = MAKE.waypoint_motion(cycles, dwell)
    return TrajectoryPoints(t, q, np.gradient(q, t, axis=0))


def robot_with(mass, seed=1, rate=RATE, errors=None, sensors=None):
    robot = FlexibleJointRobot(seed=seed, rate=rate, errors=errors or ModelErrors(), sensors=sensors, temperature=35.0)
    if mass:
        robot.attach_payload(Payload(mass, (0.0, 0.0, 0.08)))
    return robot


def feed(estimator, samples, keep=(), warm=0.0):
    """Give the estimator all samples; its temperature sensor reads `warm` °C too little."""
    kept = {name: np.full(samples.q.shape, np.nan) for name in keep}
    for k in range(len(samples.q)):
        if k % 500 == 0:
            estimator.set_temperature(samples.temperature[k] - warm)
        if estimator.update(samples.q[k], samples.current[k], samples.theta[k]):
            for name, array in kept.items():
                array[k] = getattr(estimator, name)
    return kept


def friction():
    """Thesis chapter 6: six waypoints, 7.5 kg, α from [0.47, 0.04]; two cycles after 50 s, adapted against not."""
    known, fine = ModelErrors.none(), Sensors(motor_bits=18)
    cases = [
        ('all model errors', (0.47, 0.04), {'errors': ModelErrors()}, 0.0, 0.0),
        ('no model errors', (0.47, 0.04), {'errors': known}, 0.0, 0.0),
        ('no model errors, motor encoder of 18 bits', (0.47, 0.04), {'errors': known, 'sensors': fine}, 0.0, 0.0),
        ('worn: 20 % more friction', (1.0, 0.0), {}, 1 / 3, 0.0),
        ('15 °C warmer than its sensor', (1.0, 0.0), {}, 0.0, 15.0),
    ]
    table = Table(
        'estimation',
        'friction',
        'Torque error of the estimator after 50 s, α held at its start and adapted, means over six joints',
        {
            'simulated UR5e with 7.5 kg': '',
            'start of α': '',
            'not adapted': '.3f',
            'adapted': '.3f',
            'reduction, %': '.1f',
            'largest error of α1': '.3f',
        },
    )
    for name, start, options, wear, warm in cases:
        robot = robot_with(7.5, rate=500.0, **options)
        description = MAKE.changed(DESCRIBED(robot), friction=lambda part, start=start: {**part, 'scale': list(start)})
        robot.set_wear(wear)
        robot.set_temperature(35.0 + warm)
        samples, growth, mse = play(robot, motion(6)), robot.truth.friction_growth, []
        for rate in ((0.0, 0.0), (1.0, 1.0)):
            settings = EstimationSettings(friction_rate=rate)
            estimator = JointEstimator(Arm.from_description(robot.model, description), 1 / 500.0, settings)
            error = feed(estimator, samples, ['friction_error'], warm)['friction_error']
            mse.append(np.mean(error[25000:38250] ** 2, axis=0))
        off = np.abs(estimator.friction.parameters[:, 0] - growth).max()
        table.row(
            name, f'{start[0]:g}, {start[1]:g}', *(m.mean() for m in mse), 100 * np.mean(1 - mse[1] / mse[0]), off
        )
    table.keep()


def stiffness():
    """Thesis chapter 3 on the single joint of the tests, five seeds; friction model 5 % wrong."""
    table = Table(
        'estimation',
        'stiffness',
        'Agreement of the learnt stiffness map with the true one, 100 (1 − ‖τ − τ̂‖/‖τ‖), worst and mean of five seeds',
        {
            'preset': '',
            '': '',
            **dict.fromkeys(('10 s', '35 s', 'half as stiff at 10 s: after 5 s of motion', 'at 35 s'), '.1f'),
            'after 600 s of standstill': '.1f',
        },
    )
    for preset, make in (('default', StiffnessEstimator), ('thesis', lambda n: StiffnessEstimator.thesis(n))):
        rows = [map_agreement(make, seed) for seed in range(5)]
        table.row(preset, 'worst', *np.min(rows, axis=0))
        table.row(preset, 'mean', *np.mean(rows, axis=0))
    table.keep()


def map_agreement(make, seed):
    """Return the figures of one seed: at 10 and 35 s, halved, after standstill."""
    joint = MAKE.make_joint(seed=seed)
    smoother, pairs = StateEstimator(3, joint.period, window=0.05), []
    for sample in np.stack([joint.q, joint.theta, joint.motor_torque - 1.05 * joint.friction], axis=1):
        value, first, second = smoother.update(sample)
        pairs.append(
            (value[1] - value[0], value[2] - joint.inertia * second[1] - joint.damping * (first[1] - first[0]))
        )
    reach, row = np.abs(joint.phi).max(), []
    half = tuple(0.5 * k for k in joint.stiffness)
    after = 10000 + int(np.searchsorted(np.cumsum(np.abs(joint.dtheta[10000:]) > 0.01) * joint.period, 5.0))
    for factor, true, instant in ((1.0, joint.stiffness, 9999), (0.5, half, after)):
        estimator = make(1)
        for k, (phi, torque) in enumerate(pairs):
            estimator.update([phi], [torque * (factor if k >= 10000 else 1.0)])
            if k in (instant, len(pairs) - 1):
                row.append(MAKE.map_nrmse(estimator.coefficients[0], true, reach))
    estimator = make(1)
    for phi, torque in pairs[:15000]:
        estimator.update([phi], [torque])
    for noise in np.random.default_rng(seed).normal(0, 2e-6, 60000):
        estimator.update([noise], [1.0])
    return [*row, MAKE.map_nrmse(estimator.coefficients[0], joint.stiffness, reach)]


def payload():
    """Payloads that the model does not have, friction 10 % wrong at the start; one waypoint cycle."""
    table = Table(
        'estimation',
        'payload',
        'Payload of the estimator after one waypoint cycle of 13 s, friction 10 % wrong at the start',
        {
            'true mass, kg': '.1f',
            'estimate, kg': '.3f',
            'stated deviation, kg': '.3f',
            'error, %': '.2f',
            'error of the centre, mm': '.1f',
        },
    )
    for seed, mass in ((1, 7.5), (2, 5.0), (3, 2.0), (4, 1.0)):
        robot = robot_with(0.0, seed, 500.0)
        description = MAKE.changed(DESCRIBED(robot), friction=lambda part: {**part, 'scale': [0.9, 0.0]})
        robot.attach_payload(Payload(mass, (0.0, 0.0, 0.08)))
        estimator = JointEstimator(
            Arm.from_description(robot.model, description), 1 / 500.0, EstimationSettings(payload=True)
        )
        feed(estimator, play(robot, motion(1)))
        body = estimator.payload
        centre = np.linalg.norm(body.first_moments / body.mass - (0.0, 0.0, 0.08))
        table.row(mass, body.mass, body.mass_deviation, 100 * (body.mass / mass - 1), 1e3 * centre)
    table.keep()


NODE = """
import resource, sys, threading, time
import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
mode, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
from joint_dynamics.nodes.framework.run import leave_out_shared_memory
leave_out_shared_memory()
if 'idle' in mode:
    rclpy.init()
    node = rclpy.create_node('idle')
    from joint_dynamics.nodes.framework.tables import RELIABLE_SENSOR, SENSOR
    count = [0]
    def take(message):
        count[0] += 1
    for name in ('joint_states', 'motor_states'):
        node.create_subscription(JointState, name, take, RELIABLE_SENSOR if 'reliable' in mode else SENSOR)
    from rclpy.executors import SingleThreadedExecutor
    executor = SingleThreadedExecutor(); executor.add_node(node)
    end = None
    while end is None or time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
        if end is None and count[0] > 1000:
            end, start, before = time.monotonic() + seconds, resource.getrusage(resource.RUSAGE_SELF), count[0]
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime - start.ru_utime - start.ru_stime
    print(f'{mode} {100 * cpu / seconds:.1f} {count[0] - before}')
else:
    from joint_dynamics.nodes.estimator.node import EstimatorNode
    from joint_dynamics.nodes.framework.executor import StreamExecutor
    from rclpy.parameter import Parameter
    rclpy.init()
    node = EstimatorNode(parameter_overrides=[Parameter(name, value=value) for name, value in {
        'robot_file': path + '/robot.urdf', 'description_file': path + '/dynamics.yaml',
        'inputs': ['joint_states', 'motor_states'],
        'joint_states_effort': 'none', 'sample_rate': 1000.0, 'save_period': 0.0, 'output_folder': path + '/out',
        'reliable_inputs': 'reliable' in mode}.items()])
    node.trigger_configure(); node.trigger_activate()
    executor = StreamExecutor(); executor.add_node(node)
    end = None
    while end is None or time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
        line = node.session.timeline
        if end is None and line.given > 2000:
            end, start = time.monotonic() + seconds, resource.getrusage(resource.RUSAGE_SELF)
            before = line.given, line.bridged, line.gaps
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime - start.ru_utime - start.ru_stime
    print(f'{mode} {100 * cpu / seconds:.1f} {line.given - before[0]} '
          f'{line.bridged - before[1]} {line.gaps - before[2]}')
"""


MODES = ('idle', 'estimator', 'idle+reliable', 'estimator+reliable')


def node(seconds=60.0, modes=MODES):
    """The node at 1 kHz over DDS, another process publishing.

    CPU and lost samples, beside a subscriber that does nothing.

    Best effort loses samples where more wants to run than there are processors; reliable inputs do not.
    """
    import tempfile

    import rclpy
    from rclpy.qos import QoSProfile
    from sensor_msgs.msg import JointState

    from joint_dynamics.simulation import ur5e_urdf

    robot = robot_with(5.0)
    samples = play(robot, motion(1))
    table = Table(
        'estimation',
        'node',
        f'The estimator at 1 kHz over DDS, 2000 messages a second for {seconds:.0f} s',
        {
            'process': '',
            'of a core, %': '.1f',
            'against an idle subscriber': '.2f',
            'samples': '',
            'bridged': '',
            'gaps': '',
        },
    )
    idle = {}
    with tempfile.TemporaryDirectory() as folder:
        DESCRIBED(robot).save(Path(folder) / 'dynamics.yaml')
        (Path(folder) / 'robot.urdf').write_text(ur5e_urdf().read_text())
        environment = {**os.environ, 'ROS_DOMAIN_ID': '93', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
        os.environ.update({key: environment[key] for key in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE')})
        rclpy.init()
        publisher = rclpy.create_node('player')
        link, motor = (
            publisher.create_publisher(JointState, name, QoSProfile(depth=1000))
            for name in ('joint_states', 'motor_states')
        )
        names = list(robot.joint_names)
        for mode in modes:
            process = subprocess.Popen(
                [sys.executable, '-c', NODE, mode, str(seconds), folder],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            while not link.get_subscription_count():
                time.sleep(0.05)
            k, begin = 0, time.monotonic()
            while process.poll() is None:
                row = k % (len(samples.q) - 1)
                stamp = 10**18 + k * 1_000_000
                for topic, position, effort in ((link, samples.q, None), (motor, samples.theta, samples.current)):
                    message = JointState(
                        name=names,
                        position=position[row].tolist(),
                        effort=[] if effort is None else effort[row].tolist(),
                    )
                    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
                    topic.publish(message)
                k += 1
                ahead = begin + k * 1e-3 - time.monotonic()
                if ahead > 0:
                    time.sleep(ahead)
            kind, load, given, *lost = process.communicate()[0].split()
            if 'idle' in kind:
                idle['reliable' in kind] = float(load)
            ratio = float(load) / idle.get('reliable' in kind, np.nan)
            table.row(kind, float(load), ratio, given, *(lost or (None, None)))
        table.keep()
        publisher.destroy_node()
        rclpy.try_shutdown()


ALL = {'friction': friction, 'stiffness': stiffness, 'payload': payload, 'node': node}


def main(names=None):
    names = names or list(ALL)
    modes = [name for name in names if name in MODES]
    for name in names:
        if name == 'node' and modes:
            node(modes=modes)
        elif name not in modes:
            ALL[name]()


if __name__ == '__main__':
    main(sys.argv[1:])
