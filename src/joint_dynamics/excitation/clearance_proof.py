"""The smallest distance between bodies over all of a motion, as a proof: branch and bound over time for every pair by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.excitation.kinematics import LinkFrames
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.signals.extremes import MOST_HALVINGS, MOST_INTERVALS

if TYPE_CHECKING:
    from joint_dynamics.excitation.collision import Clearance

ACCURACY = 1e-5
"""Distance [m] the collision library's may be too great by: it iterates to 1e-6, of the distance or of a metre, whichever is more."""
LOOK = 8
"""Every so many ends of intervals the distances are computed to begin with, so that most of the others need not be."""


class _Search:
    """Pairs and intervals that may hold the smallest distance: pair k over [begin, end] [s], distance at both ends, whether that is exact."""

    def __init__(self, clearance: Clearance, trajectory: Trajectory, begin: NDArray, end: NDArray, enough: float):
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

    def lower(self) -> NDArray:
        """Return what each distance does not fall below over its interval."""
        return (self.distance.sum(axis=0) - (self.end - self.begin) * self.rate) / 2 - ACCURACY

    def keep(self, wanted: NDArray) -> None:
        """Leave out all others, of whose lower bounds the smallest is kept."""
        self.bound = min(self.bound, float(self.lower()[~wanted].min(initial=np.inf)))
        self.pair, self.begin, self.end, self.rate = (
            self.pair[wanted],
            self.begin[wanted],
            self.end[wanted],
            self.rate[wanted],
        )
        self.distance, self.exact = self.distance[:, wanted], self.exact[:, wanted]

    def _look(self, pair: NDArray, t: NDArray, inside: NDArray) -> NDArray:
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
    clearance: Clearance, trajectory: Trajectory, begin: NDArray, end: NDArray, tolerance: float, enough: float
) -> float:
    """Return a distance [m] that no watched pair falls below over the intervals [begin, end] (N,) [s], at most `tolerance` below the smallest.

    enough: a distance beyond which it is not looked for any more precisely; the search ends at the first distance
    below.
    """
    search = _Search(clearance, trajectory, begin, end, enough)
    for _ in range(2 * MOST_HALVINGS):
        if search.seen - ACCURACY < enough < np.inf:
            return search.seen - ACCURACY
        lower = search.lower()
        search.keep((lower < search.seen - ACCURACY - tolerance) & (lower < enough))
        if not 0 < len(search.pair) <= MOST_INTERVALS:
            break
        search.refine()
    search.keep(np.zeros(len(search.pair), dtype=bool))
    return min(search.bound, search.seen - ACCURACY) if np.isfinite(search.seen) else search.bound
