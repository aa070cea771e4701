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
three evaluations.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.regressor_gradient import RegressorGradient
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.chain import Chain


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
    """Gradient of a scalar with respect to a motion: `q`, `dq`, `ddq` (joints, samples), and the regressor's `rows`."""

    def __init__(self, motion: RobotMotion):
        self._motion = motion
        self.q, self.dq, self.ddq = (np.zeros_like(motion.q) for _ in range(3))
        self._rows: FloatArray | None = None

    @property
    def rows(self) -> FloatArray:
        """Gradient with respect to the regressor (joints, p, samples); add to it in place."""
        if self._rows is None:
            self._rows = np.zeros_like(self._motion.regressor.rows)
        return self._rows

    def collect(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradients with respect to q, dq, ddq, including those through the regressor."""
        if self._rows is None:
            return self.q, self.dq, self.ddq
        through = self._motion.regressor.pull_back(self._rows)
        return self.q + through[0], self.dq + through[1], self.ddq + through[2]
