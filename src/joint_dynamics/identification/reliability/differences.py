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

r"""Whether all recordings are of the same robot: a payload, or a torque of the other sign, in one of them.

Let a part have parameters of its own, those of a payload at the last link. The log-likelihood this gains, less ½ ln N
for each further parameter, says whether the payload is there; its share of the torque says whether it matters. This is
Chow's test [Chow 1960] with correlated samples (the effective number is smaller).

A difference matters if it makes a twentieth of the torque of held-out times, or more than half of the power of the
residual: a payload makes most of the torque of a wrist, and little of all torque.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import NormalEquations, regressor_columns
from joint_dynamics.identification.reliability.explanation import Explanation, overdispersion
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.robot import INERTIAL
from joint_dynamics.robot.standard_parameters import link_columns


def explains_most(effect: float, left: float) -> bool:
    """Whether what makes so much explains more than half of the power of the residual (both rms)."""
    return effect**2 > 0.5 * left**2


def parts_summary(differences: Sequence[Explanation]) -> dict[str, Any]:
    """Return the entry `parts` of summary.json: what each part would gain most by having of its own."""
    return {part: entry for one in differences[::-1] for part, entry in one.figures.items()}


def recordings_or_halves(samples: FilteredSamples, names: Sequence[str]) -> Iterator[tuple[str, BoolArray]]:
    """Yield (name, mask of samples) of every recording, or of the second half of a single one."""
    if len(names) > 1:
        # of two, one is enough: what one has more the other has less
        for index in range(1 if len(names) == 2 else 0, len(names)):
            yield names[index], samples.part == index
        return
    half = np.arange(len(samples.part)) >= len(samples.part) // 2
    yield f'the second half of {names[0]}', half


def differences(alternatives: Alternatives, names: Sequence[str]) -> list[Explanation]:
    """Return what each part gains by a payload or a sign of its own, the largest gain first; names: of recordings."""
    model, samples = alternatives.model, alternatives.samples
    last = np.arange(len(model.parameter_names))[link_columns(model.n - 1)]
    payload = regressor_columns(samples, model, independent=last)[:, : len(INERTIAL)]
    explanations = []
    for name, where in recordings_or_halves(samples, names):
        own, normal = _with_payload(alternatives, payload * where)
        text = f'{name} differs from the other recordings by a payload of about {own.fitted.chi[-1]:.3g} kg'
        explanations.append(_described(alternatives, replace(own, text=text), name, normal, samples.tau))
        for j, joint in enumerate(model.joint_names):
            target = samples.tau.copy()
            target[j, where] *= -1
            text = f'{name} has another sign of {joint} than the other recordings'
            turned = alternatives.fitted('recordings_differ', text, alternatives.normal, target)
            explanations.append(_described(alternatives, turned, name, alternatives.normal, target))
    return sorted(explanations, key=lambda one: -one.gain)


def _with_payload(alternatives: Alternatives, columns: FloatArray) -> tuple[Explanation, NormalEquations]:
    """Return the explanation with columns of a part's own, and its normal equations."""
    tau, given = alternatives.samples.tau, alternatives.given
    normal = alternatives.normal.beside(np.concatenate([alternatives.rows, columns], axis=1))
    fitted = normal.fit(tau)
    count = alternatives.independent_samples(normal.residuals(tau, fitted.chi))
    own = Explanation('payload_mixed', '', alternatives.names, given, replace(fitted, count=count), 0.0)
    own = replace(own, gain=own.gained(count))
    if own.gain > thresholds.LOG_LIKELIHOOD_THRESHOLD:
        own = replace(own, dispersion=overdispersion(normal, tau, fitted, count))
    return own, normal


def _described(
    alternatives: Alternatives, one: Explanation, part: str, normal: NormalEquations, target: FloatArray
) -> Explanation:
    """Return the explanation with whether it matters; normal, target: as fitted."""
    is_payload = one.code == 'payload_mixed'

    def effect_of(given: FloatArray, other: FloatArray) -> tuple[float, bool]:
        effect, left = alternatives.share(given - other), alternatives.share(given)
        return effect, effect > thresholds.MIN_EFFECT or (is_payload and explains_most(effect, left))

    effect, matters = effect_of(alternatives.given.unexplained, one.fitted.unexplained)
    if matters and one.clear:
        out = normal.held_out(target, alternatives.samples.part).mean(axis=0)
        effect, matters = effect_of(alternatives.held_out.mean(axis=0), out)
    kind = 'payload' if is_payload else 'sign'
    return replace(
        one,
        matters=matters,
        notes=(f'{one.text}, an effect of {100 * effect:.2g} % of the torque',) if effect > 0 else (),
        figures={part: {'kind': kind, 'log_likelihood': one.gain, 'effect_percent': 100 * effect}},
    )
