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

"""The alternatives: other relations of motion and torque, each with its meaning.

Every alternative is a change of the samples (or of gravity) that is linear in positions and torques, so that it may
be made behind the filters. A recording of its own may have a payload of its own [Chow 1960]: columns of a body at the
last link, or another sign of one torque. Such a difference matters if it makes a twentieth of the torque of held-out
times; for a payload, half of the power of the residual is enough, as it hardly shows beside all torque.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.changes import (
    TIME_FACTORS,
    TORQUE_FACTORS,
    TURNS,
    UP_DIRECTIONS,
    Change,
    offset_change,
    order_changes,
    position_changes,
    scale_change,
    sign_changes,
    time_change,
)
from joint_dynamics.identification.reliability.evidence import (
    Explanation,
    ExplanationFit,
    NormalEquations,
    effective_samples,
    gain,
    most_samples,
    normal_equations,
    overdispersion,
    regressor_columns,
)
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.recording.conversions import Corrections
from joint_dynamics.robot import INERTIAL, RobotModel
from joint_dynamics.robot.chain import GRAVITY, Chain, mounting_rotation
from joint_dynamics.robot.standard_parameters import link_columns

DECOUPLING_FACTORS = (1e-6, 1e6)  # take one joint's torque out of the common system


def by_recorded_columns(fitted: ExplanationFit, order: IntArray) -> ExplanationFit:
    """Return a fit with what belongs to each torque at the column it came from; order (n,): that column."""
    place = np.argsort(order)
    count = None if fitted.count is None else fitted.count[place]
    return replace(fitted, unexplained=fitted.unexplained[place], count=count)


class Alternatives:
    """All alternatives of one set of samples."""

    def __init__(self, model: RobotModel, samples: FilteredSamples):
        self.model, self.samples = model, samples
        self.names = model.joint_names
        self.rows = regressor_columns(samples, model)
        self.normal = normal_equations(self.rows, samples, model)
        self.given = self.normal.fit(samples.tau)
        self.residuals = self.normal.residuals(samples.tau, self.given.chi)
        self.count = effective_samples(self.residuals, samples.weight, samples.part)
        self.given = replace(self.given, count=self.count)

    def fitted(
        self, code: str, text: str, normal: NormalEquations, target: FloatArray, order: IntArray | None = None
    ) -> Explanation:
        """Return one alternative: columns `normal` explain `target`; order: the recording's column of each target."""

        def back(fit: ExplanationFit) -> ExplanationFit:
            return fit if order is None else by_recorded_columns(fit, order)

        # the residual of a wrong explanation holds signal, and too few samples seem independent: first the largest
        # number of any joint
        most = np.full(len(self.names), self.count.max())
        fit = normal.free(target)
        if gain(self.given, back(fit), most) > 0:
            fit = normal.fit(target)
        gained = gain(self.given, back(fit), most)
        if gained > 0:
            own = effective_samples(normal.residuals(target, fit.chi), normal.weight, self.samples.part)
            fit = replace(fit, count=np.maximum(own, self.count if order is None else self.count[order]))
            gained = gain(self.given, back(fit), most_samples([back(fit)]))
        one = Explanation(code, text, self.names, self.given, back(fit), gained)
        if not one.clear:
            return one
        return replace(one, dispersion=overdispersion(normal, target, fit, most_samples([fit])))

    @functools.cached_property
    def held_out(self) -> FloatArray:
        """`NormalEquations.held_out` of the given explanation, (folds, n)."""
        return self.normal.held_out(self.samples.tau, self.samples.part)

    @functools.cached_property
    def power(self) -> FloatArray:
        """‖Y_j‖² of each weighted torque, (n,)."""
        return np.asarray(((self.samples.tau * self.samples.weight) ** 2).sum(axis=1))

    def share(self, unexplained: FloatArray) -> float:
        """Return the share of all torque (rms) that shares (n,) of each one's power make."""
        return float(np.sqrt(max(unexplained @ self.power / max(self.power.sum(), np.finfo(float).tiny), 0.0)))

    def normal_of(self, samples: FilteredSamples) -> NormalEquations:
        """Return the normal equations of another motion."""
        return normal_equations(regressor_columns(samples, self.model), samples, self.model)

    def normal_on(self, chain: Chain) -> NormalEquations:
        """Return the normal equations of the motion on another chain."""
        every = np.arange(len(self.model.parameter_names))
        columns = regressor_columns(self.samples, self.model, chain, every)
        return normal_equations(columns, self.samples, self.model, every)

    def better_alternatives(self) -> list[Explanation]:
        """Return the alternatives that explain the torques clearly better than the given data, the best first."""
        return sorted((one for one in self.all() if one.clear), key=lambda one: -one.gain)

    def all(self) -> Iterator[Explanation]:
        """Yield every alternative, fitted."""
        yield from self.torques()
        yield from self.motions()
        yield from self.zeros()
        yield from self.orders()
        yield from self.times()
        yield from self.mountings()

    def torques(self) -> Iterator[Explanation]:
        """Yield signs and scales of torques.

        A torque of scale 0 or ∞ no longer shares parameters with the others. A slightly wrong model gains by that, too,
        so a sign or a scale of one joint has to gain more. A scale has to gain `SCALE_EVIDENCE` besides.
        """
        turned, *signs = sign_changes(self.names)
        yield from self.changed([turned])
        for name, sign in zip(self.names, signs, strict=True):
            apart = [one.fitted for one in self.changed([scale_change(name, factor) for factor in DECOUPLING_FACTORS])]
            for changed in self.changed([sign, *(scale_change(name, factor) for factor in TORQUE_FACTORS)]):
                count = most_samples([self.given, changed.fitted, *apart])
                if min(gain(fitted, changed.fitted, count) for fitted in apart) > thresholds.FREE_SCALE_THRESHOLD and (
                    changed.code == 'torque_sign' or changed.gain > thresholds.SCALE_EVIDENCE
                ):
                    yield changed

    def changed(self, changes: Sequence[Change]) -> Iterator[Explanation]:
        """Yield the alternatives of some changes, in their order."""
        for change in changes:
            samples = self.samples.corrected(change.mend, self.names)
            normal = self.normal_of(samples) if change.mend.moves_positions else self.normal
            order = change.mend.torque_columns(self.names)[0] if change.mend.torque_order else None
            yield replace(self.fitted(change.code, change.text, normal, samples.tau, order), mend=change.mend)

    def motions(self) -> Iterator[Explanation]:
        """Yield signs and units of positions, and time that runs backwards."""
        yield from self.changed(position_changes(self.names))
        backwards = self.normal_of(self.samples.backwards())
        yield self.fitted('time_reversed', 'the recordings run backwards in time', backwards, self.samples.tau)
        yield self.fitted(
            'time_reversed',
            'torques and positions run in opposite directions of time',
            self.normal,
            self.samples.mirrored(),
        )

    def zeros(self) -> Iterator[Explanation]:
        """Yield other zeros of each turning joint, quarter turns away."""
        yield from self.changed(
            [
                offset_change(name, turn)
                for name, slides in zip(self.names, self.model.prismatic, strict=True)
                for turn in TURNS
                if not slides
            ]
        )

    def orders(self) -> Iterator[Explanation]:
        """Yield columns of any two joints swapped, or of all in reverse: of torques, of positions, of both."""
        yield from self.changed(order_changes([name for name in self.names if name not in self.model.without_torque]))

    def times(self) -> Iterator[Explanation]:
        """Yield the other unit of time that explains most; none where measured speeds confirm the stamps."""
        if self.samples.timed:
            return
        best = max(self.changed([time_change(factor) for factor in TIME_FACTORS]), key=lambda one: one.gain)
        # accelerations that are noise make any slower motion likelier: one without any has to be less likely still
        (still,) = self.changed([time_change(DECOUPLING_FACTORS[1])])
        count = most_samples([self.given, best.fitted, still.fitted])
        if gain(still.fitted, best.fitted, count) > thresholds.FREE_SCALE_THRESHOLD:
            yield best

    def mountings(self) -> Iterator[Explanation]:
        """Yield torques without gravity, and the base standing otherwise against it."""
        chain = self.model.chain
        if self.model.weightless:
            weighed = self.normal_on(self.model.standing(weightless=False).chain)
            yield self.fitted(
                'gravity', 'the torques contain gravity, although stated without it', weighed, self.samples.tau
            )
            return
        weightless = self.normal_on(self.model.standing(weightless=True).chain)
        without = self.fitted('gravity', 'gravity is missing in the torques', weightless, self.samples.tau)
        yield replace(without, mend=Corrections(torque_without_gravity=True))
        for text, angles in UP_DIRECTIONS.items():
            gravity = mounting_rotation(angles).T @ np.array([0.0, 0.0, -GRAVITY])
            if np.allclose(gravity, chain.gravity, atol=0.1 * GRAVITY):
                continue
            turned = self.fitted(
                'mounting',
                f'the base has another orientation, with {text} of its own frame',
                self.normal_on(replace(chain, gravity=gravity)),
                self.samples.tau,
            )
            yield replace(turned, mounting=angles)


def explains_most(effect: float, left: float) -> bool:
    """Whether what makes so much explains more than half of the power of the residual (both rms)."""
    return effect**2 > 0.5 * left**2


def differences(alternatives: Alternatives, names: Sequence[str]) -> list[Explanation]:
    """Return what each of several recordings gains by a payload or a sign of its own, the largest gain first."""
    model, samples = alternatives.model, alternatives.samples
    last = np.arange(len(model.parameter_names))[link_columns(model.n - 1)]
    payload = regressor_columns(samples, model, independent=last)[:, : len(INERTIAL)]
    explanations = []
    # of two recordings, one is enough: the other differs by the negative
    for index in range(len(names) == 2, len(names) if len(names) > 1 else 0):
        name, where = names[index], samples.part == index
        normal = alternatives.normal.beside(np.concatenate([alternatives.rows, payload * where], axis=1))
        own = alternatives.fitted('payload_mixed', '', normal, samples.tau)
        text = f'{name} differs from the other recordings by a payload of about {own.fitted.chi[-1]:.3g} kg'
        explanations.append(_judged(alternatives, replace(own, text=text), normal, samples.tau))
        for j, joint in enumerate(model.joint_names):
            target = samples.tau.copy()
            target[j, where] *= -1
            text = f'{name} has another sign of {joint} than the other recordings'
            turned = alternatives.fitted('recordings_differ', text, alternatives.normal, target)
            explanations.append(_judged(alternatives, turned, alternatives.normal, target))
    return sorted(explanations, key=lambda one: -one.gain)


def _judged(alternatives: Alternatives, one: Explanation, normal: NormalEquations, target: FloatArray) -> Explanation:
    """Return the explanation with whether it matters on held-out times; normal, target: as fitted."""
    if not one.clear:
        return one
    given = alternatives.held_out.mean(axis=0)
    other = normal.held_out(target, alternatives.samples.part).mean(axis=0)
    effect, left = alternatives.share(given - other), alternatives.share(given)
    explains = one.code == 'payload_mixed' and explains_most(effect, left)
    return replace(one, matters=effect > thresholds.MIN_EFFECT or explains)
