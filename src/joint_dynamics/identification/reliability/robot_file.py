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

r"""Other torques and other motion, told by the inertials that the robot file holds.

With free parameters a torque of another scale, or a position with another zero, is told only by what joints share,
which a short motion hardly shows. The robot file often knows the links: with its torque τ_file of all links at one
scale, a payload at the last link (ten parameters) and friction, rotor and offset of every joint,

    τ_j ≈ s τ_file,j + Y_j p + Ia θ̈ + Fv θ̇ + Fc sgn θ̇ + o,

a handful of parameters is to explain all joints together, and every alternative is told by far. Robot files also hold
nonsense, as a mass of 1 kg for every link. So nothing is said by one whose links, with the change, leave more than
`MODEL_DETAILS` times as much over as free parameters do with what explains the torques best, as given or otherwise, or
have a scale s that no tool makes (`DISAGREEMENT_FACTOR`). The change has to gain more than any one link of the file's
being another one does, and to explain a twentieth of some joint's torque; what free parameters lose by it is taken off
the gain. What that is worth follows from how much worse the few parameters fit than noise lets expect, as everywhere
(`overdispersion`).

`check_units`: whether effort is in N·m at all, by the file's inertials and effort limits.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import (
    ExplanationFit,
    NormalEquations,
    constrained,
    gain,
    regressor_columns,
)
from joint_dynamics.identification.reliability.explanation import Explanation
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot import INERTIAL, RobotModel
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.standard_parameters import link_columns

OWN = 4
"""Columns that only one joint feels: rotor inertia, viscous and Coulomb friction, offset."""


class FileAlternatives(Alternatives):
    """Alternatives to what is given where the links are those of the robot file, at one scale, with a payload.

    free: alternatives with free parameters; best: what of them explains the torques best, as given or otherwise.
    """

    def __init__(self, free: Alternatives, best: ExplanationFit):
        self.free, self.best = free, best
        self.gains = {one.text: one.gain for one in free.explanations}
        super().__init__(free.model, free.samples)

    def normals(self, motions: Sequence[FilteredSamples]) -> Iterator[NormalEquations]:
        """Yield the normal equations of other motions."""
        for k, samples in enumerate(motions):
            if k == 0 or not samples.moves_as(motions[k - 1]):
                rows = self.columns(samples)
            yield self.equations(rows, samples)

    def normal_on(self, chain: Chain) -> NormalEquations:
        """Return the normal equations of the motion on another chain."""
        return self.equations(self.columns(self.samples, chain), self.samples)

    def columns(self, samples: FilteredSamples, chain: Chain | None = None) -> FloatArray:
        """Return the rows (joints, columns, samples): torque of the file's links, a payload's, each joint's own."""
        return _columns(self.model, samples, chain)

    def equations(self, rows: FloatArray, samples: FilteredSamples) -> NormalEquations:
        """Return the normal equations of `columns` of samples."""
        first = rows.shape[1] - OWN * self.model.n + OWN * np.arange(self.model.n)
        return constrained(rows, samples, [np.array([k + 1, k + 2]) for k in first], first)

    @functools.cached_property
    def by_link(self) -> float:
        """What the file's being wrong in the one link that helps most gains [nats]."""
        return max(self._other_link(k) for k in range(len(self.model.link_names)))

    def _other_link(self, link: int) -> float:
        """Return what the file's being wrong in one link gains: ten parameters of that link's own [nats]."""
        own = np.arange(len(self.model.parameter_names))[link_columns(link)]
        columns = regressor_columns(self.samples, self.model, independent=own)[:, : len(INERTIAL)]
        normal = self.normal.beside(np.concatenate([_columns(self.model, self.samples), columns], axis=1))
        return gain(self.given, normal.fit(self.samples.tau), self.count)

    def fitted(
        self, code: str, text: str, normal: NormalEquations, target: FloatArray, order: IntArray | None = None
    ) -> Explanation:
        """Return one alternative as `Alternatives.fitted`, its gain less what free parameters lose by it.

        No gain is left where the links of the file leave too much over.
        """
        explanation = super().fitted(code, f'{text}, by the inertials of the robot file', normal, target, order)
        if not explanation.better:
            return explanation
        if explanation.gain < self.by_link + thresholds.FREE_SCALE_THRESHOLD or not self.good(explanation.fitted):
            return replace(explanation, gain=0.0)
        return replace(explanation, gain=explanation.gain + min(0.0, self.gains.get(text, 0.0)))

    def good(self, changed: ExplanationFit) -> bool:
        """Whether the file's links, with a change of the torques, are links of this robot and the change matters."""
        left, free = self.share(changed.unexplained), self.share(self.best.unexplained)
        better = float((self.given.unexplained - changed.unexplained).max())
        return (
            left < thresholds.MODEL_DETAILS * free
            and 1 / thresholds.DISAGREEMENT_FACTOR < changed.chi[0] < thresholds.DISAGREEMENT_FACTOR
            and better > thresholds.MIN_EFFECT**2
        )


def file_alternatives(free: Alternatives, others: Iterable[Explanation] = ()) -> FileAlternatives | None:
    """Return the alternatives by the robot file's inertials, None where it holds none.

    free: those without them; others: what explains the torques better without them.
    """
    parameters = free.model.parameters
    if parameters is None or not np.any(parameters):
        return None
    fits = (free.given, *(other.fitted for other in others))
    return FileAlternatives(free, min(fits, key=lambda fitted: free.share(fitted.unexplained)))


def _columns(model: RobotModel, samples: FilteredSamples, chain: Chain | None = None) -> FloatArray:
    """Return the rows (joints, columns, samples): torque of the file's links, a payload's, each joint's own."""
    n = model.n
    inertial = model.columns(INERTIAL)
    stated = np.asarray(model.parameters, dtype=float)[inertial]
    rows = regressor_columns(samples, model, chain, inertial)[:, : len(inertial)]
    last = np.flatnonzero(np.isin(inertial, np.arange(len(model.parameter_names))[link_columns(n - 1)]))
    own = np.zeros((n, OWN * n, samples.q.shape[1]))
    for j in range(n):
        own[j, OWN * j : OWN * (j + 1)] = samples.own_rows(j)
    payload = rows[:, last[: len(INERTIAL)]]
    return np.concatenate([np.einsum('jps,p->js', rows, stated)[:, None], payload, own], axis=1)


def check_units(alternatives: Alternatives, rated: FloatArray) -> list[Reason]:
    """Return a reason where torques are a fraction of what inertials and limits let expect.

    rated: what the joints are rated for (n,) [N·m], NaN where not known (`joints.rated_torques`).
    """
    model, samples = alternatives.model, alternatives.samples
    largest = np.quantile(np.abs(samples.tau), 0.99, axis=1)
    if np.isfinite(rated).all() and np.all(largest < thresholds.SMALL_TORQUE_SHARE * rated):
        return [
            Reason(
                'current',
                f'no effort reaches {100 * thresholds.SMALL_TORQUE_SHARE:g} % of its limit in the robot file (largest: '
                f'{100 * float((largest / rated).max()):.2g} %): '
                'look whether it is a current (then give drive gains), or in another unit than N·m',
            )
        ]
    known = model.parameters is not None and np.any(model.parameters)
    factors = _factors(alternatives) if known else np.full(model.n, np.nan)
    seen = factors[np.isfinite(factors)]
    # far above them says nothing: many robot files hold a mass of 1 kg for every link
    if len(seen) >= 2 and np.median(seen) < 1 / thresholds.DISAGREEMENT_FACTOR:
        listed = ', '.join(
            f'{name} {factor:.3g}'
            for name, factor in zip(alternatives.names, factors, strict=True)
            if np.isfinite(factor)
        )
        return [
            Reason(
                'current',
                f'the efforts are these many times what the inertials of the robot file let expect: {listed}; look '
                'whether they are currents (then give drive gains), or in another unit than N·m',
            )
        ]
    return []


def _factors(alternatives: Alternatives) -> FloatArray:
    """Return s_j (n,) of τ_j ≈ s_j τ_file,j + friction + offset, NaN where the file's torque is not clearly in it."""
    model, samples = alternatives.model, alternatives.samples
    rows = _columns(model, samples) * samples.weight[:, None]
    factors, first = np.full(model.n, np.nan), rows.shape[1] - OWN * model.n
    for j, (y, count) in enumerate(zip(samples.tau * samples.weight, alternatives.count, strict=True)):
        basis = np.linalg.qr(rows[j, first + OWN * j : first + OWN * (j + 1)].T)[0]
        y, x = (signal - basis @ (basis.T @ signal) for signal in (y, rows[j, 0]))
        power = float(x @ x)
        if power <= 0 or y @ y <= 0:
            continue
        share = float(x @ y) ** 2 / power / float(y @ y)
        clear = -0.5 * count * np.log(1 - min(share, 1 - 1e-9)) > thresholds.LOG_LIKELIHOOD_THRESHOLD
        if share > thresholds.EXPLAINED_SHARE and x @ y > 0 and clear:
            factors[j] = float(x @ y) / power
    return factors
