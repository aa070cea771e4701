"""What begins at a moment of a recording: a torque that changes its scale, other friction.

An encoder that jumps is seen in the positions themselves (`signals`). Each is one column, zero before the moment: the
torque of joint j; its friction. What a column c gains, with all other parameters estimated anew, follows from sums over
the samples from the moment on,

    ΔL = ½ (cᵀ Σ⁻¹ ρ)² / (cᵀ Σ⁻¹ c − bᵀ A⁻¹ b),    b = Wᵀ Σ⁻¹ c,    A = Wᵀ Σ⁻¹ W,

so that all moments cost one pass over the samples. The same change of the whole recording is one of the parameters; at
its likeliest moment each column is one more, and the best of them, as every explanation is judged, has to be clear and
proved, and to make `MIN_EFFECT` of a torque.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.causes import proves
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain, inverse_of, vuong_statistic
from joint_dynamics.identification.reliability.explanation import Explanation, most_samples, overdispersion
from joint_dynamics.identification.reliability.verdict import Reason

LEAST = {'torque': thresholds.LEAST_SCALE_CHANGE, 'friction': thresholds.LEAST_FRICTION_CHANGE}


@dataclass(frozen=True)
class Moment:
    """A change that begins at a sample.

    kind: a key of `LEAST`; joint: its index; sample: the first kept one with it; size: share of what it was; effect:
    share of the joint's torque (rms); explanation: over the same change of the whole; proved: whether it is clear, and
    data that took no part are predicted better so.
    """

    kind: str
    joint: int
    sample: int
    size: float
    effect: float
    explanation: Explanation
    proved: bool


def moment_reasons(
    alternatives: Alternatives, observations: Sequence[Observation], other: float = 0.0
) -> tuple[list[Reason], list[str], ExplanationFit | None]:
    """Return a reason for what begins at a moment with its fit, and notes of what is not held against a result.

    observations: of the samples' recordings; other: what parts that differ otherwise gain [nats]: of a moment that
    gains less nothing is said.
    """
    moment = best_moment(alternatives)
    if moment is None or not (moment.proved and abs(moment.size) > LEAST[moment.kind]):
        return [], [], None
    samples, name, gained = alternatives.samples, alternatives.names[moment.joint], moment.explanation.gain
    if not gained >= other:
        return [], [], None
    index = int(samples.part[moment.sample])
    observation = observations[index]
    time = observation.time[observation.kept[moment.sample - int(np.argmax(samples.part == index))]]
    text = (
        f'{observation.name}: the {moment.kind} of {name} is {1 + moment.size:.3g} times what it was from {time:.3g} s '
        f'on (log-likelihood +{gained:.0f}, {100 * moment.effect:.2g} % of a torque): use the part before or after it'
    )
    if moment.kind == 'friction' or not moment.effect > thresholds.MIN_EFFECT:
        return [], [text], None
    return [Reason('changed_midway', text, joints=(name,))], [], moment.explanation.fitted


def best_moment(alternatives: Alternatives) -> Moment | None:
    """Return the change that explains most, None where none explains anything or no recording is long enough for one.

    Of a joint whose torque is nearly all friction both explain as much: a drive's torque is the likelier to change.
    """
    inverse = _information(alternatives)
    inverted = inverse_of(np.tensordot(inverse, alternatives.normal.matrix, axes=1))
    moments = list[Moment]()
    for j, friction in enumerate(alternatives.normal.friction):
        for kind, scaled in (('torque', np.arange(alternatives.rows.shape[1])), ('friction', friction)):
            column = alternatives.given.chi[scaled] @ alternatives.rows[j, scaled]
            begun = _likeliest(alternatives, j, column, inverse[j], inverted)
            if begun is not None:
                moments.append(_moment(alternatives, kind, j, scaled, column, begun))
    # a scale that is off throughout explains much by itself: what begins has to be clear
    moments = [moment for moment in moments if moment.explanation.clear] or moments
    if not moments:
        return None
    count = most_samples(moment.explanation.fitted for moment in moments)
    gains = [gain(alternatives.given, moment.explanation.fitted, count) for moment in moments]
    best = moments[int(np.argmax(gains))]
    alike = [moment.joint == best.joint and moment.kind == 'torque' for moment in moments]
    return moments[int(np.argmax(np.add(gains, thresholds.FREE_SCALE_THRESHOLD * np.array(alike))))]


def _information(alternatives: Alternatives) -> FloatArray:
    """Return Σ⁻¹ of a sample of each weighted torque, (n,).

    Residuals that hold a change are correlated, and make samples look worth few: all joints take the most of any.
    """
    energy = (alternatives.given.unexplained + thresholds.RESOLVED**2) * alternatives.power
    return alternatives.count.max() / np.maximum(energy, np.finfo(float).tiny)


def _likeliest(
    alternatives: Alternatives, joint: int, column: FloatArray, inverse: float, inverted: FloatArray
) -> IntArray | None:
    """Return the samples of a recording from the moment on that a column (samples,) of a joint's torque explains most.

    By what it explains beyond the whole column; inverse: Σ⁻¹; inverted: A⁻¹. None where it explains nothing, or no
    recording is long enough.
    """
    samples = alternatives.samples
    weighted = column * samples.weight[joint]
    products = (
        inverse * weighted * alternatives.normal.rows[joint],
        inverse * weighted**2,
        inverse * weighted * alternatives.residuals[joint],
    )
    most, likeliest = 0.0, None
    for part in np.unique(samples.part):
        here = np.flatnonzero(samples.part == part)
        edge = len(here) // 10 + 1
        # of this recording alone, from each moment up to its end
        bs, cs, rs = (np.flip(np.cumsum(np.flip(one[..., here], axis=-1), axis=-1), axis=-1) for one in products)
        left = cs - np.einsum('bs,bc,cs->s', bs, inverted, bs, optimize=True)
        # what the same change of the whole recording explains does not begin at a moment
        if left[0] > thresholds.OWN_SHARE * cs[0]:
            shared = cs - bs[:, 0] @ inverted @ bs
            rs, left = rs - shared / left[0] * rs[0], left - shared**2 / left[0]
        cs, rs, left = (values[edge:-edge] for values in (cs, rs, left))
        good = left > thresholds.OWN_SHARE * np.maximum(cs, np.finfo(float).tiny)
        gains = np.where(good, 0.5 * rs**2 / np.where(good, left, 1.0), 0.0)
        if gains.size and gains.max() > most:
            most, likeliest = float(gains.max()), here[edge + int(np.argmax(gains)) :]
    return likeliest


def _moment(
    alternatives: Alternatives, kind: str, joint: int, scaled: IntArray, column: FloatArray, begun: IntArray
) -> Moment:
    """Return the change of a joint's torque by its column (samples,), begun at some, fitted beside the whole column.

    scaled: the columns of the regressor that it scales; its size is by their torque without it.
    """
    samples, shape = alternatives.samples, alternatives.rows.shape
    further = np.zeros((shape[0], 2, shape[2]))
    further[joint, 0], further[joint, 1, begun] = column, column[begun]
    rows = np.concatenate([alternatives.rows, further], axis=1)
    normals = [alternatives.normal.beside(some) for some in (rows[:, :-1], rows)]
    given, fitted = (normal.fit(samples.tau) for normal in normals)
    left = [normal.residuals(samples.tau, fit.chi) for normal, fit in zip(normals, (given, fitted), strict=True)]
    count = np.maximum(*map(alternatives.independent_samples, left))
    explanation = Explanation(
        'changed_midway',
        '',
        alternatives.names,
        given,
        replace(fitted, count=count),
        gain(given, fitted, count),
        vuong_statistic((given, left[0]), (fitted, left[1]), count, samples.weight, alternatives.blocks),
    )
    if explanation.better:
        explanation = replace(explanation, dispersion=overdispersion(normals[1], samples.tau, fitted, count))
    changed = fitted.chi[-1] * further[joint, 1]
    without = fitted.chi[[*scaled, -2]] @ rows[joint, [*scaled, -2]]
    power = max(alternatives.power[joint], np.finfo(float).tiny)
    return Moment(
        kind,
        joint,
        int(begun[0]),
        float(changed[begun] @ without[begun] / max(without[begun] @ without[begun], np.finfo(float).tiny)),
        float(np.linalg.norm(changed * samples.weight[joint]) / np.sqrt(power)),
        explanation,
        explanation.clear and proves(*(normal.held_out(samples.tau, samples.part) for normal in normals)),
    )
