"""The robot and the dynamics description that a node starts from, as its parameters and latched topics give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joint_dynamics.nodes.diagnostics import WARN
from joint_dynamics.nodes.documents import LatchedText
from joint_dynamics.nodes.entities import EntityNode
from joint_dynamics.nodes.mounting import mounting_from_tf
from joint_dynamics.robot import RobotModel

if TYPE_CHECKING:
    from joint_dynamics.description import DynamicsDescription


def create_sources(node: EntityNode) -> dict[str, LatchedText]:
    """Return the documents that a node takes: `robot`, `description`, as far as ROBOT and DESCRIPTION say."""

    def source(name: str, topic: str) -> LatchedText:
        def changed() -> None:
            node.diagnostics.set(
                topic, WARN, 'changed since the node was configured: clean up and configure again to use it'
            )

        return LatchedText(node, topic, lambda: node.parameters[f'{name}_file'], changed)

    sources = {}
    if node.ROBOT:
        sources['robot'] = source('robot', 'robot_description')
    if node.DESCRIPTION != 'none':
        sources['description'] = source('description', 'dynamics_description')
    return sources


def load_robot(node: EntityNode, source: LatchedText, timeout: float) -> RobotModel:
    """Return the robot with the joints and the mounting that the parameters say, waiting up to `timeout` s.

    Raises
    ------
    JointDynamicsError
        Where there is no robot, it is none, or the mounting is not known in time.
    """
    text = node.parameters['robot_file'] or source.text(timeout)
    joints, mounting, world = (node.parameters[name] or None for name in ('joints', 'mounting', 'world_frame'))
    robot = RobotModel.load(text, joints=joints, mounting=mounting)
    if mounting is not None or world is None:
        return robot
    base = node.parameters['base_frame'] or robot.pinocchio.frames[1].name
    return RobotModel.load(text, joints=joints, mounting=mounting_from_tf(node, world, base, timeout))


def load_description(source: LatchedText, timeout: float) -> DynamicsDescription:
    """Return the dynamics description, waiting up to `timeout` s. Raises JointDynamicsError."""
    from joint_dynamics.description import DynamicsDescription

    return DynamicsDescription.from_yaml(source.text(timeout))
