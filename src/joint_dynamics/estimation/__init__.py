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

"""Online estimation, one sample at a time: stiffness, friction, torques, payload, health.

The method is explained in docs/explanation/estimation.md.
"""

from joint_dynamics.estimation.conditions import QUANTITIES, Estimate, estimates
from joint_dynamics.estimation.contact import ContactDetector
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.friction import FrictionEstimator
from joint_dynamics.estimation.health import HealthMonitor, HealthThresholds, JointHealth
from joint_dynamics.estimation.joint_estimator import JointEstimator
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.session import EstimationSession, TorqueEstimate
from joint_dynamics.estimation.stiffness import StiffnessEstimator
from joint_dynamics.estimation.timeline import Timeline

__all__ = [
    'QUANTITIES',
    'ContactDetector',
    'Estimate',
    'EstimationSession',
    'EstimationSettings',
    'FrictionEstimator',
    'HealthMonitor',
    'HealthThresholds',
    'JointEstimator',
    'JointHealth',
    'PayloadEstimator',
    'StiffnessEstimator',
    'Timeline',
    'TorqueEstimate',
    'estimates',
]
