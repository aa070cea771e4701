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

"""A motion at a batch of samples, with the quantities that limits and criteria need, and their gradients.

Points of the links and the regressor each come with a vector-Jacobian product: exact gradients at the cost of about
three evaluations. The regressor is that of `joint_dynamics.robot` (symbols there). Joint j has axis z and lever u,
link i the motion w, ẇ, a, all in frame i:

    Σ_p Λ_p row_p = ẇ·S z + w·S (z × w) + a·(z × m) + u·(ẇ × m + w × (w × m)) + μ u·a.

Λ weights the link's ten columns: S is the symmetric matrix of XX … ZZ, m the weights of MX MY MZ, μ that of M. The
gradient with respect to each factor follows from this line; the recursion over the links is then run backwards (reverse
accumulation), sample by sample.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.newton_euler import (
    Vector,
    add,
    base_motion,
    cross,
    dot,
    placement,
    scaled,
    turn,
    turn_back,
    vector,
)
from joint_dynamics.robot.regressor import carry, fill_link_rows
from joint_dynamics.robot.standard_parameters import PER_JOINT, column, coupled_columns, drive_columns


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross product along the first axis; np.cross moves axes about for every call."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


class LinkFrames:
    """Frames of all links in the base frame, for q (joints, samples) [rad or m], in the order of the tree.

    Attributes
    ----------
    rotation, origin, axis
        lists of (3, 3, samples), (3, samples) [m] and (3, samples), all in the base frame.
    path
        per link the joints of the tree that move it.

    """

    def __init__(self, chain: Chain, q: FloatArray):
        self._chain = chain
        self.rotation: list[FloatArray] = []
        self.origin: list[FloatArray] = []
        self.axis: list[FloatArray] = []
        self.path: list[tuple[int, ...]] = []
        for link, angle in zip(chain.links(), chain.tree.positions(q.T).T, strict=True):
            R, p = link['rotation'][:, :, None], link['translation'][:, None]
            if link['prismatic']:
                R, p = np.broadcast_to(R, (3, 3, len(angle))), p + link['slide'][:, None] * angle
            else:
                # Rodrigues: E + sin q [axis]× + (1 − cos q) [axis]×²
                turned = link['by_sine'][:, :, None] * np.sin(angle)
                turned += link['by_versine'][:, :, None] * (1 - np.cos(angle))
                R = turned + R
            parent = int(link['parent'])
            if parent >= 0:
                base = self.rotation[parent]
                R, p = np.einsum('ijs,jks->iks', base, R), self.origin[parent] + np.einsum('ijs,js->is', base, p)
            self.rotation.append(R)
            self.origin.append(np.broadcast_to(p, (3, len(angle))))
            self.axis.append(np.einsum('rks,k->rs', R, link['axis']))
            self.path.append((*(self.path[parent] if parent >= 0 else ()), len(self.path)))

    def point(self, link: int, offset: FloatArray) -> FloatArray:
        """Return a point fixed at `offset` (3,) [m] in link `link` (−1: the base), (3, samples) in the base frame."""
        if link < 0:
            return np.repeat(offset[:, None], self.origin[0].shape[1], axis=1)
        return self.origin[link] + np.einsum('rks,k->rs', self.rotation[link], offset)

    def pull_back(
        self, link: int, point: FloatArray, weight: FloatArray, samples: slice | FloatArray = slice(None)
    ) -> dict[int, FloatArray]:
        """Return the gradient of Σ weight · point for each joint, {joint: (samples,)}; the point moves with `link`.

        point, weight: (3, samples).
        """
        if link < 0:
            return {}
        gradients: dict[int, FloatArray] = {}
        for k in self.path[link]:
            axis = self.axis[k][:, samples]
            lever = weight if self._chain.prismatic[k] else _cross(point - self.origin[k][:, samples], weight)
            gradient = np.einsum('rs,rs->s', axis, lever)
            for j in np.flatnonzero(self._chain.tree.matrix[k]).tolist():
                gradients[j] = gradients.get(j, 0.0) + self._chain.tree.matrix[k, j] * gradient
        return gradients


class RegressorGradient:
    """The regressor of one batch of samples, stored with the data for its reverse pass.

    Parameters
    ----------
    model
        the robot.
    q, dq, ddq
        (joints, samples), rad (m) and their derivatives.
    sign_speed
        speed [rad/s] over which the Coulomb column rises, tanh(dq / sign_speed); 0: the sign itself, with gradient
        zero.

    Attributes
    ----------
    rows
        (joints, p, samples), columns in the order of `model.parameter_names`.

    """

    def __init__(self, model: RobotModel, q: FloatArray, dq: FloatArray, ddq: FloatArray, sign_speed: float = 0.0):
        self._model, self._dq, self._sign_speed = model, dq, sign_speed
        n, samples = q.shape
        self._links = model.chain.links()
        self._motion = model.chain.motion(*(np.ascontiguousarray(each.T) for each in (q, dq, ddq)))
        self.rows = np.zeros((n, len(model.parameter_names), samples))
        joint, link, number = np.ix_(np.arange(n), model.chain.tree.link, np.arange(10))
        place = joint * self.rows.shape[1] + link * PER_JOINT + number
        fill_link_rows(self._links, place, self._motion, self.rows.reshape(-1, samples))
        for i in range(n):
            sign = np.tanh(dq[i] / sign_speed) if sign_speed else np.sign(dq[i])
            self.rows[i, drive_columns(i)] = ddq[i], dq[i], sign, np.ones(samples)
        self._fill_coupled(dq, ddq)

    def _fill_coupled(self, dq: FloatArray, ddq: FloatArray) -> None:
        coupling, columns = self._model.coupling, coupled_columns(len(self._links))
        if coupling is None:
            return
        self.rows[:, columns] = coupling.regressor_rows(dq, ddq)
        if self._sign_speed:
            for index, c in enumerate(coupling.ratios):
                self.rows[:, columns][:, 3 * index + 2] = c[:, None] * np.tanh(c @ dq / self._sign_speed)

    def pull_back(self, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradients of Σ weight · rows with respect to q, dq and ddq, (joints, samples) each.

        weight: same shape as `rows`.
        """
        tree = self._model.chain.tree
        of_tree = np.zeros((3, len(self._links), self._dq.shape[1]))
        pull_back(self._links, self._motion, np.ascontiguousarray(weight), *of_tree)
        grad_q, grad_dq, grad_ddq = of_tree if tree.plain else tree.matrix.T @ of_tree
        self._drive_gradient(weight, grad_dq, grad_ddq)
        return grad_q, grad_dq, grad_ddq

    def _drive_gradient(self, weight: FloatArray, grad_dq: FloatArray, grad_ddq: FloatArray) -> None:
        n = len(weight)
        for i in range(n):
            rotor, viscous, coulomb, _ = weight[i, drive_columns(i)]
            grad_ddq[i] += rotor
            grad_dq[i] += viscous
            if self._sign_speed:
                grad_dq[i] += coulomb * (1 - self.rows[i, column('Fc', i)] ** 2) / self._sign_speed
        if self._model.coupling is not None:
            # the columns are linear in dq and ddq, one joint each: their slopes are their values at unit motion
            unit, none = np.eye(n), np.zeros((n, n))
            extra = weight[:, coupled_columns(len(self._links))]
            by_speed = self._model.coupling.regressor_rows(unit, none)
            by_speed[:, 2::3] = 0.0
            grad_dq += np.einsum('jpk,jps->ks', by_speed, extra)
            if self._sign_speed:
                for index, c in enumerate(self._model.coupling.ratios):
                    slope = (1 - np.tanh(c @ self._dq / self._sign_speed) ** 2) / self._sign_speed
                    grad_dq += c[:, None] * (c @ extra[:, 3 * index + 2]) * slope
            grad_ddq += np.einsum('jpk,jps->ks', self._model.coupling.regressor_rows(none, unit), extra)


@compiled
def _grow(out: FloatArray, a: Vector) -> None:
    """Add a vector to `out` (3,)."""
    out[0] += a[0]
    out[1] += a[1]
    out[2] += a[2]


@compiled
def _link_gradient(
    weight: FloatArray,
    motion: tuple[Vector, Vector, Vector],
    lever: tuple[Vector, Vector],
    motion_bar: FloatArray,
    lever_bar: FloatArray,
) -> None:
    """Add the gradients of a link's ten columns, weighed (10,), by w, ẇ, a (9,) and by z, u of one joint (6,)."""
    (w, dw, a), (z, u) = motion, lever
    b = weight
    S, m, mu = ((b[0], b[1], b[2]), (b[1], b[3], b[4]), (b[2], b[4], b[5])), (b[6], b[7], b[8]), b[9]
    Sw, mw, uw, um = turn(S, w), dot(m, w), dot(u, w), dot(u, m)
    _grow(motion_bar[0:3], add(turn(S, cross(z, w)), cross(Sw, z)))
    _grow(motion_bar[0:3], add(add(scaled(mw, u), scaled(uw, m)), scaled(-2.0 * um, w)))
    _grow(motion_bar[3:6], add(turn(S, z), cross(m, u)))
    _grow(motion_bar[6:9], add(cross(z, m), scaled(mu, u)))
    _grow(lever_bar[0:3], add(add(turn(S, dw), cross(w, Sw)), cross(m, a)))
    _grow(lever_bar[3:6], add(add(cross(dw, m), scaled(mw, w)), add(scaled(-dot(w, w), m), scaled(mu, a))))


@compiled
def pull_back(
    links: Any,
    motion: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray],
    weight: FloatArray,
    grad_q: FloatArray,
    grad_dq: FloatArray,
    grad_ddq: FloatArray,
) -> None:
    """Add the gradients of Σ weight · rows of the inertial columns by the tree's N joints to grad_… (N, samples).

    weight: (n, p, samples). motion: q, sin q, 1 − cos q, dq, ddq of the tree, (samples, N) each.
    """
    q, sine, versine, dq, ddq = motion
    n = len(links)
    moving, levers, own = np.zeros((n, 9)), np.zeros((n, n, 6)), np.zeros(10)
    motion_bar, lever_bar = np.zeros((n, 9)), np.zeros((n, n, 6))
    for s in range(len(q)):
        for i in range(n):
            placed = placement(links[i], q[s, i], sine[s, i], versine[s, i])
            carry(links, i, placed, dq[s, i], ddq[s, i], moving, levers)
        motion_bar[:] = 0.0
        lever_bar[:] = 0.0
        for i in range(n - 1, -1, -1):
            link, up = links[i], links[i].parent
            now = vector(moving[i, 0:3]), vector(moving[i, 3:6]), vector(moving[i, 6:9])
            j = i
            while j >= 0:
                for k in range(10):
                    own[k] = 0.0
                    for m in range(links[j].leaders):
                        own[k] += links[j].ratio[m] * weight[links[j].leader[m], PER_JOINT * link.number + k, s]
                lever = vector(levers[i, j, 0:3]), vector(levers[i, j, 3:6])
                _link_gradient(own, now, lever, motion_bar[i], lever_bar[i, j])
                j = links[j].parent
            R, p = placement(link, q[s, i], sine[s, i], versine[s, i])
            w0, dw0, a0 = base_motion(link)
            if up >= 0:
                w0, dw0, a0 = vector(moving[up, 0:3]), vector(moving[up, 3:6]), vector(moving[up, 6:9])
            # the parent's motion at this link's origin, in this link's frame
            w1, dw1 = turn_back(R, w0), turn_back(R, dw0)
            a1 = turn_back(R, add(a0, add(cross(dw0, p), cross(w0, cross(w0, p)))))
            axis = vector(link.axis)
            gyro, bar = cross(w1, axis), motion_bar[i]
            w_bar, dw_bar, a_bar = vector(bar[0:3]), vector(bar[3:6]), vector(bar[6:9])
            if link.prismatic:
                grad_ddq[i, s] += dot(axis, a_bar)
                grad_dq[i, s] += 2.0 * dot(gyro, a_bar)
                w_bar = add(w_bar, scaled(2.0 * dq[s, i], cross(axis, a_bar)))
            else:
                grad_ddq[i, s] += dot(axis, dw_bar)
                grad_dq[i, s] += dot(axis, w_bar) + dot(gyro, dw_bar)
                w_bar = add(w_bar, scaled(dq[s, i], cross(axis, dw_bar)))
                # d(Rᵀx)/dq = Rᵀx × axis for everything that was turned into this frame
                moment = add(add(cross(w_bar, w1), cross(dw_bar, dw1)), cross(a_bar, a1))
                j = up
                while j >= 0:
                    z_bar, u_bar = vector(lever_bar[i, j, 0:3]), vector(lever_bar[i, j, 3:6])
                    moment = add(moment, cross(z_bar, vector(levers[i, j, 0:3])))
                    moment = add(moment, cross(u_bar, vector(levers[i, j, 3:6])))
                    j = links[j].parent
                grad_q[i, s] += dot(axis, moment)
            if up < 0:
                continue  # gravity is the same everywhere: the position of a first slide acts on nothing
            a_up = turn(R, a_bar)
            before = motion_bar[up]
            _grow(before[0:3], add(turn(R, w_bar), scaled(dot(a_up, w0), p)))
            _grow(before[0:3], add(scaled(dot(w0, p), a_up), scaled(-2.0 * dot(a_up, p), w0)))
            _grow(before[3:6], add(turn(R, dw_bar), cross(p, a_up)))
            _grow(before[6:9], a_up)
            p_bar = add(cross(a_up, dw0), add(scaled(dot(w0, a_up), w0), scaled(-dot(w0, w0), a_up)))
            j = up
            while j >= 0:
                u_up = turn(R, vector(lever_bar[i, j, 3:6]))
                _grow(lever_bar[up, j, 0:3], add(turn(R, vector(lever_bar[i, j, 0:3])), cross(p, u_up)))
                _grow(lever_bar[up, j, 3:6], u_up)
                p_bar = add(p_bar, cross(u_up, vector(levers[up, j, 0:3])))
                j = links[j].parent
            if link.prismatic:
                grad_q[i, s] += dot(vector(link.slide), p_bar)


class RobotMotion:
    """q, dq, ddq of a robot, (joints, samples) each; regressor and link frames are computed when first asked for.

    Parameters
    ----------
    sign_speed
        see `RegressorGradient`.
    """

    def __init__(self, model: RobotModel, q: FloatArray, dq: FloatArray, ddq: FloatArray, sign_speed: float = 0.0):
        self.model = model
        self.q, self.dq, self.ddq = q, dq, ddq
        self._sign_speed = sign_speed

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self.q.shape[1]

    @cached_property
    def regressor(self) -> RegressorGradient:
        """The regressor and its reverse pass."""
        return RegressorGradient(self.model, self.q, self.dq, self.ddq, self._sign_speed)

    @cached_property
    def frames(self) -> LinkFrames:
        """Frames of all links in the base frame."""
        return LinkFrames(self.model.chain, self.q)


class Sensitivity:
    """Gradient of a scalar with respect to a motion; constraints and criteria add to it in place.

    `q`, `dq`, `ddq` (joints, samples), and the regressor's `rows` (joints, p, samples).
    """

    def __init__(self, motion: RobotMotion):
        self._motion = motion
        self.q, self.dq, self.ddq = (np.zeros_like(motion.q) for _ in range(3))
        self.rows = np.zeros_like(motion.regressor.rows)

    def collect(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradients with respect to q, dq, ddq, including those through the regressor."""
        through = self._motion.regressor.pull_back(self.rows)
        return self.q + through[0], self.dq + through[1], self.ddq + through[2]
