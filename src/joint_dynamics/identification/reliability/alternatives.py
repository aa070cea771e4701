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
be made behind the filters.
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
    time_change,
    torque_changes,
)
from joint_dynamics.identification.reliability.evidence import (
    ExplanationFit,
    NormalEquations,
    effective_samples,
    gain,
    normal_equations,
    normals_of,
    regressor_columns,
    time_blocks,
    vuong_statistic,
)
from joint_dynamics.identification.reliability.explanation import (
    Explanation,
    least_evidence,
    most_samples,
    overdispersion,
)
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.recording.conversions import Corrections
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.chain import GRAVITY, Chain, mounting_rotation

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
        self.blocks = time_blocks(samples.part)

    def fitted(
        self, code: str, text: str, normal: NormalEquations, target: FloatArray, order: IntArray | None = None
    ) -> Explanation:
        """Return one alternative: columns `normal` explain `target`; order: the recording's column of each target."""

        def back(fit: ExplanationFit) -> ExplanationFit:
            return fit if order is None else by_recorded_columns(fit, order)

        # the residual of a wrong explanation holds signal, and too few samples seem independent: first the largest
        # number of any joint
        most = np.full(len(self.names), self.count.max())
        fit = normal.fit(target, lambda free: gain(self.given, back(free), most) > 0)
        gained = gain(self.given, back(fit), most)
        one = Explanation(code, text, self.names, self.given, back(fit), gained, least=least_evidence(self.model, code))
        if not gained > 0:
            return one
        left = normal.residuals(target, fit.chi)
        own = effective_samples(left, normal.weight, self.samples.part)
        if order is not None:
            left[order], own[order] = left.copy(), own.copy()
        count = np.maximum(self.count, own)
        one = replace(one, gain=gain(self.given, back(fit), count))
        if one.gain <= one.threshold:
            return one
        return replace(
            one,
            fitted=replace(back(fit), count=count),
            vuong_statistic=self.vuong_statistic(back(fit), left, count),
            dispersion=overdispersion(normal, target, fit, count if order is None else count[order]),
        )

    def independent_samples(self, left: FloatArray) -> FloatArray:
        """Return the effective samples (n,) of a weighted residual (n, samples), at least those of the given one."""
        return np.maximum(self.count, effective_samples(left, self.samples.weight, self.samples.part))

    def vuong_statistic(self, fitted: ExplanationFit, left: FloatArray, count: FloatArray) -> float:
        """Return `evidence.vuong_statistic` of a fit with its weighted residual, (n, samples)."""
        return vuong_statistic((self.given, self.residuals), (fitted, left), count, self.samples.weight, self.blocks)

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

    def normal_on(self, chain: Chain) -> NormalEquations:
        """Return the normal equations of the motion on another chain."""
        every = np.arange(len(self.model.parameter_names))
        columns = regressor_columns(self.samples, self.model, chain, every)
        return normal_equations(columns, self.samples, self.model, every)

    def better_alternatives(self) -> list[Explanation]:
        """Return the alternatives that explain the torques better than the given data, the best first.

        Some of them clearly so (`Explanation.clear`).
        """
        return sorted((one for one in self.explanations if one.better), key=lambda one: -one.gain)

    @functools.cached_property
    def explanations(self) -> list[Explanation]:
        """Every alternative, fitted once."""
        return list(self.all())

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
        so a sign or a scale has to gain more.
        """
        turned, *signs = (change for change in torque_changes(self.names) if change.code == 'torque_sign')
        yield from self.changed([turned])
        for name, sign in zip(self.names, signs, strict=True):
            apart = [
                changed.fitted
                for changed in self.changed([scale_change(name, factor) for factor in DECOUPLING_FACTORS])
            ]
            scales = [scale_change(name, factor) for factor in TORQUE_FACTORS]
            for changed in self.changed([sign, *scales]):
                count = most_samples([self.given, changed.fitted, *apart])
                beyond = min(gain(fitted, changed.fitted, count) for fitted in apart)
                if beyond > thresholds.FREE_SCALE_THRESHOLD and (
                    changed.code == 'torque_sign'
                    or changed.gain > thresholds.SCALE_PENALTY * thresholds.LOG_LIKELIHOOD_THRESHOLD
                ):
                    yield changed

    def changed(self, changes: Sequence[Change]) -> Iterator[Explanation]:
        """Yield the alternatives of some changes, in their order."""
        moved = [self.samples.corrected(change.mend, self.names) for change in changes]
        motions = [samples for samples, change in zip(moved, changes, strict=True) if change.mend.moves_positions]
        normals = normals_of(motions, self.model)
        for change, samples in zip(changes, moved, strict=True):
            normal = next(normals) if change.mend.moves_positions else self.normal
            order = change.mend.torque_columns(self.names)[0] if change.mend.torque_order else None
            yield replace(self.fitted(change.code, change.text, normal, samples.tau, order), mend=change.mend)

    def motions(self) -> Iterator[Explanation]:
        """Yield signs and units of positions, and time that runs backwards."""
        yield from self.changed(position_changes(self.names))
        backwards = next(normals_of([self.samples.backwards()], self.model))
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
        measured = tuple(name for name in self.names if name not in self.model.without_torque)
        yield from self.changed(order_changes(measured))

    def times(self) -> Iterator[Explanation]:
        """Yield the other unit of time that explains most; none where measured speeds confirm the stamps."""
        if self.samples.timed:
            return
        best = max(self.changed([time_change(factor) for factor in TIME_FACTORS]), key=lambda one: one.gain)
        if best.better:
            # accelerations that are noise make any slower motion likelier: one without any has to be less likely still
            (still,) = self.changed([time_change(DECOUPLING_FACTORS[1])])
            count = most_samples([self.given, best.fitted, still.fitted])
            beyond = gain(still.fitted, best.fitted, count) > thresholds.FREE_SCALE_THRESHOLD
            best = replace(best, matters=beyond)
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
