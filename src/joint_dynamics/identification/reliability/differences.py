r"""Whether all recordings are of the same robot: what differs between them, or between the halves of a single one.

Let a part have parameters of its own: those of a payload at the last link, or friction and offset of every joint. The
log-likelihood this gains, less ½ ln N for each further parameter, says whether they are there; how much of the torque
they make says whether they matter. This is Chow's test [Chow 1960] with samples that are worth fewer than they are
many, for the alternatives of interest, and for all parameters.

One payload may have been on several recordings. Each of them alone is then held against others that have it, too, so
that the recordings with it are gathered one by one, from that which gains most, as long as another gains more. Of R
recordings k can be chosen in C(R, k) ways: what several gain is less by ln(C(R, k)/R) than what one of the R does
[Bonferroni].

A difference is clear where its gain is that of any other explanation: divided by how much worse the model fits than its
noise (`overdispersion`). Recordings of good arms differ, too, in friction by 2 % of the torque (Gen3).

What matters makes a twentieth of the torque of times that took no part in its estimate: parameters of its own help a
short recording, whatever it is. A payload of a wrist hardly does, for all it carries is most of what the wrist feels;
so one matters, too, that explains more than half of the power of what is left over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import comb
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
    """Whether what makes so much explains more than half of the power of what is left over (both rms)."""
    return effect**2 > 0.5 * left**2


def parts_summary(differences: Sequence[Explanation]) -> dict[str, Any]:
    """Return the entry `parts` of summary.json: what each part would gain most by having of its own."""
    return {part: entry for one in differences[::-1] for part, entry in one.figures.items()}


def recordings_or_halves(samples: FilteredSamples, names: Sequence[str]) -> Iterator[tuple[str, BoolArray]]:
    """Yield (what it is, which samples) of every recording, or of the halves of a single one."""
    if len(names) > 1:
        # of two, one is enough: what one has more the other has less
        for index in range(1 if len(names) == 2 else 0, len(names)):
            yield names[index], samples.part == index
        return
    half = np.arange(len(samples.part)) >= len(samples.part) // 2
    yield f'the second half of {names[0]}', half


def differences(alternatives: Alternatives, names: Sequence[str]) -> list[Explanation]:
    """Return what each part gains by parameters of its own, the largest gain first; names: of the recordings."""
    model, samples = alternatives.model, alternatives.samples
    n = model.n
    last = np.arange(len(model.parameter_names))[link_columns(n - 1)]
    payload = regressor_columns(samples, model, independent=last)[:, : len(INERTIAL)]
    friction = np.zeros((n, 3 * n, samples.q.shape[1]))
    for j in range(n):
        friction[j, 3 * j : 3 * j + 3] = samples.own_rows(j)[1:]
    explanations, payloads = [], []
    for name, where in recordings_or_halves(samples, names):
        payloads.append(_own(alternatives, 'payload', name, payload * where))
        for kind, columns in (('friction', friction), ('parameters', alternatives.rows)):
            explanations.append(_own(alternatives, kind, name, columns * where))
        for j in range(n):
            target = samples.tau.copy()
            target[j, where] *= -1
            turned = alternatives.fitted('recordings_differ', '', alternatives.normal, target)
            kind = f'sign of {model.joint_names[j]}'
            explanations.append(_described(alternatives, turned, kind, name, alternatives.normal, target))
    explanations += [*payloads, *_common_payload(alternatives, names, payload, payloads)]
    return sorted(explanations, key=lambda one: -one.gain)


def _common_payload(
    alternatives: Alternatives, names: Sequence[str], payload: FloatArray, alone: Sequence[Explanation]
) -> list[Explanation]:
    """Return the payload that several recordings have in common, if that is more than one of them alone has.

    alone: what each recording gains by a payload of its own. A payload on more than half of the recordings is one
    that the others lack, so that no more than half are gathered.
    """
    part, every = alternatives.samples.part, set(range(len(names)))
    gained, first = max((one.gain, index) for index, one in enumerate(alone))
    best = {first}
    if len(names) < 4 or gained <= 0:
        return []
    while len(best) < len(names) // 2:
        choice = _choice(len(names), len(best) + 1)
        more = {
            index: _with(alternatives, payload * np.isin(part, [*best, index]))[0].gain - choice
            for index in every - best
        }
        chosen = max(more, key=lambda index: more[index])
        if more[chosen] <= gained:
            break
        best, gained = best | {chosen}, more[chosen]
    if len(best) == 1:
        return []

    def common(recordings: set[int]) -> Explanation:
        listed = ', '.join(names[index] for index in sorted(recordings))
        columns = payload * np.isin(part, list(recordings))
        return _own(alternatives, 'payload', listed, columns, _choice(len(names), len(best)))

    several = common(best)
    # what these lack the others have
    return [several if several.fitted.chi[-1] > 0 else common(every - best)]


def _choice(recordings: int, chosen: int) -> float:
    """Return by how much more ways there are to choose so many of the recordings than to choose one [nats]."""
    return float(np.log(comb(recordings, chosen) / recordings))


def _own(alternatives: Alternatives, kind: str, part: str, columns: FloatArray, choice: float = 0.0) -> Explanation:
    """Return what a part gains by columns (joints, q, samples) of its own, less `choice` [nats]."""
    own, normal = _with(alternatives, columns)
    own = replace(own, gain=own.gain - choice)
    if own.gain > thresholds.LOG_LIKELIHOOD_THRESHOLD:
        count = own.fitted.count
        assert count is not None
        own = replace(own, dispersion=overdispersion(normal, alternatives.samples.tau, own.fitted, count))
    return _described(alternatives, own, kind, part, normal, alternatives.samples.tau)


def _with(alternatives: Alternatives, columns: FloatArray) -> tuple[Explanation, NormalEquations]:
    """Return the explanation with columns of a part's own, and its normal equations."""
    tau, given = alternatives.samples.tau, alternatives.given
    normal = alternatives.normal.beside(np.concatenate([alternatives.rows, columns], axis=1))
    fitted = normal.fit(tau)
    count = alternatives.independent_samples(normal.residuals(tau, fitted.chi))
    own = Explanation('recordings_differ', '', alternatives.names, given, replace(fitted, count=count), 0.0)
    return replace(own, gain=own.gained(count)), normal


def _described(
    alternatives: Alternatives,
    explanation: Explanation,
    kind: str,
    part: str,
    normal: NormalEquations,
    target: FloatArray,
) -> Explanation:
    """Return the explanation with what it says, and whether it matters.

    kind: `payload`, `friction`, `parameters` (all), `sign of …`; part: of the recordings; normal, target: as fitted.
    """

    def effect_of(given: FloatArray, other: FloatArray) -> tuple[float, bool]:
        effect, left = alternatives.share(given - other), alternatives.share(given)
        return effect, effect > thresholds.MIN_EFFECT or (kind == 'payload' and explains_most(effect, left))

    effect, matters = effect_of(alternatives.given.unexplained, explanation.fitted.unexplained)
    if matters and explanation.clear:
        out = normal.held_out(target, alternatives.samples.part).mean(axis=0)
        effect, matters = effect_of(alternatives.held_out.mean(axis=0), out)
    other = {'friction': 'other friction or offsets', 'parameters': 'other parameters'}.get(kind, f'another {kind}')
    text = f'{part} has {other} than the other recordings'
    if kind == 'payload':
        text = f'{part} differs from the other recordings by a payload of about {explanation.fitted.chi[-1]:.3g} kg'
    return replace(
        explanation,
        code='payload_mixed' if kind == 'payload' else explanation.code,
        text=text,
        matters=matters,
        notes=(f'{text}, which makes {100 * effect:.2g} % of the torque',) if effect > 0 else (),
        figures={part: {'kind': kind, 'log_likelihood': explanation.gain, 'effect_percent': 100 * effect}},
    )
