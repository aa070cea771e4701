"""Which alternatives are tried, and how much evidence each needs, so that good recordings are hardly ever refused."""

from __future__ import annotations

import numpy as np

from joint_dynamics.robot import RobotModel

LOG_LIKELIHOOD_THRESHOLD = 20.0
"""Log-likelihood [nats] that an alternative has to gain before it is named: odds of e²⁰ (5·10⁸), what remains of them
after a few hundred
alternatives, a prior that trusts the user a thousandfold, and residuals that are no noise but a model's own."""
MIN_STEADINESS = 2.0
"""Standard errors over blocks of time from which a gain is no matter of a few blocks, where a model is wrong."""
FREE_SCALE_THRESHOLD = 3.0
"""Log-likelihood [nats] by which a sign or a scale has to beat a torque without any scale: odds of twenty."""
MIN_EVIDENCE = float(np.log(300 * 1000))
"""Evidence [nats] that a delay, scales or a difference between parts has to bring, each one of a continuum: worth three
hundred alternatives, with a prior that trusts the user a thousandfold. Evidence is a gain of log-likelihood divided by
how much worse the model fits than its noise lets expect (`overdispersion`)."""
KINDS = 16
"""Kinds of faults that are looked for by likelihood: the twelve of `least_evidence`, a delay, scales, a payload, parts
that differ. A fault is first of a kind, and then one of those of its kind."""
TORQUE_KINDS = ('torque_sign', 'drive_gain', 'torque_order')
MOTION_KINDS = 9
"""Kinds of `least_evidence` that are none of `TORQUE_KINDS`: of positions, time and mounting."""
FALSE_ALARMS = 0.01
"""Share of good recordings that each of three may refuse for any of its alternatives, at most: the data alone, the
torques by the robot file, the motion by it."""
TORQUE_FACTORS = (1e-3, 0.01, 0.1, 0.25, 0.5, 2.0, 4.0, 10.0, 100.0, 1e3)
"""Factors tried on one joint's torque."""
TIME_FACTORS = (1e-3, 1e-2, 0.1, 0.5, 2.0, 10.0, 100.0, 1e3)
"""Factors tried on speeds: time stamps in other units, or at half or twice the rate."""
UP_DIRECTIONS = {
    'up along +x': (-1, 0, 0),
    'up along −x': (1, 0, 0),
    'up along +y': (0, -1, 0),
    'up along −y': (0, 1, 0),
    'up along +z': (0, 0, -1),
    'up along −z': (0, 0, 1),
}
TURNS = {'+90°': np.pi / 2, '−90°': -np.pi / 2, '180°': np.pi}


def least_evidence(model: RobotModel, code: str, kinds: int = KINDS) -> float:
    """Return the evidence that an alternative of a kind needs [nats], by how many others are of its kind.

    kinds: how many there are.

    Of a true model the likelihood of another one is eˣ times as large with probability e⁻ˣ at most, by Markov's
    inequality [Ville 1939]. `FALSE_ALARMS` is shared by the kinds alike, and within a kind by its alternatives
    [Bonferroni].
    `MIN_EVIDENCE` where a code is none of these kinds.
    """
    n, turning = model.n, int(np.sum(~np.asarray(model.chain.prismatic, dtype=bool)))
    orders = n * (n - 1) // 2 + (n > 2)
    of_kind = {
        'torque_sign': n + 1,
        'drive_gain': n * len(TORQUE_FACTORS),
        'position_sign': n,
        'axis_sign': n,
        'position_offset': len(TURNS) * turning,
        'degrees': 2,
        'time_reversed': 2,
        'torque_order': orders,
        'position_order': orders,
        'joint_order': orders,
        'time_scale': len(TIME_FACTORS),
        'mounting': len(UP_DIRECTIONS) - 1,
    }
    return float(np.log(kinds * of_kind[code] / FALSE_ALARMS)) if code in of_kind else MIN_EVIDENCE
