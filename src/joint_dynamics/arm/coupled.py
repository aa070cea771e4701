"""What motors that drive more than one joint add to the torque of their own joints.

Rotors, viscous and Coulomb friction [G eq 24-25].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot import DriveCoupling


class CoupledDrives:
    """Torque of coupled motors for arrays (…, n); see `DriveCoupling`.

    Parameters
    ----------
    coupling
        of n joints.
    parameters : array
        (3 m,) Ia, Fv, Fs of its m coupled motors, in the order of `coupling.parameter_names`.
    """

    def __init__(self, coupling: DriveCoupling, parameters: ArrayLike):
        values = np.asarray(parameters, dtype=float)
        self._rotor, self._viscous = coupling.rotor_matrix(values), coupling.viscous_matrix(values)
        self._motors = coupling.matrix[coupling.motors]
        self._coulomb = values[2::3]

    def rotors(self, acceleration: FloatArray) -> FloatArray:
        """Return what the rotors take at accelerations (…, n) rad/s², N·m."""
        return acceleration @ self._rotor

    def friction(self, speed: FloatArray) -> FloatArray:
        """Return the friction at speeds (…, n) rad/s, N·m."""
        return speed @ self._viscous + (np.sign(speed @ self._motors.T) * self._coulomb) @ self._motors
