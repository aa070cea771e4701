"""Feedforward laws along desired motions, their registry, effort in trajectories (docs/explanation/control.md)."""

from joint_dynamics.control.follower import Follower, Points
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.interface import Law, LawParameter, available, create, load
from joint_dynamics.control.laws import AdaptiveFriction, ComputedTorque, FlexibleJoint, torque_derivatives
from joint_dynamics.control.path import Path, order_joints
from joint_dynamics.control.trajectory import FilledTrajectory, FillSettings, check_motion, fill_effort

__all__ = [
    'AdaptiveFriction',
    'ComputedTorque',
    'FillSettings',
    'FilledTrajectory',
    'FlexibleJoint',
    'Follower',
    'FrictionCompensation',
    'Law',
    'LawParameter',
    'Path',
    'Points',
    'available',
    'check_motion',
    'create',
    'fill_effort',
    'load',
    'order_joints',
    'torque_derivatives',
]
