"""What the described arm knows of the motor torque beyond link, rotor and adapted friction.

By the arm's own functions, on smoothed signals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

Array = FloatArray


def gain_of(arm: Arm, effort: str | None) -> Array | None:
    """Return K_τ (n,) N·m/A that the measured effort is multiplied by, None where it is a torque.

    `effort` as of the estimator.

    Raises
    ------
    JointDynamicsError
        Where currents lack a drive gain.
    """
    known = np.isfinite(arm.drive_gain)
    if effort not in (None, 'current', 'torque'):
        raise JointDynamicsError(f'estimator: expected the effort to be current or torque, found {effort!r}')
    if effort == 'current' and not known.all():
        missing = arm.joint_names[int(np.argmin(known))]
        raise JointDynamicsError(
            f'estimator: expected the drive gain of every joint for currents, found none of {missing}'
        )
    return arm.drive_gain if effort == 'current' or (effort is None and known.all()) else None


class KnownTorque:
    """See the module. `further`: whether the arm has coupled motors or further terms.

    `temperature` (n,) °C or None, settable.

    Parameters
    ----------
    hysteresis
        whether H comes from a Maxwell-slip model; else it is sgn ω.
    """

    def __init__(self, arm: Arm, hysteresis: bool) -> None:
        self._arm, self._hysteresis = arm, hysteresis
        self._bare = replace(arm, friction=None)
        self.further = bool(arm.terms) or arm.coupled is not None
        self.temperature: Array | None = None

    def held_speed(self, omega: Array) -> Array:
        """Return ω (n,) rad/s within the range in which the friction was checked."""
        return omega if self._arm.validity is None else self._arm.validity.held_speed(omega)

    def held_load(self, load: Array) -> Array:
        """Return τ_J (n,) N·m within that range."""
        return load if self._arm.validity is None else self._arm.validity.held_load(load)

    def further_torque(self, q: Array, omega: Array, load: Array, H: Array) -> Array:
        """Friction of coupled motors, and the further terms of the description, N·m (n,)."""
        direction = H if self._hysteresis else np.sign(omega)
        return self._bare.drive_torque(direction, q, omega, np.zeros_like(omega), load, self.temperature)

    def dry(self, level: Array, H: Array, omega: Array, load: Array) -> Array:
        """Return the dry friction at its nominal α, N·m (n,): level · H, or that of the quadrants."""
        friction = self._arm.friction
        return level * H if friction is None or friction.quadrants is None else friction.dry(H, omega, load)

    def scaled(self, dry: Array, omega: Array) -> Array:
        """Return α1 F(τ_J) H + α2 ω with the described α, N·m (n,)."""
        alpha: Array = self._arm.friction_scale
        return alpha[:, 0] * dry + alpha[:, 1] * omega

    def static(self, omega: Array, load: Array) -> Array:
        """Return the described friction in steady slip, at the described α, N·m (n,)."""
        model = self._arm.friction
        if model is None:
            return np.zeros_like(omega)
        direction = np.sign(omega)
        return self.scaled(model.dry(direction, omega, load), omega) + model.speed_part(
            direction, omega, self.temperature
        )
