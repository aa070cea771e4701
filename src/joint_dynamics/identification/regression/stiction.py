r"""Torque of joints at rest: an interval for every sample, and a prediction where the encoder resolves presliding.

A joint at rest holds any friction within its level F, from the level F_C of slip (Coulomb, Stribeck and load friction
as ω → 0):

    τ ∈ τ_0 + F [H_low, H_high] ± z √(σ_j² + wᵀ C w),    −1 ≤ H_low ≤ H_high ≤ 1

F = ρ F_C: friction before it slips is larger than in slip, by a ratio ρ ≥ 1 that only samples at rest show. It is the
one that all but 2.5 % of the training stays of all joints need, of few stays the largest (another stay exceeds the
largest of m with probability 1/(m + 1)). Stays before a joint has slipped at all (moved by `SLIPPED` from where its
recording begins) have a ratio of their own: what a drive holds then, after any time at rest and with a brake perhaps
just released, is several times what it holds after a slip. Where no training recording begins at rest, nothing tells
it, and no interval is stated for such samples (half width infinite, counted apart).

τ_0 is the prediction without friction that depends on direction, σ_j the deviation of the residuals of moving rows,
wᵀ C w that of the prediction, z = 1.96. H is the Maxwell-slip hysteresis [M6 eq 12-18], a monotone map of its initial
state: run from full slip one way and the other, it encloses what any state at the first sample would give, and both
ends meet once a joint has slipped by its backlash, which corrects the state at every slip. Where the encoder does not
resolve the presliding, or no hysteresis is known, the ends are ± 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from joint_dynamics.arm import Motion, Term
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import predict, relative_of_squares
from joint_dynamics.identification.regression.torque import load_torque
from joint_dynamics.joint import MaxwellSlip

LEVEL = 0.975
SLIPPED = 0.01
"""Distance [rad] after which a joint has slipped for sure: several times the widest presliding that is looked for."""
MIN_STAYS = 5
"""Fewer stays after a slip than this do not tell a ratio of their own: that of all stays is taken."""
DIRECTED = ('F_Cl', 'F_C1')
"""Friction terms that keep their size as ω → 0, with the sign of the motion."""


@dataclass(frozen=True)
class Presliding:
    """H of joints that start from an unknown state: low, high (N, n) enclose it, expected (N, n) is the best guess."""

    low: FloatArray
    high: FloatArray
    expected: FloatArray


def presliding(
    theta: ArrayLike, slip: MaxwellSlip, resolution: ArrayLike = 0.0, first: ArrayLike | None = None
) -> Presliding:
    """Drive the hysteresis by a recorded motion from a state that is estimated, not assumed.

    theta: (N, n) [rad], motor side; slip: hysteresis of the n joints, left as it is; resolution: step of the encoder
    [rad], a number or (n,); first: H (n,) measured at the first sample, friction over its level, None: not known, the
    expected path is the middle of the bounds.

    A reading is wrong by up to half a step, a deformation (since some slip) by a step, which moves operator i by at
    most k_i/𝓑 times that and no further than from one end to the other. Raises JointDynamicsError for other shapes.
    """
    theta = np.asarray(theta, dtype=float)
    if theta.ndim != 2 or theta.shape[1] != slip.joints or not len(theta):
        raise JointDynamicsError(f'presliding: expected theta of shape (N, {slip.joints}), found {theta.shape}')
    step = np.broadcast_to(np.asarray(resolution, dtype=float), (slip.joints,))
    if not np.isfinite(step).all() or (step < 0).any():
        raise JointDynamicsError(f'presliding: expected a resolution of 0 rad or more, found {resolution!r}')

    def path(direction: ArrayLike) -> FloatArray:
        twin = slip.copy()
        # a deformation of every operator by the same share of its limit has that share as H
        twin.reset(theta[0], direction)
        return twin.run(theta)

    share = slip.stiffness * slip.limits
    slack = np.minimum(share * (step / slip.presliding(theta))[..., None] / slip.limits, 2.0 * share).sum(axis=-1)
    below, above = path(-1.0), path(1.0)
    low, high = np.clip(below - slack, -1.0, 1.0), np.clip(above + slack, -1.0, 1.0)
    expected = 0.5 * (below + above) if first is None else path(np.clip(np.asarray(first, dtype=float), -1.0, 1.0))
    return Presliding(low, high, np.clip(expected, low, high))


@dataclass(frozen=True)
class Resting:
    """Torque of the joints at rest at the kept samples of one recording.

    resting (n, K) bool; tau, expected (n, K) [N·m]: measured, and predicted in the middle; level (n, K) F_C [N·m];
    low, high (n, K): H; half_width (n, K) z √(…) [N·m]; ratio ρ. All but `resting` hold where that does. first (n, K)
    bool: the joint has not slipped yet; first_ratio: its ρ, infinite where nothing tells it.
    """

    name: str
    resting: BoolArray
    tau: FloatArray
    expected: FloatArray
    base: FloatArray
    level: FloatArray
    low: FloatArray
    high: FloatArray
    half_width: FloatArray
    first: BoolArray
    ratio: float = 1.0
    first_ratio: float = np.inf

    @property
    def stated(self) -> BoolArray:
        """Which samples at rest have an interval, (n, K) bool."""
        return self.resting & (~self.first | np.isfinite(self.first_ratio))

    @property
    def lower(self) -> FloatArray:
        """Lower end of the interval (n, K) [N·m], −∞ where none is stated."""
        return np.where(self.stated, self.base + self._held * self.low - self.half_width, -np.inf)

    @property
    def upper(self) -> FloatArray:
        """Upper end of the interval (n, K) [N·m], ∞ where none is stated."""
        return np.where(self.stated, self.base + self._held * self.high + self.half_width, np.inf)

    @property
    def _held(self) -> FloatArray:
        first = self.first_ratio if np.isfinite(self.first_ratio) else 1.0
        return np.where(self.first, first, self.ratio) * self.level

    @property
    def within(self) -> BoolArray:
        """Which samples at rest are inside the interval, (n, K) bool."""
        return self.stated & (self.lower <= self.tau) & (self.tau <= self.upper)


def friction_level(problem: Problem, chi: FloatArray, observation: Observation) -> FloatArray:
    """Return the largest friction at rest F (n, K) ≥ 0 [N·m] at the kept samples."""
    values = dict(zip(problem.names, chi, strict=True))
    kept = observation.kept
    n = problem.model.n
    level = np.array([np.full(len(kept), values.get(f'Fc_{j + 1}', 0.0)) for j in range(n)])
    directed = [term for term in problem.terms if is_directed(term)]
    load = None
    if any('load' in term.needs for term in directed) and problem.state.links is not None:
        load = load_torque(problem.model, observation, problem.state.links)[:, kept]
        if problem.state.load_limit is not None:
            load = np.clip(load, -problem.state.load_limit[:, None], problem.state.load_limit[:, None])
    for term in directed:
        j = problem.model.joint_names.index(term.joint)
        slow = Motion(
            observation.q[kept, j], np.zeros(len(kept)), np.ones(len(kept)), None if load is None else load[j]
        )
        level[j] += np.array([values[name] for name in term.names]) @ term.of(slow)
    return np.maximum(level, 0.0)


def is_directed(term: Term) -> bool:
    """Whether a term is friction that keeps its size as ω → 0."""
    return 'stribeck' in term.document or term.document.get('friction') in DIRECTED


def resting_torque(
    problem: Problem,
    chi: FloatArray,
    covariance: FloatArray,
    sigma: FloatArray,
    *,
    slip: MaxwellSlip | None = None,
    resolution: ArrayLike = 0.0,
    ratio: tuple[float, float] = (1.0, 1.0),
) -> list[Resting]:
    """Return the torque of every observation of a problem at rest (`rest_speed` > 0), with its interval.

    chi (b,), covariance (b, b); sigma (n,) deviation of the residuals of moving rows [N·m]; slip: hysteresis of all
    joints that Coulomb friction goes through, None: not known; resolution: step of the encoders on the motor side
    [rad]; ratio: ρ of stays after a slip and before any, see `breakaway_ratios`.
    """
    free = chi.copy()
    names = list(problem.names)
    for name in [
        *(f'Fc_{j + 1}' for j in range(problem.model.n)),
        *(name for term in problem.terms if is_directed(term) or term.width is not None for name in term.names),
    ]:
        if name in names:
            free[names.index(name)] = 0.0
    blocks: list[list[tuple[FloatArray | BoolArray, ...]]] = [[] for _ in problem.observations]
    for block in problem.blocks():
        if block.resting is None:
            raise JointDynamicsError(
                'resting torque: expected a problem that looks at rest (rest_speed above 0), found none'
            )
        spread = np.zeros(block.tau.shape)
        for j, rows in enumerate(block.rows):
            still = rows[:, block.resting[j]]
            spread[j, block.resting[j]] = np.einsum('bs,bs->s', still, covariance @ still)
        blocks[block.observation].append((block.resting, block.tau, predict(block, free), spread))
    found = []
    for observation, entries in zip(problem.observations, blocks, strict=True):
        resting, tau, base, spread = (np.concatenate(arrays, axis=1) for arrays in zip(*entries, strict=True))
        level = friction_level(problem, chi, observation)
        half_width = norm.ppf(LEVEL) * np.sqrt(sigma[:, None] ** 2 + np.maximum(spread, 0.0))
        low, high, middle = _bounds(observation, slip, resolution)
        found.append(
            Resting(
                observation.name,
                resting,
                tau,
                base + level * middle,
                base,
                level,
                low,
                high,
                half_width,
                not_slipped(observation),
                *ratio,
            )
        )
    return found


def not_slipped(observation: Observation) -> BoolArray:
    """Return at which kept samples a joint has not yet moved by `SLIPPED` since its recording began, (n, K) bool."""
    moved = np.abs(observation.theta - observation.theta[0]) > SLIPPED
    return np.asarray(~np.maximum.accumulate(moved, axis=0)[observation.kept].T)


def breakaway_ratios(recordings: Sequence[Resting]) -> tuple[float, float]:
    """Return ρ ≥ 1 of training recordings at rest: after a slip, 1 without any stay; before any, inf without any."""
    after: list[float] = []
    before: list[float] = []
    for recording in recordings:
        for j, row in enumerate(recording.resting):
            for where, needed in ((row & ~recording.first[j], after), (row & recording.first[j], before)):
                edges = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
                for start, end in edges.reshape(-1, 2):
                    stay = slice(start, end)
                    level = recording.level[j, stay].mean()
                    if level > 0:
                        # a stay counts by what 95 % of its samples need
                        excess = (
                            np.abs(recording.tau[j, stay] - recording.base[j, stay]) - recording.half_width[j, stay]
                        )
                        needed.append(float(np.quantile(excess, 2 * LEVEL - 1)) / level)

    def largest(needed: Sequence[float]) -> float:
        return max(1.0, float(np.quantile(needed, LEVEL, method='higher')))

    late = largest(after if len(after) >= MIN_STAYS else [*after, *before]) if after or before else 1.0
    return late, largest(before) if before else np.inf


def _bounds(
    observation: Observation, slip: MaxwellSlip | None, resolution: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    shape = (observation.q.shape[1], len(observation.kept))
    if slip is None:
        return -np.ones(shape), np.ones(shape), np.zeros(shape)
    found = presliding(observation.theta, slip, resolution)
    decimator = observation.decimator
    low, high, middle = (
        values.T if decimator is None else np.asarray(decimator.apply(values)).T
        for values in (found.low, found.high, found.expected)
    )
    return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0), np.clip(middle, -1.0, 1.0)


def resting_summary(recordings: Sequence[Resting], joint_names: Sequence[str]) -> dict[str, Any]:
    """Return the samples at rest with an interval and those without, the share within, mean half width, ρ, residual."""
    count = sum(recording.stated.sum(axis=1) for recording in recordings)
    unstated = int(sum((recording.resting & ~recording.stated).sum() for recording in recordings))
    within = sum(recording.within.sum(axis=1) for recording in recordings)
    width = sum(
        np.subtract(recording.upper, recording.lower, out=np.zeros(recording.tau.shape), where=recording.stated).sum(
            axis=1
        )
        / 2
        for recording in recordings
    )
    error = sum(
        (((recording.tau - recording.expected) * recording.stated) ** 2).sum(axis=1) for recording in recordings
    )
    size = sum(((recording.tau * recording.stated) ** 2).sum(axis=1) for recording in recordings)
    if not recordings or not np.sum(count):
        return {'samples': 0, 'unstated': unstated}
    percent, overall = relative_of_squares(error, size)

    def by_joint(values: FloatArray, whole: float | None = None) -> dict[str, float | None]:
        named = {
            name: float(value) if moved and np.isfinite(value) else None
            for name, value, moved in zip(joint_names, values, count > 0, strict=True)
        }
        return named if whole is None else {**named, 'overall': float(whole)}

    each = np.maximum(count, 1)
    return {
        'samples': int(count.sum()),
        'unstated': unstated,
        'within_percent': by_joint(100 * within / each, 100 * within.sum() / count.sum()),
        'half_width': by_joint(width / each),
        'residual_percent': by_joint(percent, overall),
        'breakaway_ratio': recordings[0].ratio,
        'first_breakaway_ratio': recordings[0].first_ratio if np.isfinite(recordings[0].first_ratio) else None,
    }


def resting_entry(
    training: Problem, unseen: Problem | None, chi: FloatArray, covariance: FloatArray, sigma: FloatArray
) -> dict[str, Any]:
    """Return the entry `resting` of summary.json: training and, with its ρ, validation recordings."""
    names = training.model.joint_names
    recordings = resting_torque(training, chi, covariance, sigma)
    ratio = breakaway_ratios(recordings)
    told = [replace(recording, ratio=ratio[0], first_ratio=ratio[1]) for recording in recordings]
    found = {'training': resting_summary(told, names)}
    if unseen is not None:
        found['validation'] = resting_summary(resting_torque(unseen, chi, covariance, sigma, ratio=ratio), names)
    return found
