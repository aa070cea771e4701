"""The smallest distance between bodies over all of a motion, as a proof.

Branch and bound over time for every pair by itself.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.excitation.constraint import ALLOWED
from joint_dynamics.excitation.kinematics import LinkFrames
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot.chain import Chain
from joint_dynamics.signals.extremes import MAX_HALVINGS, MAX_INTERVALS, decided

ACCURACY = 1e-5
"""Distance [m] the collision library's may be too great by: it iterates to 1e-6, of the distance or of a metre,
whichever is more."""
LOOK = 8
"""Every so many ends of intervals the distances are computed to begin with, so that most of the others need not be."""


class Distances(Protocol):
    """The distances that are proved, of every watched pair of bodies; `Clearance` explains them."""

    clearance: float
    tolerance: float
    lever: FloatArray

    @property
    def chain(self) -> Chain:
        """The robot's joints."""

    def sphere_distances(self, frames: LinkFrames) -> FloatArray:
        """Return the distances of every watched pair's bounding spheres [m], (pairs, samples)."""

    def distances(self, pair: IntArray, q: FloatArray) -> FloatArray:
        """Return the distance [m] of one watched pair (samples,) at each posture q (joints, samples)."""


class _ClearanceSearch:
    """Pairs and intervals that may hold the smallest distance.

    Pair k over [begin, end] [s], distance at both ends, whether that is exact.
    """

    def __init__(self, clearance: Distances, trajectory: Trajectory, begin: FloatArray, end: FloatArray, enough: float):
        self._of, self._trajectory = clearance, trajectory
        inside = (begin + end) / 2
        first, last = (trajectory.one_sided(t, inside)[0] for t in (begin, end))
        near = [clearance.sphere_distances(LinkFrames(clearance.chain, q)) for q in (first, last)]
        rate = clearance.lever @ trajectory.majorants(begin, end)[1]
        self.seen = np.inf
        exact = np.zeros(near[0].shape, dtype=bool)
        if not np.isfinite(enough) and near[0].size:
            exact[:, ::LOOK] = True
            pair, place = np.nonzero(exact)
            near[0][pair, place] = clearance.distances(pair, first[:, place])
            self.seen = float(near[0][exact].min())
        wide = (near[0] + near[1] - (end - begin) * rate) / 2 - ACCURACY < min(self.seen, enough)
        self.bound = float(
            np.where(wide, np.inf, (near[0] + near[1] - (end - begin) * rate) / 2 - ACCURACY).min(initial=np.inf)
        )
        self.pair, place = np.nonzero(wide)
        self.begin, self.end, self.rate = begin[place], end[place], rate[wide]
        self.distance = np.array([near[0][wide], near[1][wide]])
        self.exact = np.array([exact[wide], np.zeros(len(place), dtype=bool)])

    def lower(self) -> FloatArray:
        """Return what each distance does not fall below over its interval."""
        return (self.distance.sum(axis=0) - (self.end - self.begin) * self.rate) / 2 - ACCURACY

    def keep(self, wanted: BoolArray) -> None:
        """Leave out all others, of whose lower bounds the smallest is kept."""
        self.bound = min(self.bound, float(self.lower()[~wanted].min(initial=np.inf)))
        self.pair, self.begin, self.end, self.rate = (
            self.pair[wanted],
            self.begin[wanted],
            self.end[wanted],
            self.rate[wanted],
        )
        self.distance, self.exact = self.distance[:, wanted], self.exact[:, wanted]

    def _look(self, pair: IntArray, t: FloatArray, inside: FloatArray) -> FloatArray:
        found = self._of.distances(pair, self._trajectory.one_sided(t, inside)[0])
        self.seen = min(self.seen, float(found.min(initial=np.inf)))
        return found

    def refine(self) -> None:
        """Compute distances that were bounds by spheres, and halve the intervals whose distances are exact."""
        middle, both = (self.begin + self.end) / 2, self.exact.all(axis=0)
        for side, t in enumerate((self.begin, self.end)):
            rough = ~self.exact[side]
            self.distance[side, rough] = self._look(self.pair[rough], t[rough], middle[rough])
        half = self._look(self.pair[both], middle[both], middle[both])
        self.exact[:] = True
        left = self.distance.copy()
        left[1, both] = half
        end = np.where(both, middle, self.end)
        self.begin, self.end = np.append(self.begin, middle[both]), np.append(end, self.end[both])
        self.distance = np.concatenate([left, np.array([half, self.distance[1, both]])], axis=1)
        self.pair, self.exact = np.append(self.pair, self.pair[both]), np.ones(self.distance.shape, dtype=bool)
        speed = self._trajectory.majorants(self.begin, self.end)[1]
        self.rate = np.einsum('kj,jk->k', self._of.lever[self.pair], speed)


def certified_clearance(
    clearance: Distances, trajectory: Trajectory, begin: FloatArray, end: FloatArray, enough: float
) -> float:
    """Return what the distance of every watched pair is beyond the clearance at least [m], over [begin, end] (N,) [s].

    It is at most the tolerance, and what the library's distances may be off by, below the smallest there is.
    enough: [m], whether everything is beyond this is then the only question; the first distance below ends the search.
    """
    least = clearance.clearance
    search = _ClearanceSearch(clearance, trajectory, begin, end, enough + least)
    for _ in range(2 * MAX_HALVINGS):
        seen = search.seen - ACCURACY - least
        if seen < enough < np.inf:
            return seen
        tolerance, allowed = clearance.tolerance * least, ALLOWED * least
        search.keep(~decided(search.lower() - least, seen, tolerance, enough, allowed))
        if not 0 < len(search.pair) <= MAX_INTERVALS:
            break
        search.refine()
    search.keep(np.zeros(len(search.pair), dtype=bool))
    return min(search.bound, search.seen - ACCURACY) - least
