"""The motor torque sample by sample.

The same function as `Arm.motor_torque`, which keeps its hysteresis between the calls.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm.arm import Arm
from joint_dynamics.arrays import FloatArray


class MotorTorque:
    """τ_m of one state after the other; `step` takes (n,) arrays.

    Attributes: `load` τ_J (n,) N·m and `H` (n,) of the last step.
    """

    def __init__(self, arm: Arm):
        self.arm = arm
        slip = None if arm.friction is None else arm.friction.maxwell_slip
        self._slip = None if slip is None else slip.copy()
        self.load = self.H = np.zeros(arm.n)
        self.reset()

    def reset(self) -> None:
        """Forget the hysteresis: the next sample finds it undeformed."""
        if self._slip is not None:
            self._slip.reset()

    def drives(
        self,
        q: FloatArray,
        dq: FloatArray,
        ddq: FloatArray,
        theta: FloatArray | None = None,
        dtheta: FloatArray | None = None,
        ddtheta: FloatArray | None = None,
        temperature: FloatArray | None = None,
    ) -> FloatArray:
        """Return τ_m − τ_J (n,) N·m; arguments as `Arm.motor_torque`. Sets `load` and `H`."""
        arm = self.arm
        self.load = arm.link_torque(q, dq, ddq)
        speed, acceleration = dq if dtheta is None else dtheta, ddq if ddtheta is None else ddtheta
        if self._slip is None:
            self.H = np.sign(speed)
        else:
            self.H = self._slip.step(arm.transmission.motor_angle(q, self.load) if theta is None else theta)
        return arm.drive_torque(self.H, q, speed, acceleration, self.load, temperature)

    def step(
        self,
        q: FloatArray,
        dq: FloatArray,
        ddq: FloatArray,
        theta: FloatArray | None = None,
        dtheta: FloatArray | None = None,
        ddtheta: FloatArray | None = None,
        temperature: FloatArray | None = None,
    ) -> FloatArray:
        """Return τ_m (n,) N·m; arguments as `Arm.motor_torque`."""
        drives = self.drives(q, dq, ddq, theta, dtheta, ddtheta, temperature)
        return self.load + drives

    def inverse(
        self,
        motor_torque: FloatArray,
        q: FloatArray,
        dq: FloatArray,
        ddq: FloatArray,
        theta: FloatArray | None = None,
        dtheta: FloatArray | None = None,
        ddtheta: FloatArray | None = None,
        temperature: FloatArray | None = None,
    ) -> FloatArray:
        """Return τ_J (n,) N·m that a measured motor torque (n,) leaves for the links.

        Further arguments as `Arm.motor_torque`.
        """
        return motor_torque - self.drives(q, dq, ddq, theta, dtheta, ddtheta, temperature)
