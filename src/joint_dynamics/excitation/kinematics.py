"""Where the links are: positions of points along a motion, and the way their gradients go back to the joints."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.link_motion import JointPlacements, cross, dot, turn


class LinkFrames:
    """Frames of all links in the base frame, for q (joints, samples) [rad or m].

    Attributes
    ----------
    rotation: list of (3, 3, samples), origin: list of (3, samples) [m], axis: list of (3, samples), all in the base
    frame.
    path: per link the joints that move it.

    """

    def __init__(self, chain: Chain, q: FloatArray, placements: JointPlacements | None = None):
        placements = placements or JointPlacements(chain, q)
        self._chain = chain
        self.rotation: list[FloatArray] = []
        self.origin: list[FloatArray] = []
        self.axis: list[FloatArray] = []
        self.path: list[tuple[int, ...]] = []
        for i, parent in enumerate(chain.parent):
            R, p = placements.rotation[i], placements.position[i]
            if parent >= 0:
                base = self.rotation[parent]
                R = np.stack([turn(base, R[:, k]) for k in range(3)], axis=1)
                p = self.origin[parent] + turn(base, p)
            else:
                p = np.broadcast_to(p, (3, q.shape[1]))
            self.rotation.append(R)
            self.origin.append(p)
            self.axis.append(np.einsum('rks,k->rs', R, chain.axis[i]))
            self.path.append((*(self.path[parent] if parent >= 0 else ()), i))

    def point(self, link: int, offset: FloatArray) -> FloatArray:
        """Return a point fixed at `offset` (3,) [m] in link `link` (−1: the base), (3, samples) in the base frame."""
        if link < 0:
            return np.repeat(offset[:, None], self.origin[0].shape[1], axis=1)
        return self.origin[link] + np.einsum('rks,k->rs', self.rotation[link], offset)

    def pull_back(
        self, link: int, point: FloatArray, weight: FloatArray, samples: slice | FloatArray = slice(None)
    ) -> dict[int, FloatArray]:
        """Return the gradient of Σ weight · point for each joint {joint: (samples,)}.

        `point`, `weight` (3, samples) move with `link`.
        """
        if link < 0:
            return {}
        found = {}
        for j in self.path[link]:
            axis = self.axis[j][:, samples]
            found[j] = (
                dot(axis, weight)
                if self._chain.prismatic[j]
                else dot(axis, cross(point - self.origin[j][:, samples], weight))
            )
        return found
