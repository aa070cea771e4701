"""The motor torque sample by sample: `Arm.motor_torque` with its hysteresis kept between calls."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm.arm import Arm
from joint_dynamics.arrays import FloatArray


class MotorTorque:
    """τ_m of one state after the other; arguments as in `Arm.motor_torque`, (n,) each.

    Attributes
    ----------
    load
        τ_J (n,) N·m of the last step.
    H
        hysteresis (n,) of the last step.

    """

    def __init__(self, arm: Arm):
        self.arm = arm
        self.load = self.H = np.zeros(arm.n)
        self.reset()

    def reset(self) -> None:
        """Forget the hysteresis: it is undeformed at the next sample."""
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
        """Return τ_m (n,) N·m; `motor`: the arguments of `drives` from theta on."""
        drives = self.drives(q, dq, ddq, **motor)
        return self.load + drives

    def inverse(
        self, motor_torque: FloatArray, q: FloatArray, dq: FloatArray, ddq: FloatArray, **motor: FloatArray | None
    ) -> FloatArray:
        """Return τ_J (n,) N·m, a measured motor torque (n,) less that of the drives; `motor`: as in `step`."""
        return motor_torque - self.drives(q, dq, ddq, **motor)
