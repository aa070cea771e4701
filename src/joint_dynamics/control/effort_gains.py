"""Gains of an effort PID, as ros2_control's joint_trajectory_controller has one, from inertia and period.

In one period T, a sampled loop removes the share d T / I of a joint's speed, I being the inertia that the joint feels.
Above 1 (with a torque that arrives one period late; above 2 without delay) it adds energy, and the joint chatters at
rest. The smallest I, 1/(M⁻¹)ᵢᵢ, is that with all other joints free to move; a wrist's is a few 1e-4 kg·m², so gains
that suit a shoulder are wrong there by orders of magnitude.

Flexible joints oscillate at gains that a rigid arm tolerates: where their stiffness is known, gains are lowered until
the loop on the flexible arm is stable as well (`elastic_loop`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.elastic_loop import ElasticJoints
from joint_dynamics.errors import JointDynamicsError

POSTURES = 1024
"""Postures over which the inertias are taken, spread evenly over the joints' ranges (one turn at most)."""
RIGID_DAMPING = 0.5
"""Least damping ratio of a joint of a rigid arm, by d alone."""
FLEXIBLE_DAMPING = 0.2
"""The same with flexible joints, which bear less d: a lower one for a p that still holds something."""
ELASTIC_POSTURES = 48
"""Of these, in so many the flexible arm is looked at as a whole."""
MOST_LATE = 10
"""Periods of delay above which a loop is better closed elsewhere."""
GAIN_FACTOR = 0.85
"""Gains that let flexible joints ring are lowered by this factor until they do not."""
LOWEST_SHARE = 1e-4
"""Share of the rigid arm's gains below which none are given."""
LARGEST = 0.9
"""Bound of the largest eigenvalue of T M⁻¹ D in any of them: below 1, the limit with a torque one period late."""


@dataclass(frozen=True)
class EffortGains:
    """Gains of an effort PID for n joints; i = 0.

    Attributes
    ----------
    p, d
        (n,) N·m/rad and N·m·s/rad.
    period
        T of the loop, s.
    smallest, largest
        inertia (n,) kg·m² that each joint feels, over all postures: with the others free, and with the others held.
    gravity
        largest gravity torque (n,) N·m.
    viscous
        friction (n,) N·m·s/rad that damps in addition to d, counted for flexible joints only, else 0.

    """

    joint_names: tuple[str, ...]
    period: float
    p: FloatArray
    d: FloatArray
    smallest: FloatArray
    largest: FloatArray
    viscous: FloatArray | float = 0.0
    gravity: FloatArray | float = 0.0

    @property
    def ratio(self) -> FloatArray:
        """Share of a joint's speed that d removes in one period, d T / I with the smallest inertia, (n,)."""
        return self.d * self.period / self.smallest

    @property
    def damping(self) -> FloatArray:
        """Damping ratio of each joint where its inertia is largest, (n,)."""
        return (self.d + self.viscous) / (2 * np.sqrt(self.p * self.largest))

    @property
    def sag(self) -> FloatArray:
        """Sag of each joint under p alone, without feedforward, where gravity is largest, (n,) rad."""
        return np.broadcast_to(self.gravity, self.p.shape) / self.p

    def as_parameters(self) -> dict[str, dict[str, float]]:
        """Return the `gains` of a joint_trajectory_controller.

        i = 0, because an integral works against a feedforward torque.
        """
        return {
            name: {'p': _rounded(p), 'i': 0.0, 'd': _rounded(d), 'ff_velocity_scale': 0.0}
            for name, p, d in zip(self.joint_names, self.p, self.d, strict=True)
        }


def effort_gains(
    arm: Arm,
    period: float,
    *,
    ratio: float = 0.4,
    damping: float | None = None,
    joints: Sequence[ElasticJoints] = (),
    delay: float = 0.0,
) -> EffortGains:
    """Return gains that are stable in every posture, whether the torque arrives at once or up to `delay` later.

    Parameters
    ----------
    arm
        links with payload and rotors, those of coupled drives included; `Arm(robot)` is that of the URDF alone.
    period
        T of the loop, s.
    ratio
        largest d T / I, below 1.
    damping
        damping ratio where the inertia is largest, and hence smallest; None: RIGID_DAMPING, with flexible joints
        FLEXIBLE_DAMPING.
    joints
        flexible joints (`elastic_joints`); the loop has to be stable with each of them, even at twice the gains. Empty:
        rigid.
    delay
        time from measurement to torque beyond one period, s, as of a driver or of topics in between.

    Raises
    ------
    JointDynamicsError
        For a period, ratio, damping or delay out of range, inertias that no body can have, and joints that oscillate at
        any gains.

    """
    if damping is None:
        damping = FLEXIBLE_DAMPING if joints else RIGID_DAMPING
    for name, value, upper in (('period', period, 1.0), ('ratio', ratio, 1.0), ('damping', damping, 10.0)):
        if not 0.0 < value < upper:
            raise JointDynamicsError(f'gains: expected {name} between 0 and {upper:g}, found {value!r}')
    if not 0.0 <= delay <= MOST_LATE * period:
        raise JointDynamicsError(f'gains: expected a delay of 0 to {MOST_LATE} periods, found {delay!r} s')
    late = 1 + math.ceil(delay / period - 1e-9)
    robot, rotors = arm.robot, arm.rotor_torque(np.eye(arm.n))
    low, high = (np.clip(bound, -np.pi, np.pi) for bound in (robot.limits.lower, robot.limits.upper))
    # A joint that is locked by its limits still has a posture.
    spread = qmc.Halton(robot.n, seed=0).random(POSTURES)
    postures = low + spread * (high - low)
    links = np.array([arm.rigid.mass_matrix(q) for q in postures])
    masses = links + rotors
    if not np.linalg.eigvalsh(masses).min() > 0:
        raise JointDynamicsError(
            'gains: expected an inertia matrix that is positive in every posture, found one that '
            'is not; use the URDF, or identify with physical consistency (docs/explanation/robust_and_physical.md)'
        )
    inverses = np.linalg.inv(masses)
    smallest = 1.0 / inverses.diagonal(axis1=1, axis2=2).max(axis=0)
    largest = masses.diagonal(axis1=1, axis2=2).max(axis=0)
    # A speed of which k is taken away each period, N periods late, dies away for k < 2 sin(π / (4 N + 2)): 1 for N = 1.
    bound = 2.0 * math.sin(math.pi / (4 * late + 2))
    d = ratio * bound * smallest / period
    # Joints that move together: each below its bound can be above it in a direction they share.
    fastest = np.linalg.eigvals(period * inverses * d).real.max()
    d = d * min(1.0, LARGEST * bound / fastest)
    scale = 1.0 / (4 * damping**2 * largest)
    viscous: FloatArray | float = 0.0
    for flexible in joints:
        viscous = flexible.viscous
        d, scale = _without_ringing(flexible, links, (period, late), d, scale)
    gravity = np.abs([arm.rigid.gravity(q) for q in postures]).max(axis=0)
    # on a vertical axis a weight has no lever: what is left is rounding
    gravity[gravity < robot.n * np.finfo(float).eps * gravity.max()] = 0.0
    return EffortGains(robot.joint_names, period, (d + viscous) ** 2 * scale, d, smallest, largest, viscous, gravity)


def _without_ringing(
    joints: ElasticJoints, links: FloatArray, timing: tuple[float, int], d: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return d and scale (n,), lowered until the flexible arm is stable with d and p = scale (d + F)², with a margin.

    Joint by joint first, from the link that gives way to the one that is held, so that one soft joint does not cost
    the others their gains; then all together.
    """
    lightest = 1.0 / np.linalg.inv(links).diagonal(axis1=1, axis2=2).max(axis=0)
    heaviest = links.diagonal(axis1=1, axis2=2).max(axis=0)
    lowered, less = np.empty_like(d), np.empty_like(scale)
    for k in range(len(d)):
        joint, one = joints.single(k), slice(k, k + 1)
        inertias = np.geomspace(lightest[k], heaviest[k], 5).reshape(-1, 1, 1)
        lowered[one], less[one] = _lowered(joint, inertias, timing, d[one], scale[one])
    return _lowered(joints, links[:ELASTIC_POSTURES], timing, lowered, less)


def _lowered(
    joints: ElasticJoints, links: FloatArray, timing: tuple[float, int], d: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the first of d, f d, f² d …, f = GAIN_FACTOR, stable with each of the `links` (k, n, n), and its scale.

    Friction damps beside d and does not get less with it: what it lets p be may be more than a late torque bears. Then
    scale is lowered too, which damps more than was asked for.
    """
    period, late = timing
    loops = [joints.sampled(mass, period) for mass in links]
    shares = GAIN_FACTOR ** np.arange(0.0, np.log(LOWEST_SHARE) / np.log(GAIN_FACTOR))
    for weaker in shares:
        for share in shares:
            p = weaker * scale * (share * d + joints.viscous) ** 2
            if all(loop.stable(p, share * d, late) for loop in loops):
                return share * d, weaker * scale
    raise JointDynamicsError(
        'gains: expected flexible joints that bear some gain, found that all make them ring; close the loop'
        ' on the motor side, or state more damping (docs/reference/commands/gains.md)'
    )


PLUGIN_GAINS = {'kp': 400.0, 'ki': 0.0, 'kd': 40.0}
"""Of the laws' PID, 1/s², 1/s³ and 1/s, scaled by the inertia: critically damped, for a rigid arm at 250 Hz or more.

Flexible joints may ring at them: `law_gains` has those that they bear.
"""


def controller_parameters(
    gains: EffortGains, more: Mapping[str, Any] | None = None, plugin: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the parameter file of a ros2_control controller manager for these joints, for any namespace.

    It contains joint_state_broadcaster, joint_trajectory_controller (positions), effort_trajectory_controller (the
    effort PID with these gains, which takes `effort` in a trajectory as feedforward torque) and
    forward_effort_controller.

    Parameters
    ----------
    gains
        of the effort PID.
    more
        further parameters of the controller manager itself.
    plugin
        parameters of `feedforward_controller` of the package joint_dynamics_controllers. With them the file also
        contains that controller, `feedforward_trajectory_controller`, which precedes it in the chain, and
        `plain_trajectory_controller`, the effort PID with these gains, for use without feedforward.

    """
    follower = 'joint_trajectory_controller/JointTrajectoryController'
    forwarder = 'forward_command_controller/ForwardCommandController'

    def following(interface: str) -> dict[str, Any]:
        # Every list is one of its own: YAML writes one that comes twice as an alias, which ROS's parser refuses.
        return {
            'joints': list(gains.joint_names),
            'state_interfaces': ['position', 'velocity'],
            'command_interfaces': [interface],
        }

    controllers = {
        'joint_trajectory_controller': (follower, following('position')),
        'effort_trajectory_controller': (follower, {**following('effort'), 'gains': gains.as_parameters()}),
        'forward_effort_controller': (forwarder, {'joints': list(gains.joint_names), 'interface_name': 'effort'}),
    }
    if plugin is not None:
        controllers.update(_chained(gains, follower, plugin))
    manager: dict[str, Any] = {
        'update_rate': round(1.0 / gains.period),
        **(more or {}),
        'joint_state_broadcaster': {'type': 'joint_state_broadcaster/JointStateBroadcaster'},
    }
    manager.update({name: {'type': kind} for name, (kind, _) in controllers.items()})
    # The type once more: a manager that runs already learns it from the spawner, which looks for it there.
    return {
        '/**': {
            'controller_manager': {'ros__parameters': manager},
            **{
                name: {'ros__parameters': {'type': kind, **parameters}}
                for name, (kind, parameters) in controllers.items()
            },
        }
    }


def _chained(gains: EffortGains, follower: str, plugin: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return feedforward_controller and the two that may precede it, a motion's and an effort's: type, parameters."""
    name, joint_names = 'feedforward_controller', gains.joint_names
    law: dict[str, Any] = {
        'joints': list(joint_names),
        'feedback': True,
        **{gain: dict.fromkeys(joint_names, value) for gain, value in PLUGIN_GAINS.items()},
        **plugin,
    }

    def preceding(*interfaces: str, **more: Any) -> tuple[str, dict[str, Any]]:
        return follower, {
            'joints': list(joint_names),
            'command_joints': [f'{name}/{joint}' for joint in joint_names],
            'command_interfaces': list(interfaces),
            'state_interfaces': ['position', 'velocity'],
            **more,
        }

    return {
        name: ('joint_dynamics_controllers/FeedforwardController', law),
        'feedforward_trajectory_controller': preceding('position', 'velocity', 'acceleration'),
        'plain_trajectory_controller': preceding('effort', gains=gains.as_parameters()),
    }


def _rounded(value: float) -> float:
    return float(f'{value:.4g}')
