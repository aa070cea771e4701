"""Time derivatives of the transmission torque along a desired motion.

As the flexible-joint law needs them [M2 eq 2.66-2.67].

τ_J(t) = ID(q, q̇, q̈) has the first two derivatives

    τ̇_J = M q⃛ + Ṁ q̈ + d/dt(C q̇) + ġ,      τ̈_J = M q⁗ + 2Ṁ q⃛ + M̈ q̈ + d²/dt²(C q̇) + g̈,

which depend on the motion up to q⁗ and on nothing else. So any other motion with the same derivatives up to the fourth
at t has the same τ_J, τ̇_J, τ̈_J there, for one the Taylor polynomial x(s) = q + q̇ s + … + q⁗ s⁴/24. Its torque is an
analytic function of s, evaluated at seven points s = −3h … 3h, and differentiated by the sixth-order central stencils

    f' ≈ (−f₋₃ + 9 f₋₂ − 45 f₋₁ + 45 f₁ − 9 f₂ + f₃)/(60 h),
    f'' ≈ (2 f₋₃ − 27 f₋₂ + 270 f₋₁ − 490 f₀ + 270 f₁ − 27 f₂ + 2 f₃)/(180 h²)

with errors h⁶ f⁽⁷⁾/140 and h⁶ f⁽⁸⁾/560. At h = 2 ms and joint speeds of 3 rad/s both, and the rounding ε|τ|/h², are
below 1e-6 of the result, where the symbolic derivatives would cost a second recursion of O(n) in Python and gain
nothing that reaches the torque (B K⁻¹ τ̈ ~ 1e-4 τ̈).
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.robot.newton_euler import WORK, inverse_dynamics

STEP = 2e-3
"""h, s."""


@compiled
def torques_along(links, motion, work, points, out):  # type: ignore[no-untyped-def]
    """Write τ_J, τ̇_J and τ̈_J of a desired motion (5, n) into out (3, n); points (4, n) and work are written."""
    out[:] = 0.0
    q, dq, ddq, torque = points[0], points[1], points[2], points[3]
    for k in range(-3, 4):
        s, size = k * STEP, abs(k)
        first = 0.0 if size == 0 else 45.0 if size == 1 else -9.0 if size == 2 else 1.0
        second = -490.0 if size == 0 else 270.0 if size == 1 else -27.0 if size == 2 else 2.0
        for j in range(motion.shape[1]):
            v, a, jerk, snap = motion[1, j], motion[2, j], motion[3, j], motion[4, j]
            q[j] = motion[0, j] + s * (v + s * (a / 2.0 + s * (jerk / 6.0 + s * snap / 24.0)))
            dq[j] = v + s * (a + s * (jerk / 2.0 + s * snap / 6.0))
            ddq[j] = a + s * (jerk + s * snap / 2.0)
        inverse_dynamics(links, q, dq, ddq, work, torque)
        for j in range(motion.shape[1]):
            out[0, j] += torque[j] if k == 0 else 0.0
            out[1, j] += (first if k > 0 else -first) * torque[j] / (60.0 * STEP)
            out[2, j] += second * torque[j] / (180.0 * STEP * STEP)


def torque_derivatives(arm: Arm, motion: FloatArray) -> FloatArray:
    """Return τ_J N·m, τ̇_J N·m/s and τ̈_J N·m/s² (3, n) of a desired motion (5, n): q, q̇, q̈, q⃛, q⁗ in rad and s."""
    out, work = np.empty((3, arm.n)), np.empty((len(arm.constants.links), WORK))
    torques_along(arm.constants.links, np.ascontiguousarray(motion), work, np.empty((4, arm.n)), out)
    return out
