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

"""The smallest law there is: gravity, scaled."""

import numpy as np

from joint_dynamics.control import Law, LawParameter


class Gravity(Law):
    """Effort = share · g(q_d)."""

    PARAMETERS = (LawParameter('share', 1.0, 'of the gravity', '', 0.0, 1.0, per_joint=True),)

    def __init__(self, arm, parameters):
        """Take the share."""
        super().__init__(arm, parameters)
        self._share = parameters['share']

    def effort_along(self, motion):
        """Return the effort (N, n) along a motion (N, 5, n)."""
        q = motion[:, 0]
        return self._share * self.arm.link_torque(q, np.zeros_like(q), np.zeros_like(q))
