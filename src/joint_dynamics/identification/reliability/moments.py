r"""What begins at a moment of a recording: an encoder that jumps, a torque that changes its scale, other friction.

Each is one column, zero before the moment t: the torque that an angle more at joint k makes in all joints,
∂τ/∂q_k of the given explanation; the torque of joint j; its friction. What a column c gains, with the parameters of all
others found anew, follows from sums over the samples behind it alone,

    ΔL = ½ (cᵀ Σ⁻¹ ρ)² / (cᵀ Σ⁻¹ c − bᵀ A⁻¹ b),    b = Wᵀ Σ⁻¹ c,    A = Wᵀ Σ⁻¹ W,

so that all moments cost one pass over the samples. What is best then is fitted without it, and judged as every
explanation is; it has to make `MIN_EFFECT` of a torque.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.thresholds import (
    JUMP_STEP,
    LARGEST_JUMP,
    LEAST_FRICTION_CHANGE,
    LEAST_JUMP,
    LEAST_SCALE_CHANGE,
    MIN_EFFECT,
    OWN_SHARE,
    RESOLVED,
)
from joint_dynamics.identification.reliability.verdict import Reason

LIMITS = {
    'encoder': (LEAST_JUMP, LARGEST_JUMP),
    'scale': (LEAST_SCALE_CHANGE, np.inf),
    'friction': (LEAST_FRICTION_CHANGE, np.inf),
}


@dataclass(frozen=True)
class Moment:
    """What changes (encoder, scale, friction) at which joint, from which kept sample on, by how much, worth what.

    size: rad, or share of the torque or friction; gain [nats]; effect: largest share of any joint's torque (rms);
    column: the torque it makes, (joints, samples) [N·m].
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
) -> tuple[list[Reason], list[str]]:
    """Return a reason for what begins at a moment, and notes of what is not held against a result (friction).

    other: what parts that differ otherwise gain [nats]; nothing is said of a moment that gains less.
    """
    found = best_moment(alternatives)
    if found is None or not LIMITS[found.kind][0] < abs(found.size) < LIMITS[found.kind][1]:
        return [], []
    mended = alternatives.fitted('changed_midway', '', alternatives.normal, alternatives.samples.tau - found.column)
    if not mended.clear or mended.gain < other:
        return [], []
    name = alternatives.names[found.joint]
    index = int(alternatives.samples.part[found.sample])
    first = int(np.argmax(alternatives.samples.part == index))
    observation = observations[index]
    time = observation.time[observation.kept[found.sample - first]]
    texts = {
        'encoder': f'the position of {name} is off by {found.size:+.3g} rad',
        'scale': f'the torque of {name} is {1 + found.size:.3g} times what it was',
        'friction': f'the friction of {name} is {1 + found.size:.3g} times what it was',
    }
    text = (
        f'{observation.name}: {texts[found.kind]} from {time:.3g} s on (log-likelihood +{mended.gain:.0f}, '
        f'{100 * found.effect:.2g} % of a torque): use the part before or after it'
    )
    if found.kind == 'friction' or not found.effect > MIN_EFFECT:
        return [], [text]
    return [Reason('changed_midway', text, joints=(name,))], []


def best_moment(alternatives: Alternatives) -> Moment | None:
    """Return the column and moment that gain most, None where no column is one."""
    samples, normal, given = alternatives.samples, alternatives.normal, alternatives.given
    size = ((samples.tau * samples.weight) ** 2).sum(axis=1)
    # residuals that hold a jump make samples look worth few: all joints are taken to be worth the most
    inverse = alternatives.count.max() / np.maximum((given.unexplained + RESOLVED**2) * size, np.finfo(float).tiny)
    information = np.tensordot(inverse, normal.matrix, axes=1)
    scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    inverted = np.linalg.pinv(information / np.outer(scale, scale), rcond=1e-10, hermitian=True) / np.outer(
        scale, scale
    )
    best: Moment | None = None
    for kind, joint, column in _columns(alternatives):
        weighted = column * samples.weight * inverse[:, None]
        per_sample = np.einsum('jbs,js->bs', normal.rows, weighted, optimize=True)
        square = (weighted * column * samples.weight).sum(axis=0)
        towards = (weighted * alternatives.residuals).sum(axis=0)
        b, c, r = (
            np.flip(np.cumsum(np.flip(values, axis=-1), axis=-1), axis=-1) for values in (per_sample, square, towards)
        )
        for part in np.unique(samples.part):
            here = np.flatnonzero(samples.part == part)
            inner = here[(here > here[0] + len(here) // 10) & (here < here[-1] - len(here) // 10)]
            last = here[-1] + 1
            if not len(inner):
                continue
            # of this recording alone, up to its end
            ends = [values[..., last : last + 1] if last < values.shape[-1] else 0.0 for values in (b, c, r)]
            bs, cs, rs = (values[..., inner] - end for values, end in zip((b, c, r), ends, strict=True))
            left = cs - np.einsum('bs,bc,cs->s', bs, inverted, bs, optimize=True)
            good = left > OWN_SHARE * np.maximum(cs, np.finfo(float).tiny)
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
    """Yield (kind, joint, column (joints, samples)) of what may begin."""
    samples, chi, n = alternatives.samples, alternatives.given.chi, alternatives.model.n
    rows = alternatives.rows
    torque = np.einsum('jbs,b->js', rows, chi, optimize=True)
    shifts = [np.where(np.arange(n)[:, None] == k, JUMP_STEP, 0.0) for k in range(n)]
    moved = (replace(samples, q=samples.q + shift) for shift in shifts)
    for k, other in enumerate(moved):
        with_shift = np.einsum('jbs,b->js', alternatives.columns(other), chi, optimize=True)
        yield 'encoder', k, -(with_shift - torque) / JUMP_STEP
    for j, columns in enumerate(alternatives.normal.friction):
        own = np.zeros_like(torque)
        own[j] = torque[j]
        yield 'scale', j, own
        if len(columns):
            friction = np.zeros_like(torque)
            friction[j] = chi[columns] @ rows[j, columns]
            yield 'friction', j, friction
