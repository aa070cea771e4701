"""Access policies of SROS2 from the nodes' own tables: what each may publish, hear, offer and call, and nothing else.

`python -m joint_dynamics.nodes.framework.security --out FILE` writes the policy of all nodes, one enclave each, and
of the enclave `operator`, for who calls them. Policies name topics in full: another namespace, other controllers or
other joints are another policy (docs/how-to/security.md).
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from joint_dynamics.description import write_atomically
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.wiring import CONTROLLERS, DEFAULT_FROM, WIRING, enclave
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_description

VERSION = '0.2.0'
"""Of the policies' schema (`policy.xsd` of sros2)."""
LIFECYCLE = ('change_state', 'get_available_states', 'get_available_transitions', 'get_state', 'get_transition_graph')
PARAMETERS = (
    'describe_parameters',
    'get_parameter_types',
    'get_parameters',
    'list_parameters',
    'set_parameters',
    'set_parameters_atomically',
)
#: What the names in angle brackets of the tables of topics stand for; those that only parameters name are left out.
PLACEHOLDERS: Mapping[str, tuple[str, ...]] = {
    '<temperature_topics>': ('{joint}/temperature',),
    '<joint>/temperature': ('{joint}/temperature',),
    '<trajectory_controller>/joint_trajectory': ('{initial_joint_controller}/joint_trajectory',),
    '<effort_controller>/commands': ('{effort_controller}/commands',),
    '<arrays>': (),
    '<follow_topics>': (),
}
#: Rule of a policy -> its attribute, in the order in which they are written.
RULES = {
    'subscribe': ('topics', 'topic'),
    'publish': ('topics', 'topic'),
    'reply': ('services', 'service'),
    'request': ('services', 'service'),
    'call': ('actions', 'action'),
}
_RULE_OF = {'subscribes': 'subscribe', 'publishes': 'publish', 'service': 'reply', 'action client': 'call'}


@dataclass(frozen=True)
class Site:
    """Where the nodes are: what a policy depends on beside their tables.

    Attributes
    ----------
    namespace : of all nodes and of the robot.
    joint_names : those that have a temperature topic.
    controllers : launch argument -> name of the controller.
    """

    namespace: str = ''
    joint_names: tuple[str, ...] = ()
    controllers: Mapping[str, str] = field(default_factory=lambda: dict(CONTROLLERS))

    def full_name(self, name: str, node: str) -> str:
        """Return a name as given to rclpy (`~/…`, relative or absolute) in full."""
        if name.startswith('/'):
            return name
        return enclave(f'{node}/{name[2:]}' if name.startswith('~/') else name, self.namespace)


Access = dict[str, set[str]]
"""Rule of a policy -> names in full."""


def access_of(node_class: type[DynamicsNode], site: Site) -> Access:
    """Return what a node needs, wired as the launch files do it."""
    node = node_class.NAME
    wired = {
        site.full_name(ours, node): site.full_name(theirs.format_map(site.controllers), node)
        for ours, theirs in WIRING.get(node, {}).items()
    }
    access: Access = {
        'subscribe': {'/clock'},
        'publish': {'/rosout', '/parameter_events', site.full_name('~/transition_event', node)},
        'reply': {site.full_name(f'~/{name}', node) for name in (*LIFECYCLE, *PARAMETERS, 'get_type_description')},
        'request': set(),
        'call': set(),
    }
    for row in node_class.topic_rows():
        for pattern in PLACEHOLDERS.get(row.name, (row.name,)):
            for joint in site.joint_names if '{joint}' in pattern else ('',):
                name = site.full_name(pattern.format(joint=joint, **site.controllers), node)
                access[_RULE_OF[row.direction]].add(wired.get(name, name))
    return access


def operator_access(classes: Iterable[type[DynamicsNode]], site: Site) -> Access:
    """Return what a person needs who starts, stops and looks at the nodes."""
    access: Access = {
        'subscribe': {'/clock', '/diagnostics', '/rosout', '/parameter_events'},
        'publish': {'/rosout', '/parameter_events'},
        'reply': {site.full_name(f'~/{name}', 'operator') for name in (*PARAMETERS, 'get_type_description')},
        'request': set(),
        'call': set(),
    }
    for node_class in classes:
        node = node_class.NAME
        access['request'] |= {site.full_name(f'~/{name}', node) for name in (*LIFECYCLE, *PARAMETERS)}
        for row in node_class.topic_rows():
            if row.direction == 'service':
                access['request'].add(site.full_name(row.name, node))
            elif row.direction == 'publishes' and row.type == 'std_msgs/String' and row.name.startswith('~/'):
                access['subscribe'].add(site.full_name(row.name, node))
            elif row.name == '~/reference':
                access['publish'].add(site.full_name(row.name, node))
    return access


def policy(site: Site) -> str:
    """Return the policy of all nodes and the operator as XML that `ros2 security` takes."""
    classes = node_classes()
    root = ET.Element('policy', version=VERSION)
    enclaves = ET.SubElement(root, 'enclaves')
    wanted = {name: access_of(node_class, site) for name, node_class in classes.items()}
    wanted['operator'] = operator_access(classes.values(), site)
    for name, access in wanted.items():
        profiles = ET.SubElement(ET.SubElement(enclaves, 'enclave', path=enclave(name, site.namespace)), 'profiles')
        profile = ET.SubElement(profiles, 'profile', ns=enclave('', site.namespace), node=name)
        for rule, (kind, item) in RULES.items():
            if access[rule]:
                names = ET.SubElement(profile, kind, {rule: 'ALLOW'})
                for each in sorted(access[rule]):
                    ET.SubElement(names, item).text = each
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the policy of a site to a file or to standard output; return the exit status."""
    parser = argparse.ArgumentParser(prog='python -m joint_dynamics.nodes.framework.security', description=__doc__)
    parser.add_argument('--robot', help='URDF or MDH table whose joints have temperatures; default: the UR5e')
    parser.add_argument('--namespace', default='', help='of the robot and of all nodes')
    parser.add_argument('--tf-prefix', default='', help='of the UR5e that is taken without --robot')
    for name, default in CONTROLLERS.items():
        given_else = None if name in DEFAULT_FROM else default
        parser.add_argument(f'--{name.replace("_", "-")}', default=given_else, help='as given to the launch file')
    parser.add_argument('--out', type=Path, help='file; default: standard output')
    given = parser.parse_args(arguments)
    try:
        robot = RobotModel.load(given.robot or ur5e_description(given.tf_prefix))
        controllers = {
            name: getattr(given, name) or getattr(given, DEFAULT_FROM.get(name, name)) for name in CONTROLLERS
        }
        text = policy(Site(given.namespace, robot.joint_names, controllers))
        if given.out is None:
            sys.stdout.write(text)
        else:
            write_atomically(given.out, text)
    except JointDynamicsError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main())
