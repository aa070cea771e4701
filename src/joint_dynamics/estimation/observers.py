"""External torque observed by the momentum of the links."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.estimation.recursive import positive
from joint_dynamics.robot.chain import RigidBody

Array = FloatArray


class MomentumObserver:
    """External torque without the acceleration: r = K (∫(τ_J + Cᵀq̇ − g − r) dt − p + p(0)), p = M(q) q̇; r → −τ_ext.

    The sign is that of the rest of the package: τ_ext is the torque of the link on its surroundings,
    M q̈ + C q̇ + g + τ_ext = τ_J [M2 eq 2.23], so a push in the direction of q is negative.

    Parameters
    ----------
    body
        RigidBody.
    period
        s.
    gain
        K > 0, 1/s.

    """

    def __init__(self, body: RigidBody, period: float, gain: float = 30.0) -> None:
        self.body = body
        self.period, self.gain = positive('period', period), positive('gain', gain)
        self.reset()

    def reset(self) -> None:
        """Restart: the next update begins with τ_ext = 0."""
        self._expected: Array | None = None
        self.external = np.zeros(self.body.n)

    def update(self, transmission_torque: ArrayLike, q: Array, dq: Array) -> Array:
        """Take one sample and return τ_ext (n,) [N·m], delayed by 1/K. Values that are not finite change nothing.

        transmission_torque, q, dq: τ_J [N·m], q [rad] and q̇ [rad/s], (n,) each.
        """
        torque = np.asarray(transmission_torque, dtype=float)
        if not np.isfinite(torque.sum() + q.sum() + dq.sum()):
            return self.external
        momentum = self.body.mass_matrix(q) @ dq
        if self._expected is None:
            self._expected = momentum
            return self.external
        # ṗ = τ_J − τ_ext + Cᵀq̇ − g; implicit in τ_ext, hence stable for every K.
        free = self._expected + self.period * (torque + self.body.coriolis_matrix(q, dq).T @ dq - self.body.gravity(q))
        self.external = self.gain * (free - momentum) / (1.0 + self.period * self.gain)
        self._expected = free - self.period * self.external
        return self.external
