"""Further terms of a joint's torque, compiled: columns that are linear in their parameters, and their sum.

    speed        F_T0 sgn(ω)√|ω|,  F_V2 |ω|ω,  F_V3 ω³,  (F_S − F_C0) s exp(−(|ω|/V_S)^μ)      [M3 eq 14, M4 eq 28]
    load         F_Cl s |τ_J|,  F_C1 s τ_J²                                                    [M4 eq 27, M6 eq 20]
    temperature  F_T1 sgn(ω)√|ω| (T − T0),  F_T2 sgn(ω)√|ω| (T⁻³ − T0⁻³)                       [M6 eq 11, corrected]
    quadrants    a τ_J,  c sgn(τ_J): with F_Cl and F_C0 the four quadrants of Hamon,
                 a_m = 1 + a + F_Cl, a_g = 1 + a − F_Cl, c_m = F_C0 + c, c_g = F_C0 − c        [H eq 30, E = 0]
    hysteresis   F_H (H − sgn ω): the share F_H/F_C0 of Coulomb friction goes through one Maxwell-slip operator
    position     sin(h q),  cos(h q),  a formula of q and ω

s is sgn ω, or with a hysteresis the same mixture for all of them: s = sgn ω + (F_H/F_C0)(H − sgn ω) [M6 eq 11-13]. The
first three groups are the friction law with one parameter set to 1 and all others to 0.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled
from joint_dynamics.joint.constants import JOINT
from joint_dynamics.joint.laws import dry_friction, held, speed_friction, warmth
from joint_dynamics.robot.newton_euler import LEADERS

LAW, LOAD_GAIN, LOAD_SIGN, HYSTERESIS, SINE, COSINE, FORMULA = range(7)
"""What a term is."""
TERM = np.dtype(
    [
        ('leaders', 'i8'),  # how many joints its own follows, as of `robot.newton_euler.LINK`
        ('leader', 'i8', (LEADERS,)),
        ('ratio', 'f8', (LEADERS,)),
        ('offset', 'f8'),
        ('kind', 'i8'),
        ('friction', 'i8'),  # 1: belongs to the friction
        ('value', 'f8'),  # its parameter
        ('law', JOINT),  # of LAW; limits of speed and load hold for all that is friction
        ('warm', 'i8'),  # 1: depends on the temperature, and is nothing where that is not known
        ('harmonic', 'f8'),  # of SINE and COSINE
        ('code', 'i8'),  # of FORMULA: first of its steps in the tables, their number; behind them its stack
        ('steps', 'i8'),
    ],
    align=True,
)
"""Constants of one column."""

NUMBER, POSITION, SPEED, ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER = range(8)
NEGATE, SIN, COS, TAN, SQRT, EXP, LOG, ABS, SIGN, TANH, ARCTAN = range(8, 19)
"""Steps of a formula in postfix order, each a pair (step, number)."""


@compiled
def formula(tables, start, steps, q, omega):  # type: ignore[no-untyped-def]
    """Return the value of a formula at q [rad], ω [rad/s]; its stack follows its steps in the tables."""
    stack, top = start + 2 * steps, -1
    for k in range(start, stack, 2):
        step = tables[k]
        if step <= SPEED:
            top += 1
            tables[stack + top] = tables[k + 1] if step == NUMBER else q if step == POSITION else omega
        elif step <= POWER:
            a, b = tables[stack + top - 1], tables[stack + top]
            top -= 1
            tables[stack + top] = (
                a + b
                if step == ADD
                else a - b
                if step == SUBTRACT
                else a * b
                if step == MULTIPLY
                else a / b
                if step == DIVIDE
                else a**b
            )
        else:
            tables[stack + top] = _function(step, tables[stack + top])
    return tables[stack]


@compiled
def _function(step, a):  # type: ignore[no-untyped-def]
    if step == NEGATE:
        return -a
    if step == SIN:
        return np.sin(a)
    if step == COS:
        return np.cos(a)
    if step == TAN:
        return np.tan(a)
    if step == SQRT:
        return np.sqrt(a)
    if step == EXP:
        return np.exp(a)
    if step == LOG:
        return np.log(a)
    if step == ABS:
        return abs(a)
    if step == SIGN:
        return np.sign(a)
    if step == TANH:
        return np.tanh(a)
    return np.arctan(a)


@compiled
def column(term, tables, q, omega, s, load, temperature):  # type: ignore[no-untyped-def]
    """Return the value of a column; s: direction of slip, or for HYSTERESIS the H of its operator."""
    if term.kind == SINE:
        return np.sin(term.harmonic * q)
    if term.kind == COSINE:
        return np.cos(term.harmonic * q)
    c = term.law
    omega = held(omega, c.speed_limit)
    if term.kind == FORMULA:
        return formula(tables, term.code, term.steps, q, omega)
    if term.kind == HYSTERESIS:
        return s - np.sign(omega)
    load = held(load, c.load_limit)
    if term.kind == LOAD_GAIN:
        return held(load, c.tau_max)
    if term.kind == LOAD_SIGN:
        return np.sign(held(load, c.tau_max))
    if term.warm and not np.isfinite(temperature):
        return 0.0
    warm = warmth(c, temperature) if term.warm else c.F_T0
    return dry_friction(c, s, omega, load) + speed_friction(c, s, omega, warm)


@compiled
def columns_along(terms, tables, motion, out):  # type: ignore[no-untyped-def]
    """Write `column` of terms (k,) along a motion of one joint into out (k, samples).

    motion: q, ω, s, H, τ_J, T, (samples,) each; H is what HYSTERESIS takes for s.
    """
    q, omega, s, H, load, temperature = motion
    for k in range(len(terms)):
        term = terms[k]
        for i in range(len(q)):
            direction = H[i] if term.kind == HYSTERESIS else s[i]
            out[k, i] = column(term, tables, q[i], omega[i], direction, load[i], temperature[i])


@compiled
def term_torques(terms, tables, shares, q, state, out):  # type: ignore[no-untyped-def]
    """Add the torque [N·m] of terms (k,) in one state to out (n,): along a joint that follows others, Gᵀ of it.

    shares: (n,) of those that are friction, and of the others. q: link angles (n,) rad. state: ω, s, τ_J, T, (n,) each.
    """
    omega, s, load, temperature = state
    friction, other = shares
    for k in range(len(terms)):
        term, j = terms[k], terms[k].leader[0]
        position = term.offset
        for i in range(term.leaders):
            position += term.ratio[i] * q[term.leader[i]]
        value = term.value * column(term, tables, position, omega[j], s[j], load[j], temperature[j])
        for i in range(term.leaders):
            j = term.leader[i]
            out[j] += (friction[j] if term.friction else other) * term.ratio[i] * value


@compiled
def term_torques_along(terms, tables, shares, q, state, out):  # type: ignore[no-untyped-def]
    """`term_torques` of a recording, (N, n) each."""
    omega, s, load, temperature = state
    for i in range(len(q)):
        term_torques(terms, tables, shares, q[i], (omega[i], s[i], load[i], temperature[i]), out[i])
