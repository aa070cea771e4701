"""Nodes in this process and in others, over DDS, in a domain of their own."""
import os
import signal
import subprocess
import sys
import time

import pytest

try:
    import rclpy
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState, GetState
    from rcl_interfaces.srv import SetParameters
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.parameter import Parameter
    from std_srvs.srv import Trigger
except ImportError:
    rclpy = None  # the tests skip themselves

# Only a test that fails waits so long.
PATIENCE = 180.0


class Ros:
    """One rclpy context with an executor; `probe` is a plain node to publish, listen and call with."""

    def __init__(self):
        rclpy.init()
        self.executor = SingleThreadedExecutor()
        self.nodes = []
        self.processes = []
        self.watchers = []
        self.probe = rclpy.create_node('probe')
        self.executor.add_node(self.probe)

    def node(self, node_class, namespace='', **parameters):
        """Create one of our nodes in this process; parameters by name (`__` for a dot)."""
        overrides = [Parameter(name.replace('__', '.'), value=value) for name, value in parameters.items()]
        node = node_class(namespace=namespace, parameter_overrides=overrides)
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def remove(self, node):
        """Close one of our nodes in this process before the test ends."""
        self.nodes.remove(node)
        self.executor.remove_node(node)
        node.close()

    def process(self, module, *arguments, namespace='', parameters=None, files=(), remap=None):
        """Start `python -m module` with ROS arguments in another process; it must end with status 0 on SIGINT."""
        command = [sys.executable, '-m', module, *arguments, '--ros-args']
        if namespace:
            command += ['-r', f'__ns:={namespace}']
        for name, value in (parameters or {}).items():
            command += ['-p', f'{name}:={value}']
        for path in files:
            command += ['--params-file', str(path)]
        for name, to in (remap or {}).items():
            command += ['-r', f'{name}:={to}']
        process = subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        return process

    def stop(self, process, number=signal.SIGINT):
        """End a process with a signal; return (status, output)."""
        if process.poll() is None:
            process.send_signal(number)
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            pytest.fail(f'{process.args[2]} did not end on signal {number}: {output}')
        if process in self.processes:
            self.processes.remove(process)
        return process.returncode, output

    def until(self, condition, timeout=PATIENCE, what='condition'):
        """Spin until `condition()` is true; return its value. Fails after `timeout` s, when a process has died, or a watcher says why."""
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            for process in self.processes:
                if process.poll() not in (None, 0):
                    pytest.fail(f'{process.args[2]} ended with {process.returncode}: {process.communicate()[0]}')
            for watcher in self.watchers:
                reason = watcher()
                if reason:
                    pytest.fail(f'{what}: {reason}')
            if time.monotonic() > end:
                pytest.fail(f'{what} not met within {timeout} s')
            self.executor.spin_once(timeout_sec=0.05)

    def listen(self, kind, topic, qos=100):
        """Subscribe; return the list that fills with messages while spinning."""
        messages = []
        self.probe.create_subscription(kind, topic, messages.append, qos)
        return messages

    def call(self, kind, name, request=None):
        """Call a service and return its response."""
        client = self.probe.create_client(kind, name)
        self.until(client.service_is_ready, what=f'service {name}')
        future = client.call_async(request or kind.Request())
        self.until(future.done, what=f'response of {name}')
        self.probe.destroy_client(client)
        return future.result()

    def trigger(self, name):
        """Call a std_srvs/Trigger."""
        return self.call(Trigger, name)

    def transition(self, node_name, verb):
        """Ask a lifecycle node for `configure`, `activate`, …; return whether it did."""
        request = ChangeState.Request(transition=Transition(id=getattr(Transition, f'TRANSITION_{verb.upper()}')))
        return self.call(ChangeState, f'{node_name}/change_state', request).success

    def state(self, node_name):
        """Return the label of a node's lifecycle state."""
        return self.call(GetState, f'{node_name}/get_state').current_state.label

    def until_state(self, node_name, label):
        """Wait until a node has reached a state."""
        self.until(lambda: self.state(node_name) == label, what=f'{node_name} {label}')

    def set_parameter(self, node_name, name, value):
        """Set one parameter over its service; return SetParametersResult."""
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        return self.call(SetParameters, f'{node_name}/set_parameters', request).results[0]

    def close(self):
        for process in list(self.processes):
            status, output = self.stop(process)
            assert status == 0, f'{process.args[2]} ended with {status}: {output}'
        for node in self.nodes:
            self.executor.remove_node(node)
            node.close()
        self.probe.destroy_node()
        self.executor.shutdown()
        rclpy.try_shutdown()


@pytest.fixture
def ros(ros_domain):
    """See Ros."""
    ros = Ros()
    try:
        yield ros
    finally:
        ros.close()


@pytest.fixture
def assert_documented():
    """A check that every topic and service a configured node has is in the table its documentation page shows."""
    own = {'parameter_events', 'rosout', 'clock', 'get_parameters', 'set_parameters', 'list_parameters', 'describe_parameters',
           'get_parameter_types', 'set_parameters_atomically', 'get_type_description', 'transition_event', 'change_state', 'get_state',
           'get_available_states', 'get_available_transitions', 'get_transition_graph'}

    def check(node):
        # What went through subscribe, advertise and serve was checked against the table there.
        checked = {id(entity) for _, entity in node._owned}
        entities = [e for e in (*node.publishers, *node.subscriptions, *node.services) if id(e) not in checked]
        names = {getattr(e, 'topic_name', None) or e.srv_name for e in entities}
        rows = {node.resolve_topic_name(row.name) for row in node.topic_rows() if '<' not in row.name}
        assert {n for n in names if n.rsplit('/', 1)[-1] not in own and node.resolve_topic_name(n) not in rows} == set()
    return check
