"""Observers: friction from the rotor's speed [patent 2, fig 11], external torque from the momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.estimation.recursive import per_joint, positive
from joint_dynamics.robot.chain import RigidBody

Array = FloatArray


class FrictionObserver:
    """F̂ = −L B (ω − ω̂),  ω̂̇ = (K_τ i − τ̂_J − F̂)/B: F̂ follows the true friction with the time constant 1/L.

    The implicit step is stable for every L and period. `friction` (n,) N·m is the present F̂.

    Parameters
    ----------
    joints
        n.
    period
        s.
    rotor_inertia
        B kg·m², number or (n,).
    gain
        L > 0, 1/s.

    """

    def __init__(self, joints: int, period: float, rotor_inertia: ArrayLike, gain: float = 30.0) -> None:
        self.period, self.gain = positive('period', period), positive('gain', gain)
        self.rotor_inertia = per_joint('rotor_inertia', rotor_inertia, joints)
        self.reset()

    def reset(self) -> None:
        """Restart: the next update begins at its ω with F̂ = 0."""
        self._omega: Array | None = None
        self.friction = np.zeros(self.rotor_inertia.size)

    def update(self, motor_torque: ArrayLike, transmission_torque: ArrayLike, omega: ArrayLike) -> Array:
        """Take K_τ i, τ̂_J (N·m) and ω (rad/s), (n,) each and equally delayed; return F̂, N·m.

        A joint with a value that is not finite keeps its F̂.
        """
        speed = np.asarray(omega, dtype=float)
        drive = np.asarray(motor_torque, dtype=float) - np.asarray(transmission_torque, dtype=float)
        sane = np.isfinite(drive) & np.isfinite(speed)
        if self._omega is None:
            self._omega = np.where(sane, speed, 0.0)
            return self.friction
        # e = ω̂ − ω solves e⁺ = (ω̂ + T_s drive/B − ω) − T_s L e⁺.
        error = (self._omega + self.period * drive / self.rotor_inertia - speed) / (1.0 + self.period * self.gain)
        self.friction = np.where(sane, self.gain * self.rotor_inertia * error, self.friction)
        self._omega = np.where(sane, speed + error, self._omega)
        return self.friction


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
