"""One sample of `JointTorques`, compiled: from the smoothed signals to the torques, all joints at once.

arm    `ArmConstants`;  line, smoothed  rows of signals, in `columns`: first of q, torque, angle, H, F_v
friction by the method: NO_FRICTION, that of an estimator of its own (OWN), the described model on the smoothed
hysteresis (HYSTERESIS), or in steady slip (STATIC)
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arm.sample import add_coupled_friction, add_rotors
from joint_dynamics.arm.term_laws import term_torques
from joint_dynamics.compilation import compiled
from joint_dynamics.joint.laws import coulomb_level, dry_friction, held, speed_friction, warmth
from joint_dynamics.robot.newton_euler import inverse_dynamics

NO_FRICTION, OWN, HYSTERESIS, STATIC = range(4)
ROWS = (
    'rotor_torque', 'held_speed', 'coulomb_level', 'coulomb_friction', 'friction_torque', 'friction_error',
    'torque_motor', 'deformation', 'damping_torque', 'torque_spring', 'external', 'torque', 'torque_link',
)  # fmt: skip
"""Rows of what `torques` finds."""


@compiled
def speed_part(arm, temperature, line, newest, lag, per_span, columns):  # type: ignore[no-untyped-def]
    """Write F_v (n,) N·m of the sample `lag` before the newest into its row of `line`; return the number of that row.

    temperature: (n,) °C. per_span: 1/s, of the central difference.
    """
    length, (_, _, side, H, out) = len(line), columns
    middle, oldest = (newest - lag) % length, (newest + 1) % length
    for j in range(len(temperature)):
        c = arm.joints[j]
        omega = held((line[newest, side + j] - line[oldest, side + j]) * per_span, c.speed_limit)
        line[middle, out + j] = speed_friction(c, line[middle, H + j], omega, warmth(c, temperature[j]))
    return middle


@compiled
def torques(arm, links, method, alpha, own, temperature, smoothed, columns, before, lost, elastic, work, found):  # type: ignore[no-untyped-def]
    """Write all torques into `found` (rows of ROWS, n).

    links: of the arm, with the payload as it is estimated. alpha (n, 2). own (n,) friction, N·m, of OWN. temperature
    (n,) °C. smoothed (3, C): values and derivatives. before (3, n): τ_J of the last sample, weights of spring and link.
    lost (n,) rad. elastic: the coefficients of the stiffness (n, P) and 1/φ_ref (n,), or None. work (N, WORK) of N
    links and (3, n).
    """
    (scratch, rows), (q0, tau0, theta0, H0, F_v0) = work, columns
    n, link = len(lost), found[12]
    q, omega = smoothed[0, q0 : q0 + n], smoothed[1, theta0 : theta0 + n]
    acceleration = smoothed[2, theta0 : theta0 + n]
    inverse_dynamics(links, q, smoothed[1, q0 : q0 + n], smoothed[2, q0 : q0 + n], scratch, link)
    H, drives, share = rows[0], rows[1], rows[2]
    drives[:], share[:] = 0.0, 1.0
    for j in range(n):
        H[j] = smoothed[0, H0 + j] if method == HYSTERESIS else np.sign(omega[j])
    add_rotors(arm, acceleration, drives)
    add_coupled_friction(arm, share, omega, drives)
    term_torques(arm.terms, arm.tables, (share, 1.0), q, (omega, H, before[0], temperature), drives)
    for j in range(n):
        c, F_v, known = arm.joints[j], 0.0, 0.0
        rotor = smoothed[0, tau0 + j] - drives[j]
        speed, load = held(omega[j], c.speed_limit), held(before[0, j], c.load_limit)
        level, dry = coulomb_level(c, load), dry_friction(c, H[j], speed, load)
        if method == OWN:
            known = own[j]
        elif method != NO_FRICTION:
            if method == HYSTERESIS:
                F_v = smoothed[0, F_v0 + j]
            else:
                F_v = speed_friction(c, H[j], speed, warmth(c, temperature[j]))
            known = F_v + (alpha[j, 0] * dry + alpha[j, 1] * speed)
        motor = link[j] + ((rotor - link[j]) - known)
        measured = motor
        if elastic is not None:
            phi = smoothed[0, theta0 + j] - q[j] - lost[j]
            coefficients, per_scale = elastic
            x = phi * per_scale[j]
            square, total = x * x, coefficients[j, -1]
            for p in range(coefficients.shape[1] - 2, -1, -1):
                total = total * square + coefficients[j, p]
            damping = c.damping * (omega[j] - smoothed[1, q0 + j])
            spring = x * total + damping
            measured = measured + before[1, j] * (spring - measured)
            found[7, j], found[8, j], found[9, j] = phi, damping, spring
        external = measured - link[j]
        found[0, j], found[1, j] = rotor, speed
        if method == HYSTERESIS:
            found[2, j], found[3, j] = level, dry
        found[4, j], found[5, j], found[6, j] = known, (rotor - link[j]) - known, motor
        found[10, j], found[11, j] = external, measured - before[2, j] * external
