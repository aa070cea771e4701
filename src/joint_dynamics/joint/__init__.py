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
