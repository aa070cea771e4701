"""Online estimation, one sample at a time: stiffness, friction, torques, payload, health.

The method is explained in docs/explanation/estimation.md.
"""

from joint_dynamics.estimation.conditions import QUANTITIES, Estimate, estimates
from joint_dynamics.estimation.contact import ContactDetector
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.estimator_factory import choose_friction_method
from joint_dynamics.estimation.friction import CoulombViscousEstimator, FrictionEstimator
from joint_dynamics.estimation.health import HealthMonitor, HealthThresholds, JointHealth
from joint_dynamics.estimation.joint_estimator import JointEstimator
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.recursive import RecursiveLeastSquares
from joint_dynamics.estimation.session import EstimationSession, TorqueEstimate
from joint_dynamics.estimation.stiffness import StiffnessEstimator
from joint_dynamics.estimation.timeline import Timeline

__all__ = [
    'QUANTITIES',
    'ContactDetector',
    'CoulombViscousEstimator',
    'Estimate',
    'EstimationSession',
    'EstimationSettings',
    'FrictionEstimator',
    'HealthMonitor',
    'HealthThresholds',
    'JointEstimator',
    'JointHealth',
    'PayloadEstimator',
    'RecursiveLeastSquares',
    'StiffnessEstimator',
    'Timeline',
    'TorqueEstimate',
    'choose_friction_method',
    'estimates',
]
