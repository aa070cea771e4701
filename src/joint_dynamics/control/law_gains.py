"""Gains of the laws' own PID, which is scaled by the inertia of the arm: u = M(q) (k_p e + k_d ė).

On a rigid arm in the manager's own process 400 1/s² and 40 1/s, critically damped, are far from any limit. Flexible
joints ring at them: with the loop closed on the link side the spring lies between torque and measurement, and how much
it bears goes up and down with the time from one to the other. So that time is stated, and the gains bear any from
there to twice as long (a delay margin of 2).

What makes them ring is k_d, far above the frequency of the loop; k_p hardly counts down to a damping ratio of 0.3. So
it is not lowered as k_d²/4, which would let the arm give way by as much more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import qmc

from joint_dynamics.arm import Arm
from joint_dynamics.control.elastic_loop import ElasticJoints
from joint_dynamics.control.law import delay_margin
from joint_dynamics.errors import JointDynamicsError

RIGID_RATE = 40.0
"""k_d for a rigid arm at 250 Hz or more, 1/s, with a k_p that damps it critically."""
DAMPING = 0.5
"""Damping ratio that a lowered k_d leaves, as that of an effort PID of a rigid arm."""
LESS, LEAST = 0.95, 2.0
"""k_d is lowered by this factor until no joint rings; 1/s, below which none is given."""
POSTURES = 24
DELAY_MARGIN = 2


def law_gains(arm: Arm, period: float, joints: Sequence[ElasticJoints] = (), delay: float = 0.0) -> dict[str, float]:
    """Return `kp` [1/s²], `ki` [1/s³] and `kd` [1/s] of the laws' PID, with a damping ratio of at least DAMPING.

    Parameters
    ----------
    arm
        links with what they carry, and rotors.
    period
        of the loop [s].
    joints
        flexible joints (`elastic_joints`), with each of which the sampled loop has to be stable in all of 24 postures;
        empty: rigid.
    delay
        time from measurement to torque [s], of a driver, of topics between the two, from 0 to ten periods. The loop is
        stable with that many periods, and with all up to twice as many, one counting for none.

    Raises
    ------
    JointDynamicsError
        For a delay out of range, and joints that ring whatever the gains.
    """
    if not (period > 0.0 and 0.0 <= delay <= 10.0 * period):
        raise JointDynamicsError(f'gains: expected a delay of 0 to 10 periods, found {delay!r} s')
    low, high = (np.clip(bound, -np.pi, np.pi) for bound in (arm.robot.limits.lower, arm.robot.limits.upper))
    links = [arm.rigid.mass_matrix(q) for q in low + qmc.Halton(arm.n, seed=0).random(POSTURES) * (high - low)]
    rotors = arm.rotor_torque(np.eye(arm.n))
    loops = [(joint.sampled(link, period), link + rotors) for joint in joints for link in links]
    periods = delay / period
    late = range(math.floor(periods + 1e-9), DELAY_MARGIN * max(1, math.ceil(periods - 1e-9)) + 1)
    rate = RIGID_RATE
    # A torque is held for one period beside: on average it is half a period later.
    latest = (late[-1] + 0.5) * period
    while not (
        delay_margin(_proportional(rate), rate)[0] > latest
        and all(
            loop.radius(_proportional(rate) * mass, rate * mass, count) < 1.0 for loop, mass in loops for count in late
        )
    ):
        rate *= LESS
        if not rate >= LEAST:
            raise JointDynamicsError(
                'gains: expected flexible joints that bear some gain of the law, found that all make them ring; close '
                'the loop on the motor side, or state more damping (docs/reference/commands/gains.md)'
            )
    rate = float(f'{rate:.3g}')
    return {'kp': float(f'{_proportional(rate):.3g}'), 'ki': 0.0, 'kd': rate}


def _proportional(rate: float) -> float:
    return min(0.25 * RIGID_RATE**2, (rate / (2.0 * DAMPING)) ** 2)
