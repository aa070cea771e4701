"""Stability of a sampled PD loop on an arm with flexible joints.

Linearised at rest in one posture, with the torque u of the loop held over each period (flexible-joint model of [M2]):

    M q̈ + K (q − θ) + D (q̇ − θ̇) = 0,      B θ̈ + F θ̇ − K (q − θ) − D (q̇ − θ̇) = u,      u = −p y − d ẏ

y is the link side q or the motor side θ. Of friction only the described viscous one counts: all of it damps. A loop
on the link side has the spring between torque and measurement: with no damping in the joint every d > 0 makes it ring,
whatever the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
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
    """What lies between the links and the rotors of n joints.

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
        the side whose position and speed the loop is closed on.

    """

    stiffness: FloatArray
    damping: FloatArray
    viscous: FloatArray
    rotors: FloatArray
    feedback: Side = 'link'

    def alone(self, joint: int) -> ElasticJoints:
        """Return one joint, the others of its rotors held."""
        k = slice(joint, joint + 1)
        return ElasticJoints(self.stiffness[k], self.damping[k], self.viscous[k], self.rotors[k, k], self.feedback)

    def sampled(self, mass: FloatArray, period: float) -> SampledArm:
        """Return the arm with links of inertia `mass` (n, n) kg·m² as a loop of `period` s meets it."""
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
        """Return the largest one of the loop with its torque 0, 1 … `late` periods late; below 1 it is stable."""
        return max(self.radius(np.diag(p), np.diag(d), periods) for periods in range(late + 1))

    def radius(self, p: FloatArray, d: FloatArray, periods: int) -> float:
        """Return the spectral radius with gains p and d (n, n) and the torque exactly so many periods late."""
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
        """Whether the loop is stable, with its gains as they are and GAIN_MARGIN times as high."""
        return all(self.spectral_radius(factor * p, factor * d, late) < 1.0 for factor in (1.0, GAIN_MARGIN))


def _radius(loop: FloatArray) -> float:
    return float(np.abs(np.linalg.eigvals(loop)).max())


def elastic_joints(
    arm: Arm, stiffness: ArrayLike | None = None, *, damping_ratio: float = JOINT_DAMPING, feedback: Side = 'link'
) -> tuple[ElasticJoints, ...]:
    """Return the joints of an arm at their softest and at their stiffest; empty where no stiffness is known.

    Parameters
    ----------
    stiffness
        (n,) N·m/rad in place of what is described; by default the slopes of the described stiffness, from no load to
        the joint's torque limit.
    damping_ratio
        of rotor against link where the arm describes no damping.
    feedback
        the side whose position and speed the loop is closed on.

    Raises
    ------
    JointDynamicsError
        For a stiffness, a damping ratio or a rotor inertia that is not above 0, and where only some joints have a
        described stiffness.
    """
    if stiffness is None and not arm.stiffness_described.any():
        return ()
    if not 0.0 < damping_ratio < 1.0:
        raise JointDynamicsError(f'gains: expected a damping ratio between 0 and 1, found {damping_ratio!r}')
    found = _described(arm) if stiffness is None else np.atleast_2d(np.asarray(stiffness, dtype=float))
    if found.shape[1] != arm.n:
        raise JointDynamicsError(f'gains: expected {arm.n} values of stiffness, found {found.shape[1]}')
    if not (np.isfinite(found) & (found > 0)).all():
        raise JointDynamicsError(f'gains: expected stiffness above 0 N·m/rad, found {found.min(axis=0).tolist()}')
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
    for row in {tuple(found.min(axis=0)), tuple(found.max(axis=0))}:
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
