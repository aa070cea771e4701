"""Online estimation: the papers' figures on the simulated UR5e, payload, time per step, the node at 1 kHz over DDS.

`python bench/bench_estimation.py [friction stiffness payload step node]`; `node` takes seven minutes, with some of its
`MODES` (`node idle+reliable events+reliable`) one for each, the others one or two each. Contacts are in
bench_contact.py, stiffness and friction through the node in bench_estimation_dds.py.
"""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import EstimationSettings, HealthMonitor, JointEstimator, StiffnessEstimator
from joint_dynamics.signals.state_estimator import StateEstimator
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, Payload, Sensors, TrajectoryPoints, play

HELPERS = Path(__file__).parents[1] / 'test' / 'estimation' / 'conftest.py'
RATE = 1000.0


def helpers():
    """The joint of thesis chapter 3 and the description of a simulated robot, as the tests make them."""
    spec = importlib.util.spec_from_file_location('estimation_helpers', HELPERS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = helpers()


def motion(cycles, dwell=0.0):
    t, q = MAKE.waypoint_motion(cycles, dwell)
    return TrajectoryPoints(t, q, np.gradient(q, t, axis=0))


def robot_with(mass, seed=1, rate=RATE, errors=None, sensors=None):
    robot = FlexibleJointRobot(seed=seed, rate=rate, errors=errors or ModelErrors(), sensors=sensors, temperature=35.0)
    if mass:
        robot.attach_payload(Payload(mass, (0.0, 0.0, 0.08)))
    return robot


def feed(estimator, samples, keep=(), first=0):
    kept = {name: np.full(samples.q.shape, np.nan) for name in keep}
    for k in range(len(samples.q)):
        if (first + k) % 500 == 0:
            estimator.set_temperature(samples.temperature[k])
        if estimator.update(samples.q[k], samples.current[k], samples.theta[k]):
            for name, array in kept.items():
                array[k] = getattr(estimator, name)
    return kept


def show(name, values, form='{:8.3f}'):
    print(f'{name:44s}' + ''.join(form.format(value) for value in np.atleast_1d(values)))


def friction():
    """Thesis chapter 6: six waypoints, 7.5 kg, α from [0.47, 0.04]; two cycles after 50 s, adapted against not."""
    print('Adaptive friction; paper: torque MSE -84.2 % (mean of ratios) within 50 s')
    cases = {
        'all model errors on': (ModelErrors(), None),
        'model errors off': (ModelErrors.none(), None),
        'model errors off, motor encoder 2^18 per turn': (ModelErrors.none(), Sensors(motor_bits=18)),
    }
    for name, (errors, sensors) in cases.items():
        robot = robot_with(7.5, errors=errors, sensors=sensors, rate=500.0)
        description = MAKE.changed(MAKE.described(robot), friction=lambda part: {**part, 'scale': [0.47, 0.04]})
        samples = play(robot, motion(6))
        window = slice(25000, 38250)
        mse = []
        for rate in ((0.0, 0.0), (1.0, 1.0)):
            estimator = JointEstimator(
                Arm.from_description(robot.model, description), 1 / 500.0, EstimationSettings(friction_rate=rate)
            )
            mse.append(np.mean(feed(estimator, samples, ['friction_error'])['friction_error'][window] ** 2, axis=0))
        print(name)
        show('  torque MSE, not adapted [(N m)^2]', mse[0])
        show('  torque MSE, adapted [(N m)^2]', mse[1])
        show(
            '  reduction [%], each joint, then mean',
            [*(100 * (1 - mse[1] / mse[0])), np.mean(100 * (1 - mse[1] / mse[0]))],
        )
        show('  reduction, ratio of means [%]', 100 * (1 - mse[1].sum() / mse[0].sum()))
        show('  alpha_1 (truth 1)', estimator.friction.parameters[:, 0])
    changes()


def changes():
    """A joint that warms by 15 °C without the sensor seeing it, and one that wears by 20 %."""
    for name, wear, warm in (('worn by 20 %', 1 / 3, 0.0), ('warmer by 15 degrees, unseen', 0.0, 15.0)):
        robot = robot_with(7.5, rate=500.0)
        description = MAKE.described(robot)
        robot.set_wear(wear)
        if warm:
            robot.set_temperature(35.0 + warm)
        samples = play(robot, motion(6))
        truth = robot.truth.friction_growth
        mse = []
        for rate in ((0.0, 0.0), (1.0, 1.0)):
            estimator = JointEstimator(
                Arm.from_description(robot.model, description), 1 / 500.0, EstimationSettings(friction_rate=rate)
            )
            error = np.full(samples.q.shape, np.nan)
            for k in range(len(samples.q)):
                if k % 500 == 0:
                    estimator.set_temperature(samples.temperature[k] - warm)
                if estimator.update(samples.q[k], samples.current[k], samples.theta[k]):
                    error[k] = estimator.friction_error
            mse.append(np.mean(error[25000:] ** 2, axis=0))
        print(f'A robot {name}')
        show(
            '  reduction of torque MSE [%], then mean',
            [*(100 * (1 - mse[1] / mse[0])), np.mean(100 * (1 - mse[1] / mse[0]))],
        )
        show('  alpha_1', estimator.friction.parameters[:, 0])
        show('  truth', truth)
        show('  alpha_2 [N m s/rad]', estimator.friction.parameters[:, 1])


def stiffness():
    """Thesis chapter 3 on the single joint of the tests, five seeds; friction model 5 % wrong."""
    print('Stiffness map NRMSE [%]; paper 95.2 at 10 s, 96.6 at 35 s; torque halved at 10 s: 94.0 at 35 s')
    print(
        f'{"preset":10s}{"seed":>5s}{"10 s":>8s}{"35 s":>8s}{"halved: 5 s of motion":>24s}'
        f'{"35 s":>8s}{"jumps":>7s}{"standstill 600 s":>18s}'
    )
    for preset, make in (('default', StiffnessEstimator), ('thesis', lambda n: StiffnessEstimator.thesis(n))):
        for seed in range(5):
            joint = MAKE.make_joint(seed=seed)
            smoother, pairs = StateEstimator(3, joint.period, window=0.05), []
            for sample in np.stack([joint.q, joint.theta, joint.motor_torque - 1.05 * joint.friction], axis=1):
                value, first, second = smoother.update(sample)
                pairs.append(
                    (value[1] - value[0], value[2] - joint.inertia * second[1] - joint.damping * (first[1] - first[0]))
                )
            pairs = np.array(pairs)
            reach, row = np.abs(joint.phi).max(), []
            half = tuple(0.5 * k for k in joint.stiffness)
            after = 10000 + int(np.searchsorted(np.cumsum(np.abs(joint.dtheta[10000:]) > 0.01) * joint.period, 5.0))
            for factor in (1.0, 0.5):
                estimator = make(1)
                for k, (phi, torque) in enumerate(pairs):
                    estimator.update([phi], [torque * (factor if k >= 10000 else 1.0)])
                    if k == (9999 if factor == 1.0 else after):
                        row.append(
                            MAKE.map_nrmse(estimator.coefficients[0], joint.stiffness if factor == 1.0 else half, reach)
                        )
                row.append(MAKE.map_nrmse(estimator.coefficients[0], joint.stiffness if factor == 1.0 else half, reach))
            jumps = estimator.changes[0]
            estimator = make(1)
            for phi, torque in pairs[:15000]:
                estimator.update([phi], [torque])
            for noise in np.random.default_rng(seed).normal(0, 2e-6, 60000):
                estimator.update([noise], [1.0])
            row.append(MAKE.map_nrmse(estimator.coefficients[0], joint.stiffness, reach))
            print(f'{preset:10s}{seed:5d}{row[0]:8.1f}{row[1]:8.1f}{row[2]:24.1f}{row[3]:8.1f}{jumps:7d}{row[4]:18.1f}')


def payload():
    """Payloads that the model does not have, friction 10 % wrong at the start; one waypoint cycle."""
    print('Payload after one waypoint cycle')
    for seed, mass in ((1, 7.5), (2, 5.0), (3, 2.0), (4, 1.0)):
        robot = robot_with(0.0, seed, 500.0)
        description = MAKE.changed(MAKE.described(robot), friction=lambda part: {**part, 'scale': [0.9, 0.0]})
        robot.attach_payload(Payload(mass, (0.0, 0.0, 0.08)))
        estimator = JointEstimator(
            Arm.from_description(robot.model, description), 1 / 500.0, EstimationSettings(payload=True)
        )
        feed(estimator, play(robot, motion(1)))
        found = estimator.payload
        print(
            f'  {mass:4.1f} kg: {found.mass:6.3f} kg ({100 * (found.mass / mass - 1):+5.2f} %), deviation'
            f' {found.mass_deviation:.3f} kg, centre {np.round(found.first_moments / found.mass, 4)} m (truth 0 0 0.08)'
        )


def step():
    """Time of one step for six joints; health judged every second."""
    robot = robot_with(5.0)
    model = Arm.from_description(robot.model, MAKE.described(robot))
    samples = play(robot, motion(1))
    print('One step for six joints: filters, stiffness, friction, torques, contact; health every 1000 steps [us]')
    for name, settings, two in (
        ('two encoders', EstimationSettings(), True),
        ('with payload', EstimationSettings(payload=True), True),
        ('one encoder', EstimationSettings(), False),
    ):
        estimator = JointEstimator(model, 1e-3, settings, motor_side=two)
        monitor, times = HealthMonitor(model.stiffness), []
        for k in range(12000):
            q, current, theta = samples.q[k], samples.current[k], samples.theta[k] if two else None
            begin = time.perf_counter()
            estimator.update(q, current, theta)
            if k % 1000 == 0:
                monitor.of(estimator)
            times.append(time.perf_counter() - begin)
        times = 1e6 * np.array(times[2000:])
        print(
            f'  {name:14s} median {np.median(times):6.1f}  mean {times.mean():6.1f}  p99'
            f' {np.quantile(times, 0.99):6.1f}  fastest {times.min():6.1f}'
        )


NODE = """
import resource, sys, threading, time
import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
mode, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
from joint_dynamics.nodes.framework.transport import leave_out_shared_memory
leave_out_shared_memory()
if 'idle' in mode:
    rclpy.init()
    node = rclpy.create_node('idle')
    from joint_dynamics.nodes.framework.topics import RELIABLE_SENSOR, SENSOR
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
    from joint_dynamics.nodes.framework.run import make_executor
    from rclpy.parameter import Parameter
    rclpy.init()
    node = EstimatorNode(parameter_overrides=[Parameter(name, value=value) for name, value in {
        'robot_file': path + '/robot.urdf', 'description_file': path + '/dynamics.yaml',
        'inputs': ['joint_states', 'motor_states'],
        'joint_states_effort': 'none', 'sample_rate': 1000.0, 'save_period': 0.0, 'output_folder': path + '/out',
        'reliable_inputs': 'reliable' in mode, 'executor': mode.split('+')[0]}.items()])
    node.trigger_configure(); node.trigger_activate()
    executor = make_executor(mode.split('+')[0]); executor.add_node(node)
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


MODES = ('idle', 'single_threaded', 'events', 'idle+reliable', 'single_threaded+reliable', 'events+reliable')


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
    print(
        f'Node at 1 kHz for {seconds:.0f} s: link side and motor side, 2000 messages/s; load of the machine'
        f' {os.getloadavg()[0]:.1f}'
    )
    idle = {}
    with tempfile.TemporaryDirectory() as folder:
        MAKE.described(robot).save(Path(folder) / 'dynamics.yaml')
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
            what = f'{given} messages' if 'idle' in kind else f'{given} samples, {lost[0]} bridged, {lost[1]} gaps'
            if 'idle' in kind:
                idle['reliable' in kind] = float(load)
            ratio = float(load) / idle.get('reliable' in kind, np.nan)
            print(
                f'  {kind:24s} {load:>6s} % of a core ({ratio:.2f} × idle), {what};'
                f' published at {k / (time.monotonic() - begin):.0f} Hz',
                flush=True,
            )
        print(f'  load of the machine at the end {os.getloadavg()[0]:.1f}')
        publisher.destroy_node()
        rclpy.try_shutdown()


ALL = {'friction': friction, 'stiffness': stiffness, 'payload': payload, 'step': step, 'node': node}


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
