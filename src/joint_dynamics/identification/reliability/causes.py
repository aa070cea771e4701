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

"""Causes of a wrong recording, one after the other, each with its correction.

Speeds that contradict the positions by one factor come first: they measure the time. Then the clearly better
explanation with the largest gain (`alternatives`, a delay, a payload) corrects the samples, and all are tried again.

Proof: parameters learnt from four fifths of each recording predict the other fifth, for each fifth. Each correction has
to lower the residual there steadily. Corrections that leave a joint worse in the end are not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives, by_recorded_columns, differences
from joint_dynamics.identification.reliability.delay import estimate_delay, friction_rows
from joint_dynamics.identification.reliability.evidence import Explanation, ExplanationFit, most_samples
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording.conversions import Corrections

MIRROR = 0.8  # gain over that of the best explanation, from which it may be the best one's mirror image
MAX_TRIED = 4  # explanations of one step that are put to the proof


@dataclass(frozen=True)
class State:
    """The recordings as corrected so far: samples and whole torques, and what explains them better."""

    alternatives: Alternatives
    observations: Sequence[Observation]

    @cached_property
    def late(self) -> FloatArray:
        """Rows of friction that delays are told from."""
        return friction_rows(self.alternatives, self.observations)

    @cached_property
    def delay(self) -> Explanation:
        """The delay of the torques."""
        return estimate_delay(self.alternatives, self.observations, self.late)

    @cached_property
    def differences(self) -> Sequence[Explanation]:
        """A payload or a sign of one recording, the largest gain first."""
        return differences(self.alternatives, [observation.name for observation in self.observations])

    def clear(self) -> list[Explanation]:
        """Return the clearly better explanations that matter, the best first.

        Of mirror images, which gain about the same, a torque of the other sign is the likeliest fault.
        """
        every = (*self.alternatives.better_alternatives(), self.delay, *self.differences)
        found = [one for one in every if one.clear and one.matters]
        if not found:
            return []
        count = most_samples(fit for one in found for fit in (one.given, one.fitted))
        near = MIRROR * max(one.gained(count) for one in found) - thresholds.FREE_SCALE_THRESHOLD
        return sorted(
            found, key=lambda one: (one.code != 'torque_sign' or one.gained(count) < near, -one.gained(count))
        )

    def corrected(self, mend: Corrections) -> State:
        """Return the state behind a correction."""
        samples, observations = _corrected(self.alternatives, self.observations, mend)
        model = self.alternatives.model
        if mend.torque_without_gravity:
            model = model.standing(weightless=True)
        return State(Alternatives(model, samples), observations)


@dataclass(frozen=True)
class Causes:
    """The states as given and as corrected, and one reason per cause, the first step first.

    mend: all corrections that settings can make; left: residual of held-out data in percent of each torque, {joint: (as
    given, as corrected)}; open: the last cause, where no correction is known; unproved: notes.
    """

    first: State
    last: State
    reasons: Sequence[Reason] = ()
    mend: Corrections = field(default_factory=Corrections)
    left: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    open: Explanation | None = None
    unproved: Sequence[str] = ()

    def summary(self) -> dict[str, Any]:
        """Return the entry `mend` of summary.json: settings, residuals before and after; {} without one."""
        mounting = next((reason.mend for reason in self.reasons if 'robot' in reason.mend), {})
        if not self.mend.stated():
            return {'mend': dict(mounting)} if mounting else {}
        left = {name: {'before': before, 'after': after} for name, (before, after) in self.left.items()}
        return {'mend': {'recording': self.mend.stated(), 'left_percent': left, **mounting}}

    def fitted(self) -> ExplanationFit | None:
        """Return the fit of the end, by the columns as they were recorded; None where nothing is wrong."""
        if not self.reasons:
            return None
        fitted = self.last.alternatives.given if self.open is None else self.open.fitted
        return by_recorded_columns(fitted, self.mend.torque_columns(self.first.alternatives.names)[0])


def find_causes(alternatives: Alternatives, observations: Sequence[Observation], measured: Sequence[Reason]) -> Causes:
    """Return the causes; measured: reasons that need no explanation of torques, with their corrections."""
    first, names = State(alternatives, observations), alternatives.names
    path = Causes(first, first)
    for reason in measured:
        step = Corrections(**reason.mend.get('recording', {}))
        later = path.last.corrected(step)
        # torques of a slow motion cannot prove a time, they may only disprove it
        disproved = steadily_lower(*held_out(path.last, later, step))
        reasons = [*path.reasons, replace(reason, mend={}) if disproved else reason]
        path = replace(path, reasons=reasons)
        if not disproved:
            path = replace(path, last=later, mend=path.mend.then(step, names))
    unproved: dict[tuple[Any, ...], str] = {}
    while path.open is None and (further := _step(path, unproved)) is not None:
        path = further
    path = _without_harm(path, unproved)
    return replace(path, unproved=list(unproved.values()))


def _step(path: Causes, unproved: dict[tuple[Any, ...], str]) -> Causes | None:
    """Return the path with the best cause that is proved, or has no correction; None where there is none."""
    state, names = path.last, path.first.alternatives.names
    for best in state.clear()[:MAX_TRIED]:
        reason = best.reason
        # a second correction of one setting contradicts the first
        if any(_corrects(reason) == _corrects(earlier) for earlier in path.reasons):
            continue
        if best.mend is None:
            return replace(path, reasons=[*path.reasons, reason], open=best)
        corrected = state.corrected(best.mend)
        if proves(*held_out(state, corrected, best.mend)):
            unproved.pop(_corrects(reason), None)
            mend = path.mend.then(best.mend, names)
            return replace(path, last=corrected, reasons=[*path.reasons, reason], mend=mend)
        unproved[_corrects(reason)] = f'{reason} (it does not improve the prediction of unseen data)'
    return None


def _without_harm(path: Causes, unproved: dict[tuple[Any, ...], str]) -> Causes:
    """Return the path with its held-out residuals; without its corrections where they leave a joint worse."""
    if not path.mend.stated():
        return path
    before, after = held_out(path.first, path.last, path.mend)
    names = path.first.alternatives.names
    worse = [
        name
        for j, name in enumerate(names)
        if after[:, j].mean() > thresholds.WORSE**2 * before[:, j].mean() + thresholds.RESOLVED**2
        and steadily_lower(before[:, [j]], after[:, [j]])
    ]
    if worse and path.mend.time_scale == 1.0:
        for reason in path.reasons:
            unproved[_corrects(reason)] = f'{reason} (not corrected: {", ".join(worse)} would be predicted worse)'
        return Causes(path.first, path.first)
    left = zip(*(100 * np.sqrt(part.mean(axis=0)) for part in (before, after)), strict=True)
    return replace(path, left=dict(zip(names, left, strict=True)))


def _corrects(reason: Reason) -> tuple[Any, ...]:
    """Return the key of a correction: its joints and the settings it changes."""
    return reason.joints, *reason.mend.get('recording', {}), reason.code


def held_out(given: State, other: State, mend: Corrections) -> tuple[FloatArray, FloatArray]:
    """Return the held-out residual as a share of each torque's power, as given and as corrected by `mend`, (folds, n).

    Columns are those of the torque that is then the joint's. A delay is predicted with and without rows of friction.
    """
    shown = np.any(other.alternatives.samples.weight > 0, axis=0)

    def least(state: State) -> FloatArray:
        one = state.alternatives
        normals = [one.normal]
        if mend.torque_delay:
            normals.append(one.normal.beside(np.concatenate([one.rows, state.late], axis=1)))
        tau, part = one.samples.tau[:, shown], one.samples.part[shown]
        return min((normal.of_samples(shown).held_out(tau, part) for normal in normals), key=np.mean)

    return least(given)[:, mend.torque_columns(given.alternatives.names)[0]], least(other)


def steadily_lower(left: FloatArray, other: FloatArray, errors: float = thresholds.HARM) -> bool:
    """Whether the first residual is smaller, by so many standard errors over the folds; (folds, n) each.

    Logarithms, as in the likelihood: shares of the torque would scatter with its size from fold to fold.
    """
    gained = np.log((other + thresholds.RESOLVED**2) / (left + thresholds.RESOLVED**2)).mean(axis=1)
    return bool(gained.mean() > errors * gained.std(ddof=1) / np.sqrt(len(gained)))


def proves(before: FloatArray, after: FloatArray) -> bool:
    """Whether a correction lowers the residual steadily; (folds, n) each."""
    return steadily_lower(after, before, thresholds.PROOF)


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
        tau = np.concatenate([one.at_kept(one.tau) for one in corrected]).T
        samples = replace(samples, tau=tau, weight=samples.weight * np.concatenate(recorded))
    return samples, corrected
