"""Where the links are: positions of points along a motion, and the way their gradients go back to the joints."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot.chain import Chain


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross product along the first axis; np.cross moves axes about for every call."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


class LinkFrames:
    """Frames of all links in the base frame, for q (joints, samples) [rad or m].

    Attributes
    ----------
    rotation: list of (3, 3, samples), origin: list of (3, samples) [m], axis: list of (3, samples), all in the base
    frame.
    path: per link the joints that move it.

    """

    def __init__(self, chain: Chain, q: FloatArray):
        self._chain = chain
        self.rotation: list[FloatArray] = []
        self.origin: list[FloatArray] = []
        self.axis: list[FloatArray] = []
        self.path: list[tuple[int, ...]] = []
        for link, angle in zip(chain.links(), q, strict=True):
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
        """Return the gradient of Σ weight · point for each joint {joint: (samples,)}.

        `point`, `weight` (3, samples) move with `link`.
        """
        if link < 0:
            return {}
        found = {}
        for j in self.path[link]:
            axis = self.axis[j][:, samples]
            lever = weight if self._chain.prismatic[j] else _cross(point - self.origin[j][:, samples], weight)
            found[j] = np.einsum('rs,rs->s', axis, lever)
        return found
