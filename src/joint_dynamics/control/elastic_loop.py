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

"""Stability of a sampled PD loop on an arm with flexible joints.

Linearised at rest in one posture (flexible-joint model of [M2]); the loop holds its torque u over each period:

    M q̈ + K (q − θ) + D (q̇ − θ̇) = 0;      B θ̈ + F θ̇ − K (q − θ) − D (q̇ − θ̇) = u;      u = −p q − d q̇.

The loop is closed on the link side, which tolerates less: the spring lies between torque and measurement. Without
damping in the joint any d > 0 makes it oscillate. Only the described viscous friction counts, as damping.
The gains of the C++ controller's own PID, scaled by the inertia, follow from it (`law_gains`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm
from scipy.stats import qmc

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.chain import RigidBody

JOINT_DAMPING = 0.02  # damping ratio of a joint without a described one, rotor and link free: low for a gear
LOADS = 33  # torques from none to the joint's limit, for the slope of a described stiffness
RIGID = 1e8  # N·m/rad, of a joint without a described stiffness
LAW_RATE = 40.0  # 1/s, k_d of the C++ controller's PID on a rigid arm
LAW_DAMPING = 0.5  # damping ratio of the C++ controller's PID with a lowered k_d
POSTURES = 48  # postures in which a loop on the flexible arm has to be stable
GAIN_FACTOR = 0.9  # factor by which gains are lowered until no flexible joint rings
LOWEST_SHARE = 1e-3  # smallest share of the gains of a rigid arm
DELAY_MARGIN = 2  # the C++ controller's PID is stable with any delay from the stated one to this many times as much


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
        B (n, n) kg·m², positive definite; diagonal without coupled drives.
    """

    stiffness: FloatArray
    damping: FloatArray
    viscous: FloatArray
    rotors: FloatArray

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
        return SampledArm(whole[: 4 * n, : 4 * n], whole[: 4 * n, 4 * n :])


@dataclass(frozen=True)
class SampledArm:
    """x⁺ = A x + B u over one period, x = [q, θ, q̇, θ̇] (4n,), u (n,) N·m."""

    A: FloatArray
    B: FloatArray

    def radius(self, p: FloatArray, d: FloatArray, periods: int) -> float:
        """Return the spectral radius with gains p and d (n, n) and a torque exactly `periods` periods late."""
        n, states = len(p), len(self.A)
        gains = np.zeros((n, states))
        gains[:, :n], gains[:, 2 * n : 3 * n] = -p, -d
        loop = self.A + self.B @ gains
        if periods:
            # The torques under way, the next one first: x⁺ = A x + B u₁, u₁⁺ = u₂, …, the last from the present x.
            loop = np.zeros((states + periods * n, states + periods * n))
            loop[:states, :states], loop[:states, states : states + n] = self.A, self.B
            loop[states:-n, states + n :] = np.eye((periods - 1) * n)
            loop[-n:, :states] = gains
        return float(np.abs(np.linalg.eigvals(loop)).max())

    def is_stable(self, p: FloatArray, d: FloatArray, delays: Iterable[int]) -> bool:
        """Whether the loop is stable with gains p and d (n, n) and a torque late by each of `delays` periods."""
        return all(self.radius(p, d, periods) < 1.0 for periods in delays)


def link_bodies(arm: Arm) -> RigidBody:
    """Return the links of a flexible arm: those of the robot file where the described ones are not positive.

    Behind a large rotor the inertia of a small link is hardly identifiable, and its estimate may be below 0. The
    payload is the described one. Raises JointDynamicsError where the links of the robot file are not positive either.
    """
    postures = _postures(arm, POSTURES)
    for rigid in (arm.rigid, Arm(arm.robot).carrying(arm.payload).rigid):
        smallest = float(np.linalg.eigvalsh([rigid.mass_matrix(q) for q in postures]).min())
        if smallest > 0:
            return rigid
    raise JointDynamicsError(
        'gains: expected links with a positive inertia matrix in the description or the robot file, found a smallest '
        f'eigenvalue of {smallest:.3g} kg·m² in the robot file; correct its inertials'
    )


def elastic_joints(arm: Arm) -> tuple[ElasticJoints, ...]:
    """Return the joints of an arm at their softest and at their stiffest; empty where no stiffness is described.

    A joint without a described stiffness is rigid.

    Raises
    ------
    JointDynamicsError
        For a stiffness or rotor inertia that is not above 0.
    """
    described = arm.stiffness_described
    if arm.stiffness is None or not described.any():
        return ()
    limit = np.where(np.isfinite(arm.effort_limit), arm.effort_limit, 0.0)
    springs = arm.stiffness.stiffness(arm.deformation(np.linspace(0.0, 1.0, LOADS)[:, None] * limit))
    springs = np.where(described, springs, RIGID)
    rotors = arm.rotor_torque(np.eye(arm.n))
    if not (np.isfinite(springs) & (springs > 0)).all() or not np.linalg.eigvalsh(rotors).min() > 0:
        raise JointDynamicsError(
            'gains: expected stiffness and rotor inertia above 0 for every flexible joint, found'
            f' {springs.min(axis=0).tolist()} N·m/rad and {np.diag(rotors).tolist()} kg·m²'
        )
    inertia = np.diag(link_bodies(arm).mass_matrix(np.zeros(arm.n)))
    reduced = 1.0 / (1.0 / inertia + 1.0 / np.diag(rotors))
    slope = 0.0 if arm.friction is None else arm.friction_scale[:, 0] * arm.friction.parameters['F_V1']
    viscous = np.where(arm.friction_described, np.maximum(slope, 0.0), 0.0)
    joints = []
    for spring in np.unique([springs.min(axis=0), springs.max(axis=0)], axis=0):
        assumed = 2.0 * JOINT_DAMPING * np.sqrt(spring * reduced)
        joints.append(ElasticJoints(spring, np.where(arm.damping > 0, arm.damping, assumed), viscous, rotors))
    return tuple(joints)


def periods_late(period: float, delay: float) -> tuple[int, int]:
    """Return the whole periods in a delay beyond one period, rounded down and up.

    Raises
    ------
    JointDynamicsError
        For a period outside 0 to 1 s, and a delay outside 0 to ten periods.
    """
    if not 0.0 < period < 1.0:
        raise JointDynamicsError(f'gains: expected a period between 0 and 1 s, found {period!r}')
    if not 0.0 <= delay <= 10.0 * period:
        raise JointDynamicsError(f'gains: expected a delay of 0 to 10 periods, found {delay!r} s')
    return math.floor(delay / period + 1e-9), math.ceil(delay / period - 1e-9)


def mass_matrices(arm: Arm, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return postures (count, n) [rad] and the inertia [kg·m²] of links (count, n, n), and of rotors (n, n).

    The postures are spread evenly over the ranges of the joints, one turn at most.

    Raises
    ------
    JointDynamicsError
        For an inertia matrix that is not positive definite.
    """
    postures = _postures(arm, count)
    links, rotors = np.array([arm.rigid.mass_matrix(q) for q in postures]), arm.rotor_torque(np.eye(arm.n))
    if not np.linalg.eigvalsh(links + rotors).min() > 0:
        raise JointDynamicsError(
            'gains: expected an inertia matrix that is positive in every posture, found one that is not; use the URDF,'
            ' or identify with physical consistency (docs/explanation/robust_and_physical.md)'
        )
    return postures, links, rotors


def _postures(arm: Arm, count: int) -> FloatArray:
    low, high = (np.clip(bound, -np.pi, np.pi) for bound in (arm.robot.limits.lower, arm.robot.limits.upper))
    return low + qmc.Halton(arm.n, seed=0).random(count) * (high - low)


def largest_share(is_stable: Callable[[float], bool]) -> float:
    """Return the first of 1, f, f² …, f = GAIN_FACTOR, at which the loop is stable.

    Raises
    ------
    JointDynamicsError
        Where there is none above `LOWEST_SHARE`.
    """
    share = 1.0
    while not is_stable(share):
        share *= GAIN_FACTOR
        if not share >= LOWEST_SHARE:
            raise JointDynamicsError(
                'gains: expected a stable gain for the flexible joints, found none; state more damping in the'
                ' description (docs/reference/commands/gains.md)'
            )
    return share


def delay_margin(kp: float, kd: float) -> float:
    """Return the delay margin [s] of the PID of gains 1/s² and 1/s on a rigid arm; infinite without gains.

    The PID is scaled by the inertia: each joint has the loop gain (k_p + k_d s)/s² with its crossover at ω⁴ = k_p² +
    k_d² ω²; the delay margin is the phase margin divided by ω (K. J. Åström and R. M. Murray, Feedback Systems).
    """
    omega = math.sqrt(0.5 * (kd**2 + math.sqrt(kd**4 + 4.0 * kp**2)))
    return math.atan2(kd * omega, kp) / omega if omega > 0.0 else math.inf


def law_gains(arm: Arm, period: float, joints: Sequence[ElasticJoints] = (), delay: float = 0.0) -> dict[str, float]:
    """Return `kp` [1/s²], `ki` [1/s³] and `kd` [1/s] of the C++ controller's PID, u = M(q) (k_p e + k_d ė).

    The damping ratio is at least LAW_DAMPING. k_d causes the ringing, far above the frequency of the loop.

    Parameters
    ----------
    arm
        links with payload, and rotors.
    period
        of the loop [s].
    joints
        flexible joints (`elastic_joints`); the sampled loop is stable with each of them. Empty: rigid.
    delay
        time from measurement to torque [s]. The loop is stable with any delay from this one to twice as much; no delay
        counts as one period.

    Raises
    ------
    JointDynamicsError
        For a period or delay out of range, and joints that oscillate at any gains.
    """
    least, most = periods_late(period, delay)
    late = range(least, DELAY_MARGIN * max(1, most) + 1)
    postures, _, rotors = mass_matrices(arm, POSTURES if joints else 1)
    links = [link_bodies(arm).mass_matrix(q) for q in postures] if joints else []
    loops = [(joint.sampled(link, period), link + rotors) for joint in joints for link in links]

    def gains(share: float) -> tuple[float, float]:
        kd = float(f'{share * LAW_RATE:.3g}')
        return float(f'{min(0.25 * LAW_RATE**2, (kd / (2.0 * LAW_DAMPING)) ** 2):.3g}'), kd

    def is_stable(share: float) -> bool:
        kp, kd = gains(share)
        # A torque is held for one period, half a period later on average.
        in_time = delay_margin(kp, kd) > (late[-1] + 0.5) * period
        return in_time and all(loop.is_stable(kp * M, kd * M, late) for loop, M in loops)

    kp, kd = gains(largest_share(is_stable))
    return {'kp': kp, 'ki': 0.0, 'kd': kd}
