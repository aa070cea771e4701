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

"""Gains of an effort PID, as ros2_control's joint_trajectory_controller has one.

They follow from the inertia of the arm, the period of the loop and its delay. In one period T, a sampled loop removes
the share d T / I of a joint's speed. Above 1 (with a torque that arrives one period late; above 2 without delay) it
adds energy, and the joint chatters at rest. The smallest inertia, 1/(M⁻¹)ᵢᵢ, is that with all other joints free.

Flexible joints oscillate at gains that a rigid arm tolerates: where their stiffness is described, all gains are lowered
until the sampled loop on the flexible arm is stable as well (`elastic_loop`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.elastic_loop import POSTURES as FLEXIBLE_POSTURES
from joint_dynamics.control.elastic_loop import ElasticJoints, largest_share, link_bodies, mass_matrices, periods_late

POSTURES = 1024  # postures of the inertias, spread evenly over the joints' ranges (one turn at most)
RATIO = 0.4  # largest d T / I of a joint, relative to the bound for a torque that late
RIGID_DAMPING = 0.5  # smallest damping ratio of a joint of a rigid arm, by d alone
FLEXIBLE_DAMPING = 0.2  # the same with flexible joints, which tolerate less d: a lower ratio for a usable p
GAIN_MARGIN = 2.0  # factor (6 dB) by which all gains may grow before a flexible arm becomes unstable
LARGEST = 0.9  # largest eigenvalue of T M⁻¹ D in any posture, relative to the limit of a single joint


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
    """

    joint_names: tuple[str, ...]
    period: float
    p: FloatArray
    d: FloatArray
    smallest: FloatArray
    largest: FloatArray
    gravity: FloatArray

    @property
    def sag(self) -> FloatArray:
        """Sag of each joint under p alone, without feedforward, where gravity is largest, (n,) rad."""
        return self.gravity / self.p


def effort_gains(arm: Arm, period: float, *, joints: Sequence[ElasticJoints] = (), delay: float = 0.0) -> EffortGains:
    """Return gains that are stable in every posture, whether the torque arrives at once or up to `delay` later.

    Parameters
    ----------
    arm
        links with payload and rotors, those of coupled drives included; `Arm(robot)` is that of the URDF alone.
    period
        T of the loop, s.
    joints
        flexible joints (`elastic_joints`); the loop is stable with each of them, even at twice the gains. Empty: rigid.
    delay
        time from measurement to torque beyond one period, s, as of a driver or of topics in between.

    Raises
    ------
    JointDynamicsError
        For a period or delay out of range, inertias that no body can have, and joints that oscillate at any gains.
    """
    late = 1 + periods_late(period, delay)[1]
    postures, links, rotors = mass_matrices(arm, POSTURES)
    inverses = np.linalg.inv(links + rotors)
    smallest = 1.0 / inverses.diagonal(axis1=1, axis2=2).max(axis=0)
    largest = (links + rotors).diagonal(axis1=1, axis2=2).max(axis=0)
    # A speed reduced by the share k each period, N periods late, decays for k < 2 sin(π / (4 N + 2)): 1 for N = 1.
    bound = 2.0 * math.sin(math.pi / (4 * late + 2))
    d = RATIO * bound * smallest / period
    # Joints that move together may exceed the bound in a common direction.
    fastest = np.linalg.eigvals(period * inverses * d).real.max()
    d = d * min(1.0, LARGEST * bound / fastest)
    damping = FLEXIBLE_DAMPING if joints else RIGID_DAMPING
    bodies = link_bodies(arm) if joints else arm.rigid
    loops = [joint.sampled(bodies.mass_matrix(q), period) for joint in joints for q in postures[:FLEXIBLE_POSTURES]]

    def is_stable(share: float) -> bool:
        own = share * d
        p, own = np.diag(own**2 / (4 * damping**2 * largest)), np.diag(own)
        return all(loop.is_stable(m * p, m * own, range(late + 1)) for loop in loops for m in (1.0, GAIN_MARGIN))

    d = d * largest_share(is_stable)
    p = d**2 / (4 * damping**2 * largest)
    gravity = np.abs([arm.rigid.gravity(q) for q in postures]).max(axis=0)
    return EffortGains(arm.joint_names, period, p, d, smallest, largest, gravity)


TRAJECTORY = 'joint_trajectory_controller/JointTrajectoryController'
LAW = 'feedforward_controller'
LAW_TYPE = 'joint_dynamics_controllers/FeedforwardController'
# Gains [1/s², 1/s³, 1/s] of the law's PID for a rigid arm, critically damped; `plugin` may state others.
LAW_GAINS = {'kp': 400.0, 'ki': 0.0, 'kd': 40.0}


def controller_parameters(gains: EffortGains, plugin: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the parameter file of a ros2_control controller manager for these joints, for any namespace.

    It contains joint_state_broadcaster, joint_trajectory_controller (positions) and effort_trajectory_controller (the
    effort PID with these gains, which takes `effort` in a trajectory as feedforward torque).

    Parameters
    ----------
    gains
        of the effort PID.
    plugin
        parameters of the C++ controller `feedforward_controller`. With them the file also contains that controller,
        `feedforward_trajectory_controller`, which precedes it in the chain, and `plain_trajectory_controller`, the
        effort PID with these gains, for use without feedforward.
    """
    names = gains.joint_names

    # Every list is a new one: YAML writes a repeated list as an alias, which ROS's parser refuses.
    def trajectory(*interfaces: str, **further: Any) -> tuple[str, dict[str, Any]]:
        return TRAJECTORY, {
            'joints': list(names),
            'state_interfaces': ['position', 'velocity'],
            'command_interfaces': list(interfaces),
            **further,
        }

    def pid() -> dict[str, dict[str, float]]:
        # i = 0: an integral works against a feedforward torque.
        pairs = zip(names, gains.p, gains.d, strict=True)
        rounded = {name: {'p': float(f'{p:.4g}'), 'd': float(f'{d:.4g}')} for name, p, d in pairs}
        return {name: {'i': 0.0, 'ff_velocity_scale': 0.0, **own} for name, own in rounded.items()}

    controllers = {
        'joint_trajectory_controller': trajectory('position'),
        'effort_trajectory_controller': trajectory('effort', gains=pid()),
    }
    if plugin is not None:
        law: dict[str, Any] = {'joints': list(names), 'feedback': True}
        law |= {gain: dict.fromkeys(names, value) for gain, value in LAW_GAINS.items()} | dict(plugin)
        chained = [f'{LAW}/{joint}' for joint in names]
        controllers |= {
            LAW: (LAW_TYPE, law),
            'feedforward_trajectory_controller': trajectory(
                'position', 'velocity', 'acceleration', command_joints=list(chained)
            ),
            'plain_trajectory_controller': trajectory('effort', command_joints=list(chained), gains=pid()),
        }
    manager: dict[str, Any] = {
        'update_rate': round(1.0 / gains.period),
        'joint_state_broadcaster': {'type': 'joint_state_broadcaster/JointStateBroadcaster'},
    }
    # Both places: a manager started with this file reads the first, a running one gets the second from the spawner.
    for name, (kind, given) in controllers.items():
        fallback = given.get('fallback_controllers')
        manager[name] = {'type': kind, **({'fallback_controllers': list(fallback)} if fallback else {})}
    sections = {name: {'ros__parameters': {'type': kind, **given}} for name, (kind, given) in controllers.items()}
    return {'/**': {'controller_manager': {'ros__parameters': manager}, **sections}}
