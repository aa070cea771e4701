"""One joint's physics: stiffness, static friction, Maxwell-slip (E-GMS), kinematic error and backlash.

Models in docs/reference/joint_models.md.
"""

from joint_dynamics.joint.friction_documents import polynomial_limits, polynomial_stiffness
from joint_dynamics.joint.friction_model import FrictionModel
from joint_dynamics.joint.maps import FourierSeries, PeriodicMap
from joint_dynamics.joint.maxwell_slip import NO_PRESLIDING, REVERSAL, MaxwellSlip
from joint_dynamics.joint.stiffness import TorsionalStiffness

__all__ = [
    'NO_PRESLIDING',
    'REVERSAL',
    'FourierSeries',
    'FrictionModel',
    'MaxwellSlip',
    'PeriodicMap',
    'TorsionalStiffness',
    'polynomial_limits',
    'polynomial_stiffness',
]
