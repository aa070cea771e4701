"""One sample of `JointTorques`, compiled: the arithmetic per joint between smoother and inverse dynamics.

Each kernel does what the array form of the same name in `joint_torques` does, to rounding. Constants of the arm come
packed (`packed_arm`), one row per parameter.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled


@compiled
def speed_part(line, newest, lag, per_span, side, H, out, friction, warm):  # type: ignore[no-untyped-def]
    """Write F_v (n,) N·m of the sample `lag` before the newest into its row of `line`; return the number of that row.

    side, H, out: first columns of angle, hysteresis and F_v. per_span: 1/s, of the central difference.
    """
    length = len(line)
    middle, oldest = (newest - lag) % length, (newest + 1) % length
    for j in range(friction.shape[1]):
        omega = (line[newest, side + j] - line[oldest, side + j]) * per_span
        limit = friction[8, j]
        omega = -limit if omega < -limit else limit if omega > limit else omega
        size = abs(omega)
        stribeck = (friction[0, j] - friction[1, j]) * np.exp(-((size / friction[2, j]) ** friction[3, j]))
        viscous = omega * (friction[4, j] + size * friction[5, j] + omega * omega * friction[6, j])
        line[middle, out + j] = (
            line[middle, H + j] * stribeck + viscous + np.sign(omega) * np.sqrt(size) * warm[j] + friction[7, j]
        )
    return middle


@compiled
def torques(smoothed, slots, link, arm, alpha, before, lost, elastic, found):  # type: ignore[no-untyped-def]
    """Everything of `JointTorques` that is per joint, into `found` (rows of FOUND, n).

    smoothed (3, C): values and derivatives; slots: first columns of q, torque, angle, H, F_v. arm: rows of LEVEL, rotor
    inertia, damping, speed limit of the friction. alpha (n, 2). before (3, n): τ_J of the last sample, weights of
    spring and link. lost (n,) rad. elastic: the coefficients of the stiffness (n, P) and 1/φ_ref (n,), or None.
    """
    q0, tau0, theta0, H0, F_v0 = slots
    for j in range(len(link)):
        omega, acceleration = smoothed[1, theta0 + j], smoothed[2, theta0 + j]
        rotor = smoothed[0, tau0 + j] - arm[4, j] * acceleration
        limit = arm[6, j]
        held = -limit if omega < -limit else limit if omega > limit else omega
        load = min(abs(before[0, j]), arm[3, j])
        level = arm[0, j] + load * (arm[1, j] + load * arm[2, j])
        dry = level * smoothed[0, H0 + j]
        known = smoothed[0, F_v0 + j] + (alpha[j, 0] * dry + alpha[j, 1] * held)
        error = (rotor - link[j]) - known
        motor = link[j] + error
        measured = motor
        if elastic is not None:
            phi = smoothed[0, theta0 + j] - smoothed[0, q0 + j] - lost[j]
            coefficients, per_scale = elastic
            x = phi * per_scale[j]
            square, total = x * x, coefficients[j, -1]
            for p in range(coefficients.shape[1] - 2, -1, -1):
                total = total * square + coefficients[j, p]
            damping = arm[5, j] * (omega - smoothed[1, q0 + j])
            spring = x * total + damping
            measured = measured + before[1, j] * (spring - measured)
            found[7, j], found[8, j], found[9, j] = phi, damping, spring
        external = measured - link[j]
        found[0, j], found[1, j], found[2, j], found[3, j] = rotor, held, level, dry
        found[4, j], found[5, j], found[6, j] = known, error, motor
        found[10, j], found[11, j] = external, measured - before[2, j] * external
