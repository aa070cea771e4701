"""Lost motion of a transmission: deformation within the backlash that no torque causes, and how a load reduces it.

    φ = θ − q = s(τ_J) + θ̃(θ) + b(τ_J) x,    x ← clip(x + Δθ/𝓑, ±1),    b(τ) = Σ_i b_i / (1 + (τ/τ_i)²),    b(0) = 𝓑

Without load that is the backlash of [M4 eq 30-32]: ±𝓑 with the direction of the last motion. How fast a load takes it
up follows no published law and differs from gear to gear. So b is fitted, as a sum of two functions that fall with the
load: it is linear in the b_i, and falls for any b_i ≥ 0. The loads τ_i are fixed, far enough apart to distinguish the
two parts, and not specific to a gear.
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
    """Return the share of b_i that remains at the load `ratio` · τ_i: 1 at 0, ½ at ±1; same shape."""
    return 1.0 / (1.0 + ratio * ratio)


def place_in_play(theta: FloatArray, width: float) -> FloatArray:
    """Return x (N,) in [−1, 1] along motor angles `theta` (N,) rad of one joint; starts at 0. `width`: 𝓑 > 0, rad."""
    return MaxwellSlip(1, width, operators=1).run(theta)
