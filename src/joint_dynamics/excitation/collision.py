"""Clearance: a limit on the distances between the robot's own bodies, and to the floor.

The smallest distance over a whole motion is proved by branch and bound over time, separately for every pair.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import BoolArray, FloatArray, IntArray
from joint_dynamics.excitation.constraint import LIMIT_TOLERANCE, Constraint
from joint_dynamics.excitation.excitation_settings import LimitSettings
from joint_dynamics.excitation.geometry import FLOOR, CollisionBodies
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.motion import LinkFrames, RobotMotion, Sensitivity
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel
from joint_dynamics.signals.polynomial import MAX_HALVINGS, MAX_INTERVALS, decided

UNIT = 0.03
"""Distance [m] that counts as much as a whole limit of the other kinds while searching."""
NEAR_DISTANCE = 0.01
"""Distance [m] beyond the clearance above which a lower bound of the distance will do."""
TOUCHING_DISTANCE = 1e-6
"""Distance [m] too small to tell a direction by."""
POSTURES = 200
ACCURACY = 1e-5
"""Distance [m] the collision library's may be too great by: it iterates to 1e-6, of the distance or of a metre,
whichever is more."""
FIRST_EXACT_EVERY = 8
"""Every so many ends of intervals the distances are computed to begin with, so that most of the others need not be."""


class Clearance(Constraint):
    """Distance of every watched pair of bodies at least `clearance` [m]: slack = (distance − clearance) / 0.03 m.

    Distances are those of the given bodies (GJK and EPA of pinocchio's collision library), negative where they overlap;
    where bounding spheres are far enough apart, their distance is used instead. A pair that is closer than the
    clearance in each of 200 random postures touches by construction and is not watched.

    Attributes
    ----------
    pairs
        names of the two links of every watched pair.
    touching
        pairs left out because they always touch.
    clearance
        in m.
    lever
        (pairs, joints), largest change of a pair's distance per unit of every joint's motion [m/rad, m/m].

    """

    kind = 'clearance'
    tolerance = 0.005

    def __init__(self, model: RobotModel, settings: LimitSettings):
        assert settings.clearance is not None
        self.clearance = settings.clearance
        self.scale = UNIT / settings.clearance
        limits = MotionLimits.of(model, settings)
        self._robot = model
        self._bodies = bodies = CollisionBodies(model, settings)
        self._data = model.pinocchio.createData()
        pairs = bodies.pairs(model, settings.ignored_pairs)
        self._watch(pairs)
        rng = np.random.default_rng(1)
        postures = rng.uniform(limits.lower, limits.upper, (POSTURES, model.n)).T
        always = np.all(
            self._distances(RobotMotion(model, postures, postures, postures), -np.inf) < self.clearance, axis=1
        )
        self.touching = [(bodies.links[i], bodies.links[k]) for (i, k), drop in zip(pairs, always, strict=True) if drop]
        self._watch([pair for pair, drop in zip(pairs, always, strict=True) if not drop])
        self.pairs = [(bodies.links[i], bodies.links[k]) for i, k in self._pairs]
        levers = [bodies.levers(model, pair, limits) for pair in self._pairs]
        self.lever = np.array(levers).reshape(len(self._pairs), model.n)

    def _watch(self, pairs: list[tuple[int, int]]) -> None:
        self._pairs = pairs
        geometry = self._bodies.geometry
        geometry.removeAllCollisionPairs()
        for pair in pairs:
            geometry.addCollisionPair(pinocchio.CollisionPair(*pair))
        self._geometry_data = geometry.createData()
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)
            for request in self._geometry_data.distanceRequests:
                # each distance starts anew: from the last one's directions it would depend, in its last digits, on what
                # was asked before
                request.enable_cached_gjk_guess = False
        self._last: tuple[RobotMotion, dict[int, list[tuple[Any, ...]]]] | None = None
        # per pair and sample of a batch: distance and posture when it was last computed
        self._met: FloatArray | None = None

    def _distances(self, motion: RobotMotion, beyond: float) -> FloatArray:
        """Return distances (pairs, samples).

        Exact below `beyond` m, bounds from below elsewhere (−inf: exact throughout).
        """
        bound = self._bodies.sphere_distances(motion.frames, self._pairs)
        wanted = np.ones(bound.shape, dtype=bool)
        if beyond > -np.inf:
            near = bound < beyond
            if self._met is None or self._met.shape[1:] != bound.shape:
                self._met = np.full((motion.q.shape[0] + 1, *bound.shape), -np.inf)
                self._met[1:] = 0.0
            # a search moves in small steps: a distance met before can have changed by so much only
            pair, sample = np.nonzero(near)
            before = self._met[:, pair, sample]
            moved = np.abs(motion.q[:, sample] - before[1:])
            still = before[0] - np.einsum('jk,kj->k', moved, self.lever[pair])
            bound[pair, sample] = np.maximum(bound[pair, sample], still)
            wanted = bound < beyond
        nearest: dict[int, list[tuple[Any, ...]]] = {}
        self._exact(motion, wanted, bound, beyond, nearest)
        if beyond > -np.inf:
            pair, sample = np.nonzero(wanted)
            assert self._met is not None
            self._met[0, pair, sample] = bound[pair, sample]
            self._met[1:, pair, sample] = motion.q[:, sample]
        self._last = motion, nearest
        return bound

    def _exact(
        self,
        motion: RobotMotion,
        wanted: BoolArray,
        distances: FloatArray,
        beyond: float,
        nearest: dict[int, list[tuple[Any, ...]]],
    ) -> None:
        """Fill in the distances that are wanted.

        Keep (sample, point 1, point 2, normal) of every pair where below `beyond`.
        """
        robot, geometry, data = self._robot.pinocchio, self._bodies.geometry, self._geometry_data
        for sample in np.flatnonzero(wanted.any(axis=0)):
            posture = self._robot.tree_position(motion.q[:, sample].copy())
            pinocchio.updateGeometryPlacements(robot, self._data, geometry, data, posture)
            for k in np.flatnonzero(wanted[:, sample]).tolist():
                result = pinocchio.computeDistance(geometry, data, k)
                distances[k, sample] = distance = result.min_distance
                if distance < beyond:
                    first, second = np.array(
                        [result.getNearestPoint1(), result.getNearestPoint2()]
                    )  # a copy: they are views
                    nearest.setdefault(k, []).append(
                        (sample, first, second, self._normal(k, distance, second - first, result.normal))
                    )

    def _normal(self, pair: int, distance: float, gap: FloatArray, given: FloatArray) -> FloatArray:
        """Return the direction from body 1 to body 2 in which their distance grows.

        It lies between the nearest points, which the library's release 2 does not tell where bodies overlap, nor always
        the normal.
        """
        if abs(distance) > TOUCHING_DISTANCE and np.linalg.norm(gap) > TOUCHING_DISTANCE:
            return gap / distance
        if np.all(np.isfinite(given)):
            return np.array(given)
        i, k = self._pairs[pair]
        if self._bodies.links[k] == FLOOR:
            return np.array([0.0, 0.0, -1.0])
        centres = [self._geometry_data.oMg[body].translation for body in (i, k)]
        apart = np.linalg.norm(centres[1] - centres[0])
        # bodies with a common centre: no direction is better than another
        return (centres[1] - centres[0]) / apart if apart > TOUCHING_DISTANCE else np.zeros(3)

    def slack(self, motion: RobotMotion) -> FloatArray:
        """Return the slack (pairs, samples)."""
        return (self._distances(motion, self.clearance + NEAR_DISTANCE) - self.clearance) / UNIT

    def certified(
        self, model: RobotModel, trajectory: Trajectory, begin: FloatArray, end: FloatArray, enough: float = np.inf
    ) -> float:
        """Return a slack that the motion has at all times, see `Constraint.certified`; pair by pair.

        It is below the smallest slack by at most the tolerance and the error of the library's distances. Pairs that are
        far apart are evaluated rarely.
        """
        least, enough = self.clearance, enough * UNIT
        proof = _ClearanceSearch(self, trajectory, begin, end, enough + least)
        for _ in range(2 * MAX_HALVINGS):
            seen = proof.seen - ACCURACY - least
            if seen < enough < np.inf:
                return seen / UNIT
            tolerance, allowed = self.tolerance * least, LIMIT_TOLERANCE * least
            proof.keep(~decided(proof.lower() - least, seen, tolerance, enough, allowed))
            if not 0 < len(proof.pair) <= MAX_INTERVALS:
                break
            proof.refine()
        proof.keep(np.zeros(len(proof.pair), dtype=bool))
        return (min(proof.bound, proof.seen - ACCURACY) - least) / UNIT

    def sphere_distances(self, q: FloatArray) -> FloatArray:
        """Return the distances of every watched pair's bounding spheres [m], (pairs, samples), at q (joints, samples).

        They are lower bounds of the bodies' distances.
        """
        return self._bodies.sphere_distances(LinkFrames(self._robot.chain, q), self._pairs)

    def distances(self, pair: IntArray, q: FloatArray) -> FloatArray:
        """Return the distance [m] of one watched pair (samples,) at each posture q (joints, samples)."""
        robot, geometry, data = self._robot.pinocchio, self._bodies.geometry, self._geometry_data
        distances = np.empty(len(pair))
        for sample, (k, posture) in enumerate(
            zip(pair.tolist(), self._robot.tree_position(np.ascontiguousarray(q.T)), strict=True)
        ):
            pinocchio.updateGeometryPlacements(robot, self._data, geometry, data, posture)
            distances[sample] = pinocchio.computeDistance(geometry, data, k).min_distance
        return distances

    def pull_back(self, motion: RobotMotion, weight: FloatArray, sensitivity: Sensitivity) -> None:
        """Add the gradient of Σ weight · slack: nᵀ(ṗ_2 − ṗ_1) at the nearest points 1 and 2, n from 1 to 2."""
        if self._last is None or self._last[0] is not motion:
            self.slack(motion)
        assert self._last is not None
        for k, entries in self._last[1].items():
            samples = np.array([entry[0] for entry in entries])
            points = [np.array([entry[side] for entry in entries]).T for side in (1, 2)]
            push = np.array([entry[3] for entry in entries]).T * (weight[k, samples] / UNIT)
            for body, sign, point in zip(self._pairs[k], (-1.0, 1.0), points, strict=True):
                for j, gradient in motion.frames.pull_back(
                    self._bodies.joints[body], point, sign * push, samples
                ).items():
                    sensitivity.q[j, samples] += gradient


class _ClearanceSearch:
    """Pairs and intervals that may hold the smallest distance.

    Pair k over [begin, end] [s], distance at both ends, whether that is exact.
    """

    def __init__(self, clearance: Clearance, trajectory: Trajectory, begin: FloatArray, end: FloatArray, enough: float):
        self._of, self._trajectory = clearance, trajectory
        inside = (begin + end) / 2
        first, last = (trajectory.one_sided(t, inside)[0] for t in (begin, end))
        near = [clearance.sphere_distances(q) for q in (first, last)]
        rate = clearance.lever @ trajectory.majorants(begin, end)[1]
        self.seen = np.inf
        exact = np.zeros(near[0].shape, dtype=bool)
        if not np.isfinite(enough) and near[0].size:
            exact[:, ::FIRST_EXACT_EVERY] = True
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
        self.pair, self.rate = self.pair[wanted], self.rate[wanted]
        self.begin, self.end = self.begin[wanted], self.end[wanted]
        self.distance, self.exact = self.distance[:, wanted], self.exact[:, wanted]

    def _measure(self, pair: IntArray, t: FloatArray, inside: FloatArray) -> FloatArray:
        distances = self._of.distances(pair, self._trajectory.one_sided(t, inside)[0])
        self.seen = min(self.seen, float(distances.min(initial=np.inf)))
        return distances

    def refine(self) -> None:
        """Compute distances that were bounds by spheres, and halve the intervals whose distances are exact."""
        middle, both = (self.begin + self.end) / 2, self.exact.all(axis=0)
        for side, t in enumerate((self.begin, self.end)):
            rough = ~self.exact[side]
            self.distance[side, rough] = self._measure(self.pair[rough], t[rough], middle[rough])
        half = self._measure(self.pair[both], middle[both], middle[both])
        self.exact[:] = True
        left = self.distance.copy()
        left[1, both] = half
        end = np.where(both, middle, self.end)
        self.begin, self.end = np.append(self.begin, middle[both]), np.append(end, self.end[both])
        self.distance = np.concatenate([left, np.array([half, self.distance[1, both]])], axis=1)
        self.pair, self.exact = np.append(self.pair, self.pair[both]), np.ones(self.distance.shape, dtype=bool)
        speed = self._trajectory.majorants(self.begin, self.end)[1]
        self.rate = np.einsum('kj,jk->k', self._of.lever[self.pair], speed)
