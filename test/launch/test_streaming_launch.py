"""The whole wiring of torques: simulated robot with a prefix, effort controller, streaming feedforward.

It holds, moves, and lets go cleanly.
"""

from pathlib import Path

import pytest

pytest.importorskip('launch_ros', reason="ROS 2's launch_ros is not installed")
pytest.importorskip('launch_pytest', reason="ROS 2's launch_pytest is not installed")

import launch_pytest
from builtin_interfaces.msg import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.nodes.framework.tables import SENSOR
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel
from joint_dynamics.simulation import FlexibleJointRobot, ur5e_description, ur5e_urdf

NODES = ('simulator', 'excitation', 'identifier', 'estimator', 'feedforward')
CONFIG = Path(__file__).parents[2] / 'config'


@pytest.fixture
def prefixed_file(tmp_path):
    """A dynamics description of the simulated robot with its prefix.

    Inertials of the URDF, rotors and friction of the truth's size.
    """
    robot, drives = RobotModel.from_urdf(ur5e_description('left_')), FlexibleJointRobot(seed=0).truth.drives
    standard = {
        name: {kind: float(robot.parameters[PER_JOINT * k + i]) for i, kind in enumerate(INERTIAL)}
        for k, name in enumerate(robot.joint_names)
    }
    joints = {
        name: {
            'drive_gain': {'value': float(drives.nominal_gain[k])},
            'rotor_inertia': {'value': float(drives.rotor_inertia[k])},
            'friction': {
                'parameters': {'F_C0': float(drives.coulomb[k]), 'F_V1': float(drives.viscous[k])},
                'maxwell_slip': {'operators': 4, 'presliding': 5e-4},
            },
            'backlash': {'values': [5e-4]},
            'stiffness': {'coefficients': [float(drives.stiffness[k])]},
        }
        for k, name in enumerate(robot.joint_names)
    }
    path = tmp_path / 'left.yaml'
    DynamicsDescription(
        {'robot': {'joint_names': list(robot.joint_names)}, 'inertial': {'standard': standard}, 'joints': joints}
    ).save(path)
    return path


@launch_pytest.fixture
def streaming(description_of, prefixed_file, tmp_path):
    """The effort wiring; time allowed between two joint states is that of a busy machine."""
    wiring = tmp_path / 'wiring.yaml'
    text = (CONFIG / 'feedforward' / 'effort_forwarding.yaml').read_text(encoding='utf-8')
    assert 'timeout: 0.05' in text
    wiring.write_text(text.replace('timeout: 0.05', 'timeout: 2.0'), encoding='utf-8')
    return description_of(
        'simulation',
        tf_prefix='left_',
        initial_joint_controller='arm_controller',
        effort_controller='torque_controller',
        description_file=str(prefixed_file),
        feedforward_file=str(wiring),
    )


@pytest.mark.launch(fixture=streaming)
def test_streaming(ros, exits):
    joints = [f'left_{name}' for name in RobotModel.load(ur5e_urdf()).joint_names]
    states = ros.listen(JointState, '/joint_states', SENSOR)
    torques = ros.listen(Float64MultiArray, '/torque_controller/commands')
    for node in NODES:
        ros.until_state(f'/{node}', 'active')
    # The trajectory controller holds the arm until the torques are there.
    ros.until(lambda: states and torques and max(map(abs, torques[-1].data)) > 5.0, what='torques that hold the arm')
    assert set(states[-1].name) == set(joints)
    reference = ros.probe.create_publisher(JointTrajectory, '/feedforward/reference', 10)
    ros.until(reference.get_subscription_count, what='the feedforward')

    def here():
        return dict(zip(states[-1].name, states[-1].position, strict=True))

    def go(offset):
        goal = {name: start[name] + offset for name in joints}
        reference.publish(
            JointTrajectory(
                joint_names=joints,
                points=[
                    JointTrajectoryPoint(
                        positions=list(goal.values()), velocities=[0.0] * 6, time_from_start=Duration(sec=2)
                    )
                ],
            )
        )
        return goal

    # The loop is closed over DDS: what a busy machine adds to its delay must stay small against 1/20 s, its time.
    assert ros.set_parameter('/simulator', 'real_time_factor', 0.1).successful
    start = here()
    go(0.0)
    assert ros.set_parameter('/simulator', 'controller', 'forward_effort_controller').successful
    goal = go(0.25)
    # The friction of the description is not all there is: what is left stands against a gain of 400 1/s².
    ros.until(lambda: max(abs(here()[name] - goal[name]) for name in joints) < 0.1, what='the goal')
    assert ros.transition('/feedforward', 'deactivate')
    ros.until(lambda: not any(torques[-1].data), what='zero at the end')
    yield
    assert exits == dict.fromkeys(NODES, 0)
