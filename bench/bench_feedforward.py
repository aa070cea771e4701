"""The feedforward node over DDS.

Delay beside a node that echoes at once, and what it is worth on the simulated UR5e, every node a process.
"""

import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tables import Table
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.calibration.client import own_domain, ros_client
from joint_dynamics.calibration.processes import Processes
from joint_dynamics.demo.robot import DemoRobot, StateRecorder, efforts_of
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.joint import FrictionModel
from joint_dynamics.nodes.framework.tables import SENSOR
from joint_dynamics.robot import INERTIAL, PER_JOINT
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, Payload, ur5e_urdf

_spec = importlib.util.spec_from_file_location('bench_control', Path(__file__).with_name('bench_control.py'))
control = importlib.util.module_from_spec(_spec)
sys.modules['bench_control'] = control
_spec.loader.exec_module(control)

INPUTS = {
    'inputs': ['joint_states', 'motor_states', 'temperatures'],
    'joint_states_effort': 'none',
    'motor_states_effort': 'current',
    'reliable_inputs': True,
}
LEAD = 3.0


def document_of(robot, alpha, gains):
    """The dynamics description of a simulated robot.

    Truth in the structure of the model, friction scaled wrong by α.
    """
    arm, truth, joints = control.truth_of(robot), robot.truth, {}
    for k, name in enumerate(robot.joint_names):
        friction = FrictionModel({key: value[k] for key, value in arm.friction.parameters.items()}).to_dict()
        joints[name] = {
            'drive_gain': {'value': float(gains[k])},
            'rotor_inertia': {'value': float(arm.rotor_inertia[k])},
            'damping': {'value': float(arm.damping[k])},
            'stiffness': {'coefficients': truth.stiffness[k].tolist()},
            'friction': {**friction, 'maxwell_slip': arm.friction.maxwell_slip.to_dict(k), 'scale': list(alpha)},
            'backlash': arm.friction.maxwell_slip.presliding.to_dict(k),
            'kinematic_error': arm.kinematic_error.to_dict(k),
        }
    links = truth.parameters.reshape(-1, PER_JOINT)[:, : len(INERTIAL)]
    standard = {
        name: dict(zip(INERTIAL, row.tolist(), strict=True)) for name, row in zip(robot.joint_names, links, strict=True)
    }
    return DynamicsDescription(
        {'robot': {'joint_names': list(robot.joint_names)}, 'inertial': {'standard': standard}, 'joints': joints}
    )


class Stage:
    """Processes with parameters, a client, and the simulated robot."""

    def __init__(self, processes, client, folder):
        self.processes, self.client, self.folder = processes, client, folder

    def node(self, name, parameters, remap=None, module=None):
        """Start a node as a process."""
        path = self.folder / f'{name}.yaml'
        path.write_text(yaml.safe_dump({f'/{name}': {'ros__parameters': parameters}}), encoding='utf-8')
        arguments = ['--ros-args', '--params-file', str(path)]
        for source, target in (remap or {}).items():
            arguments += ['-r', f'{source}:={target}']
        self.processes.start(name, module or f'joint_dynamics.nodes.{name}.node', arguments)

    def law(self, **parameters):
        """Set the feedforward up anew."""
        if self.client.state('/feedforward') == 'active':
            self.client.transition('/feedforward', 'deactivate')
            self.client.transition('/feedforward', 'cleanup')
        self.client.set_parameters('/feedforward', **parameters)
        for verb in ('configure', 'activate'):
            self.client.transition('/feedforward', verb)
        # Temperatures and α have to be found anew: a trajectory that comes before them is filled with those of the
        # description.
        heard = []
        listener = self.client.listen(DiagnosticArray, '/diagnostics', heard.append, QoSProfile(depth=100))
        self.client.until(
            lambda: any(
                status.name == '/feedforward: law' and status.level == DiagnosticStatus.OK
                for message in heard
                for status in message.status
            ),
            'temperatures and α',
        )
        self.client.silence(listener)
        self.robot.wait(self.robot.time + 0.5)

    def play(self, path, gain, law=None, **parameters):
        """Play a path once, through the feedforward with a law or straight.

        Return tracking [rad²] and torque [(N·m)²] MSE, (n,).
        """
        robot, topic, points = self.robot, '/feedforward/reference', path.times
        if np.abs(path.at(path.end)[0] - path.at(0.0)[0]).max() > 1e-3:
            # It does not end where it begins: put the arm there again.
            self.client.trigger('/simulator/reset')
        if law is None:
            # Nobody fills in what is between the points, and the robot's own splines are of another degree.
            topic, points = (
                '/simulator/joint_trajectory',
                np.append(np.arange(path.times[0], path.end - 0.01, 0.02), path.end),
            )
        else:
            self.law(law=law, **parameters)
        values = path.sample(points)
        # Simulated time runs slowly while the feedforward works through the motion, or it would come too late.
        robot.command(real_time_factor=0.1)
        begin = robot.time + LEAD
        times, effort = efforts_of(robot.refer(topic, begin, points, values[:, 0], values[:, 1], values[:, 2]))
        robot.command(real_time_factor=0.0)
        recorder = StateRecorder(self.client)
        robot.wait(begin + path.end + 1.0, timeout=900.0)
        stamps, q, current = recorder.stop()
        t = stamps - begin
        rows = (t >= 0) & (t <= path.end)
        desired = path.sample(t[rows])[:, 0]
        fed = np.stack([np.interp(t[rows], times, effort[:, j]) for j in range(6)], axis=1) if effort.size else 0.0
        return np.mean((q[rows] - desired) ** 2, axis=0), np.mean((current[rows] * gain - fed) ** 2, axis=0)


def soften(drives):
    """Transmissions five times softer."""
    return drives._replace(
        stiffness=drives.stiffness / 5, stiffness_cubic=drives.stiffness_cubic / 5, damping=drives.damping / np.sqrt(5)
    )


SOFT = """
import sys
import numpy as np
from joint_dynamics.nodes.simulator import node as simulator
from joint_dynamics.simulation import robot
hard = robot.plausible_drives


def soft(*arguments):
    drives = hard(*arguments)
    soft = drives._replace(stiffness=drives.stiffness / 5, stiffness_cubic=drives.stiffness_cubic / 5)
    return soft._replace(damping=drives.damping / np.sqrt(5))


robot.plausible_drives = soft
sys.exit(simulator.main())
"""


def own_module(folder, name, text):
    """Make `python -m name` of the processes to come run `text`."""
    (folder / f'{name}.py').write_text(text, encoding='utf-8')
    os.environ['PYTHONPATH'] = os.pathsep.join([str(folder), *filter(None, [os.environ.get('PYTHONPATH')])])
    return name


def scene(
    folder,
    processes,
    client,
    simulator,
    alpha=(1.0, 0.0),
    payload=control.PAYLOAD,
    position=None,
    seed=0,
    gains='true',
    soft=False,
):
    """Start simulator, estimator and feedforward with descriptions of the truth.

    Return the stage and the nominal drive gains.

    gains: `true`, as identified by somebody who weighed a payload, or `nominal`, those of the data sheet. soft: K/5.
    """
    twin = FlexibleJointRobot(seed=seed, errors=ModelErrors(), rate=500.0)
    if soft:
        twin = FlexibleJointRobot(seed=seed, errors=ModelErrors(), rate=500.0, drives=soften(twin.drives))
    if payload:
        twin.attach_payload(Payload(*payload))
    nominal = twin.nominal_gains
    true = twin.truth.drive_gains if gains == 'true' else nominal
    document_of(twin, alpha, true).save(folder / 'estimator.dynamics.yaml')
    # The robot takes efforts in its own N·m: torque over true gain, times the nominal gain.
    document_of(twin, alpha, true / nominal).save(folder / 'feedforward.dynamics.yaml')
    stage = Stage(processes, client, folder)
    stage.node(
        'simulator',
        {
            'autostart': True,
            'seed': seed,
            'rate': 500.0,
            'real_time_factor': 0.0,
            'follow_topics': ['/estimator/joint_torques'],
            'max_lead': 0.3,
            **({'payload_mass': payload[0], 'payload_com': list(payload[1])} if payload else {}),
            'position': [float(x) for x in position],
            **simulator,
        },
        module=own_module(folder, 'soft_simulator', SOFT) if soft else None,
    )
    stage.robot = DemoRobot(client)
    stage.node(
        'estimator',
        {
            **INPUTS,
            'autostart': True,
            'use_sim_time': True,
            'description_file': str(folder / 'estimator.dynamics.yaml'),
            'save_period': 0.0,
            'resume': False,
            'output_folder': str(folder / 'estimated'),
        },
    )
    stage.node(
        'feedforward',
        {
            **INPUTS,
            'use_sim_time': True,
            'description_file': str(folder / 'feedforward.dynamics.yaml'),
            'mode': 'trajectory',
            'timeout': 5.0,
            'slow_timeout': 3600.0,
            'output': 'current',
            'check_compensation': False,
        },
        {'~/joint_trajectory': '/simulator/joint_trajectory', 'friction_parameters': '/estimator/friction_parameters'},
    )
    client.until_active('/estimator')
    return stage, nominal


def adaptation(
    folder, processes, client, seed=0, start=control.START, gains='true', laws=True, payload=control.PAYLOAD
):
    one, two = control.cycle(1), control.cycle(2)
    stage, gain = scene(folder, processes, client, {}, start, payload, one.at(0.0)[0], seed, gains)
    print(
        f'waypoint cycle with {payload[0]:g} kg over DDS, seed {seed}, friction α = {start} at the start, {gains} drive'
        ' gains; PID and …',
        flush=True,
    )
    held = {'alpha_lower': list(start), 'alpha_upper': list(start)}
    free = {'alpha_lower': [0.4, -0.05], 'alpha_upper': [1.5, 0.05]}
    cases = (
        [('nothing', None, {}), ('computed torque', 'computed_torque', free)]
        if laws
        else [('computed torque', 'computed_torque', free)]
    )
    cases += [
        ('adaptive friction, not adapting', 'adaptive_friction', held),
        ('adaptive friction', 'adaptive_friction', free),
    ]
    results = {}
    for name, law, parameters in cases:
        results[name] = stage.play(two, gain, law, **parameters)
        print(
            f'  {name:<34} tracking MSE {results[name][0].mean():.3g} rad², torque MSE {results[name][1].mean():.3g}'
            f' (N·m)²; joints {[float(f"{value:.3g}") for value in results[name][1]]}',
            flush=True,
        )
    before, after = results['adaptive friction, not adapting'], results['adaptive friction']
    for what, paper, k in (('torque', 84, 1), ('tracking', 20, 0)):
        mean, ratio = control.reduction(before[k], after[k])
        print(
            f'  {what} MSE by adaptation −{mean:.1f} % (mean of ratios), −{ratio:.1f} % (ratio of means); the paper'
            f' −{paper} %',
            flush=True,
        )


def more(seed, start, gains, payload):
    """Adaptation under other conditions; the estimator has learnt during the runs before."""
    return lambda *stage: adaptation(*stage, seed=seed, start=start, gains=gains, laws=False, payload=payload)


def reversals(folder, processes, client, seed=0):
    path = control.reversals()
    stage, gain = scene(folder, processes, client, {}, position=path.at(0.0)[0], seed=seed)
    held = {'alpha_lower': [1.0, 0.0], 'alpha_upper': [1.0, 0.0]}
    rows = [stage.play(path, gain, 'adaptive_friction', friction=kind, **held) for kind in ('static', 'hysteresis')]
    (e0, t0), (e1, t1) = rows
    print(
        f'reversals under load over DDS, seed {seed}: sgn-based → hysteresis, shoulder tracking × {e0[1] / e1[1]:.2f},'
        f' torque × {t0[1] / t1[1]:.2f}; all joints tracking × {e0.mean() / e1.mean():.2f}, torque ×'
        f' {t0.mean() / t1.mean():.2f}',
        flush=True,
    )


def motor_side(folder, processes, client):
    path = control.fast_move()
    stage, gain = scene(
        folder, processes, client, {'feedback': 'motor'}, payload=None, position=path.at(0.0)[0], soft=True
    )
    fixed = {'alpha_lower': [1.0, 0.0], 'alpha_upper': [1.0, 0.0]}
    # Once for the hysteresis, of which nobody knows how it stands.
    stage.play(path, gain, 'adaptive_friction', **fixed)
    rms = [
        1e3 * np.sqrt(stage.play(path, gain, law, trajectory_side=side, **fixed)[0].mean())
        for law, side in (('adaptive_friction', 'link'), ('flexible_joint', 'link'), ('flexible_joint', 'motor'))
    ]
    print(
        "fast move over DDS, transmissions five times softer, the robot's loop on the motor side: rms of the link-side"
        f' error with the rigid law {rms[0]:.2f} mrad, flexible_joint {rms[2]:.2f} mrad (its torque alone {rms[1]:.2f}'
        ' mrad)',
        flush=True,
    )


ECHO = """
import rclpy
from rclpy.executors import SingleThreadedExecutor
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from joint_dynamics.nodes.framework.tables import SENSOR, STATE
rclpy.init()
node = rclpy.create_node('echo')
publisher = node.create_publisher(Float64MultiArray, '/feedforward/commands', STATE)
echo = lambda message: publisher.publish(Float64MultiArray(data=message.position))
node.create_subscription(JointState, 'joint_states', echo, SENSOR)
executor = SingleThreadedExecutor()
executor.add_node(node)
try:
    executor.spin()
except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
    pass
"""
NAMES = ('shoulder_pan_joint', 'shoulder_lift_joint', 'elbow_joint', 'wrist_1_joint', 'wrist_2_joint', 'wrist_3_joint')


def delays(client, samples=3000, rate=500.0, reference=None):
    """From a joint state that goes out to the command that comes back, µs, at `rate` Hz.

    A few first ones are not counted.
    """
    arrived, node = [], client.node
    subscription = node.create_subscription(
        Float64MultiArray, '/feedforward/commands', lambda m: arrived.append(time.perf_counter()), SENSOR
    )
    publisher = node.create_publisher(JointState, 'joint_states', 10)
    client.until(publisher.get_subscription_count, 'a listener')
    message = JointState(
        name=list(NAMES), position=[0.0, -1.2, 1.4, -1.7, -1.5, 0.3], velocity=[0.0] * 6, effort=[0.0] * 6
    )
    found, executor = [], client._executor
    due = time.perf_counter()
    for k in range(samples + 500):
        due = max(due + 1 / rate, time.perf_counter())
        while time.perf_counter() < due:
            executor.spin_once(timeout_sec=max(due - time.perf_counter(), 0.0))
        message.header.stamp = node.get_clock().now().to_msg()
        if reference is not None and k == 100:
            reference()
        arrived.clear()
        sent = time.perf_counter()
        publisher.publish(message)
        while not arrived and time.perf_counter() - sent < 0.1:
            executor.spin_once(timeout_sec=0.01)
        if arrived and k >= 500:
            found.append((arrived[0] - sent) * 1e6)
    node.destroy_subscription(subscription)
    node.destroy_publisher(publisher)
    return np.array(found), samples


def latency(folder, processes, client):
    twin = FlexibleJointRobot(seed=0, errors=ModelErrors(), rate=500.0)
    document_of(twin, (1.0, 0.0), twin.truth.drive_gains).save(folder / 'dynamics.yaml')
    table = Table(
        'feedforward',
        'latency',
        'Streaming at 500 Hz over DDS, from a joint state that goes out to the command that comes back, µs',
        {'node': '', 'median': '.0f', '99 %': '.0f', 'lost': ''},
    )
    references = client.node.create_publisher(JointTrajectory, '/feedforward/reference', 10)

    def move():
        point = JointTrajectoryPoint(positions=[0.001, -1.2, 1.4, -1.7, -1.5, 0.3])
        point.time_from_start.sec = 30
        references.publish(JointTrajectory(joint_names=list(NAMES), points=[point]))

    cases = [
        ('echo', None),
        *((law, {'law': law}) for law in ('computed_torque', 'adaptive_friction', 'flexible_joint')),
    ]
    for name, parameters in cases:
        if parameters is None:
            processes.start('echo', own_module(folder, 'echo_node', ECHO))
        else:
            processes.start(
                'feedforward',
                'joint_dynamics.nodes.feedforward.node',
                [
                    '--ros-args',
                    '-p',
                    'autostart:=true',
                    '-p',
                    'mode:=streaming',
                    '-p',
                    f'robot_file:={ur5e_urdf()}',
                    '-p',
                    f'description_file:={folder / "dynamics.yaml"}',
                    '-p',
                    'joint_states_effort:=none',
                    *(word for key, value in parameters.items() for word in ('-p', f'{key}:={value}')),
                ],
            )
            client.until_active('/feedforward')
        found, sent = delays(client, reference=None if parameters is None else move)
        processes.stop('echo' if parameters is None else 'feedforward')
        table.row(name, np.median(found), np.percentile(found, 99), sent - len(found))
    table.keep()


def main():
    # Less of a payload for the last: with half as much friction again the shoulder would be asked for more than it has,
    # and the node refuses.
    parts = {
        'latency': latency,
        'adaptation': adaptation,
        'adaptation_1': more(1, control.START, 'true', control.PAYLOAD),
        'adaptation_nominal': more(1, control.START, 'nominal', control.PAYLOAD),
        'adaptation_2': more(2, (1.5, 0.0), 'nominal', (5.0, *control.PAYLOAD[1:])),
        'reversals': reversals,
        'reversals_1': lambda *stage: reversals(*stage, seed=1),
        'motor_side': motor_side,
    }
    for name in [word for word in sys.argv[1:] if word in parts] or parts:
        with (
            tempfile.TemporaryDirectory() as folder,
            own_domain(),
            Processes(Path(folder)) as processes,
            ros_client(processes.check) as client,
        ):
            try:
                parts[name](Path(folder), processes, client)
            except Exception:
                for log in sorted(Path(folder).glob('*.log')):
                    print(f'-- {log.name}\n{log.read_text(encoding="utf-8")[-1500:]}', file=sys.stderr)
                raise


if __name__ == '__main__':
    rclpy.try_shutdown()
    main()
