"""One sample of all joints at once, compiled: what is a few operations per joint costs numpy a microsecond each.

Imported where single samples are taken, not before: it takes numba along. Each kernel does, operation by operation,
what the array form beside which it is called does for whole recordings, and gives the same bits.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled


@compiled
def value_at(theta, joint, places, points):  # type: ignore[no-untyped-def]
    """Return the `PeriodicMap` of one joint at θ rad.

    places (3, n): start, points per turn, turns per rad. points (2, …): value, rise.
    """
    u = theta * places[2, joint]
    u -= np.floor(u)
    u *= places[1, joint]
    if not np.isfinite(u):
        return np.nan
    cell = int(u)
    u -= cell
    cell += int(places[0, joint])
    return u * points[1, cell] + points[0, cell]


@compiled
def map_values(theta, places, points, out):  # type: ignore[no-untyped-def]
    """`PeriodicMap` of all joints at θ (n,) rad, into `out` (n,)."""
    for j in range(len(theta)):
        out[j] = value_at(theta[j], j, places, points)


@compiled
def slip_step(theta, error, width, operators, slider, out):  # type: ignore[no-untyped-def]
    """`MaxwellSlip.step`: sliders (n, M) to θ (n,) rad, H into `out` (n,).

    error: places and points of the kinematic error, or None. width: of the presliding length. operators (2, n, M):
    limits Δ_i and shares k_i Δ_i.
    """
    for j in range(len(theta)):
        angle = theta[j]
        if error is not None:
            angle -= value_at(angle, j, error[0], error[1])
        length = value_at(theta[j], j, width[0], width[1])
        slack = 4e-16 * (1.0 + abs(angle))
        total = 0.0
        for i in range(slider.shape[1]):
            reach = length * operators[0, j, i]
            at = slider[j, i]
            low, high = angle - reach, angle + reach
            # As numpy's minima and maxima: what is not a number stays none.
            if at < low or low != low:
                at = low
            if at > high or high != high:
                at = high
            slider[j, i] = at
            delta = angle - at
            relative = np.sign(delta) if abs(delta) >= reach - slack else delta / reach
            total += relative * operators[1, j, i]
        out[j] = -1.0 if total < -1.0 else 1.0 if total > 1.0 else total


@compiled
def bent_angle(q, tau, cubic, error, out):  # type: ignore[no-untyped-def]
    """Q + φ(τ), and the kinematic error there, of joints that do not soften, into `out` (n,) rad.

    cubic (2, n): amplitude and factor of the inverse of the stiffness, see `ElasticInverse`. error: places and points
    of the kinematic error, or None.
    """
    for j in range(len(q)):
        angle = q[j] + cubic[0, j] * np.sinh(np.arcsinh(tau[j] * cubic[1, j]) / 3.0)
        out[j] = angle if error is None else angle + value_at(angle, j, error[0], error[1])
