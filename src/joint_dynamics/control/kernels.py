"""One step of the control loop, compiled: what is a few operations per joint costs numpy a microsecond each.

Each kernel does, operation by operation, what the array form beside which it is called does. Arrays of a step come
packed, one row per quantity, as every array that a kernel takes costs some time of its own.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled
from joint_dynamics.joint.kernels import bent_angle, slip_step


@compiled
def near(rows, reach, margin):  # type: ignore[no-untyped-def]
    """`Jumps.accept_all`: whether all positions are finite and within reach; then they are taken.

    rows (3, n): largest speed, last positions, given ones. reach: s since the last. margin: rad.
    """
    for j in range(rows.shape[1]):
        q = rows[2, j]
        if not (np.isfinite(q) and abs(q - rows[1, j]) <= rows[0, j] * reach + margin):
            return False
    rows[1] = rows[2]
    return True


@compiled
def plausible(state, reference, needed, desired, places, bounds):  # type: ignore[no-untyped-def]
    """Whether all that a law needs is finite and within bounds: `InputChecks` has the form that says what is not.

    state, reference (quantities, n); needed, desired: rows of them that the law needs. places: rows of the measured
    position and speed in state, of the desired position and speed in reference, −1: not looked at. bounds (8, n): lower
    bounds of desired position, distance from it, desired speed, speed; then the upper ones.
    """
    measured, speed, wanted, wanted_speed = places
    for j in range(state.shape[1]):
        for row in needed:
            if not np.isfinite(state[row, j]):
                return False
        for row in desired:
            if not np.isfinite(reference[row, j]):
                return False
        if wanted >= 0:
            value = reference[wanted, j]
            if not (bounds[0, j] <= value <= bounds[4, j]):
                return False
            value = state[measured, j] - value
            if not (bounds[1, j] <= value <= bounds[5, j]):
                return False
        if wanted_speed >= 0 and not (bounds[2, j] <= reference[wanted_speed, j] <= bounds[6, j]):
            return False
        if speed >= 0 and not (bounds[3, j] <= state[speed, j] <= bounds[7, j]):
            return False
    return True


@compiled
def gate(rows, limited, given, failed, has_law, weight, fade, period):  # type: ignore[no-untyped-def]
    """`SafetyGate.step`: the next command into the last row, which joints it limits into `limited` (n,).

    rows (7, n): limit, rate, last command of the law, last command, command, safe command, next command. given: whether
    there is a command to follow. fade: how much the weight changes. Return the weight, whether the law has given a
    command yet, and whether the command is finite.
    """
    n, sound = rows.shape[1], True
    if given:
        for j in range(n):
            sound = sound and np.isfinite(rows[4, j])
        if sound:
            has_law = True
            for j in range(n):
                rows[2, j] = min(max(rows[4, j], -rows[0, j]), rows[0, j])
    failed = failed or not sound
    follows = given and not failed
    weight = min(1.0, weight + fade) if follows else max(0.0, weight - fade)
    for j in range(n):
        limit = rows[0, j]
        rest = 0.0
        if not failed and np.isfinite(rows[5, j]):
            rest = min(max(rows[5, j], -limit), limit)
        target = weight * rows[2, j] + (1 - weight) * rest if has_law else rest
        reach = rows[1, j] * period
        out = min(max(target, rows[3, j] - reach), rows[3, j] + reach)
        out = min(max(out, -limit), limit)
        limited[j] = out != target or (follows and abs(rows[4, j]) > limit)
        rows[6, j] = rows[3, j] = out
    return weight, has_law, sound


@compiled
def friction(theta, speed, load, arm, alpha, warm, slip, seen, rest_gain, out):  # type: ignore[no-untyped-def]
    """`FrictionCompensation.torque` with hysteresis, into `out` (n,) N·m; advances the hysteresis.

    theta rad, speed rad/s, load N·m (n,). arm (15, n): see `packed_friction`. alpha (n, 2); warm (n,): factor of
    sgn(ω)√|ω|. slip: see `MaxwellSlip.advancing`. seen (2, n): largest speed and load so far, or None where nobody
    watches. rest_gain: share of the hysteresis at rest.
    """
    error, width, operators, slider, H = slip
    slip_step(theta, error, width, operators, slider, H)
    for j in range(len(theta)):
        omega, tau = speed[j], load[j]
        if seen is not None:
            seen[0, j] = abs(omega) if abs(omega) > seen[0, j] else seen[0, j]
            seen[1, j] = abs(tau) if abs(tau) > seen[1, j] else seen[1, j]
        h = H[j]
        if rest_gain < 1.0:
            h = h * (rest_gain + (1.0 - rest_gain) * min(abs(omega) / arm[14, j], 1.0))
        # Written so that what is not a number stays none.
        omega = -arm[11, j] if omega < -arm[11, j] else arm[11, j] if omega > arm[11, j] else omega
        tau = -arm[12, j] if tau < -arm[12, j] else arm[12, j] if tau > arm[12, j] else tau
        magnitude = arm[10, j] if abs(tau) > arm[10, j] else abs(tau)
        dry = (arm[1, j] + magnitude * (arm[8, j] + magnitude * arm[9, j])) * h
        found = alpha[j, 0] * dry + alpha[j, 1] * omega
        size = abs(omega)
        stribeck = (arm[0, j] - arm[1, j]) * np.exp(-((size / arm[2, j]) ** arm[3, j]))
        viscous = omega * (arm[4, j] + size * arm[5, j] + omega * omega * arm[6, j])
        found = found + (h * stribeck + viscous + np.sign(omega) * np.sqrt(size) * warm[j] + arm[7, j])
        out[j] = arm[13, j] * found


@compiled
def rigid_drive(  # type: ignore[no-untyped-def]
    q, speed, acceleration, load, drive, error, arm, alpha, warm, slip, seen, rest_gain, out
):
    """`TorqueLaw.motor_torque` of joints that turn with their links, past inverse dynamics, into `out` (n,) N·m.

    q rad, speed rad/s, acceleration rad/s², load N·m (n,). drive (3, n): amplitude and factor of the inverse of the
    stiffness, rotor inertia. error: of the kinematic error, see `bent_angle`. The others as for `friction`.
    """
    theta = np.empty(len(q))
    bent_angle(q, load, drive, error, theta)
    friction(theta, speed, load, arm, alpha, warm, slip, seen, rest_gain, out)
    for j in range(len(q)):
        out[j] += load[j] + drive[2, j] * acceleration[j]


@compiled
def bent_motion(motion, torques, drive, coefficients, out):  # type: ignore[no-untyped-def]
    """`FlexibleJoint.motor_motion` past the torques: θ_d without kinematic error, θ̇_d and θ̈_d, into `out` (3, n).

    motion (5, n): q_d rad … q⁗_d. torques (3, n): τ_J,d N·m and its first two derivatives. drive (3, n): amplitude and
    factor of the inverse of the stiffness, damping N·m·s/rad. coefficients (n, P): of the stiffness.
    """
    order = coefficients.shape[1]
    for j in range(motion.shape[1]):
        phi = drive[0, j] * np.sinh(np.arcsinh(torques[0, j] * drive[1, j]) / 3.0)
        square, k, bend = phi * phi, 0.0, 0.0
        for p in range(order - 1, -1, -1):
            k = k * square + (2 * p + 1) * coefficients[j, p]
        for p in range(order - 1, 0, -1):
            bend = bend * square + (2 * p + 1) * (2 * p) * coefficients[j, p]
        rate = torques[1, j] / k
        out[0, j] = motion[0, j] + phi - drive[2, j] * rate / k
        out[1, j] = motion[1, j] + rate
        out[2, j] = motion[2, j] + (torques[2, j] - bend * phi * rate * rate) / k
