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

What matters makes a twentieth of the torque. A payload of a wrist hardly does, for all it carries is most of what the
wrist feels; so one matters, too, that explains more than half of the power of what is left over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import (
    ExplanationFit,
    NormalEquations,
    columns_of,
    effective_samples,
    gain,
)
from joint_dynamics.identification.reliability.explanation import overdispersion
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.identification.reliability.thresholds import LOG_LIKELIHOOD_THRESHOLD, MIN_EFFECT, MIN_EVIDENCE
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot import INERTIAL
from joint_dynamics.robot.standard_parameters import link_columns


@dataclass(frozen=True)
class Difference:
    """What one part has of its own.

    kind: `payload`, `friction`, `parameters` (all), `sign of …`; part: which; gain: log-likelihood [nats]; effect:
    share of the torque (rms) it makes; fitted: with it; mass [kg] of a payload; clear: whether the gain is; matters:
    whether it makes a twentieth of the torque, or is a payload that explains most of what is left over.
    """

    kind: str
    part: str
    gain: float
    effect: float
    fitted: ExplanationFit
    mass: float | None = None
    clear: bool = True
    matters: bool = True

    @property
    def reason(self) -> Reason:
        """That a part of the recordings has a payload, or parameters of its own."""
        share = f'{100 * self.effect:.3g} % of the torque (log-likelihood +{self.gain:.0f})'
        if self.kind == 'payload':
            mass = '' if self.mass is None else f' of about {self.mass:.3g} kg'
            return Reason(
                'payload_mixed',
                f'{self.part} differs from the other recordings by a payload{mass}, {share}: identify them apart, or '
                'give those with the payload as --loaded',
            )
        what, remedy = {
            'friction': ('other friction or offsets', 'record all at the same temperature, or identify them apart'),
            'parameters': ('other parameters', 'look whether the robot was the same, or identify them apart'),
        }.get(self.kind, (f'another {self.kind}', 'correct it, or leave it out'))
        return Reason('recordings_differ', f'{self.part} has {what} than the other recordings, {share}: {remedy}')

    @property
    def note(self) -> str:
        """The same where it is too small for a reason."""
        return f'{self.part} has another {self.kind} than the rest, which makes {100 * self.effect:.2g} % of the torque'


def explains_most(effect: float, left: float) -> bool:
    """Whether what makes so much explains more than half of the power of what is left over (both rms)."""
    return effect**2 > 0.5 * left**2


def parts_summary(differences: Sequence[Difference]) -> dict[str, dict[str, str | float]]:
    """Return the entry `parts` of summary.json: what each part would gain most by having of its own."""
    best = {found.part: found for found in sorted(differences, key=lambda found: found.gain)}
    return {
        part: {'kind': found.kind, 'log_likelihood': found.gain, 'effect_percent': 100 * found.effect}
        for part, found in best.items()
    }


def recordings_or_halves(samples: FilteredSamples, names: Sequence[str]) -> Iterator[tuple[str, BoolArray]]:
    """Yield (what it is, which samples) of every recording, or of the halves of a single one."""
    if len(names) > 1:
        # of two, one is enough: what one has more the other has less
        for index in range(1 if len(names) == 2 else 0, len(names)):
            yield names[index], samples.part == index
        return
    half = np.arange(len(samples.part)) >= len(samples.part) // 2
    yield f'the second half of {names[0]}', half


def differences(alternatives: Alternatives, names: Sequence[str]) -> list[Difference]:
    """Return what each part gains by parameters of its own, the largest gain first; names: of the recordings."""
    model, samples = alternatives.model, alternatives.samples
    n = model.n
    last = np.arange(len(model.parameter_names))[link_columns(n - 1)]
    payload = columns_of(samples, model, independent=last)[:, : len(INERTIAL)]
    friction = np.zeros((n, 3 * n, samples.q.shape[1]))
    for j in range(n):
        friction[j, 3 * j : 3 * j + 3] = samples.sign[j], samples.dtheta[j], np.ones_like(samples.dtheta[j])
    found = []
    for name, where in recordings_or_halves(samples, names):
        for kind, columns in (('payload', payload), ('friction', friction), ('parameters', alternatives.rows)):
            found.append(_own(alternatives, kind, name, columns * where))
        for j in range(n):
            target = samples.tau.copy()
            target[j, where] *= -1
            turned = alternatives.fitted('', '', alternatives.normal, target)
            kind, effect = f'sign of {model.joint_names[j]}', _effect(alternatives, turned.fitted)
            found.append(
                Difference(kind, name, turned.gain, effect, turned.fitted, None, turned.clear, effect > MIN_EFFECT)
            )
    found += _common_payload(alternatives, names, payload, [part for part in found if part.kind == 'payload'])
    return sorted(found, key=lambda difference: -difference.gain)


def _common_payload(
    alternatives: Alternatives, names: Sequence[str], payload: FloatArray, alone: Sequence[Difference]
) -> list[Difference]:
    """Return the payload that several recordings have in common, if that is more than one of them alone has.

    alone: what each recording gains by a payload of its own. A payload on more than half of the recordings is one
    that the others lack, so that no more than half are gathered.
    """
    if len(names) < 4 or max(part.gain for part in alone) <= 0:
        return []
    part, every = alternatives.samples.part, set(range(len(names)))
    best = {int(np.argmax([found.gain for found in alone]))}
    gained = max(found.gain for found in alone)
    while len(best) < len(names) // 2:
        choice = _choice(len(names), len(best) + 1)
        more = {index: _with(alternatives, payload * np.isin(part, [*best, index])).gain for index in every - best}
        chosen = max(more, key=lambda index: more[index])
        if more[chosen] - choice <= gained:
            break
        best, gained = best | {chosen}, more[chosen] - choice
    if len(best) == 1:
        return []

    def common(recordings: set[int]) -> Difference:
        listed = ', '.join(names[index] for index in sorted(recordings))
        columns = payload * np.isin(part, list(recordings))
        return _own(alternatives, 'payload', listed, columns, _choice(len(names), len(best)))

    found = common(best)
    # what these lack the others have
    return [found if found.mass is None or found.mass > 0 else common(every - best)]


def _choice(recordings: int, chosen: int) -> float:
    """Return by how much more ways there are to choose so many of the recordings than to choose one [nats]."""
    return float(np.log(comb(recordings, chosen) / recordings))


def _own(alternatives: Alternatives, kind: str, part: str, columns: FloatArray, choice: float = 0.0) -> Difference:
    """Return what a part gains by columns (joints, q, samples) of its own, less `choice` [nats]."""
    found = _with(alternatives, columns)
    gained, effect = found.gain - choice, _effect(alternatives, found.fitted)
    clear = gained > LOG_LIKELIHOOD_THRESHOLD and gained / found.dispersion(alternatives) > MIN_EVIDENCE
    mass = float(found.fitted.chi[-1]) if kind == 'payload' else None
    left = alternatives.share(alternatives.given.unexplained)
    matters = effect > MIN_EFFECT or (kind == 'payload' and explains_most(effect, left))
    return Difference(kind, part, gained, effect, found.fitted, mass, clear, matters)


class _Fit(NamedTuple):
    """With columns of a part's own: normal equations, fit, independent samples (joints,), gain [nats]."""

    normal: NormalEquations
    fitted: ExplanationFit
    independent: FloatArray
    gain: float

    def dispersion(self, alternatives: Alternatives) -> float:
        return overdispersion(self.normal, alternatives.samples.tau, self.fitted, self.independent)


def _with(alternatives: Alternatives, columns: FloatArray) -> _Fit:
    samples = alternatives.samples
    normal = alternatives.normal.beside(np.concatenate([alternatives.rows, columns], axis=1))
    fitted = normal.fit(samples.tau)
    count = np.maximum(
        alternatives.count, effective_samples(normal.residuals(samples.tau, fitted.chi), samples.weight, samples.part)
    )
    return _Fit(normal, replace(fitted, count=count), count, gain(alternatives.given, fitted, count))


def _effect(alternatives: Alternatives, fitted: ExplanationFit) -> float:
    return alternatives.share(alternatives.given.unexplained - fitted.unexplained)
