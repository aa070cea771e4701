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
wᵀ C w that of the prediction, z = 1.96. H is −1 … 1, and the prediction at rest τ_0.

Where hysteresis was identified and the encoder resolves its presliding length, H is that of the recorded motion after
the first slip (`presliding`), with ρ = 1, and the prediction τ_0 + F H. A joint's stays in training have to bear that
out: `MIN_STAYS` of them, 95 % of their samples within the narrowed interval, and less left over than without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy.special import ndtri

from joint_dynamics.arm import Motion, Term
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression.presliding import HysteresisAtRest, hysteresis_at_rest
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import predict

LEVEL = 0.975
MIN_STAYS = 5
"""Fewer stays after a slip than this do not tell a ratio of their own, that of all stays is taken, nor whether
presliding predicts them."""
DIRECTED = ('F_Cl', 'F_C1')
"""Friction terms that keep their size as ω → 0, with the sign of the motion."""


@dataclass(frozen=True)
class Resting:
    """Torque of the joints at rest at the kept samples of one recording.

    resting (n, K) bool; tau, expected (n, K) [N·m]: measured, and predicted in the middle; level (n, K) F_C [N·m];
    low, high (n, K): H; half_width (n, K) z √(…) [N·m]; ratio ρ. All but `resting` hold where that does. first (n, K)
    bool: the joint has not slipped yet; first_ratio: its ρ, infinite where nothing tells it. narrow (n, K) bool: H is
    that of the recorded motion.
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
    narrow: BoolArray
    ratio: float = 1.0
    first_ratio: float = np.inf

    @property
    def stated(self) -> BoolArray:
        """Which samples at rest have an interval, (n, K) bool."""
        return self.resting & (~self.first | np.isfinite(self.first_ratio))

    @property
    def lower(self) -> FloatArray:
        """Lower end of the interval (n, K) [N·m], −∞ where none is stated."""
        return np.where(self.stated, self.base + self.held * self.low - self.half_width, -np.inf)

    @property
    def upper(self) -> FloatArray:
        """Upper end of the interval (n, K) [N·m], ∞ where none is stated."""
        return np.where(self.stated, self.base + self.held * self.high + self.half_width, np.inf)

    @property
    def held(self) -> FloatArray:
        """Friction that holds the joint at H = 1, (n, K) [N·m]."""
        first = self.first_ratio if np.isfinite(self.first_ratio) else 1.0
        return np.where(self.narrow, 1.0, np.where(self.first, first, self.ratio)) * self.level

    @property
    def within(self) -> BoolArray:
        """Which samples at rest are inside the interval, (n, K) bool."""
        return self.stated & (self.lower <= self.tau) & (self.tau <= self.upper)


def level_columns(problem: Problem, observation: Observation) -> dict[str, tuple[int, FloatArray]]:
    """Return {parameter: (joint, column (K,))} of the friction at rest in slip, at the kept samples."""
    kept = observation.kept
    by_parameter = {
        name: (j, np.ones(len(kept))) for j in range(problem.model.n) if (name := f'Fc_{j + 1}') in problem.names
    }
    directed = [term for term in problem.terms if is_directed(term)]
    needed = any('load' in term.needs for term in directed)
    load = problem.state.load(problem.model, observation) if needed else None
    for term in directed:
        j = problem.model.joint_names.index(term.joint)
        slow = Motion(
            observation.q[kept, j], np.zeros(len(kept)), np.ones(len(kept)), None if load is None else load[j, kept]
        )
        by_parameter |= {name: (j, column) for name, column in zip(term.names, term.of(slow), strict=True)}
    return by_parameter


def friction_level(problem: Problem, chi: FloatArray, observation: Observation) -> FloatArray:
    """Return the largest friction at rest F (n, K) ≥ 0 [N·m] at the kept samples."""
    values = dict(zip(problem.names, chi, strict=True))
    level = np.zeros((problem.model.n, len(observation.kept)))
    for name, (j, column) in level_columns(problem, observation).items():
        level[j] += values[name] * column
    return np.maximum(level, 0.0)


def is_directed(term: Term) -> bool:
    """Whether a term is friction that keeps its size as ω → 0."""
    return 'stribeck' in term.document or term.document.get('friction') in DIRECTED


def resting_torque(
    problem: Problem,
    chi: FloatArray,
    covariance: FloatArray,
    sigma: FloatArray,
    hysteresis: Sequence[HysteresisAtRest] | None = None,
    ratio: tuple[float, float] = (1.0, 1.0),
) -> list[Resting]:
    """Return the torque of every observation of a problem at rest (`rest_speed` > 0), with its interval.

    Parameters
    ----------
    chi, covariance
        (b,), (b, b).
    sigma
        (n,) deviation of the residuals of moving rows [N·m].
    hysteresis
        H of every observation; None: presliding is not used.
    ratio
        ρ of stays after a slip and before any, see `breakaway_ratios`.
    """
    n, names = problem.model.n, list(problem.names)
    if hysteresis is None:
        hysteresis = [hysteresis_at_rest(observation, problem.state) for observation in problem.observations]
    levels = [friction_level(problem, chi, observation) for observation in problem.observations]
    directed = {f'Fc_{j + 1}' for j in range(n)}
    directed |= {name for term in problem.terms if is_directed(term) or term.width is not None for name in term.names}
    free = np.where([name in directed for name in names], 0.0, chi)
    turned = [names.index(name) for term in problem.terms if term.width is not None for name in term.names]
    torques = []
    for index, own in groupby(problem.blocks(), key=lambda block: block.observation):
        H, level = hysteresis[index], levels[index]
        columns = level_columns(problem, problem.observations[index]) if H.narrow.any() else {}
        entries: list[tuple[FloatArray | BoolArray, ...]] = []
        for block in own:
            if block.resting is None:
                raise JointDynamicsError(
                    'resting torque: expected a problem that looks at rest (rest_speed above 0), found none'
                )
            spread = np.zeros(block.tau.shape)
            for j, rows in enumerate(block.rows):
                if H.resolved[j]:
                    # of the friction, what the prediction has of it
                    rows, here = rows.copy(), H.narrow[j, block.kept]
                    for column in turned:
                        rows[column, here] = 0.0
                    for name, (joint, values) in columns.items():
                        if joint == j:
                            rows[names.index(name), here] = (values * H.expected[j])[block.kept][here]
                still = rows[:, block.resting[j]]
                spread[j, block.resting[j]] = np.einsum('bs,bs->s', still, covariance @ still)
            entries.append((block.resting, block.tau, predict(block, free), spread))
        resting, tau, base, spread = (np.concatenate(arrays, axis=1) for arrays in zip(*entries, strict=True))
        half_width = ndtri(LEVEL) * np.sqrt(sigma[:, None] ** 2 + np.maximum(spread, 0.0))
        name, expected = problem.observations[index].name, base + level * H.expected
        torques.append(
            Resting(name, resting, tau, expected, base, level, H.low, H.high, half_width, H.first, H.narrow, *ratio)
        )
    return torques


def breakaway_ratios(recordings: Sequence[Resting]) -> tuple[float, float]:
    """Return ρ ≥ 1 of training recordings at rest: after a slip, 1 without any stay; before any, inf without any."""
    after: list[float] = []
    before: list[float] = []
    for recording in recordings:
        for j, row in enumerate(recording.resting):
            for where, needed in ((row & ~recording.first[j], after), (row & recording.first[j], before)):
                for stay in rest_intervals(where):
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


def rest_intervals(at_rest: BoolArray) -> list[slice]:
    """Return the stays of one joint: runs of samples (K,) at rest."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], at_rest, [False]]).astype(int)))
    return [slice(start, end) for start, end in edges.reshape(-1, 2)]


def is_confirmed(recordings: Sequence[Resting], joint: int) -> bool:
    """Whether training stays of a joint agree with its presliding, see the module."""
    rows = [(recording, recording.resting[joint] & recording.narrow[joint]) for recording in recordings]
    if sum(len(rest_intervals(row)) for _, row in rows) < MIN_STAYS:
        return False
    within = np.concatenate([recording.within[joint, row] for recording, row in rows])
    left, without = (
        sum((((recording.tau - getattr(recording, guess))[joint][row]) ** 2).sum() for recording, row in rows)
        for guess in ('expected', 'base')
    )
    return bool(within.mean() >= 2 * LEVEL - 1 and left < without)
