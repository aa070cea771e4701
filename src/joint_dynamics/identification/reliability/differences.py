r"""Whether all recordings are of the same robot: what differs between them, or between the halves of a single one.

Let a part have parameters of its own: those of a payload at the last link, or friction and offset of every joint. The
log-likelihood this gains, less ½ ln N for each further parameter, says whether they are there; how much of the torque
they make says whether they matter. This is Chow's test with samples that are worth fewer than they are many, and with
the alternatives of interest instead of all parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.reliability.alternatives import LOG_LIKELIHOOD_THRESHOLD, Alternatives
from joint_dynamics.identification.reliability.chow import UNLIKELY, ChowTest, chow
from joint_dynamics.identification.reliability.evidence import (
    ExplanationFit,
    NormalEquations,
    columns_of,
    effective_samples,
    gain,
)
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.robot import INERTIAL
from joint_dynamics.robot.standard_parameters import link_columns


@dataclass(frozen=True)
class Difference:
    """What one part has of its own.

    kind: `payload`, `friction`, `sign of …`; part: which; gain: log-likelihood [nats]; effect: share of the torque
    (rms) it makes; fitted: with it; mass [kg] of a payload; clear: whether the gain is, and not by chance (`chow`).
    """

    kind: str
    part: str
    gain: float
    effect: float
    fitted: ExplanationFit
    mass: float | None = None
    clear: bool = True


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
        for kind, columns in (('payload', payload), ('friction', friction)):
            fitted, value = _with(alternatives, columns * where)
            mass = float(fitted.chi[-1]) if kind == 'payload' else None
            clear = value > LOG_LIKELIHOOD_THRESHOLD and chow(alternatives, columns * where).probability < UNLIKELY
            found.append(Difference(kind, name, value, _effect(alternatives, fitted), fitted, mass, clear))
        for j in range(n):
            target = samples.tau.copy()
            target[j, where] *= -1
            turned = alternatives.fitted('', '', alternatives.normal, target)
            found.append(
                Difference(
                    f'sign of {model.joint_names[j]}',
                    name,
                    turned.gain,
                    _effect(alternatives, turned.fitted),
                    turned.fitted,
                    clear=turned.clear,
                )
            )
    return sorted(found, key=lambda difference: -difference.gain)


def compare_recordings(alternatives: Alternatives, names: Sequence[str]) -> dict[str, ChowTest]:
    """Return Chow's test of each part's having parameters of its own, all of them; names: of the recordings."""
    return {
        name: chow(alternatives, alternatives.rows * where)
        for name, where in recordings_or_halves(alternatives.samples, names)
    }


def _with(alternatives: Alternatives, columns: FloatArray) -> tuple[ExplanationFit, float]:
    base, samples = alternatives.normal, alternatives.samples
    rows = np.concatenate([alternatives.rows, columns], axis=1)
    power = np.concatenate([base.power, np.zeros((len(rows), columns.shape[1]))], axis=1)
    normal = NormalEquations(rows, samples.weight, base.friction, power, base.positive)
    fitted = normal.fit(samples.tau)
    count = np.maximum(
        alternatives.count, effective_samples(normal.residuals(samples.tau, fitted.chi), samples.weight, samples.part)
    )
    return fitted, gain(alternatives.given, fitted, count)


def _effect(alternatives: Alternatives, fitted: ExplanationFit) -> float:
    size = ((alternatives.samples.tau * alternatives.samples.weight) ** 2).sum(axis=1)
    return float(np.sqrt(max(size @ (alternatives.given.unexplained - fitted.unexplained) / size.sum(), 0.0)))
