"""What is wrong with the recordings: the one cause, or several, each with the correction that mends it.

What was measured comes first: speeds that contradict the positions by one factor are a matter of time. Then, greedily:
the best of all explanations that are clearly better (`alternatives`, by the robot file, a delay, scales, parts that
differ) corrects the samples, and all are tried again, until none is clear or the best has no correction. Explanations
that gain about as much as the best are its variants; those of the first step are followed, too, and of all paths and
their beginnings those come first that gain most. Faults of a wrist may hide each other: signed swaps of any two
torques, and signed orders of the last three, compete with the whole path.

The proof: parameters learnt from four fifths of each recording, as given and as corrected, predict the other fifth, for
each fifth. The first path that lowers what is left over there steadily, or to less than half, is taken; what speeds
tell stays unless it raises it steadily.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives, by_recorded_columns
from joint_dynamics.identification.reliability.changes import group_changes
from joint_dynamics.identification.reliability.delay import delay_by_file, estimate_delay, friction_rows
from joint_dynamics.identification.reliability.differences import differences
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain
from joint_dynamics.identification.reliability.explanation import Explanation, most_samples, named
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples, kept
from joint_dynamics.identification.reliability.robot_file import FileAlternatives, file_alternatives
from joint_dynamics.identification.reliability.scales import estimate_scales
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording.conversions import Corrections


@dataclass(frozen=True)
class State:
    """The recordings as corrected so far: samples and whole torques, and all that explains them better.

    late: rows of friction that delays are told from (`friction_rows`).
    """

    alternatives: Alternatives
    observations: Sequence[Observation]
    by_file: FileAlternatives | None
    better: Sequence[Explanation]
    better_by_file: Sequence[Explanation]
    late: FloatArray
    delay: Explanation
    delay_by_file: Explanation | None
    scales: Explanation
    differences: Sequence[Explanation]

    @staticmethod
    def of(alternatives: Alternatives, observations: Sequence[Observation]) -> State:
        """Try all explanations of some samples; observations: of the same recordings, with the same torques."""
        better = alternatives.better_alternatives()
        by_file = file_alternatives(alternatives, better)
        late = friction_rows(alternatives, observations)
        return State(
            alternatives,
            observations,
            by_file,
            better,
            [] if by_file is None else by_file.better_alternatives(),
            late,
            estimate_delay(alternatives, observations, late),
            None if by_file is None else delay_by_file(by_file, observations, late),
            estimate_scales(alternatives),
            differences(alternatives, [observation.name for observation in observations]),
        )

    def named(self) -> list[Explanation]:
        """Return the best explanation and those that gain about as much, the best first."""
        every = (*self.better, self.delay, self.scales, *self.differences, *self.told_by_file)
        return named(
            [one for one in every if one.clear and one.matters],
            [one for one in self.alternatives.explanations if one.gain > 0 and not one.clear],
        )

    @property
    def told_by_file(self) -> list[Explanation]:
        """What the robot file's inertials tell."""
        return [*self.better_by_file, *([] if self.delay_by_file is None else [self.delay_by_file])]

    def corrected(self, mend: Corrections) -> State:
        """Return the state behind a correction."""
        samples, observations = _corrected(self.alternatives, self.observations, mend)
        model = self.alternatives.model
        if mend.torque_without_gravity:
            model = model.standing(weightless=True)
        return State.of(Alternatives(model, samples), observations)


@dataclass(frozen=True)
class Causes:
    """The states as given and as corrected, and one reason per cause, the first step first.

    mend: corrects all causes that a setting can; left: % of each torque left over of data that took no part, {joint:
    (as given, as corrected)}; by_file: whether the robot file's inertials tell any; open: the last cause, where no
    correction is known.
    """

    first: State
    last: State
    reasons: Sequence[Reason] = ()
    mend: Corrections = field(default_factory=Corrections)
    left: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    by_file: bool = False
    open: Explanation | None = None
    unproved: Sequence[str] = ()

    def summary(self) -> dict[str, Any]:
        """Return the entry `mend` of summary.json: the settings, and what is left over before and after; {} if none."""
        mounting = next((reason.mend for reason in self.reasons if 'robot' in reason.mend), {})
        if not self.mend.stated():
            return {'mend': dict(mounting)} if mounting else {}
        left = {name: {'before': before, 'after': after} for name, (before, after) in self.left.items()}
        return {'mend': {'recording': self.mend.stated(), 'left_percent': left, **mounting}}

    def compared(self, by_file: bool = False, late: bool = False) -> list[tuple[ExplanationFit, ExplanationFit]]:
        """Return the fits at the start and at the end, by the columns as recorded.

        by_file: with its links, too; late: with the friction that a delay is told from.
        """
        first, last = self.first, self.last
        order = self.mend.torque_columns(first.alternatives.names)[0]
        ends = [(state.delay if late else state.alternatives).given for state in (first, last)]
        pairs = [(ends[0], by_recorded_columns(ends[1], order))]
        files = [state.delay_by_file if late else state.by_file for state in (first, last)]
        if by_file and files[0] is not None and files[1] is not None:
            pairs.append((files[0].given, by_recorded_columns(files[1].given, order)))
        if self.open is not None:
            given, fitted = (by_recorded_columns(fit, order) for fit in (self.open.given, self.open.fitted))
            pairs.append((given, fitted))
        return pairs

    def fitted(self) -> ExplanationFit | None:
        """Return the fit of the end, by the columns as they were recorded; None where nothing is wrong."""
        return self.compared()[-1][1] if self.reasons else None


def find_causes(alternatives: Alternatives, observations: Sequence[Observation], measured: Sequence[Reason]) -> Causes:
    """Return the causes; measured: reasons that need no explanation of torques, with their corrections.

    Of the paths, the likeliest first, the first is taken that data that took no part prove, by free parameters or by
    the file's links where these tell a cause, and that neither predicts steadily worse. What of the likeliest one is
    not in it is noted.
    """
    first, names = State.of(alternatives, observations), alternatives.names
    likeliest: Sequence[Reason] | None = None
    unproved = list[str]()
    for path in _paths(first, measured):
        likeliest = path.reasons if likeliest is None else likeliest
        unproved = [
            f'{reason} (data that took no part are predicted no better so)'
            for reason in likeliest
            if reason not in path.reasons
        ]
        mend = path.mend
        if not mend.stated():
            return replace(path, unproved=unproved)
        pairs = list(held_out_pairs(path, mend))
        # What was measured, which torques of a slow motion cannot prove, they may only disprove.
        proved = pairs[0] if len(path.reasons) <= len(measured) else None
        proved = next((both for both in pairs if proves(*both)), proved)
        if proved is not None and not any(steadily_lower(*both) for both in pairs):
            break
    else:
        return Causes(first, first, [replace(reason, mend={}) for reason in measured], unproved=unproved)
    steps = list(path.reasons)
    before, after = proved
    # no torque tells one factor of all
    if not np.allclose(before, after):
        proof = (
            f'{steps[0].text}; of data that took no part, {_rms(before):.3g} % is left over as it is, '
            f'{_rms(after):.3g} % {"with all corrections" if len(steps) > 1 else "so corrected"} (rms over the joints)'
        )
        steps[0] = replace(steps[0], text=proof)
    left = zip(*(100 * np.sqrt(part.mean(axis=0)) for part in (before, after)), strict=True)
    named_left = dict(zip(names, left, strict=True))
    return replace(path, reasons=steps, left=named_left, unproved=unproved)


def held_out_pairs(path: Causes, mend: Corrections) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield `held_out` of a path's ends, and by the file's links where these tell a cause."""
    first, last = path.first, path.last
    friction = [state.late if mend.torque_delay else None for state in (first, last)]
    yield held_out(first.alternatives, last.alternatives, mend, friction)
    if path.by_file and first.by_file is not None and last.by_file is not None:
        yield held_out(first.by_file, last.by_file, mend, friction)


def _corrects(reason: Reason) -> tuple[Any, ...]:
    """Return which settings, of which joints; a mounting is each its own."""
    return reason.joints, *reason.mend.get('recording', {}), reason.mend.get('robot')


def _mend(reason: Reason) -> Corrections:
    return Corrections(**reason.mend.get('recording', {}))


def better_uncorrected(
    alternatives: Alternatives, observations: Sequence[Observation], corrections: Sequence[Corrections]
) -> list[Reason]:
    """Return a reason where recordings without the corrections that they were read with predict better.

    corrections: of each observation's recording; those that share theirs are judged together, apart from the others.
    """
    reasons, model = [], alternatives.model
    for k, one in enumerate(corrections):
        if not one.stated() or one in corrections[:k]:
            continue
        which = [index for index, other in enumerate(corrections) if other == one]
        theirs = [observations[index] for index in which]
        given, undo = alternatives, one.inverse(alternatives.names)
        if not undo.stated():
            continue
        if len(which) < len(corrections):
            given = Alternatives(model, alternatives.samples.of_recordings(which))
        samples, undone = _corrected(given, theirs, undo)
        other = Alternatives(model, samples)
        sides = ((given, theirs), (other, undone))
        friction = [friction_rows(*side) if one.torque_delay else None for side in sides]
        corrected, uncorrected = held_out(given, other, undo, friction)
        if steadily_lower(uncorrected, corrected):
            of = '' if given is alternatives else f'{", ".join(run.name for run in theirs)}: '
            text = (
                f'{of}without recording.{", recording.".join(one.stated())} less is left over of data that took '
                f'no part, {_rms(uncorrected):.3g} instead of {_rms(corrected):.3g} % (rms over the joints): leave '
                'them out'
            )
            reasons.append(Reason('correction', text))
    return reasons


def _paths(first: State, measured: Sequence[Reason]) -> Iterator[Causes]:
    """Yield what was measured with the paths from there, the likeliest first; then less of what was measured."""
    names = first.alternatives.names
    for count in range(len(measured), 0 if measured else -1, -1):
        mend = functools.reduce(lambda before, step: before.then(_mend(step), names), measured[:count], Corrections())
        start = first.corrected(mend) if count else first
        for path in _likeliest(start) if count == len(measured) else [Causes(start, start)]:
            reasons = [*measured[:count], *path.reasons]
            yield replace(path, first=first, reasons=reasons, mend=mend.then(path.mend, names))


def _likeliest(given: State) -> list[Causes]:
    """Return the paths from a state, and their beginnings, that gain any, the likeliest first, and none at last.

    Its variants are followed, and groups of torques held against. All gains are by one count of samples, the most that
    those of a joint are worth anywhere, so that of paths to the same end the shorter one is taken.
    """
    tied = given.named()
    # efforts of the other sign are the mirror image of time reversed, and the likelier fault
    starts = [start for start in tied if start.code != 'time_reversed'] or tied
    none = Causes(given, given)
    paths = [none, *itertools.chain(*(_follow(given, start, tied) for start in starts))]
    best = max(_gains(paths))
    groups = given.alternatives.changed(group_changes(given.alternatives.names))
    clear = [
        one
        for one in groups
        if replace(one, least=thresholds.MIN_EVIDENCE).clear and one.gain > best + thresholds.GROUP_ADVANTAGE
    ]
    if clear:
        start = max(clear, key=lambda group: group.gain)
        paths += _follow(given, start, [start])
    gains = _gains(paths)
    order = sorted(range(len(paths)), key=lambda k: -gains[k])
    return [paths[k] for k in order[: order.index(0) + 1]]


def _gains(paths: Sequence[Causes]) -> list[float]:
    """Return what each path gains from its first state to its end, less `MIN_EVIDENCE` for each of its causes [nats].

    By the robot file's inertials, too, where they tell a cause of any; where a delay is one of any, without or with the
    friction that it is told from, by which it gains more.
    """
    by_file = any(path.by_file for path in paths)
    lates = [False, True] if any(path.mend.torque_delay for path in paths) else [False]
    ways = [[path.compared(by_file, late) for late in lates] for path in paths]
    count = most_samples(fit for way in ways for pairs in way for pair in pairs for fit in pair)
    return [
        max(sum(gain(given, fitted, count) for given, fitted in pairs) for pairs in way)
        - thresholds.MIN_EVIDENCE * len(path.reasons)
        for path, way in zip(paths, ways, strict=True)
    ]


def _follow(state: State, start: Explanation, named_beside: Sequence[Explanation]) -> Iterator[Causes]:
    """Yield the path that begins so and then always takes the best, as far as it is after each step."""
    names, first, mend, reasons, by_file = state.alternatives.names, state, Corrections(), list[Reason](), False
    tied = [start, *(one for one in named_beside if one is not start)]
    while tied and len(reasons) <= len(names):
        best = tied[0]
        reason, others = best.reason, [other.reason for other in tied[1:]]
        # a second correction of one setting contradicts the first, and neither is a finding
        if any(_corrects(reason) == _corrects(earlier) for earlier in reasons):
            return
        # the same correction by another model, or of another size, is no variant
        variants = tuple(other for other in others if not other.mend or _corrects(other) != _corrects(reason))
        reasons = [*reasons, replace(reason, variants=variants)]
        by_file |= any(best is one for one in state.told_by_file)
        if best.mend is None:
            yield Causes(first, state, reasons, mend, {}, by_file, best)
            return
        mend, state = mend.then(best.mend, names), state.corrected(best.mend)
        yield Causes(first, state, reasons, mend, {}, by_file)
        tied = state.named()


def held_out(
    given: Alternatives, other: Alternatives, mend: Corrections, friction: Sequence[FloatArray | None]
) -> tuple[FloatArray, FloatArray]:
    """Return the share of each torque's power left over where parameters are learnt from other blocks, (folds, n).

    Of the recording as given, and as corrected by `mend`: the torque that is then the joint's, where it was recorded.
    friction: rows of each beside its own, without or with which it is predicted, whatever leaves less over.
    """
    shown = np.any(other.samples.weight > 0, axis=0)

    def least(one: Alternatives, rows: FloatArray | None) -> FloatArray:
        normals = [one.normal]
        if rows is not None:
            normals.append(one.normal.beside(np.concatenate([one.rows, rows], axis=1)))
        tau, part = one.samples.tau[:, shown], one.samples.part[shown]
        return min((normal.of_samples(shown).held_out(tau, part) for normal in normals), key=np.mean)

    before, after = map(least, (given, other), friction)
    return before[:, mend.torque_columns(given.names)[0]], after


def steadily_lower(left: FloatArray, other: FloatArray, errors: float = thresholds.MIN_VUONG_STATISTIC) -> bool:
    """Whether less is left over, by so many standard errors over the folds; (folds, n) each."""
    gained = (other - left).mean(axis=1)
    return bool(gained.mean() > errors * gained.std(ddof=1) / np.sqrt(len(gained)))


def proves(before: FloatArray, after: FloatArray) -> bool:
    """Whether less is left over after a correction, steadily or by `BETTER` (rms); (folds, n) each."""
    return steadily_lower(after, before, thresholds.PROOF) or bool(after.mean() < thresholds.BETTER**2 * before.mean())


def _rms(left: FloatArray) -> float:
    return 100 * float(np.sqrt(np.mean(left)))


def _corrected(
    alternatives: Alternatives, observations: Sequence[Observation], mend: Corrections
) -> tuple[FilteredSamples, list[Observation]]:
    """Return samples and observations (torques and time) as corrected; a delay is one of torques at the full rate.

    Rows whose torque is none that was recorded weigh nothing.
    """
    names, corrected, recorded = alternatives.names, list[Observation](), list[BoolArray]()
    samples, (order, scale) = alternatives.samples.corrected(mend, names), mend.torque_columns(names)
    for one in observations:
        tau = one.tau[:, order] * scale
        if mend.torque_delay:
            at = one.time + mend.torque_delay / mend.time_scale
            tau = np.array([np.interp(at, one.time, column) for column in tau.T]).T
            recorded.append(((at >= one.time[0]) & (at <= one.time[-1]))[one.kept])
        corrected.append(replace(one, tau=tau, time=one.time * mend.time_scale))
    if mend.torque_delay:
        tau = np.concatenate([kept(one, one.tau) for one in corrected], axis=1)
        samples = replace(samples, tau=tau, weight=samples.weight * np.concatenate(recorded))
    return samples, corrected
