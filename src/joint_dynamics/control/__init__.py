"""Feedforward laws, their plugin registry, torque feedback, safety limits (docs/explanation/control.md)."""

from joint_dynamics.control.follower import Follower, Points
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.interface import (
    Controller,
    ControllerParameter,
    ControllerSetup,
    InterfaceConfiguration,
    Interfaces,
    available,
    create,
    load,
)
from joint_dynamics.control.law import TorqueLaw
from joint_dynamics.control.law_sample import torque_derivatives
from joint_dynamics.control.loop import ControlLoop
from joint_dynamics.control.path import Path, order_joints
from joint_dynamics.control.safety import LoopSettings, SafetyGate
from joint_dynamics.control.shipped_laws import AdaptiveFriction, ComputedTorque, FlexibleJoint, JointTorqueFeedback
from joint_dynamics.control.trajectory import FilledTrajectory, check_motion, fill_effort

__all__ = [
    'AdaptiveFriction',
    'ComputedTorque',
    'ControlLoop',
    'Controller',
    'ControllerParameter',
    'ControllerSetup',
    'FilledTrajectory',
    'FlexibleJoint',
    'Follower',
    'FrictionCompensation',
    'InterfaceConfiguration',
    'Interfaces',
    'JointTorqueFeedback',
    'LoopSettings',
    'Path',
    'Points',
    'SafetyGate',
    'TorqueLaw',
    'available',
    'check_motion',
    'create',
    'fill_effort',
    'load',
    'order_joints',
    'torque_derivatives',
]
