"""The alternatives: other ways in which motion and torque could belong together, each with what it would mean.

Every alternative is a change of the samples (or of gravity) that is linear in positions and torques, so that it may
be made behind the filters.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.reliability.alternative import Alternative, Case, Explanation
from joint_dynamics.identification.reliability.evidence import (
    ExplanationFit,
    NormalEquations,
    columns_of,
    effective_samples,
    gain,
    normal_equations,
    normal_of,
    normals_of,
    steadiness,
    time_blocks,
)
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.identification.reliability.overdispersion import overdispersion
from joint_dynamics.identification.reliability.tried import (
    FREE_SCALE_THRESHOLD,
    KINDS,
    LOG_LIKELIHOOD_THRESHOLD,
    TIME_FACTORS,
    TORQUE_FACTORS,
    TURNS,
    UP_DIRECTIONS,
    least_evidence,
)
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.mounting import GRAVITY

DECOUPLING_FACTORS = (1e-6, 1e6)
"""Factors that take one joint's torque out of the common system."""
SCALE_PENALTY = 1.5
"""A scale is no yes or no: a model that is somewhat wrong is helped by one of many, which therefore has to gain so
many times `LOG_LIKELIHOOD_THRESHOLD`."""


def _back(found: ExplanationFit, order: IntArray) -> ExplanationFit:
    """Put what is unexplained of each torque back to the column it came from."""
    unexplained = np.empty_like(found.unexplained)
    unexplained[order] = found.unexplained
    return replace(found, unexplained=unexplained)


class Alternatives:
    """All alternatives of one set of samples."""

    def __init__(self, model: RobotModel, samples: FilteredSamples):
        self.model, self.samples = model, samples
        self.names = model.joint_names
        self.rows = columns_of(samples, model)
        self.normal = normal_equations(self.rows, samples, model)
        self.given = self.normal.fit(samples.tau)
        self.residuals = self.normal.residuals(samples.tau, self.given.chi)
        self.count = effective_samples(self.residuals, samples.weight, samples.part)
        self.given = replace(self.given, count=self.count)
        self.blocks = time_blocks(samples.part)

    def fitted(
        self, code: str, text: str, normal: NormalEquations, target: FloatArray, order: IntArray | None = None
    ) -> Alternative:
        """Return one alternative: columns `normal` explain `target`; order: the recording's column of each target."""

        def back(found: ExplanationFit) -> ExplanationFit:
            return found if order is None else _back(found, order)

        found = normal.fit(target, lambda free: gain(self.given, back(free), self.count) > 0)
        gained = gain(self.given, back(found), self.count)
        if not gained > 0:
            return Alternative(code, text, back(found), gained)
        # residuals of a wrong explanation hold signal, which makes samples look worth less than they are
        left = normal.residuals(target, found.chi)
        own = effective_samples(left, normal.weight, self.samples.part)
        if order is not None:
            left[order], own[order] = left.copy(), own.copy()
        count = np.maximum(self.count, own)
        gained = gain(self.given, back(found), count)
        if gained <= LOG_LIKELIHOOD_THRESHOLD:
            return Alternative(code, text, back(found), gained)
        return Alternative(
            code,
            text,
            replace(back(found), count=count),
            gained,
            steadiness((self.given, self.residuals), (back(found), left), count, self.samples.weight, self.blocks),
            overdispersion(normal, target, found, count if order is None else count[order]),
            self.least(code),
        )

    def least(self, code: str) -> float:
        """Return the evidence that an alternative of a kind needs [nats]."""
        return least_evidence(self.model, code, KINDS)

    def normals(self, motions: Sequence[FilteredSamples]) -> Iterator[NormalEquations]:
        """Yield the normal equations of other motions."""
        return normals_of(motions, self.model)

    def normal_on(self, chain: Chain) -> NormalEquations:
        """Return the normal equations of the motion on another chain."""
        return normal_of(self.samples, self.model, chain, np.arange(len(self.model.parameter_names)))

    def ahead(self) -> list[Alternative]:
        """Return the alternatives that explain the torques better than the given data, the best first.

        Some of them clearly so (`Alternative.clear`).
        """
        return sorted((found for found in self.tried if found.ahead), key=lambda found: -found.gain)

    @functools.cached_property
    def tried(self) -> list[Alternative]:
        """Every alternative, fitted once."""
        return list(self.all())

    def all(self) -> Iterator[Alternative]:
        """Yield every alternative, fitted."""
        yield from self.torques()
        yield from self.motions()
        yield from self.orders()
        yield from self.times()
        yield from self.mountings()

    def torques(self) -> Iterator[Alternative]:
        """Yield signs and scales of torques.

        A torque of scale 0 or ∞ no longer shares parameters with the others: what that gains, a model that is
        somewhat wrong gains as well, so that a sign or a scale has to gain more.
        """
        tau = self.samples.tau
        yield self.fitted('torque_sign', 'the torques of all joints have the opposite sign', self.normal, -tau)
        for j, name in enumerate(self.names):
            apart = max(self._scaled(j, factor, '', '').gain for factor in DECOUPLING_FACTORS)
            for factor in (-1.0, *TORQUE_FACTORS):
                code, text = (
                    ('torque_sign', f'the torque of {name} has the opposite sign')
                    if factor < 0
                    else ('drive_gain', f'the torque of {name} is about {1 / factor:g} times what it should be')
                )
                found = self._scaled(j, factor, code, text)
                if found.gain > apart + FREE_SCALE_THRESHOLD and (
                    factor < 0 or found.gain > SCALE_PENALTY * LOG_LIKELIHOOD_THRESHOLD
                ):
                    yield found

    def _scaled(self, j: int, factor: float, code: str, text: str) -> Alternative:
        target = self.samples.tau.copy()
        target[j] *= factor
        return self.fitted(code, text, self.normal, target)

    def _each(self, cases: Sequence[Case]) -> Iterator[Alternative]:
        """Yield the alternatives of some motions, in their order."""
        normals = self.normals([case.samples for case in cases if case.samples is not None])
        for samples, explanations in cases:
            normal = self.normal if samples is None else next(normals)
            for explanation in explanations:
                yield self.fitted(explanation.code, explanation.text, normal, explanation.target, explanation.order)

    def motions(self) -> Iterator[Alternative]:
        """Yield signs, zeros and units of positions."""
        n, tau = self.model.n, self.samples.tau
        same, ones = np.arange(n), np.ones(n)
        cases = []
        for j, name in enumerate(self.names):
            factor = ones.copy()
            factor[j] = -1.0
            sign = Explanation('position_sign', f'the position of {name} has the opposite sign', tau)
            axis = Explanation(
                'axis_sign',
                f'position and torque of {name} both have the opposite sign: its axis points the other way',
                tau * factor[:, None],
            )
            cases.append(Case(self.samples.moved(same, factor), (sign, axis)))
            if self.model.chain.prismatic[j]:
                continue
            for turn, angle in TURNS.items():
                shift = np.zeros((n, 1))
                shift[j] = angle
                zero = Explanation('position_offset', f'the zero position of {name} is off by about {turn}', tau)
                cases.append(Case(replace(self.samples, q=self.samples.q + shift), (zero,)))
        for factor, text in (
            (np.pi / 180, 'the positions are in degrees, not in rad'),
            (180 / np.pi, 'the positions were converted from degrees twice'),
        ):
            cases.append(Case(self.samples.moved(same, ones * factor), (Explanation('degrees', text, tau),)))
        backwards = Explanation('time_reversed', 'the recordings run backwards in time', tau)
        opposite = Explanation(
            'time_reversed', 'torques and positions run in opposite directions of time', self.samples.mirrored()
        )
        cases += [Case(self.samples.backwards(), (backwards,)), Case(None, (opposite,))]
        yield from self._each(cases)

    def orders_of_columns(self) -> list[tuple[str, IntArray]]:
        """Return (what it says, the column of each joint) of any two columns swapped, and of all in reverse."""
        n, names = self.model.n, self.names
        found: list[tuple[str, IntArray]] = [('in reverse order', np.arange(n)[::-1])] if n > 2 else []
        for i, k in itertools.combinations(range(n), 2):
            swapped = np.arange(n)
            swapped[[i, k]] = k, i
            found.append((f'of {names[i]} and {names[k]} swapped', swapped))
        return found

    def torques_in_order(self, text: str, order: IntArray) -> Explanation:
        """Return the explanation that the torques are in another order."""
        said = f'the torques are {text}' if 'reverse' in text else f'the torques {text}'
        return Explanation('torque_order', said, self.samples.tau[order], order)

    def orders(self) -> Iterator[Alternative]:
        """Yield columns swapped or in reverse, of torques, of positions, of both."""
        tau, ones = self.samples.tau, np.ones(self.model.n)
        cases = []
        for text, order in self.orders_of_columns():
            moved = self.samples.moved(order, ones)
            whole = 'reverse' in text
            positions = Explanation(
                'position_order', f'the positions are {text}' if whole else f'the positions {text}', tau
            )
            joints = Explanation(
                'joint_order', f'the joints are {text}' if whole else f'the columns {text}', tau[order], order
            )
            cases += [
                Case(None, (self.torques_in_order(text, order),)),
                Case(replace(moved, weight=self.samples.weight), (positions,)),
                Case(moved, (joints,)),
            ]
        yield from self._each(cases)

    def times(self) -> Iterator[Alternative]:
        """Yield other units of time."""
        cases = []
        for factor in TIME_FACTORS:
            scaled = {
                name: getattr(self.samples, name) * factor**power
                for name, power in (('dq', 1), ('dtheta', 1), ('ddq', 2), ('ddtheta', 2))
            }
            text = (
                f'time runs {1 / factor:g} times as fast as the stamps say'
                if factor < 1
                else f'the time stamps are {factor:g} times too far apart'
            )
            cases.append(Case(replace(self.samples, **scaled), (Explanation('time_scale', text, self.samples.tau),)))
        yield from self._each(cases)

    def mountings(self) -> Iterator[Alternative]:
        """Yield the base standing otherwise against gravity."""
        chain = self.model.chain
        for text, direction in UP_DIRECTIONS.items():
            gravity = GRAVITY * np.array(direction, dtype=float)
            if np.allclose(gravity, chain.gravity, atol=0.1 * GRAVITY):
                continue
            yield self.fitted(
                'mounting',
                f'the base stands otherwise: with {text} of its own frame',
                self.normal_on(replace(chain, gravity=gravity)),
                self.samples.tau,
            )
