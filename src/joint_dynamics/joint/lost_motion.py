"""Lost motion of a transmission: deformation that no torque causes, within the backlash, and what a load leaves of it.

    φ = θ − q = s(τ_J) + θ̃(θ) + b(τ_J) x,    x ← clip(x + Δθ/𝓑, ±1),    b(τ) = Σ_i b_i / (1 + (τ/τ_i)²),    b(0) = 𝓑

Without load that is the backlash of [M4 eq 30-32]: ±𝓑 with the direction of the last motion. How fast a load takes it
up is no published law and differs from gear to gear. So b is not assumed but found, as a mixture of two functions that
fall with the load: linear in the b_i, and falling whatever b_i ≥ 0. Their loads τ_i are far enough apart for the two to
be told from each other, and no load of any gear.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.joint.maxwell_slip import MaxwellSlip

#: Loads τ_i that halve the parts of the lost motion, as shares of the joint's torque limit.
LOADS = (0.01, 0.04)


def loads_of(limit: Any) -> FloatArray:
    """Return τ_i (…, 2) N·m for torque limits (…) N·m."""
    return np.asarray(limit, dtype=float)[..., None] * np.array(LOADS)


def lost_motion_share(ratio: FloatArray) -> FloatArray:
    """Return the share of a part of the lost motion that `ratio` times its load τ_i leaves: 1 at 0, ½ at ±1."""
    return 1.0 / (1.0 + ratio * ratio)


def place_in_play(theta: FloatArray, width: float) -> FloatArray:
    """Return x (N,) along motor angles `theta` (N,) rad of one joint, from the middle on; `width` 𝓑 > 0 rad."""
    return MaxwellSlip(1, width, operators=1).run(theta)
