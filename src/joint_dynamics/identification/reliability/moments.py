"""What begins at a moment of a recording: an encoder that jumps, a torque that changes its scale, other friction.

Each is one column, zero before the moment: the torque that a larger angle of joint k makes in all joints, ∂τ/∂q_k of
the given explanation; the torque of joint j; its friction. What a column c gains, with all other parameters estimated
anew, follows from sums over the samples from the moment on,

    ΔL = ½ (cᵀ Σ⁻¹ ρ)² / (cᵀ Σ⁻¹ c − bᵀ A⁻¹ b),    b = Wᵀ Σ⁻¹ c,    A = Wᵀ Σ⁻¹ W,

so that all moments cost one pass over the samples; the same change of the whole recording is one of the parameters,
where they do not hold it. The best is then taken off the torques, fitted and judged as every
explanation is; it has to make `MIN_EFFECT` of a torque.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import ExplanationFit, inverse_of
from joint_dynamics.identification.reliability.verdict import Reason

LIMITS = {
    'encoder': (thresholds.LEAST_JUMP, thresholds.LARGEST_JUMP),
    'scale': (thresholds.LEAST_SCALE_CHANGE, np.inf),
    'friction': (thresholds.LEAST_FRICTION_CHANGE, np.inf),
}


@dataclass(frozen=True)
class Moment:
    """A change that begins at a sample.

    kind: a key of `LIMITS`; joint: its index; sample: the first kept one with it; size: rad, or share of the torque or
    friction; gain [nats]; effect: largest share of any joint's torque (rms); column: the torque it makes, (joints,
    samples) [N·m].
    """

    kind: str
    joint: int
    sample: int
    size: float
    gain: float
    effect: float
    column: FloatArray


def moment_reasons(
    alternatives: Alternatives, observations: Sequence[Observation], other: float = 0.0
) -> tuple[list[Reason], list[str], ExplanationFit | None]:
    """Return a reason for what begins at a moment with its fit, and notes of what is not held against a result.

    observations: of the samples' recordings; other: what parts that differ otherwise gain [nats]: of a moment that
    gains less nothing is said.
    """
    moment = best_moment(alternatives)
    if moment is None or not LIMITS[moment.kind][0] < abs(moment.size) < LIMITS[moment.kind][1]:
        return [], [], None
    samples, name = alternatives.samples, alternatives.names[moment.joint]
    without = alternatives.fitted('changed_midway', '', alternatives.normal, samples.tau - moment.column)
    if not without.clear or without.gain < other:
        return [], [], None
    index = int(samples.part[moment.sample])
    observation = observations[index]
    time = observation.time[observation.kept[moment.sample - int(np.argmax(samples.part == index))]]
    texts = {
        'encoder': f'the position of {name} is off by {moment.size:+.3g} rad',
        'scale': f'the torque of {name} is {1 + moment.size:.3g} times what it was',
        'friction': f'the friction of {name} is {1 + moment.size:.3g} times what it was',
    }
    text = (
        f'{observation.name}: {texts[moment.kind]} from {time:.3g} s on (log-likelihood +{without.gain:.0f}, '
        f'{100 * moment.effect:.2g} % of a torque): use the part before or after it'
    )
    if moment.kind == 'friction' or not moment.effect > thresholds.MIN_EFFECT:
        return [], [text], None
    return [Reason('changed_midway', text, joints=(name,))], [], without.fitted


def best_moment(alternatives: Alternatives) -> Moment | None:
    """Return the change that gains most, None where no recording is long enough for one."""
    samples, normal, given = alternatives.samples, alternatives.normal, alternatives.given
    size = alternatives.power
    # residuals that hold a jump are correlated, and make samples look worth few: all joints take the most of any
    inverse = alternatives.count.max() / np.maximum(
        (given.unexplained + thresholds.RESOLVED**2) * size, np.finfo(float).tiny
    )
    information = np.tensordot(inverse, normal.matrix, axes=1)
    inverted = inverse_of(information)
    best: Moment | None = None
    for kind, joint, column in _columns(alternatives):
        weighted = column * samples.weight * inverse[:, None]
        per_sample = np.einsum('jbs,js->bs', normal.rows, weighted, optimize=True)
        square = (weighted * column * samples.weight).sum(axis=0)
        towards = (weighted * alternatives.residuals).sum(axis=0)
        for part in np.unique(samples.part):
            here = np.flatnonzero(samples.part == part)
            first, last, edge = here[0], here[-1] + 1, len(here) // 10
            inner = np.arange(first + edge + 1, last - edge - 1)
            if not len(inner):
                continue
            # of this recording alone, from each moment up to its end
            bs, cs, rs = (
                np.flip(np.cumsum(np.flip(values[..., first:last], axis=-1), axis=-1), axis=-1)
                for values in (per_sample, square, towards)
            )
            left = cs - np.einsum('bs,bc,cs->s', bs, inverted, bs, optimize=True)
            # what the same change of the whole recording explains does not begin at a moment
            if left[0] > thresholds.OWN_SHARE * cs[0]:
                shared = cs - bs[:, 0] @ inverted @ bs
                rs, left = rs - shared / left[0] * rs[0], left - shared**2 / left[0]
            cs, rs, left = (values[inner - first] for values in (cs, rs, left))
            good = left > thresholds.OWN_SHARE * np.maximum(cs, np.finfo(float).tiny)
            gains = np.where(good, 0.5 * rs**2 / np.where(good, left, 1.0), 0.0)
            k = int(np.argmax(gains))
            if best is None or gains[k] > best.gain:
                amount = float(rs[k] / left[k]) if good[k] else 0.0
                changed = np.zeros_like(column)
                changed[:, inner[k] : last] = amount * column[:, inner[k] : last]
                share = ((changed * samples.weight) ** 2).sum(axis=1) / np.where(size > 0, size, np.inf)
                effect = float(np.sqrt(share.max()))
                best = Moment(kind, joint, int(inner[k]), amount, float(gains[k]), effect, changed)
    return best


def _columns(alternatives: Alternatives) -> Iterator[tuple[str, int, FloatArray]]:
    """Yield (kind, joint, column (joints, samples)) of what may begin: the change of the torque by one unit of it."""
    chi, rows = alternatives.given.chi, alternatives.rows
    torque = np.einsum('jbs,b->js', rows, chi, optimize=True)
    for k, column in enumerate(alternatives.position_columns):
        yield 'encoder', k, column
    for j, columns in enumerate(alternatives.normal.friction):
        own = np.zeros_like(torque)
        own[j] = torque[j]
        yield 'scale', j, own
        if len(columns):
            friction = np.zeros_like(torque)
            friction[j] = chi[columns] @ rows[j, columns]
            yield 'friction', j, friction
