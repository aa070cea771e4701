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

r"""Forward choice of further laws of friction by held-out blocks of time.

The weighted rows are cut into `BLOCKS` blocks of time. With the other blocks' coefficients χ̂ of the laws S chosen so
far, the loss of block k is

    ℓ_k(S) = ‖y_k − A_k χ̂_S‖².

Friction is of one kind in all joints of most arms: a law is tried in all joints with the physical sign of its
coefficient at once. Its gain Σ_k ℓ_k(S) − ℓ_k(S + law) has to exceed `MIN_ERRORS` standard errors over the blocks and
`MIN_SHARE` of the torque. The law with the largest gain is taken, in the joints where it lowers the loss. Then the
others are tried beside it.

Friction drifts with the gear's temperature, and a law of speed would explain the difference between a cold slow and a
warm fast recording. The loss therefore has Coulomb and viscous friction of every part (a quarter of a recording) taken
out [fixed effects: Mundlak 1978].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from joint_dynamics.arm import Term, friction_term, hysteresis_term, stribeck_term
from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.recordings import wholes
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.joint import REVERSAL

BLOCKS = 10
MIN_ERRORS = 2.0  # gain of a law, standard errors over the blocks
MIN_SHARE = 0.01  # torque that a law explains on held-out rows, rms, relative; less is a matter of the sensors
RIDGE = 0.02  # share of a column's norm that has to be its own before it counts as much as the others
FIRST_RIDGE = 0.1  # of all laws in the solution that weights of rows and load torque come from
JITTER = 1e-10  # added to a unit diagonal, so that rounding leaves it positive
MAX_ROWS = 6000  # samples; of more every so many are used
STRIBECK_SPEED = 0.4  # rad/s; a narrower term is moulded to how the training data stop and start
WARMING = 3.0  # K, rise of temperature within the recordings below which no law of temperature is tried
SPEED_LAWS = {'square root of speed (F_T0)': 'F_T0', 'square of speed (F_V2)': 'F_V2', 'cube of speed (F_V3)': 'F_V3'}
LOAD_LAWS = {'load, linear (F_Cl)': 'F_Cl', 'load, quadratic (F_C1)': 'F_C1'}
WIDTHS = (REVERSAL, 3e-4, 1e-3, 3e-3)
"""Widths [rad] over which Coulomb friction builds up after a reversal: of steps that data can tell, down to what a fast
reversal passes within a sample."""


@dataclass(frozen=True)
class CandidateGroup:
    """Terms that are selected together under one name.

    kind: of each kind at most one group is selected.
    """

    name: str
    terms: tuple[Term, ...]
    kind: str = ''

    @property
    def slow(self) -> bool:
        """Whether it is of temperature, which hardly changes within a recording."""
        return any('temperature' in term.needs for term in self.terms)

    @property
    def positive(self) -> bool:
        """Whether its coefficients are positive: slow friction and loaded friction are the larger ones."""
        kinds = {term.document.get('friction', term.kind) for term in self.terms}
        return kinds <= {'stribeck', 'hysteresis', 'F_Cl', 'F_C1'}


def menu(
    joints: Sequence[str], temperature: FloatArray | None, given: Sequence[Term] = (), lifts: Sequence[str] = ()
) -> list[CandidateGroup]:
    """Return the candidates; temperature: (n, 2) lowest and highest of the recordings [°C], None where not measured.

    given: terms that were asked for; a joint has one width of hysteresis. lifts: joints whose load is the same in every
    posture: friction that rises with it is Coulomb friction.
    """
    wide = {term.joint for term in given if term.width is not None}
    sharp, loaded = (tuple(joint for joint in joints if joint not in without) for without in (wide, lifts))

    def law(name: str, joints: Sequence[str], make: Callable[[str], Term], kind: str = '') -> CandidateGroup:
        return CandidateGroup(name, tuple(map(make, joints)), kind)

    groups = [law(text, joints, partial(friction_term, name=name), 'speed') for text, name in SPEED_LAWS.items()]
    stribeck = partial(stribeck_term, V_S=STRIBECK_SPEED)
    groups.append(law(f'Stribeck at {STRIBECK_SPEED:g} rad/s (F_S)', joints, stribeck))
    groups += [law(text, loaded, partial(friction_term, name=name)) for text, name in LOAD_LAWS.items()]
    groups += [
        law(f'hysteresis of {width:g} rad (Maxwell-slip)', sharp, partial(hysteresis_term, width=width), 'hysteresis')
        for width in WIDTHS
    ]
    if temperature is not None and (temperature[:, 1] - temperature[:, 0]).max() > WARMING:
        middle = np.round(np.clip(temperature.mean(axis=1), 10.0, 70.0), 1)
        for name in ('F_T1', 'F_T2'):
            terms = [friction_term(joint, name, float(T_0)) for joint, T_0 in zip(joints, middle, strict=True)]
            groups.append(CandidateGroup(f'temperature ({name})', tuple(terms)))
    return [group for group in groups if group.terms]


def temperature_range(observations: Sequence[Observation]) -> FloatArray | None:
    """Return lowest and highest temperature per joint (n, 2) [°C], None where a recording lacks it."""
    measured = [observation.temperature for observation in observations if observation.temperature is not None]
    if len(measured) < len(observations):
        return None
    whole = np.concatenate(measured)
    return np.stack([whole.min(axis=0), whole.max(axis=0)], axis=1)


def first_terms(candidates: Sequence[CandidateGroup]) -> list[Term]:
    """Return one law of each kind for all joints, held back.

    Weights and load torque of a model without further friction are biased by the missing laws, and would favour terms
    that compensate for them.
    """
    first = {group.kind or group.name: group for group in reversed(candidates) if not group.slow}
    return [replace(term, ridge=FIRST_RIDGE, selected=True) for group in first.values() for term in group.terms]


@dataclass(frozen=True)
class Step:
    """A law that was chosen.

    Attributes
    ----------
    name
        of its group.
    gain
        fall of the held-out loss, relative to that without any law.
    errors
        the same in standard errors.
    joints
        indices among the links of those that have the law.
    """

    name: str
    gain: float
    errors: float
    joints: tuple[int, ...]


@dataclass(frozen=True)
class Selection:
    """The chosen terms, in the order of choice."""

    terms: list[Term] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def summary(self, joint_names: Sequence[str], used: Sequence[Term]) -> dict[str, Any]:
        """Return the entry `selection` of summary.json; used: the terms of the solution."""
        kept = {name for term in used for name in term.names}
        return {
            'chosen': [
                {
                    'term': step.name,
                    'gain_percent': 100 * step.gain,
                    'standard_errors': step.errors,
                    'joints': [joint_names[j] for j in step.joints],
                }
                for step in self.steps
            ],
            'impossible': [name for term in self.terms for name in term.names if name not in kept],
        }


class Folds:
    """Normal equations of the candidate columns without each block, and the products of its held-out rows.

    Parameters
    ----------
    rows
        (n, b + c + 1, K) weighted rows: b base columns, c candidates, the torque; in the order of time.
    base
        b.
    parts
        (K,) part of each sample that has friction of its own.
    friction
        for each joint the base columns of its Coulomb and viscous friction.
    """

    def __init__(self, rows: FloatArray, base: int, parts: IntArray, friction: Sequence[Sequence[int]]):
        block = np.arange(rows.shape[2]) * BLOCKS // rows.shape[2]
        products = _products(rows, block)
        total = products.sum(axis=0)
        scale = np.sqrt(np.maximum(np.diag(total), 0.0))
        scale = np.where(scale > 0, scale, 1.0)
        products, total = products / np.outer(scale, scale), total / np.outer(scale, scale)
        within = _products(_without_own_friction(rows, parts, friction), block) / np.outer(scale, scale)
        size = len(total) - base
        self.torque = float(scale[-1] ** 2)
        self._training = np.empty((BLOCKS, size, size))
        self._held_out = {True: np.empty_like(self._training), False: np.empty_like(self._training)}
        for k in range(BLOCKS):
            others = total - products[k]
            projected = np.linalg.solve(others[:base, :base] + JITTER * np.eye(base), others[:base, base:])
            self._training[k] = others[base:, base:] - others[base:, :base] @ projected
            residual = np.vstack([-projected, np.eye(size)])
            for slow, product in ((False, within[k]), (True, products[k])):
                self._held_out[slow][k] = residual.T @ product @ residual

    def losses(self, columns: Sequence[int], slow: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return the loss of each block (BLOCKS,), relative to the torque, and the mean coefficients of `columns`.

        slow: with the friction of all parts in common, for laws of what hardly changes within a part.
        """
        held_out, chosen = self._held_out[slow], np.array(columns, dtype=int)
        if not len(chosen):
            return held_out[:, -1, -1], np.zeros(0)
        normal = self._training[:, chosen[:, None], chosen] + RIDGE**2 * np.eye(len(chosen))
        x = np.linalg.solve(normal, self._training[:, chosen, -1][..., None])[..., 0]
        explained = 2 * held_out[:, chosen, -1] - (held_out[:, chosen[:, None], chosen] @ x[..., None])[..., 0]
        return held_out[:, -1, -1] - (x * explained).sum(axis=1), x.mean(axis=0)


def _products(rows: FloatArray, block: IntArray) -> FloatArray:
    parts = [rows[:, :, block == k] for k in range(BLOCKS)]
    return np.array([(part @ part.transpose(0, 2, 1)).sum(axis=0) for part in parts])


def _without_own_friction(rows: FloatArray, parts: IntArray, friction: Sequence[Sequence[int]]) -> FloatArray:
    """Return the rows less what Coulomb and viscous friction of each part and joint explain of them."""
    rows = rows.copy()
    for part in np.unique(parts):
        here = np.flatnonzero(parts == part)
        for own, joint in zip(friction, rows, strict=True):
            if len(own):
                basis = scipy.linalg.orth(joint[np.ix_(np.asarray(own), here)].T, rcond=1e-6)
                joint[:, here] -= (joint[:, here] @ basis) @ basis.T
    return rows


Laws = dict[str, dict[int, tuple[int, ...]]]
"""Of each chosen group the candidate columns of its joints."""


def choose(
    problem: Problem, candidates: Sequence[CandidateGroup], state: FrictionState, solution: Solution
) -> Selection:
    """Return the terms that lower the held-out loss.

    Parameters
    ----------
    candidates
        the `menu`.
    state
        load torque and hysteresis that the columns of friction are made with.
    solution
        whose weights the rows have.
    """
    folds = gather(problem, candidates, state, solution)
    open_groups, laws = {group.name: group for group in candidates}, columns_of(problem, candidates)
    chosen: Laws = {}
    steps: list[Step] = []
    start = float(folds.losses([])[0].sum())
    while trials := [
        trial
        for name, group in open_groups.items()
        if (trial := _tried(folds, chosen, name, laws[name], group)) is not None
    ]:
        gain, errors, name, joints = max(trials)
        chosen[name] = {j: laws[name][j] for j in joints}
        steps.append(Step(name, gain / start, errors, joints))
        kind = open_groups[name].kind
        open_groups = {k: group for k, group in open_groups.items() if k != name and not (kind and group.kind == kind)}
    links = problem.model.link_names
    terms = [
        replace(term, ridge=RIDGE, selected=True)
        for group in candidates
        for term in group.terms
        if links.index(term.joint) in chosen.get(group.name, {})
    ]
    return Selection(terms, steps)


def _tried(
    folds: Folds, chosen: Laws, name: str, law: dict[int, tuple[int, ...]], group: CandidateGroup
) -> tuple[float, float, str, tuple[int, ...]] | None:
    """Return gain, standard errors, name and joints of a group beside the chosen ones; None where it does not pay."""
    before = folds.losses(_flat(chosen), group.slow)[0]
    while law:
        after, x = folds.losses(_flat({**chosen, name: law}), group.slow)
        own = dict(zip(law, x[-sum(map(len, law.values())) :], strict=False)) if group.positive else {}
        if all(own.get(j, 1.0) > 0.0 for j in law):
            break
        law = {j: columns for j, columns in law.items() if own[j] > 0.0}
    gain = before - after
    if not law or not gain.sum() > max(MIN_ERRORS * _error(gain), MIN_SHARE**2):
        return None
    for j in list(law) if len(law) > 1 else ():
        rest = {k: columns for k, columns in law.items() if k != j}
        without = folds.losses(_flat({**chosen, name: rest}), group.slow)[0]
        if rest and without.sum() <= after.sum():
            law, after = rest, without
    gain = before - after
    return float(gain.sum()), float(gain.sum() / _error(gain)), name, tuple(law)


def _error(blocks: FloatArray) -> float:
    """Return the standard error of the sum of values (BLOCKS,) over the blocks."""
    return float(max(np.sqrt(BLOCKS) * blocks.std(ddof=1), np.finfo(float).tiny))


def _flat(laws: Laws) -> list[int]:
    return [column for law in laws.values() for columns in law.values() for column in columns]


def columns_of(problem: Problem, candidates: Sequence[CandidateGroup]) -> Laws:
    """Return the candidate columns of each group by joint, in the order of the groups' terms."""
    laws: Laws = {}
    column = 0
    for group in candidates:
        law = laws.setdefault(group.name, {})
        for term in group.terms:
            law[problem.model.link_names.index(term.joint)] = tuple(range(column, column + len(term.names)))
            column += len(term.names)
    return laws


def gather(problem: Problem, candidates: Sequence[CandidateGroup], state: FrictionState, solution: Solution) -> Folds:
    """Return the folds of the weighted rows with the candidates' columns, thinned to `MAX_ROWS`.

    Samples at which all joints rest are left out: blocks of a long stay would hold nothing of any law.
    """
    trial = problem.with_terms([*problem.terms, *(term for group in candidates for term in group.terms)], state)
    every = -(-sum(problem.samples) // MAX_ROWS)
    whole = np.array(wholes([observation.name for observation in problem.observations]))
    parts: list[FloatArray] = []
    recordings: list[IntArray] = []
    for block in trial.blocks():
        kept = np.arange(problem.samples[block.observation])[block.kept]
        use = (kept % every == 0) & (True if block.resting is None else ~block.resting.all(axis=0))
        rows = np.concatenate([block.rows, block.tau[:, None]], axis=1)[:, :, use]
        parts.append(rows * solution.row_factors(block)[:, None, use])
        recordings.append(np.full(int(use.sum()), whole[block.observation]))
    friction = [
        [problem.names.index(name) for name in (f'Fv_{j + 1}', f'Fc_{j + 1}') if name in problem.names]
        for j in range(problem.model.n)
    ]
    quarters = quarters_of(np.concatenate(recordings))
    return Folds(np.concatenate(parts, axis=-1), problem.columns, quarters, friction)


def quarters_of(recordings: IntArray) -> IntArray:
    """Return which quarter of which recording each sample is in (K,), of the recordings' numbers (K,)."""
    quarter = 4 * recordings
    for recording in np.unique(recordings):
        here = np.flatnonzero(recordings == recording)
        quarter[here] += 4 * np.arange(len(here)) // len(here)
    return np.asarray(quarter)
