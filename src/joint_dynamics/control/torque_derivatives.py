"""Time derivatives of the transmission torque along a desired motion.

As the flexible-joint law needs them [M2 eq 2.66-2.67].

τ_J(t) = ID(q, q̇, q̈) has the first two derivatives

    τ̇_J = M q⃛ + Ṁ q̈ + d/dt(C q̇) + ġ,      τ̈_J = M q⁗ + 2Ṁ q⃛ + M̈ q̈ + d²/dt²(C q̇) + g̈,

which depend on the motion up to q⁗ and on nothing else. So any other motion with the same derivatives up to the fourth
at t has the same τ_J, τ̇_J, τ̈_J there, for one the Taylor polynomial x(s) = q + q̇ s + … + q⁗ s⁴/24. Its torque is an
analytic function of s, evaluated with the compiled inverse dynamics (1 µs each) at seven points s = −3h … 3h, and
differentiated by the sixth-order central stencils

    f' ≈ (−f₋₃ + 9 f₋₂ − 45 f₋₁ + 45 f₁ − 9 f₂ + f₃)/(60 h),
    f'' ≈ (2 f₋₃ − 27 f₋₂ + 270 f₋₁ − 490 f₀ + 270 f₁ − 27 f₂ + 2 f₃)/(180 h²)

with errors h⁶ f⁽⁷⁾/140 and h⁶ f⁽⁸⁾/560. At h = 2 ms and joint speeds of 3 rad/s both, and the rounding ε|τ|/h², are
below 1e-6 of the result, where the symbolic derivatives would cost a second recursion of O(n) in Python and gain
nothing that reaches the torque (B K⁻¹ τ̈ ~ 1e-4 τ̈).
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot import RigidBody

STEP = 2e-3
_S = STEP * np.arange(-3, 4)
# Rows: the seven points. Columns: what q, q̇, q̈, q⃛, q⁗ contribute to position, speed and acceleration of the Taylor
# polynomial.
_ONE, _ZERO = np.ones_like(_S), np.zeros_like(_S)
_POSITION = np.stack([_ONE, _S, _S**2 / 2, _S**3 / 6, _S**4 / 24], axis=1)
_SPEED = np.stack([_ZERO, _ONE, _S, _S**2 / 2, _S**3 / 6], axis=1)
_ACCELERATION = np.stack([_ZERO, _ZERO, _ONE, _S, _S**2 / 2], axis=1)
_TAYLOR = np.concatenate([_POSITION, _SPEED, _ACCELERATION])
_FIRST = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / (60 * STEP)
_SECOND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / (180 * STEP**2)
_STENCILS = np.stack([np.eye(7)[3], _FIRST, _SECOND])


def torque_derivatives(rigid: RigidBody, motion: FloatArray) -> FloatArray:
    """Return τ_J N·m, τ̇_J N·m/s and τ̈_J N·m/s² (3, n) of a desired motion (5, n): q, q̇, q̈, q⃛, q⁗ in rad and s."""
    states = _TAYLOR @ motion
    torques = np.empty((7, motion.shape[1]))
    for k in range(7):
        torques[k] = rigid.inverse_dynamics(states[k], states[k + 7], states[k + 14])
    derivatives: FloatArray = _STENCILS @ torques
    return derivatives
