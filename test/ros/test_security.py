"""The nodes under enforced SROS2 policies, where sros2 and the DDS have it; elsewhere none runs unprotected."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description

POLICY = Path(__file__).parents[2] / 'config' / 'security' / 'joint_dynamics.policy.xml'
NO_SECURITY = "doesn't have the security libraries"
JOINTS = RobotModel.from_urdf(ur5e_description()).joint_names


def enforced(keystore):
    return {'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': 'Enforce', 'ROS_SECURITY_KEYSTORE': str(keystore)}


def ended(keystore):
    """Start a node that cannot run; return its status and what it said."""
    arguments = ['--ros-args', '--enclave', '/gazebo_model']
    command = [sys.executable, '-m', 'joint_dynamics.nodes.gazebo_model.node', *arguments]
    done = subprocess.run(
        command, env={**os.environ, **enforced(keystore)}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.fixture(scope='session')
def empty_enclave(tmp_path_factory):
    """A keystore with an enclave that holds nothing."""
    keystore = tmp_path_factory.mktemp('keys')
    (keystore / 'enclaves' / 'gazebo_model').mkdir(parents=True)
    return keystore


@pytest.mark.usefixtures('ros_domain')
def test_without_an_enclave_a_node_ends_with_one_line(tmp_path):
    status, said = ended(tmp_path)
    assert status == 2
    assert said.startswith('gazebo_model: start: expected ROS 2 to take the node, found: ')
    assert str(tmp_path / 'enclaves') in said
    assert said.count('\n') == 1


@pytest.mark.usefixtures('ros_domain')
def test_with_an_enclave_that_does_not_hold_it_does_not_run_unprotected(empty_enclave):
    status, said = ended(empty_enclave)
    assert status == 2
    assert 'gazebo_model: start: expected ROS 2 to take the node, found: ' in said


# Run in its own process, for rclpy reads the enclave when it is initialised: what the operator does.
OPERATOR = """
import sys, time
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import GetState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

rclpy.init(args=['--ros-args', '--enclave', '/operator'])
node = rclpy.create_node('operator')
status = []
node.create_subscription(String, '/identifier/status', lambda message: status.append(message.data), 10)
end = time.monotonic() + 170

def call(kind, name):
    client = node.create_client(kind, name)
    while time.monotonic() < end:
        future = client.call_async(kind.Request())
        rclpy.spin_until_future_complete(node, future, timeout_sec=5.0)
        if future.done():
            return future.result()
        client.remove_pending_request(future)
    sys.exit(f'no answer of {name}')

waiting = sys.argv[1:]
while waiting and time.monotonic() < end:
    waiting = [name for name in waiting if call(GetState, f'/{name}/get_state').current_state.label != 'active']
print('active' if not waiting else f'not active: {waiting}')
print(call(Trigger, '/identifier/start_recording').message)
while time.monotonic() < end and not any('recording' in line for line in status):
    rclpy.spin_once(node, timeout_sec=0.1)
print('status', *status)
recorded = call(Trigger, '/identifier/stop_recording').message
print(recorded)
try:
    node.create_publisher(Float64MultiArray, '/forward_effort_controller/commands', 10)
    print('may command torques')
except Exception as error:
    print('refused:', type(error).__name__)
"""


@pytest.mark.slow
def test_all_nodes_work_under_their_policies_and_the_operator_cannot_command(
    ros, empty_enclave, ur5e_file, tmp_path, monkeypatch
):
    generate = pytest.importorskip(
        'sros2.api._artifact_generation', reason='sros2 comes with a ROS 2 installation only'
    ).generate_artifacts
    said = ended(empty_enclave)[1]
    if NO_SECURITY in said:
        (line,) = [line for line in said.splitlines() if NO_SECURITY in line]
        pytest.skip(f'no security in this DDS: {line}')
    keystore = tmp_path / 'keys'
    generate(keystore, [], [POLICY])
    for name, value in enforced(keystore).items():
        monkeypatch.setenv(name, value)
    inputs = {'inputs': '[joint_states, motor_states, temperatures]', 'output_folder': tmp_path / 'out'}
    parameters = {
        'simulator': {},
        'identifier': inputs,
        'estimator': {**inputs, 'description_file': ur5e_file},
        'feedforward': {'description_file': ur5e_file, 'mode': 'streaming'},
        'excitation': {},
        'gazebo_model': {},
    }
    from joint_dynamics.nodes.framework.wiring import CONTROLLERS, WIRING

    processes = {
        name: ros.process(
            f'joint_dynamics.nodes.{name}.node',
            parameters={'autostart': 'true', **given},
            remap={ours: theirs.format_map(CONTROLLERS) for ours, theirs in WIRING.get(name, {}).items()},
            enclave=f'/{name}',
        )
        for name, given in parameters.items()
    }
    operator = ros.start([sys.executable, '-c', OPERATOR, *processes], 'operator')
    status, output = operator.ended()
    ros.processes.remove(operator)
    assert status == 0, output
    lines = output.splitlines()
    assert 'active' in lines, ros_words(processes, output)
    assert 'recording 1 started' in lines
    assert any(line.startswith('status') and 'recording 1' in line for line in lines)
    (recorded,) = [line for line in lines if line.startswith('recording 1:')]
    counts = recorded.partition('messages: ')[2]
    assert int(counts.split(' on joint_states')[0].split()[-1]) > 0, recorded
    assert np.all([f'{joint}/temperature' in counts for joint in JOINTS]), recorded
    assert 'refused: RCLError' in lines
    # Nobody outside sees them: this process has no enclave.
    assert not {name for name, _ in ros.probe.get_node_names_and_namespaces()} & set(processes)


def ros_words(processes, output):
    return '\n'.join([output, *(process.last_words for process in processes.values())])
