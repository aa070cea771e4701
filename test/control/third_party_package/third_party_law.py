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
