"""The motor torque sample by sample: `Arm.motor_torque`, which keeps its hysteresis between the calls."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm.arm import Arm
from joint_dynamics.arrays import FloatArray


class MotorTorque:
    """τ_m of one state after the other, (n,) arrays; arguments as `Arm.motor_torque`.

    Attributes: `load` τ_J (n,) N·m and `H` (n,) of the last step.
    """

    def __init__(self, arm: Arm):
        self.arm = arm
        self.load = self.H = np.zeros(arm.n)
        self.reset()

    def reset(self) -> None:
        """Forget the hysteresis: the next sample finds it undeformed."""
        self._sliders = self.arm.begin()

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
        """Return τ_m − τ_J (n,) N·m. Sets `load` and `H`."""
        self.load = self.arm.link_torque(q, dq, ddq)
        given = (self.load, self.load, q, dq, ddq, theta, dtheta, ddtheta, temperature)
        drives, self.H = self.arm.drives(*given, sliders=self._sliders)
        return drives

    def step(self, q: FloatArray, dq: FloatArray, ddq: FloatArray, **motor: FloatArray | None) -> FloatArray:
        """Return τ_m (n,) N·m; `motor`: as of `drives` from theta on."""
        drives = self.drives(q, dq, ddq, **motor)
        return self.load + drives

    def inverse(
        self, motor_torque: FloatArray, q: FloatArray, dq: FloatArray, ddq: FloatArray, **motor: FloatArray | None
    ) -> FloatArray:
        """Return τ_J (n,) N·m that a measured motor torque (n,) leaves for the links; `motor`: as of `step`."""
        return motor_torque - self.drives(q, dq, ddq, **motor)
