"""Standard parameters of the robot as it will be loaded.

Its own, the payload's and the friction it is expected to have.
"""

from __future__ import annotations

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.robot import RobotModel, StandardParameters
from joint_dynamics.robot.standard_parameters import body_of
from joint_dynamics.settings.per_joint import per_joint


def parent_joint(frame: pinocchio.Frame) -> int:
    """Return the joint that moves a frame, 0 for none; the attribute has another name before pinocchio 3."""
    return frame.parentJoint if hasattr(frame, 'parentJoint') else frame.parent


def end_effector_frame(model: RobotModel, name: str | None) -> pinocchio.Frame:
    """Return the frame `name`, by default the last one that moves with the last joint.

    Raise JointDynamicsError if it is not there.
    """
    frames = model.pinocchio.frames
    if name is None:
        return [frame for frame in frames if parent_joint(frame) == model.n][-1]
    found = [frame for frame in frames if frame.name == name]
    if not found:
        names = dict.fromkeys(frame.name for frame in frames if frame.name != 'universe')
        raise JointDynamicsError(f'limits.end_effector: expected one of {", ".join(names)}, found {name!r}')
    return found[-1]


def parameters_with_payload(model: RobotModel, settings: LimitSettings) -> FloatArray | None:
    """Return the standard parameters (p,) the torque is computed with, None for a robot without inertials."""
    if model.parameters is None:
        return None
    parameters = model.parameters.copy()
    standard = StandardParameters(parameters, model.n)
    standard.viscous[:] += per_joint(settings.viscous_friction, model.joint_names, 'limits.viscous_friction')
    standard.coulomb[:] += per_joint(settings.coulomb_friction, model.joint_names, 'limits.coulomb_friction')
    if settings.payload is not None:
        frame = end_effector_frame(model, settings.end_effector)
        if parent_joint(frame) == 0:
            raise JointDynamicsError(f'limits.end_effector: expected a frame that moves, found {frame.name!r}')
        xx, xy, xz, yy, yz, zz = settings.payload.inertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        body = frame.placement.act(pinocchio.Inertia(settings.payload.mass, np.array(settings.payload.com), tensor))
        standard.links[parent_joint(frame) - 1] += body_of(body)
    return parameters
