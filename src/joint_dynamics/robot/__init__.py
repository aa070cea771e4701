"""The arm as rigid bodies: model from URDF or MDH, regressor, base parameters, mounting, coupled drives."""

from joint_dynamics.robot.base_parameters import BaseParameters, closed_form_base_parameters
from joint_dynamics.robot.chain import GRAVITY, RigidBody, gravity_in_base, mounting_rotation
from joint_dynamics.robot.dependent import DriveCoupling, JointTree
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.robot.mdh import MdhTable, load_mdh
from joint_dynamics.robot.model import RobotModel
from joint_dynamics.robot.standard_parameters import INERTIAL, JOINT, PER_JOINT, StandardParameters

__all__ = [
    'GRAVITY',
    'INERTIAL',
    'JOINT',
    'PER_JOINT',
    'BaseParameters',
    'DriveCoupling',
    'JointLimits',
    'JointTree',
    'MdhTable',
    'RigidBody',
    'RobotModel',
    'StandardParameters',
    'closed_form_base_parameters',
    'gravity_in_base',
    'load_mdh',
    'mounting_rotation',
]
