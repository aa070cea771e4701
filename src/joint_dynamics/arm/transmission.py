"""The transmission between link and motor.

Its deformation under a torque, and where that puts the motor and its encoder.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.joint import PeriodicMap, TorsionalStiffness
from joint_dynamics.joint.elastic_range import ElasticInverse
from joint_dynamics.joint.maps import compiled_kernels


class Transmission:
    """Deformation φ(τ) of the transmissions of all joints, arrays (…, n); without stiffness known, none.

    Single states are taken by a compiled kernel where `compiled` (as it is) and the stiffness allow it.

    Parameters
    ----------
    stiffness
        TorsionalStiffness of n joints or None (rigid).
    kinematic_error
        θ̃(θ) or None. Torques beyond τ_max, which is beyond what the joint can bear, count as τ_max.
    """

    def __init__(self, stiffness: TorsionalStiffness | None, kinematic_error: PeriodicMap | None):
        self.stiffness, self.kinematic_error = stiffness, kinematic_error
        self._inverse = None if stiffness is None else ElasticInverse(stiffness)
        self._cubic = None if self._inverse is None else self._inverse.packed
        self._error = None
        if kinematic_error is not None and self._cubic is not None:
            self._error = kinematic_error.packed(self._cubic.shape[1])
        self.compiled = True

    @property
    def packed(self) -> tuple[FloatArray, tuple[FloatArray, FloatArray] | None] | None:
        """What kernels take of it: `ElasticInverse.packed` (2, n), and `PeriodicMap.packed` or None.

        None where a single state is not theirs.
        """
        return None if self._cubic is None else (self._cubic, self._error)

    def deformation(self, tau: FloatArray) -> FloatArray:
        """Return φ with τ_E(φ) = τ, rad."""
        return np.zeros_like(tau) if self._inverse is None else self._inverse(tau)

    def encoder(self, theta: FloatArray) -> FloatArray:
        """Return what the motor's encoder shows where the motor, less the kinematic error, is at `theta` rad.

        θ with θ − θ̃(θ) = `theta`.

        One step of the fixed point: what is left is θ̃ θ̃', below 1e-7 rad.
        """
        error = self.kinematic_error
        return theta if error is None else theta + (error.at(theta) if theta.ndim == 1 else error(theta))

    def motor_angle(self, q: FloatArray, tau: FloatArray) -> FloatArray:
        """Return what the motor's encoder shows for the link at q rad with τ_J N·m through the transmission."""
        if q.ndim == 1 and self._cubic is not None and self.compiled and q.shape == tau.shape == self._cubic.shape[1:]:
            out = np.empty(len(q))
            compiled_kernels().bent_angle(q, tau, self._cubic, self._error, out)
            return out
        return self.encoder(q if self._inverse is None else q + self._inverse(tau))
