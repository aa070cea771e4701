"""The SROS2 policy allows each node exactly what its graph shows that it uses, wired as the launch files do it."""

import importlib.util
import threading
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.action import ActionClient
from rclpy.parameter import Parameter

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.nodes.framework.security import RULES, Site, main, operator_access, policy
from joint_dynamics.nodes.framework.wiring import CONTROLLERS, WIRING, enclave
from joint_dynamics.nodes.interfaces.input_parameters import FORMS
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description, ur5e_urdf

POLICY = Path(__file__).parents[2] / 'config' / 'security' / 'joint_dynamics.policy.xml'
NODES = node_classes()
ROBOT = RobotModel.from_urdf(ur5e_description())
JOINTS = ROBOT.joint_names
# What a ROS installation brings and the Python packages do not: where it is missing, so is what the nodes use it for.
OPTIONAL = ('control_msgs', 'tf2_msgs', 'tf_transformations')
MISSING = {package for package in OPTIONAL if importlib.util.find_spec(package) is None}
HERE = [
    form for form in FORMS if 'control_msgs' not in MISSING or form not in ('dynamic_joint_states', 'state_interfaces')
]


def allowed(text):
    """Enclave -> rule -> names in full, of a policy."""
    found = {}
    for place in ET.fromstring(text.encode()).iterfind('enclaves/enclave'):
        rules = found.setdefault(place.get('path'), {rule: set() for rule in RULES})
        for names in place.iterfind('profiles/profile/*'):
            for rule, value in names.attrib.items():
                assert value == 'ALLOW'
                rules[rule] |= {name.text for name in names}
    return found


def test_the_file_is_that_of_the_tables():
    expected = policy(Site(joint_names=JOINTS))
    assert POLICY.read_text() == expected, f'run: python -m joint_dynamics.nodes.framework.security --out {POLICY.name}'


def test_it_is_a_policy_of_sros2():
    """By the reader of sros2, with its schema."""
    load = pytest.importorskip('sros2.policy', reason='sros2 comes with a ROS 2 installation only').load_policy
    assert {place.get('path') for place in load(POLICY).iterfind('enclaves/enclave')} == set(
        allowed(POLICY.read_text())
    )


@pytest.fixture
def files(tmp_path, ur5e_file, small_motion):
    """Files of a robot with everything that a node may ask for."""
    document = DynamicsDescription.load(ur5e_file).document
    for joint in document['joints'].values():
        joint['friction']['maxwell_slip'] = {'operators': 4, 'presliding': 5e-4}
    DynamicsDescription(document).save(tmp_path / 'dynamics.yaml')
    for joint in document['joints'].values():
        del joint['friction']
    DynamicsDescription(document).save(tmp_path / 'without_friction.yaml')
    small_motion(tmp_path / 'summary.json', JOINTS, [0.0, -1.57, 0.6, -1.57, 0.3, 0.0], 0.02)
    return tmp_path


def configurations(name, files):
    """Parameters with which a node uses everything that it ever uses, one set after the other."""
    robot = {} if name == 'simulator' else {'robot_file': str(ur5e_urdf())}
    described = {'description_file': str(files / 'dynamics.yaml')}
    inputs = {'inputs': HERE}
    streaming = {**robot, **described, **inputs, 'mode': 'streaming'}
    return {
        'simulator': [{'robot_file': str(ur5e_urdf()), 'publish_clock': True}],
        'gazebo_model': [robot],
        'identifier': [{**robot, **inputs, 'output_folder': str(files / 'out')}],
        'estimator': [
            {**robot, **described, **inputs, 'output_folder': str(files / 'out')},
            {**robot, **inputs, 'description_file': str(files / 'without_friction.yaml')},
        ],
        'excitation': [{**robot, 'trajectory_file': str(files / 'summary.json'), 'output': 'auto'}],
        'feedforward': [
            {**robot, **described, **inputs, 'mode': 'trajectory', 'law': 'adaptive_friction'},
            # The transmission torque of the estimator counts where no sensor gives it.
            {
                **streaming,
                'inputs': [form for form in HERE if form != 'load_torques'],
                'law': 'joint_torque_feedback',
                'torque_source': 'interface',
            },
            *([{**streaming, 'reference': 'controller_state'}] if 'control_msgs' not in MISSING else []),
        ],
    }[name]


def graph(node, name, namespace):
    """Rule -> names in full, of one node in the graph."""
    return {
        rule: {each for each, _ in ask(name, namespace)}
        for rule, ask in (
            ('subscribe', node.get_subscriber_names_and_types_by_node),
            ('publish', node.get_publisher_names_and_types_by_node),
            ('reply', node.get_service_names_and_types_by_node),
            ('request', node.get_client_names_and_types_by_node),
        )
    }


def everything(node, name, namespace):
    """(Rule, name in full) of all that one node in the graph has."""
    return {(rule, each) for rule, names in graph(node, name, namespace).items() for each in names}


def own(node):
    """(Rule, name in full) of what a node knows to have created itself, its action clients by their first service."""
    actions = [each._action_name for each in node.waitables if isinstance(each, ActionClient)]
    return {
        *(('subscribe', each.topic_name) for each in node.subscriptions),
        *(('publish', each.topic_name) for each in node.publishers),
        *(('reply', each.service_name) for each in node.services),
        *(('request', each.service_name) for each in node.clients),
        *(('request', f'{node.resolve_topic_name(each)}/_action/send_goal') for each in actions),
    }


def seen(node, name, namespace):
    """Rule -> names in full, of one node in the graph, actions by their own name."""
    found = graph(node, name, namespace)
    parts = {each for rule in found.values() for each in rule if '/_action/' in each}
    for rule in found:
        found[rule] -= parts
    return {**found, 'call': {part.partition('/_action/')[0] for part in parts}}


def used(ros, name, files):
    """What a node uses over all its configurations, as if it had no namespace.

    Each has one of its own: a node lives in the graph until its last reference in this process goes, and of two nodes
    with one name the graph tells only what the first has.
    """
    found = {rule: set() for rule in RULES}
    remaps = [
        word
        for ours, theirs in WIRING.get(name, {}).items()
        for word in ('-r', f'{ours}:={theirs.format_map(CONTROLLERS)}')
    ]
    for k, parameters in enumerate(configurations(name, files)):
        namespace = f'/policy_{name}_{k}'
        node = ros.node(NODES[name], namespace, ['--ros-args', *remaps], **parameters)
        try:
            # Heard by those in simulated time.
            node.set_parameters([Parameter('use_sim_time', value=True)])
            node.trigger_configure()
            assert node.diagnostics.message('state') == 'inactive', node.diagnostics.message('state')
            # The graph hears of a node's own topics and services a little later than the node itself.
            ros.until(
                lambda node=node, namespace=namespace: own(node) <= everything(node, name, namespace),
                what=f'{name} in the graph',
            )
            for rule, names in seen(node, name, namespace).items():
                found[rule] |= {each.removeprefix(namespace) for each in names}
        finally:
            ros.remove(node)
    return found


def optional(node_class):
    """Names of a node's table that need a package which is missing here."""
    wired = {ours: theirs.format_map(CONTROLLERS) for ours, theirs in WIRING.get(node_class.NAME, {}).items()}
    rows = [row for row in node_class.topic_rows() if row.type.partition('/')[0] in MISSING]
    return {enclave(wired.get(row.name, row.name)) for row in rows}


@pytest.mark.parametrize('name', NODES)
def test_each_node_is_allowed_what_it_uses_and_nothing_else(ros, files, name):
    found = used(ros, name, files)
    rules = allowed(POLICY.read_text())[enclave(name)]
    for rule in RULES:
        assert found[rule] - rules[rule] == set(), f'{name} uses more than it may ({rule})'
        # The static transforms are heard by a node of its own (below).
        unused = rules[rule] - found[rule] - optional(NODES[name]) - {'/tf_static'}
        assert unused == set(), f'{name} may do more than it does ({rule})'


def test_static_transforms_are_heard_by_a_node_with_few_rights(ros, files):
    for package in ('tf2_msgs', 'tf_transformations'):
        pytest.importorskip(package, reason=f'{package} comes with a ROS 2 installation only')
    node = ros.node(NODES['gazebo_model'], robot_file=str(ur5e_urdf()), world_frame='hall', description_timeout=3.0)
    configuring = threading.Thread(target=node.trigger_configure)
    configuring.start()
    rights = {rule: set() for rule in RULES}
    while configuring.is_alive():
        if ('gazebo_model_tf', '/') in ros.probe.get_node_names_and_namespaces():
            for rule, names in seen(ros.probe, 'gazebo_model_tf', '/').items():
                rights[rule] |= names
        time.sleep(0.01)
    configuring.join()
    rules = allowed(POLICY.read_text())['/gazebo_model']
    assert '/tf_static' in rights['subscribe']
    for rule in RULES:
        assert rights[rule] <= rules[rule]


def test_the_operator_may_ask_for_what_the_nodes_offer_and_nothing_else():
    rules = allowed(POLICY.read_text())
    offered = set().union(*(rules[enclave(name)]['reply'] for name in NODES))
    told = set().union(*(rules[enclave(name)]['publish'] for name in NODES))
    heard = set().union(*(rules[enclave(name)]['subscribe'] for name in NODES))
    operator = rules['/operator']
    assert offered - operator['request'] == {f'/{name}/get_type_description' for name in NODES}
    assert operator['request'] <= offered
    assert operator['subscribe'] <= told | {'/clock'}
    assert operator['publish'] - {'/rosout', '/parameter_events'} == {'/feedforward/reference'} <= heard
    # No command to a controller, and no joint state: those are the robot's and the nodes'.
    assert operator == operator_access(NODES.values(), Site(joint_names=JOINTS))


def test_another_site_is_another_policy(tmp_path, capsys):
    path = tmp_path / 'left.xml'
    arguments = ['--namespace', 'left', '--tf-prefix', 'l_', '--initial-joint-controller', 'scaled', '--out', str(path)]
    assert main(arguments) == 0
    rules = allowed(path.read_text())
    assert set(rules) == {f'/left/{name}' for name in (*NODES, 'operator')}
    assert '/left/l_elbow_joint/temperature' in rules['/left/identifier']['subscribe']
    assert '/left/scaled/joint_trajectory' in rules['/left/excitation']['publish']
    # Where nothing else is said, feedforward has the controller of the excitation.
    assert '/left/scaled/joint_trajectory' in rules['/left/feedforward']['publish']
    assert main([*arguments, '--effort-trajectory-controller', 'torques']) == 0
    assert '/left/torques/joint_trajectory' in allowed(path.read_text())['/left/feedforward']['publish']
    assert '/left/scaled/joint_trajectory' in allowed(path.read_text())['/left/excitation']['publish']
    shared = {'/clock', '/rosout', '/diagnostics', '/parameter_events', '/tf_static'}
    for access in rules.values():
        for names in access.values():
            assert {name for name in names if not name.startswith('/left/')} <= shared
    assert main(['--robot', str(tmp_path / 'none.urdf')]) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / 'none.urdf') in error
    assert error.count('\n') == 1
