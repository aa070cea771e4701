"""Arithmetic of bounds: c_k ≥ sup|f^(k)|/k! stand for every function with such derivatives over an interval of time.

The Taylor coefficients of a product are the convolution of those of its factors, and of a sum their sum; with
magnitudes in their place these are bounds. All terms are positive, so that rounding cannot cancel: N operations change
a bound by a share of N 1.1e-16 at most.
"""

from __future__ import annotations

from math import comb

import numpy as np

from joint_dynamics.arrays import FloatArray


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the coefficients (orders, …) of a product, for as many orders as the shorter factor has."""
    return np.array([sum(a[i] * b[k - i] for i in range(k + 1)) for k in range(min(len(a), len(b)))])


def derivative(a: FloatArray) -> FloatArray:
    """Return the coefficients of the derivative, one fewer."""
    return a[1:] * np.arange(1, len(a)).reshape(-1, *[1] * (a.ndim - 1))


def turning(angle: FloatArray) -> FloatArray:
    """Return bounds of the norm of a turn's derivatives, about a fixed axis by an angle below `angle` (orders, …).

    R′ = φ′ [axis]× R, and so ‖R‖ has the majorant exp(Σ_k≥1 φ_k t^k).
    """
    rate = derivative(angle)
    found = [np.ones_like(angle[0])]
    for k in range(1, len(angle)):
        found.append(sum(rate[i] * found[k - 1 - i] for i in range(k)) / k)
    return np.array(found)


def composed(outer: FloatArray, inner: FloatArray) -> FloatArray:
    """Return the coefficients (orders, …) of f(g(t)) from those of f and g.

    The constant of g is where f is taken and has no part in them.
    """
    found = np.zeros(np.broadcast_shapes(outer.shape, inner.shape))
    found[0] = outer[0]
    step = inner.copy()
    step[0] = 0.0
    power = step
    for order in range(1, len(outer)):
        found = found + outer[order] * power
        power = product(power, step)
    return found


def spread(middle: FloatArray, half: FloatArray, count: int) -> FloatArray:
    """Return bounds of the first `count` coefficients over m ± half, by Taylor's theorem.

    Parameters
    ----------
    middle
        the coefficients at m, (orders, …, N), but the last one, which is a bound over all of m ± half.
    """
    return np.array(
        [sum(comb(p, k) * half ** (p - k) * middle[p] for p in range(k, len(middle))) for k in range(count)]
    )
