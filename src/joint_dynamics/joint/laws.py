# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The laws of one joint, each once, compiled: functions of numbers and of the joint's constants by name.

    c       a record of `constants.JOINT`
    tables  its arrays of variable length (`constants.Tables`)
    omega   ω, speed of the motor side, rad/s;  load  τ_J, torque through the transmission, N·m;  H  hysteresis, −1 … 1

Signs and symbols as in `FrictionModel`, `MaxwellSlip`, `PeriodicMap` and `TorsionalStiffness`, which `evaluate` these
laws over arrays, joints in the last axis, samples before. Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.joint.constants import Joint, Map
from joint_dynamics.records import Record


@compiled
def held(value: float, limit: float) -> float:
    """Return a value clipped to ±limit; NaN stays NaN."""
    return -limit if value < -limit else limit if value > limit else value


@compiled
def map_value(m: Map, tables: FloatArray, theta: float) -> float:
    """Return a periodic map `m` (of `constants.MAP`) at θ [rad], linear between its points; 0 without points."""
    if m.size == 0:
        return 0.0
    u = theta * m.per_turn
    u -= np.floor(u)
    u *= m.size
    if not np.isfinite(u):
        return np.nan
    cell = int(u)
    low = tables[m.start + cell]
    return (u - cell) * (tables[m.start + cell + 1] - low) + low


@compiled
def coulomb_level(c: Joint, load: float) -> float:
    """F(τ_J) = F_C0 + F_Cl |τ_J| + F_C1 τ_J², |τ_J| bounded to tau_max [M6 eq 20; linear: M4 eq 27], N·m."""
    size = min(abs(load), c.tau_max) if load == load else load
    return c.F_C0 + size * (c.F_Cl + size * c.F_C1)


@compiled
def stribeck(c: Joint, omega: float) -> float:
    """(F_S − F_C0) exp(−(|ω|/V_S)^μ), without a sign [M3 eq 14], N·m."""
    level = c.F_S - c.F_C0
    return level * np.exp(-((abs(omega) / c.V_S) ** c.mu)) if level else 0.0


@compiled
def viscous(c: Joint, omega: float) -> float:
    """F_V1 ω + F_V2 |ω|ω + F_V3 ω³ [M3 eq 14, with + for F_V2], N·m."""
    return omega * (c.F_V1 + abs(omega) * c.F_V2 + omega * omega * c.F_V3)


@compiled
def root_speed(omega: float) -> float:
    """sgn(ω)√|ω|, continuous through zero."""
    return np.sign(omega) * np.sqrt(abs(omega))


@compiled
def warmth(c: Joint, temperature: float) -> float:
    """Factor of sgn(ω)√|ω|: F_T0 + F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³), T within [T_min, T_max] [M6 eq 11, corrected].

    [M6 eq 11] prints (T − T0)⁻³, which diverges where its text says the term is zero.
    """
    T = c.T_min if temperature < c.T_min else c.T_max if temperature > c.T_max else temperature
    return c.F_T0 + (c.F_T1 * (T - c.T_0) + c.F_T2 * (1.0 / (T * T * T) - 1.0 / (c.T_0 * c.T_0 * c.T_0)))


@compiled
def motor_share(H: float, load: float) -> float:
    """P⁺ = (1 + H sgn τ_J)/2: in steady slip 1 where the joint drives its load, 0 where it is driven [H eq 25]."""
    return 0.5 * (1.0 + H * np.sign(load))


@compiled
def quadrant_friction(c: Joint, H: float, omega: float, load: float) -> float:
    """Hamon's dry friction on the hysteresis [H eq 30], N·m.

    (P⁺(a_m + b_m E) + P⁻(a_g − b_g E) − 1) τ_J + (P⁺(c_m + d_m E) + P⁻(c_g + d_g E)) H, E = exp(−|ω|/q̇_s).
    """
    fade = np.exp(-abs(omega) / c.dq_s)
    motor = motor_share(H, load)
    generator = 1.0 - motor
    gain = motor * (c.a_m + c.b_m * fade) + generator * (c.a_g - c.b_g * fade) - 1.0
    level = motor * (c.c_m + c.d_m * fade) + generator * (c.c_g + c.d_g * fade)
    return gain * load + level * H


@compiled
def dry_friction(c: Joint, H: float, omega: float, load: float) -> float:
    """F(τ_J) H, or Hamon's where the joint has quadrants: what α₁ of the adaptive law scales [M6 eq 24], N·m."""
    return quadrant_friction(c, H, omega, load) if c.quadrants else coulomb_level(c, load) * H


@compiled
def speed_friction(c: Joint, H: float, omega: float, warm: float) -> float:
    """F_v(ω, T) with its Stribeck term on H, so that nothing jumps at ω = 0 [M6 eq 11, M3 eq 14], N·m.

    warm: `warmth` at the temperature.
    """
    if c.quadrants:
        return c.F_V * omega + c.tau_off + root_speed(omega) * warm
    return H * stribeck(c, omega) + viscous(c, omega) + root_speed(omega) * warm + c.offset


@compiled
def slide(at: float, angle: float, reach: float) -> tuple[float, float]:
    """Return where one Maxwell-slip operator's slider goes from `at`, and δ/(𝓑Δ), both for the angle θ [rad].

    δ ← clip(δ + Δθ, ±𝓑Δ) [M6 eq 12] for the slider s = θ − δ reads s ← clip(s, θ − 𝓑Δ, θ + 𝓑Δ), without rounding.
    reach: 𝓑Δ. NaN stays NaN.
    """
    low, high = angle - reach, angle + reach
    at = low if at < low or low != low else at
    at = high if at > high or high != high else at
    delta = angle - at
    # θ − s rounds; in slip the clip takes the rounding off again, so that H is ±1 and not ±1 ∓ 1e-13.
    slips = abs(delta) >= reach - 4e-16 * (1.0 + abs(angle))
    return at, np.sign(delta) if slips else delta / reach


@compiled
def presliding(c: Joint, tables: FloatArray, theta: float, sliders: FloatArray) -> tuple[float, float]:
    """Return the angle that deforms the Maxwell-slip operators at θ [rad], and 𝓑 there.

    sliders: (M,) rad; NaN where unknown: undeformed from here on.
    """
    angle = theta - map_value(c.error, tables, theta)
    for i in range(c.operators):
        if sliders[i] != sliders[i]:
            sliders[i] = angle
    return angle, map_value(c.presliding, tables, theta)


@compiled
def slip(c: Joint, tables: FloatArray, theta: float, sliders: FloatArray) -> float:
    """Advance the Maxwell-slip operators to θ [rad] and return H = 𝓑⁻¹ Σ k_i δ_i [M6 eq 13-16].

    sliders: (M,) rad, written, see `presliding`.
    """
    angle, length = presliding(c, tables, theta, sliders)
    total = 0.0
    for i in range(c.operators):
        sliders[i], relative = slide(sliders[i], angle, length * tables[c.slip + i])
        total += relative * tables[c.slip + c.operators + i]
    return -1.0 if total < -1.0 else 1.0 if total > 1.0 else total


@compiled
def elastic_polynomial(c: Joint, tables: FloatArray, phi: float) -> tuple[float, float]:
    """Σ α_p φ^{2p−1} and its slope Σ (2p−1) α_p φ^{2p−2} [M3 eq 4-10, the slope printed as φ⁻¹Ψ, 0/0 at φ = 0]."""
    square, torque, slope = phi * phi, 0.0, 0.0
    for p in range(c.order - 1, -1, -1):
        alpha = tables[c.elastic + p]
        torque = torque * square + alpha
        slope = slope * square + (2 * p + 1) * alpha
    return torque * phi, slope


@compiled
def elastic_torque(c: Joint, tables: FloatArray, phi: float) -> float:
    """τ_E(φ) [N·m] of the deformation φ [rad]: the polynomial, and beyond `elastic_range` its tangent there."""
    inside = held(phi, c.elastic_range)
    torque, slope = elastic_polynomial(c, tables, inside)
    return torque if inside == phi else torque + slope * (phi - inside)


@compiled
def stiffness(c: Joint, tables: FloatArray, phi: float) -> float:
    """k(φ) = dτ_E/dφ, N·m/rad."""
    return elastic_polynomial(c, tables, held(phi, c.elastic_range))[1]


@compiled
def stiffness_slope(c: Joint, tables: FloatArray, phi: float) -> float:
    """dk/dφ = Σ (2p−1)(2p−2) α_p φ^{2p−3}, 0 beyond `elastic_range`, N·m/rad²."""
    if abs(phi) > c.elastic_range:
        return 0.0
    square, total = phi * phi, 0.0
    for p in range(c.order - 1, 0, -1):
        total = total * square + (2 * p + 1) * (2 * p) * tables[c.elastic + p]
    return total * phi


@compiled
def deformation(c: Joint, tables: FloatArray, load: float) -> float:
    """φ with τ_E(φ) = τ_J, rad; ±φ_max beyond the largest torque that the polynomial has; 0 for a rigid joint.

    Let s = √(α₁/(3 |α₃|)) and x = 3 τ/(2 α₁ s). Then α₁ φ + α₃ φ³ = τ has the root 2 s sinh(asinh(x)/3) if it hardens,
    and 2 s sin(asin(x)/3) if it softens. Cardano's formula would subtract large numbers. Other orders: Newton's steps,
    bisected outside the interval.
    """
    if c.order == 0:
        return 0.0
    if np.isfinite(c.elastic_range):
        torque, slope = elastic_polynomial(c, tables, c.elastic_range)
        if abs(load) > torque:
            return np.sign(load) * (c.elastic_range + (abs(load) - torque) / slope)
    first = tables[c.elastic]
    if c.order > 2 or not first > 0.0:
        return _root(c, tables, load)
    third = tables[c.elastic + 1] if c.order == 2 else 0.0
    # A cubic term this small changes φ by less than its rounding for any torque.
    s = np.sqrt(first / (3.0 * max(abs(third), 1e-30 * first)))
    x = 1.5 * load / (first * s)
    if third < 0.0:
        return 2.0 * s * np.sin(np.arcsin(held(x, 1.0)) / 3.0)
    return 2.0 * s * np.sinh(np.arcsinh(x) / 3.0)


@compiled
def _root(c: Joint, tables: FloatArray, load: float) -> float:
    target = abs(load)
    if target == 0.0 or not np.isfinite(target):
        return load
    # Where no coefficient is negative the root is below that of each term alone.
    low, high = 0.0, np.inf
    for p in range(c.order):
        if tables[c.elastic + p] > 0.0:
            high = min(high, (target / tables[c.elastic + p]) ** (1.0 / (2 * p + 1)))
    while high < c.phi_max and elastic_polynomial(c, tables, high)[0] < target * (1.0 - 1e-12):
        high *= 2.0
    high = min(high, c.phi_max)
    phi = high
    for _ in range(200):
        torque, slope = elastic_polynomial(c, tables, phi)
        if torque < target:
            low = phi
        else:
            high = phi
        new = phi - (torque - target) / slope if slope > 0.0 else -1.0
        if not low <= new <= high:
            new = 0.5 * (low + high)
        done = abs(new - phi) <= 4e-16 * phi
        phi = new
        if done:
            break
    return np.sign(load) * phi


@compiled
def encoder(c: Joint, tables: FloatArray, theta: float) -> float:
    """Return the reading of the motor's encoder [rad] whose angle less the kinematic error is θ [rad].

    One fixed-point step; the error that remains, θ̃ θ̃', is below 1e-7 rad.
    """
    return theta + map_value(c.error, tables, theta)


(ERROR, COULOMB_LEVEL, VISCOUS, DRY_FRICTION, SPEED_FRICTION, WARMTH, ELASTIC_TORQUE, STIFFNESS, STIFFNESS_SLOPE,
 DEFORMATION) = range(10)  # fmt: skip
"""What `value` and `evaluate` know: the laws that have a value at each instant by itself."""


@compiled
def value(law: int, c: Joint, tables: FloatArray, x: float, y: float, z: float) -> float:
    """Return the value of a law, by its name above, at up to three quantities in the order of its arguments."""
    if law == ERROR:
        return map_value(c.error, tables, x)
    if law == COULOMB_LEVEL:
        return coulomb_level(c, x)
    if law == VISCOUS:
        return viscous(c, x)
    if law == DRY_FRICTION:
        return dry_friction(c, x, y, z)
    if law == SPEED_FRICTION:
        return speed_friction(c, x, y, z)
    if law == WARMTH:
        return warmth(c, x)
    if law == ELASTIC_TORQUE:
        return elastic_torque(c, tables, x)
    if law == STIFFNESS:
        return stiffness(c, tables, x)
    if law == STIFFNESS_SLOPE:
        return stiffness_slope(c, tables, x)
    return deformation(c, tables, x)


@compiled
def values(
    law: int, joints: Any, tables: FloatArray, x: FloatArray, y: FloatArray, z: FloatArray, out: FloatArray
) -> None:
    """`value` of joints (n,) at x, y and z (N, n), into out."""
    for j in range(out.shape[1]):
        for s in range(len(out)):
            out[s, j] = value(law, joints[j], tables, x[s, j], y[s, j], z[s, j])


@compiled
def slips(joints: Any, tables: FloatArray, theta: FloatArray, sliders: FloatArray, out: FloatArray) -> None:
    """`slip` of joints (n,) along theta (N, n), one sample after the other, from `sliders` (n, M) on."""
    for s in range(len(theta)):
        for j in range(theta.shape[1]):
            out[s, j] = slip(joints[j], tables, theta[s, j], sliders[j])


@compiled
def relative_deformations(
    joints: Any, tables: FloatArray, theta: FloatArray, sliders: FloatArray, out: FloatArray
) -> None:
    """δ_i/(𝓑 Δ_i) of joints (n,) along theta (N, n), into out (N, n, M), from `sliders` (n, M) on."""
    for s in range(len(theta)):
        for j in range(theta.shape[1]):
            c = joints[j]
            angle, length = presliding(c, tables, theta[s, j], sliders[j])
            for i in range(c.operators):
                sliders[j, i], out[s, j, i] = slide(sliders[j, i], angle, length * tables[c.slip + i])


def mapped(loop: Callable[..., None], constants: tuple[Any, ...], joints: int | None, *given: ArrayLike) -> FloatArray:
    """Apply a compiled loop over rows (N, n) to arrays (…, n); of any shape where `joints` is None.

    Parameters
    ----------
    loop
        called with `constants`, the rows of each given array, and the rows of the result, which it writes.
    constants
        first arguments of `loop`.
    joints
        n; None: one joint, whatever the shape.
    given
        arrays that broadcast to the shape of the result.
    """
    shape = np.broadcast_shapes(*(np.shape(each) for each in given), () if joints is None else (joints,))
    rows, out = (-1, 1 if joints is None else joints), np.empty(shape)
    # copies, so that a loop is compiled for one kind of array
    copies = np.empty((len(given), *shape))
    for k, each in enumerate(given):
        copies[k] = each
    loop(*constants, *copies.reshape(-1, *out.reshape(rows).shape), out.reshape(rows))
    return out


def evaluate(law: int, joints: int | None, constants: Record, tables: FloatArray, *given: ArrayLike) -> FloatArray:
    """Return a law, by its name above, at arrays (…, n); of one joint, of any shape, where `joints` is None.

    Parameters
    ----------
    constants, tables
        (n,) of `constants.JOINT`, and their arrays of variable length.
    given
        the quantities that the law takes.
    """

    def loop(*rows: FloatArray) -> None:
        *quantities, out = rows
        values(law, constants, tables, *(quantities[min(k, len(quantities) - 1)] for k in range(3)), out)

    return mapped(loop, (), joints, *given)
