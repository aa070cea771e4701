"""An identified robot as a pinocchio model: in this process, or as a Python file that needs pinocchio alone.

pinocchio's recursive Newton-Euler with armature is M(q) q̈ + diag(armature) q̈ + h(q, q̇), the motor torque without
friction and what `not_exported` lists; `damping` and dry friction are fields of the model that its simulators read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.export_urdf import bodies_to_export, inconsistent_links, joint_friction
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import write_atomically
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.dependent import JointTree
from joint_dynamics.robot.standard_parameters import inertia_of

_HEAD = '''"""Dynamics of {name}, identified with {version} on {date}. Needs pinocchio 3 or newer, and numpy.

    model = build()
    data = model.createData()
    tau = inverse_dynamics(model, data, q, v, a)

tau = M(q) a + diag(armature) a + h(q, v) + damping v + friction sign(v): torque on the joints [N.m], rad, SI.
{follows}"""

import numpy as np
import pinocchio

GRAVITY = {gravity}
# name, type, parent (0: the base), placement (rotation row by row, translation), axis, ten inertial parameters in
# pinocchio's order (mass, first moments, xx xy yy xz yz zz), armature, damping, friction; limits: lower, upper,
# velocity, effort
JOINTS = [
{joints}
]
# name, index of the joint it moves with, placement
FRAMES = [
{frames}
]{matrix}


def build():
    """Return the pinocchio model."""
    model = pinocchio.Model()
    model.name = {name!r}
    for name, kind, parent, rotation, translation, axis, body, *_ in JOINTS:
        placement = pinocchio.SE3(np.array(rotation).reshape(3, 3), np.array(translation))
        turning = getattr(pinocchio, kind)
        moving = turning(np.array(axis)) if kind.endswith('Unaligned') else turning()
        index = model.addJoint(parent, moving, placement, name)
        model.addJointFrame(index)
        inertia = pinocchio.Inertia.FromDynamicParameters(np.array(body))
        model.appendBodyToJoint(index, inertia, pinocchio.SE3.Identity())
    for name, index, rotation, translation in FRAMES:
        placement = pinocchio.SE3(np.array(rotation).reshape(3, 3), np.array(translation))
        model.addFrame(pinocchio.Frame(name, index, 0, placement, pinocchio.FrameType.OP_FRAME))
    model.gravity.linear = np.array(GRAVITY)
    numbers = np.array([joint[7:] for joint in JOINTS], dtype=float).T
    model.armature, model.damping, friction, lower, upper, velocity, effort = (row.copy() for row in numbers)
    if hasattr(model, 'upperDryFrictionLimit'):
        model.upperDryFrictionLimit, model.lowerDryFrictionLimit = friction, -friction
    else:
        model.friction = friction
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    model.velocityLimit, model.effortLimit = velocity, effort
    return model


def inverse_dynamics(model, data, q, v, a):
    """Return the torque (n,) of a state, friction included."""
    friction = np.array([joint[9] for joint in JOINTS]){into_tree}
    tau = pinocchio.rnea(model, data, q, v, a) + model.damping * v + friction * np.sign(v)
    return {out_of_tree}tau
'''
_FOLLOWS = """
Joints of the model that follow others: position of all joints G q + C of the n that move by themselves ({names}).
"""
_MATRIX = """
G = np.array({matrix})
C = np.array({offset})
"""


LIMITS = ('lowerPositionLimit', 'upperPositionLimit', 'velocityLimit', 'effortLimit')


def pinocchio_model(
    description: DynamicsDescription, payload: str = 'merged', model: RobotModel | None = None
) -> pinocchio.Model:
    """Return the described robot as a pinocchio model: inertias, armature, damping, dry friction, limits, gravity.

    Its `rnea` is the description's torque without friction and what `not_exported` lists. Joints in the order of the
    description; frames as the robot file has them; the gravity of its mounting. Joints that follow others are joints of
    the model like all: their positions are `RobotModel.tree_position`, and their torques go by Gᵀ to those they follow.

    Parameters
    ----------
    description
        what was identified.
    payload
        `merged` into the last link or `without`; `apart` is merged, since a pinocchio model has one body per joint.
    model
        the robot, with all frames of its file; None: the one the description carries.

    Raises
    ------
    JointDynamicsError
        Where the description has no inertial part or is of another robot, or a link has no mass; with pinocchio 2,
        whose models have no armature.
    """
    if not hasattr(pinocchio.Model(), 'armature'):
        raise JointDynamicsError(
            f'pinocchio model: expected pinocchio 3 or newer, found {pinocchio.__version__}, whose models have no'
            ' armature for the rotors: upgrade it (pip install -U pin), or export to urdf, mjcf or sdf'
        )
    robot = description.robot_model() if model is None else model
    bodies = bodies_to_export(description, 'merged' if payload == 'apart' else payload, robot)
    described = robot.pinocchio.copy()
    tree = robot.chain.tree
    for row, body in zip(tree.row, bodies, strict=True):
        described.inertias[int(row) + 1] = inertia_of(body)
    parts = [description.joint(name) if name in robot.joint_names else {} for name in tree.names]
    damping, friction = np.array([joint_friction(part) for part in parts]).T
    described.armature = np.array([part.get('rotor_inertia', {}).get('value', 0.0) for part in parts])
    described.damping = damping
    if hasattr(described, 'upperDryFrictionLimit'):
        described.upperDryFrictionLimit, described.lowerDryFrictionLimit = friction, -friction
    else:
        described.friction = friction
    robot.limits.write_to(described, tree.moving)
    return described


def export_pinocchio(
    description: DynamicsDescription, model: RobotModel, out: str | Path, payload: str = 'merged'
) -> list[str]:
    """Write the described robot as a Python file with a function `build`; return the joints whose link is no body.

    The file needs pinocchio and numpy only and holds all numbers to the last digit. Parameters and errors are those of
    `pinocchio_model`.
    """
    described = pinocchio_model(description, payload, model)
    tree = model.chain.tree
    friction = described.upperDryFrictionLimit if hasattr(described, 'upperDryFrictionLimit') else described.friction
    limits = [getattr(described, key) for key in LIMITS]
    joints = []
    for k, name in enumerate(tree.names):
        joint, placement = described.joints[k + 1], described.jointPlacements[k + 1]
        body = described.inertias[k + 1].toDynamicParameters()
        arrays = map(_plain, (placement.rotation, placement.translation, model.chain.axis[k], body))
        numbers = (float(values[k]) for values in (described.armature, described.damping, friction, *limits))
        row = (name, joint.shortname(), int(described.parents[k + 1]), *arrays, *numbers)
        joints.append(f'    ({", ".join(_text(value) for value in row)}),')
    taken = {'universe', *tree.names}
    frames = []
    for frame in described.frames:
        if frame.name not in taken and frame.type != pinocchio.FrameType.JOINT:
            taken.add(frame.name)
            rotation, translation = _plain(frame.placement.rotation), _plain(frame.placement.translation)
            frames.append(f'    ({frame.name!r}, {int(frame.parentJoint)}, {rotation!r}, {translation!r}),')
    provenance = description.document.get('provenance', {})
    text = _HEAD.format(
        name=_safe(described.name or 'robot'),
        version=_safe(str(provenance.get('software', 'joint_dynamics'))),
        date=_safe(str(provenance.get('date', 'no date'))),
        gravity=_plain(described.gravity.linear),
        joints='\n'.join(joints),
        frames='\n'.join(frames),
        **_following(tree),
    )
    write_atomically(out, text)
    return inconsistent_links(description, 'merged' if payload == 'apart' else payload)


def _following(tree: JointTree) -> dict[str, str]:
    """Return the parts of the file by which joints follow others, empty where none does."""
    if tree.plain:
        return dict.fromkeys(('follows', 'matrix', 'into_tree', 'out_of_tree'), '')
    matrix = '[\n' + ''.join(f'    {_plain(row)},\n' for row in tree.matrix) + ']'
    return {
        'follows': _FOLLOWS.format(names=', '.join(_safe(name) for name in tree.joint_names)),
        'matrix': _MATRIX.format(matrix=matrix, offset=_plain(tree.offset)),
        'into_tree': '\n    q, v, a = G @ q + C, G @ v, G @ a',
        'out_of_tree': 'G.T @ ',
    }


def _plain(values: FloatArray) -> list[float]:
    return [float(value) + 0.0 for value in np.ravel(values)]


def _text(value: object) -> str:
    """Return a literal; infinity has none."""
    if isinstance(value, float) and not np.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _safe(text: str) -> str:
    """Return a text that ends no docstring and begins no format."""
    return ''.join(sign for sign in text if sign.isalnum() or sign in ' ._-:+')[:80] or 'robot'
