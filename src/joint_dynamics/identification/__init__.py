"""Batch identification: the robot (IDIM), one joint's tests, payload, drive gains, statistics."""

from joint_dynamics.identification.identification_settings import IdentificationSettings
from joint_dynamics.identification.identify import identify
from joint_dynamics.identification.result import IdentificationResult
from joint_dynamics.identification.validate import predict_torque, validate_description

__all__ = ['IdentificationResult', 'IdentificationSettings', 'identify', 'predict_torque', 'validate_description']
