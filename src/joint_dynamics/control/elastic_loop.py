"""Stability of a sampled PD loop on an arm with flexible joints.

Linearised at rest in one posture, with the torque u of the loop held over each period (flexible-joint model of [M2]):

    M q̈ + K (q − θ) + D (q̇ − θ̇) = 0,      B θ̈ + F θ̇ − K (q − θ) − D (q̇ − θ̇) = u,      u = −p y − d ẏ

y is the link side q or the motor side θ. Of the friction only the described viscous part counts, as damping. In a loop
on the link side the spring lies between torque and measurement: without damping in the joint, any d > 0 makes it
oscillate, whatever the rate.

The gains of the laws' own PID, u = M(q) (k_p e + k_d ė), follow from it (`law_gains`). On a rigid arm in the manager's
own process, 400 1/s² and 40 1/s, critically damped, are far from any limit. Flexible joints oscillate at these gains
when the loop is closed on the link side, and the gains that are stable rise and fall with the delay from measurement
to torque. So that delay is a parameter, and the gains are stable for any delay from there to twice as long (a delay
margin of 2).

The oscillation is caused by k_d, far above the frequency of the loop; k_p hardly matters down to a damping ratio of
0.3. So k_p is not lowered to k_d²/4, which would only make the arm more compliant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.stats import qmc

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.law import delay_margin
from joint_dynamics.errors import JointDynamicsError

Side = Literal['link', 'motor']
SIDES: tuple[Side, ...] = ('link', 'motor')
JOINT_DAMPING = 0.02
"""Damping ratio of a joint between rotor and link, both free, where none is described: low for a gear."""
LOADS = 33
"""Torques from none to the joint's limit at which the slope of a described stiffness is looked at."""
GAIN_MARGIN = 2.0
"""All gains of a loop may grow by so much (6 dB) before it becomes unstable."""


@dataclass(frozen=True)
class ElasticJoints:
    """The flexible transmissions between links and rotors of n joints.

    Attributes
    ----------
    stiffness
        K (n,) N·m/rad, above 0.
    damping
        D (n,) N·m·s/rad, at least 0.
    viscous
        F (n,) N·m·s/rad, viscous friction of the motor side, at least 0.
    rotors
        B (n, n) kg·m², positive definite; diagonal but for coupled drives.
    feedback
        the side, link or motor, on whose position and speed the loop is closed.

    """

    stiffness: FloatArray
    damping: FloatArray
    viscous: FloatArray
    rotors: FloatArray
    feedback: Side = 'link'

    def single(self, joint: int) -> ElasticJoints:
        """Return one joint (index), with all other rotors held."""
        k = slice(joint, joint + 1)
        return ElasticJoints(self.stiffness[k], self.damping[k], self.viscous[k], self.rotors[k, k], self.feedback)

    def sampled(self, mass: FloatArray, period: float) -> SampledArm:
        """Return the arm with links of inertia `mass` (n, n) kg·m², discretised for a loop of `period` s."""
        n = len(mass)
        none = np.zeros((n, n))
        inverse = np.linalg.inv(np.block([[mass, none], [none, self.rotors]]))
        spring, damper = (np.kron([[1, -1], [-1, 1]], np.diag(values)) for values in (self.stiffness, self.damping))
        damper[n:, n:] += np.diag(self.viscous)
        free = np.block([[np.zeros((2 * n, 2 * n)), np.eye(2 * n)], [-inverse @ spring, -inverse @ damper]])
        pushed = np.vstack([np.zeros((2 * n, n)), inverse[:, n:]])
        whole = expm(period * np.block([[free, pushed], [np.zeros((n, 5 * n))]]))
        return SampledArm(whole[: 4 * n, : 4 * n], whole[: 4 * n, 4 * n :], self.feedback)


@dataclass(frozen=True)
class SampledArm:
    """x⁺ = A x + B u over one period, x = [q, θ, q̇, θ̇] (4n,), u (n,) N·m."""

    A: FloatArray
    B: FloatArray
    feedback: Side

    def spectral_radius(self, p: FloatArray, d: FloatArray, late: int = 1) -> float:
        """Return the largest spectral radius with a torque 0, 1 … `late` periods late; the loop is stable below 1."""
        return max(self.radius(np.diag(p), np.diag(d), periods) for periods in range(late + 1))

    def radius(self, p: FloatArray, d: FloatArray, periods: int) -> float:
        """Return the spectral radius with gains p and d (n, n) and a torque exactly `periods` periods late."""
        n, states = len(p), len(self.A)
        gains = np.zeros((n, states))
        offset = SIDES.index(self.feedback) * n
        gains[:, offset : offset + n] = -p
        gains[:, 2 * n + offset : 3 * n + offset] = -d
        if periods == 0:
            return _radius(self.A + self.B @ gains)
        # The torques under way, the next one first: x⁺ = A x + B u₁, u₁⁺ = u₂, …, the last from the present x.
        loop = np.zeros((states + periods * n, states + periods * n))
        loop[:states, :states], loop[:states, states : states + n] = self.A, self.B
        loop[states:-n, states + n :] = np.eye((periods - 1) * n)
        loop[-n:, :states] = gains
        return _radius(loop)

    def stable(self, p: FloatArray, d: FloatArray, late: int = 1) -> bool:
        """Whether the loop is stable, both with its gains and with GAIN_MARGIN times its gains."""
        return all(self.spectral_radius(factor * p, factor * d, late) < 1.0 for factor in (1.0, GAIN_MARGIN))


def _radius(loop: FloatArray) -> float:
    return float(np.abs(np.linalg.eigvals(loop)).max())


def elastic_joints(
    arm: Arm, stiffness: ArrayLike | None = None, *, damping_ratio: float = JOINT_DAMPING, feedback: Side = 'link'
) -> tuple[ElasticJoints, ...]:
    """Return the joints of an arm at their softest and at their stiffest; empty where no stiffness is known.

    Parameters
    ----------
    arm
        with rotors, and stiffness unless `stiffness` is given.
    stiffness
        (n,) N·m/rad; None: the smallest and largest slope of the described stiffness up to the joint's torque limit.
    damping_ratio
        of rotor against link, where the arm describes no damping.
    feedback
        the side, link or motor, on whose position and speed the loop is closed.

    Raises
    ------
    JointDynamicsError
        For a stiffness, damping ratio or rotor inertia that is not above 0, and where the stiffness of only some joints
        is described.
    """
    if stiffness is None and not arm.stiffness_described.any():
        return ()
    if not 0.0 < damping_ratio < 1.0:
        raise JointDynamicsError(f'gains: expected a damping ratio between 0 and 1, found {damping_ratio!r}')
    springs = _described(arm) if stiffness is None else np.atleast_2d(np.asarray(stiffness, dtype=float))
    if springs.shape[1] != arm.n:
        raise JointDynamicsError(f'gains: expected {arm.n} values of stiffness, found {springs.shape[1]}')
    if not (np.isfinite(springs) & (springs > 0)).all():
        raise JointDynamicsError(f'gains: expected stiffness above 0 N·m/rad, found {springs.min(axis=0).tolist()}')
    rotors = arm.rotor_torque(np.eye(arm.n))
    if not np.linalg.eigvalsh(rotors).min() > 0:
        raise JointDynamicsError(
            'gains: expected a rotor inertia above 0 for every joint, without which a flexible joint cannot be judged,'
            f' found {np.diag(rotors).tolist()}; a URDF has none, a description does'
        )
    inertia = np.diag(arm.rigid.mass_matrix(np.zeros(arm.n)))
    reduced = 1.0 / (1.0 / inertia + 1.0 / np.diag(rotors))
    slope = 0.0 if arm.friction is None else arm.friction_scale[:, 0] * arm.friction.parameters['F_V1']
    viscous = np.where(arm.friction_described, np.maximum(slope, 0.0), 0.0)
    joints = []
    for row in {tuple(springs.min(axis=0)), tuple(springs.max(axis=0))}:
        spring = np.array(row)
        assumed = 2.0 * damping_ratio * np.sqrt(spring * reduced)
        joints.append(ElasticJoints(spring, np.where(arm.damping > 0, arm.damping, assumed), viscous, rotors, feedback))
    return tuple(joints)


def _described(arm: Arm) -> FloatArray:
    missing = [name for name, known in zip(arm.robot.joint_names, arm.stiffness_described, strict=True) if not known]
    if missing or arm.stiffness is None:
        raise JointDynamicsError(
            f'gains: expected a described stiffness for every joint, found none for {", ".join(missing)}; state one'
            ' for all (--stiffness)'
        )
    limit = np.where(np.isfinite(arm.robot.limits.effort), arm.robot.limits.effort, 0.0)
    return arm.stiffness.stiffness(arm.deformation(np.linspace(0.0, 1.0, LOADS)[:, None] * limit))


RIGID_RATE = 40.0
"""k_d for a rigid arm at 250 Hz or more, 1/s, with a k_p that damps it critically."""
DAMPING = 0.5
"""Damping ratio that a lowered k_d leaves, as that of an effort PID of a rigid arm."""
RATE_FACTOR, LOWEST_RATE = 0.95, 2.0
"""k_d is lowered by this factor until no joint rings; 1/s, below which none is given."""
POSTURES = 24
DELAY_MARGIN = 2


def law_gains(arm: Arm, period: float, joints: Sequence[ElasticJoints] = (), delay: float = 0.0) -> dict[str, float]:
    """Return `kp` [1/s²], `ki` [1/s³] and `kd` [1/s] of the laws' PID, with a damping ratio of at least DAMPING.

    Parameters
    ----------
    arm
        links with payload, and rotors.
    period
        of the loop [s].
    joints
        flexible joints (`elastic_joints`); the sampled loop has to be stable with each of them in all of 24 postures.
        Empty: rigid.
    delay
        time from measurement to torque [s], from 0 to ten periods. The loop is stable with any delay from that many
        periods to twice as many; no delay is treated as one period.

    Raises
    ------
    JointDynamicsError
        For a delay out of range, and joints that oscillate at any gains.
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
        rate *= RATE_FACTOR
        if not rate >= LOWEST_RATE:
            raise JointDynamicsError(
                'gains: expected flexible joints that bear some gain of the law, found that all make them ring; close '
                'the loop on the motor side, or state more damping (docs/reference/commands/gains.md)'
            )
    rate = float(f'{rate:.3g}')
    return {'kp': float(f'{_proportional(rate):.3g}'), 'ki': 0.0, 'kd': rate}


def _proportional(rate: float) -> float:
    return min(0.25 * RIGID_RATE**2, (rate / (2.0 * DAMPING)) ** 2)
