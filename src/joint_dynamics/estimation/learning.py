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

"""How each joint learns from a sample, compiled: lost motion, stiffness, friction.

The functions take a `sample.Sample` e and its settings u. The laws are in `lost_motion`, `spring` and `friction`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.friction import CHECK, coulomb_viscous_step, friction_step
from joint_dynamics.estimation.lost_motion import lost_motion_step
from joint_dynamics.estimation.spring import elastic, stiffness_step

# Flags of a sample, beside JUMPED and DUE of `spring`.
READY = 4  # there are estimates
BEGUN = 8  # a block of the change detector has begun
COMPLETE = 16  # a block of the change detector is complete
BOUND = 32  # the covariance of the friction has to be bounded

AS_DESCRIBED, ADAPTIVE, COULOMB_VISCOUS = range(3)
"""How friction is learnt."""
BY_MOTOR, BY_LINK, BY_ALL = range(3)
"""Torque that teaches the stiffness."""

LASTING_SLACK = 0.3  # two standard deviations of the lost motion, relative, where a lasting error would be learnt
SMALLEST = 1e-12  # rad or N·m, avoids a division by zero


@compiled
def learn_stiffness(e: Any, u: Any, learning: bool, free: bool) -> int:
    """Follow the play and let the stiffness learn; return flags. free: whether no joint has a contact."""
    todo, value = 0, e.smoother.states[0]
    for j in range(len(e.estimate)):
        s, lost, theta = e.estimate[j], e.play[j], value[u.theta + j]
        if u.backlash:
            lost_motion_step(lost, theta, s.torque_link, s.half_backlash)
        if not learning:
            continue
        measure = s.torque_motor if u.source == BY_MOTOR else s.torque_link if u.source == BY_LINK else s.torque
        phi = theta - value[u.q + j] - lost.motion
        inertial = s.rotor_inertia_deviation * abs(e.smoother.states[2, u.theta + j])
        wrong = np.hypot(0.5 * (LASTING_SLACK * lost.slack + lost.uncertainty), s.error_deviation)
        unknown = np.hypot(wrong / max(abs(phi), SMALLEST), inertial / max(abs(measure), SMALLEST))
        if not free or abs(e.smoother.states[1, u.theta + j]) < u.omega_min:
            unknown = np.inf
        state, learnt, spring = e.springs[j], (e.learnt[0][j], e.learnt[1][j]), e.spring
        in_force = spring.P[j], spring.alpha[j], spring.square[j : j + 1]
        x = phi * state.per_scale
        before = elastic(spring.alpha[j], x, state.reach, e.scratch)[0]
        sample = phi, measure - s.damping_torque, unknown, np.sign(e.smoother.states[1, u.theta + j])
        todo |= stiffness_step(state, learnt, in_force, e.spring_map[j], sample, e.scratch)[1]
        # A change of the map is no push.
        e.contacts[j].base[0] += elastic(spring.alpha[j], x, state.reach, e.scratch)[0] - before
    return todo


@compiled
def learn_friction(e: Any, u: Any, free: bool) -> int:
    """Let the friction learn; return flags. free: whether no joint has a contact."""
    for j in range(len(e.estimate)):
        s, alpha = e.estimate[j], e.alpha[j]
        residual = s.rotor_torque - s.torque_link
        if u.learns == ADAPTIVE:
            residual -= e.smoother.states[0, u.F_v + j]
            friction_step(e.friction[j], alpha, residual, s.coulomb_friction, s.held_speed, free)
        elif u.learns == COULOMB_VISCOUS:
            omega = e.smoother.states[1, u.theta + j]
            coulomb_viscous_step(e.coulomb[j], e.coulomb_P[j], alpha, residual, omega, free)
            s.coulomb_level = abs(alpha[0])
    return BOUND if u.learns == COULOMB_VISCOUS and e.coulomb[0].updates % CHECK == 0 else 0
