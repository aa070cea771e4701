"""The further terms that are tried on held-out data, and what is done with those that pay.

Friction is of one kind in all joints of an arm more often than not, so a term is tried for all joints at once: n
parameters decided by n times the data. What belongs to single joints (a spring or counterbalance) is tried joint by
joint, and has to be more certain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from joint_dynamics.arm import Term, fourier_term, friction_term, hysteresis_term, stribeck_term
from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.recordings import wholes
from joint_dynamics.identification.regression.columns import FrictionState
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.selection.held_out import HeldOut, Rows
from joint_dynamics.identification.selection.weights import MIN_ERRORS, Candidate, Choice, Worth, weigh
from joint_dynamics.joint import REVERSAL
from joint_dynamics.recording import Recording, find_repetition

SPEED_LAWS = {'square root of speed (F_T0)': 'F_T0', 'square of speed (F_V2)': 'F_V2', 'cube of speed (F_V3)': 'F_V3'}
STRIBECK_SPEEDS = (0.4,)
"""Speeds V_S [rad/s] at which the Stribeck term is tried.

Narrower ones are moulded to how the training data stop and start.
"""
WIDTHS = (REVERSAL, 3e-4, 1e-3, 3e-3)
"""Widths [rad] over which Coulomb friction builds up after a reversal: of steps that data can tell, down to what a fast
reversal passes within a sample."""
LOAD_LAWS = {
    'load, linear (F_Cl)': 'F_Cl',
    'load, quadratic (F_C1)': 'F_C1',
    'motor and generator quadrants': 'load_sign',
}
"""Laws of friction that depends on the load. The other law of the quadrants, `load_gain`, is not tried: it is in
proportion to the torque of the links, so that it takes from them what a drive gain is off."""
WARMING = 3.0
"""Rise of temperature [K] within the recordings below which its effect cannot be told from that of anything else."""
SINGLE_JOINT_ERRORS = 5.0
"""Standard errors that a term of a single joint has to be worth: no other joint bears it out."""
FIRST_RIDGE = 0.1
"""Ridge that all laws are held back by in the solution that weights of rows and load torque come from."""
MAX_ROWS = 6000
"""Of more samples every so many are used."""


@dataclass(frozen=True)
class CandidateGroup:
    """Terms that are selected together under one name.

    kind: of each kind at most one group is selected.
    """

    name: str
    terms: tuple[Term, ...]
    kind: str = ''
    single: bool = False

    @property
    def slow(self) -> bool:
        """Whether it is of temperature, which hardly changes within a recording."""
        return any('temperature' in term.needs for term in self.terms)


def menu(
    model_joints: Sequence[str],
    temperature: FloatArray | None,
    followers: Sequence[str] = (),
    given: Sequence[Term] = (),
    lifts: Sequence[str] = (),
) -> list[CandidateGroup]:
    """Return what is tried; temperature: (n, 2) lowest and highest of the recordings [°C], None where not measured.

    followers: joints that follow several others, along which springs and cables are tried. given: terms that were asked
    for; a joint has one width of hysteresis. lifts: joints whose load is the same in every posture: friction that
    rises with it is Coulomb friction.
    """
    wide = {term.joint for term in given if term.width is not None}

    def everywhere(
        name: str, make: Callable[[str], Term], kind: str = '', without: Collection[str] = ()
    ) -> CandidateGroup:
        return CandidateGroup(name, tuple(make(joint) for joint in model_joints if joint not in without), kind)

    groups = [everywhere(name, partial(friction_term, name=law), 'power of speed') for name, law in SPEED_LAWS.items()]
    groups += [
        everywhere(f'Stribeck at {V_S:g} rad/s (F_S)', partial(stribeck_term, V_S=V_S), 'stribeck')
        for V_S in STRIBECK_SPEEDS
    ]
    groups += [everywhere(name, partial(friction_term, name=law), without=lifts) for name, law in LOAD_LAWS.items()]
    groups += [
        everywhere(
            f'hysteresis of {width:g} rad (Maxwell-slip)', partial(hysteresis_term, width=width), 'hysteresis', wide
        )
        for width in WIDTHS
    ]
    if temperature is not None and (temperature[:, 1] - temperature[:, 0]).max() > WARMING:
        middle = [float(np.round(np.clip(value, 10.0, 70.0), 1)) for value in temperature.mean(axis=1)]
        groups += [
            CandidateGroup(
                f'temperature ({name})',
                tuple(friction_term(joint, name, T_0) for joint, T_0 in zip(model_joints, middle, strict=True)),
            )
            for name in ('F_T1', 'F_T2')
        ]
    groups += [
        CandidateGroup(f'position of {joint} (sin, cos of q and 2q)', (fourier_term(joint, [1, 2]),), single=True)
        for joint in (*model_joints, *followers)
    ]
    return [group for group in groups if group.terms]


def temperature_range(observations: Sequence[Observation]) -> FloatArray | None:
    """Return lowest and highest temperature per joint (n, 2) [°C], None where a recording lacks it."""
    measured = [observation.temperature for observation in observations if observation.temperature is not None]
    if len(measured) < len(observations):
        return None
    whole = np.concatenate(measured)
    return np.stack([whole.min(axis=0), whole.max(axis=0)], axis=1)


def gather(problem: Problem, solution: Solution, candidates: Problem) -> Rows:
    """Return weighted rows of `candidates` (the columns of `problem`, the tried ones), thinned to `MAX_ROWS`.

    Samples at which all joints rest are left out: blocks of a long stay would hold nothing of any law, and its gain
    would seem to vary as long as the robot waited.
    Their parts are the quarters of the recordings. Samples of an observation whose motion repeats are in the order of
    the phase: what a model misses repeats with it, so that a block of time would be held out in one period and learnt
    from in others.
    """
    b = problem.columns
    every = -(-sum(problem.samples) // MAX_ROWS)
    # what comes before and after repeated motion was recorded with it: no other day, temperature or motion
    whole = np.array(wholes([observation.name for observation in problem.observations]))
    phase = [_phase(observation, problem.model.joint_names) for observation in problem.observations]
    thinned: list[tuple[FloatArray, FloatArray, IntArray, FloatArray]] = []
    for block in candidates.blocks():
        kept = np.arange(problem.samples[block.observation])[block.kept]
        use = (kept % every == 0) & (True if block.resting is None else ~block.resting.all(axis=0))
        factor = solution.row_factors(block)[:, use]
        observation = np.full(int(use.sum()), block.observation)
        at = phase[block.observation][kept[use]]
        thinned.append((block.rows[:, :, use] * factor[:, None], block.tau[:, use] * factor, observation, at))
    W, tau, observations, at = (np.concatenate([entry[k] for entry in thinned], axis=-1) for k in range(4))
    # pieces of one recording, each with a time of its own, stay one after the other
    order = np.lexsort((at, observations))
    recordings = whole[observations]
    own = tuple(
        tuple(problem.names.index(name) for name in (f'Fv_{j + 1}', f'Fc_{j + 1}') if name in problem.names)
        for j in range(problem.model.n)
    )
    return Rows(W[:, :b, order], W[:, b:, order], tau[:, order], quarters_of(recordings)[order], own)


def _phase(observation: Observation, joint_names: tuple[str, ...]) -> FloatArray:
    """Return the time [s] of the samples that count, within the period where the motion repeats."""
    repetition = find_repetition(Recording(joint_names, observation.time, observation.q))
    time = observation.time[observation.kept]
    return time if repetition is None else np.mod(time - repetition.start, repetition.period)


def quarters_of(recordings: IntArray) -> IntArray:
    """Return which quarter of which recording each sample is in (K,), of the recordings' numbers (K,)."""
    quarter = 4 * recordings
    for recording in np.unique(recordings):
        here = np.flatnonzero(recordings == recording)
        quarter[here] += 4 * np.arange(len(here)) // len(here)
    return np.asarray(quarter)


@dataclass(frozen=True)
class Selection:
    """Further terms with their ridges, as held-out data weigh them.

    terms: the chosen ones; choice: what all candidates were worth; names: of the columns that `choice.doubt` is about.
    """

    terms: list[Term]
    choice: Choice
    names: list[str]

    def widened(self, covariance: FloatArray, names: Sequence[str], of: FloatArray | None = None) -> FloatArray:
        """Return the covariance of the parameters `names` (b,), or of S χ (S: `of`), with the doubt of the choice."""
        index = {name: k for k, name in enumerate(self.names)}
        rows = np.array([index.get(name, -1) for name in names])
        known = rows >= 0
        doubt = np.where(np.outer(known, known), self.choice.doubt[np.ix_(rows, rows)], 0.0)
        return np.asarray(covariance + (doubt if of is None else of @ doubt @ of.T))

    def summary(self, joint_names: Sequence[str], used: Sequence[Term]) -> dict[str, Any]:
        """Return the entry `selection` of summary.json; used: the terms of the solution, as far as friction allows."""

        def entry(worth: Worth) -> dict[str, Any]:
            return {'term': worth.candidate.name, 'gain_percent': 100 * worth.gain, 'standard_errors': worth.errors}

        ridges = self.choice.ridges
        kept = {name for term in used for name in term.names}
        return {
            'chosen': [
                {**entry(worth), 'ridges': {joint_names[j]: ridges[law[0]] for j, law in worth.laws.items()}}
                for worth in self.choice.chosen
            ],
            'left_out': [entry(worth) for worth in self.choice.left_out],
            'held_out_loss': {'without': self.choice.loss_before, 'with': self.choice.loss_after},
            'impossible': [name for term in self.terms for name in term.names if name not in kept],
        }


def first_terms(candidates: Sequence[CandidateGroup]) -> list[Term]:
    """Return one law of each kind for all joints, held back.

    A model without further friction weighs the rows by what it leaves over, and has another load torque: terms that
    only make up for both would be chosen by these, and what they hide would not.
    """
    laws = [group for group in candidates if not group.single and not group.slow]
    first = {group.kind or group.name: group for group in reversed(laws)}
    return [replace(term, ridge=FIRST_RIDGE, selected=True) for group in first.values() for term in group.terms]


def choose(
    problem: Problem, candidates: Sequence[CandidateGroup], state: FrictionState, solution: Solution
) -> Selection:
    """Return the terms that lower the held-out residual.

    Parameters
    ----------
    candidates
        the `menu`.
    state
        load torque and hysteresis that the columns of friction are made with.
    solution
        whose weights the rows have.
    """
    terms = [term for group in candidates for term in group.terms]
    trial = problem.with_terms([*problem.terms, *terms], state)
    groups: list[Candidate] = []
    slow: tuple[int, ...] = ()
    column = 0
    for group in candidates:
        joints = tuple(problem.model.link_names.index(term.joint) for term in group.terms for _ in term.names)
        columns = tuple(range(column, column + len(joints)))
        errors = SINGLE_JOINT_ERRORS if group.single else MIN_ERRORS
        groups.append(Candidate(group.name, columns, joints, group.kind, errors))
        slow += columns if group.slow else ()
        column += len(joints)
    rows = replace(gather(problem, solution, trial), slow=slow)
    choice = weigh(HeldOut(rows), groups)
    chosen, column = [], 0
    for term in terms:
        if column in choice.ridges:
            chosen.append(replace(term, ridge=choice.ridges[column], selected=True))
        column += len(term.names)
    return Selection(chosen, choice, trial.names)
