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

"""The step *look*: nodes, joint states, effort, limits and controller, before anything moves."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from sensor_msgs.msg import JointState, Temperature

from joint_dynamics.arrays import FloatArray
from joint_dynamics.calibration import CalibrationSettings
from joint_dynamics.calibration.client import RosClient
from joint_dynamics.calibration.folder import CalibrationFolder
from joint_dynamics.calibration.processes import Processes
from joint_dynamics.documents import parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes import WIRING
from joint_dynamics.nodes.framework.lifecycle import results_folder
from joint_dynamics.nodes.framework.tables import SENSOR
from joint_dynamics.nodes.interfaces.messages import seconds
from joint_dynamics.robot import RobotModel

STARTING = 120.0  # s in which a node becomes active
LISTEN = 3.0  # s of joint states that are looked at
REST = 0.02  # rad/s, fastest joint of a robot at rest, as in the excitation node
DEFAULT_PRESET = 'ros2_control'
NODES = ('excitation', 'identifier')
EFFORTS = (
    ('torque', 'N·m on the joint side, gravity included: most ros2_control drivers, Kinova'),
    ('current', 'motor current in A: older drivers of Universal Robots; needs a drive gain of every joint'),
    ('torque_without_gravity', 'N·m less gravity, about 0 at rest: newer drivers of Universal Robots'),
)


@dataclass(frozen=True)
class Finding:
    """One thing looked at; `remedy` is '' where it is well."""

    what: str
    found: str
    remedy: str = ''


@dataclass
class Robot:
    """The nodes beside the robot, and its model.

    Attributes
    ----------
    client, namespace
        connection; namespace with a leading `/`, or ''.
    model
        with the joints and the mounting of the identifier.
    config
        sections of the configuration: as the nodes state them, and over these as the user does.
    recordings
        folder in which the identifier records.
    states
        what `joint_states` said last: position, velocity, effort, (n,) each, NaN where there is none.
    rate
        of `joint_states` by its stamps, Hz; 0 before it was listened to.
    """

    client: RosClient
    namespace: str
    model: RobotModel
    config: dict[str, Any]
    recordings: Path
    states: dict[str, FloatArray] = field(default_factory=dict)
    rate: float = 0.0

    def node(self, name: str) -> str:
        """Return the full name of a node."""
        return f'{self.namespace}/{name}'


def preset_file(name: str) -> Path:
    """Return the parameter file of a preset; raise JointDynamicsError where none of that name is installed."""
    prefixes = [*filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)), sys.prefix]
    folders = [Path(prefix) / 'share' / 'joint_dynamics' / 'config' for prefix in prefixes]
    for folder in folders:
        if (folder / name / 'nodes.yaml').is_file():
            return folder / name / 'nodes.yaml'
    known = sorted({path.parent.name for folder in folders for path in folder.glob('*/nodes.yaml')})
    raise JointDynamicsError(f'--preset: expected one of {", ".join(known)}, found {name!r}')


def nodes_run(client: RosClient, settings: CalibrationSettings) -> bool:
    """Return whether the nodes run already, found by discovery within the time of the settings."""
    wanted = {f'{root(settings)}/{service}' for service in ('excitation/start', 'identifier/identify')}
    end = time.monotonic() + settings.wait
    while time.monotonic() < end:
        found = {name for name, _ in client.node.get_service_names_and_types()}
        if wanted <= found:
            return True
        client.rest(0.1)
    return False


def root(settings: CalibrationSettings) -> str:
    """Return the namespace with a leading slash, '' for none."""
    name = settings.namespace.strip('/')
    return f'/{name}' if name else ''


def start_nodes(processes: Processes, folder: CalibrationFolder) -> None:
    """Start excitation and identifier with the parameters of a preset; their logs are in `logs/`."""
    settings = folder.settings
    preset = preset_file(settings.preset or DEFAULT_PRESET)
    common = folder.path / 'logs' / 'preset.yaml'
    common.write_text(preset.read_text(encoding='utf-8').replace('$(var tf_prefix)', ''), encoding='utf-8')
    for name in NODES:
        parameters: dict[str, Any] = {'autostart': True, 'use_sim_time': settings.use_sim_time}
        if settings.robot_file:
            parameters['robot_file'] = str(Path(settings.robot_file).expanduser().absolute())
        if settings.config:
            parameters['config_file'] = str(Path(settings.config).expanduser().absolute())
        if name == 'identifier':
            parameters['output_folder'] = str(folder.path / 'recorded')
            if settings.effort:
                parameters['joint_states_effort'] = settings.effort
        own = folder.path / 'logs' / f'{name}.yaml'
        own.write_text(yaml.safe_dump({f'/**/{name}': {'ros__parameters': parameters}}), encoding='utf-8')
        arguments = ['--ros-args', '--params-file', str(common), '--params-file', str(own)]
        if namespace := root(settings):
            arguments += ['-r', f'__ns:={namespace}']
        for ours, theirs in WIRING[name].items():
            arguments += ['-r', f'{ours}:={theirs.format(initial_joint_controller=settings.controller)}']
        processes.start(name, f'joint_dynamics.nodes.{name}.node', arguments)


def connect(client: RosClient, settings: CalibrationSettings) -> Robot:
    """Return the robot as its nodes know it.

    Raises
    ------
    JointDynamicsError
        Where a node does not become active, or the identifier's folder is not on this machine.
    """
    namespace = root(settings)
    for name in NODES:
        client.until_active(f'{namespace}/{name}', max(STARTING, settings.wait))
    identifier = f'{namespace}/identifier'
    given, saves = client.get_parameters(identifier, 'output_folder', 'save_recordings')
    recordings = results_folder(given, identifier.strip('/'))
    path = recordings / 'config.yaml'
    if not saves or not path.is_file():
        raise JointDynamicsError(
            f'calibrate: expected {identifier} to keep its recordings on this machine (save_recordings), found no '
            f'{path}: run this command where that node runs'
        )
    config = _sections(path)
    (excitation_file,) = client.get_parameters(f'{namespace}/excitation', 'config_file')
    if excitation_file:
        config['excitation'] = _sections(Path(excitation_file)).get('excitation', {})
    for section, values in (_sections(Path(settings.config)) if settings.config else {}).items():
        config[section] = {**config.get(section, {}), **values}
    robot = config['robot']
    source = settings.robot_file or str(recordings / 'robot.urdf')
    model = RobotModel.load(source, joints=robot['joints'], mounting=robot.get('mounting'))
    return Robot(client, namespace, model, config, recordings)


def _sections(path: Path) -> dict[str, Any]:
    document = parse_yaml(read_text(str(path), f'config {path}'), f'config {path}')
    if not isinstance(document, Mapping) or not all(isinstance(value, Mapping) for value in document.values()):
        raise JointDynamicsError(f'config {path}: expected sections, each a mapping, found {type(document).__name__}')
    return {name: dict(values) for name, values in document.items()}


def look(robot: Robot, say: Callable[[str], None]) -> list[Finding]:
    """Return the findings on the robot; one with a remedy has to be mended first."""
    say(f'listening for {LISTEN:g} s')
    return [*_joint_states(robot), _effort(robot), *_limits(robot.model), _temperature(robot), _controller(robot)]


def _joint_states(robot: Robot) -> list[Finding]:
    client, model, topic = robot.client, robot.model, f'{robot.namespace}/joint_states'
    messages: list[JointState] = []
    listener = client.listen(JointState, topic, messages.append, SENSOR)
    client.rest(LISTEN)
    publishers = client.node.get_publishers_info_by_topic(topic)
    client.silence(listener)
    if not messages:
        return [Finding(topic, 'no message', 'start the driver or its joint_state_broadcaster')]
    who = ', '.join(sorted(f'{each.node_namespace.rstrip("/")}/{each.node_name}' for each in publishers))
    rows = {quantity: np.full(model.n, np.nan) for quantity in ('position', 'velocity', 'effort')}
    for message in messages:
        for quantity, row in rows.items():
            values = getattr(message, quantity)
            for name, value in zip(message.name, values, strict=False):
                if name in model.joint_names:
                    row[model.joint_names.index(name)] = value
    robot.states = rows
    stamps = np.array([seconds(message.header.stamp) for message in messages])
    period = float(np.median(np.diff(stamps))) if len(stamps) > 1 else float('nan')
    robot.rate = 1.0 / period if period > 0 else 0.0
    rate = f'{len(messages)} messages in {LISTEN:g} s, stamps {1e3 * period:.3g} ms apart'
    findings = [Finding(topic, rate, '' if period > 0 else 'stamps have to go forward: does the driver set them?')]
    if len(publishers) > 1:
        remedy = 'only one publisher is allowed: stop the other, or remap it'
        findings.append(Finding('publishers', f'{len(publishers)}: {who}', remedy))
    missing = [name for name, value in zip(model.joint_names, rows['position'], strict=True) if not np.isfinite(value)]
    if missing:
        remedy = 'set source_name, or the joints of the arm (parameter joints)'
        findings.append(Finding('joints', f'no position of {", ".join(missing)}', remedy))
    speed = rows['velocity']
    moving = [name for name, value in zip(model.joint_names, speed, strict=True) if abs(value) > REST]
    if moving:
        findings.append(Finding('rest', f'{", ".join(moving)} moves', 'bring the robot to rest'))
    return findings


def _effort(robot: Robot) -> Finding:
    """Show effort at rest beside the gravity torque of the robot file, which shows its meaning."""
    stated = robot.config['recording'].get('joint_states') or {}
    kind = str(stated.get('effort', 'none'))
    effort = robot.states.get('effort')
    if kind == 'none' or effort is None:
        return Finding('effort', 'not used of joint_states; torque or current comes from another input')
    if not np.all(np.isfinite(effort)):
        remedy = 'the driver has to publish effort: add the interface to its joint_state_broadcaster'
        return Finding('effort', f'{kind}: missing for some joints', remedy)
    zero = np.zeros(robot.model.n)
    gravity = robot.model.inverse_dynamics(robot.states['position'], zero, zero)
    unit = 'A' if kind == 'current' else 'N·m'
    shown = ', '.join(f'{value:.3g}' for value in effort)
    expected = ', '.join(f'{value:.3g}' for value in np.ravel(gravity))
    return Finding('effort', f'stated as {kind}; now {shown} {unit}; gravity by the robot file {expected} N·m')


def _limits(model: RobotModel) -> list[Finding]:
    findings = []
    for name, values in (('velocity', model.limits.velocity), ('effort', model.limits.effort)):
        without = [joint for joint, value in zip(model.joint_names, values, strict=True) if not np.isfinite(value)]
        if without:
            remedy = f'add them to the URDF, or set excitation.limits.{name} in --config'
            needed = remedy if name == 'velocity' else ''
            findings.append(Finding(f'{name} limits', f'none of {", ".join(without)}', needed))
    return findings or [Finding('limits', 'position, velocity and effort of every joint, from the robot file')]


def _temperature(robot: Robot) -> Finding:
    found = [
        name
        for name, kinds in robot.client.node.get_topic_names_and_types()
        if f'sensor_msgs/msg/{Temperature.__name__}' in kinds
    ]
    return Finding(
        'temperature', f'{len(found)} topics' if found else 'none: the friction holds for the present temperature only'
    )


def _controller(robot: Robot) -> Finding:
    """Look for somebody who takes the motion: a subscriber of the topic, or a server of the action."""
    node, name = robot.client.node, robot.node('excitation')
    (output,) = robot.client.get_parameters(name, 'output')
    topics = [
        topic
        for topic, kinds in node.get_publisher_names_and_types_by_node('excitation', robot.namespace or '/')
        if 'trajectory_msgs/msg/JointTrajectory' in kinds
    ]
    takers = [topic for topic in topics if node.count_subscribers(topic)]
    if takers:
        return Finding('controller', f'takes trajectories on {takers[0]} (output {output})')
    remedy = 'activate a joint_trajectory_controller, or name it: --controller, initial_joint_controller of the launch'
    return Finding('controller', f'no receiver on {", ".join(topics) or "the topic of the excitation node"}', remedy)
