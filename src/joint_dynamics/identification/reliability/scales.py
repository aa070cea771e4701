r"""Relative scales of the torques: what the joints share says of their units and drive gains.

Let the torque of joint j be b_j times what it should be, y_j = b_j W_j χ + ρ_j. A common factor is a factor of χ and
leaves every residual as it is: no data show it. Friction, rotor inertia and whatever else only one joint feels takes
up its own b_j. The parameters that several joints feel (masses and inertias beyond the next joint) do not: they tell
the ratios b_i/b_j, with a deviation that says how well. β_j = ln b_j and χ maximise the likelihood of
`evidence` by Gauss-Newton steps on the normal equations alone,

    [M_j  M_j χ; χᵀM_j  χᵀM_j χ] [dχ; dβ_j] = [W_jᵀρ_j; χᵀW_jᵀρ_j],    M_j = W_jᵀW_j,

summed over joints with the variance of each one's independent samples. They may have several maxima: a torque that is
far off is best left unexplained until its own scale is near. They are sought from the given scales and from those at
which one torque is closest to what the others say it is, the γ of least squares of γ y_j = W_j χ beside y_i = W_i χ.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain, inverse_of
from joint_dynamics.identification.reliability.explanation import Explanation, overdispersion
from joint_dynamics.recording.conversions import Corrections

STEPS = 40
MAX_STEP = 0.7
"""Largest step of any β: a factor of two."""


def estimate_scales(alternatives: Alternatives) -> Explanation:
    """Return the scales of the torques relative to each other, to which the likelihood points.

    Each over the median of those that the data tell. They matter where they are steady and farther apart than drive
    gains of a data sheet. The gain is over the known ones being alike, less ½ ln N for each of their ratios.
    """
    names, n = alternatives.names, len(alternatives.names)
    beta, information, fitted = _search(alternatives, np.ones(n, dtype=bool), np.zeros(n))
    known, deviation = _known(np.asarray(np.linalg.inv(information), dtype=float))
    explanation = Explanation('drive_gain', '', names, alternatives.given, fitted, 0.0, matters=False)
    if known.sum() < 2:
        return _described(explanation, np.ones(n), deviation, np.zeros(n, dtype=bool))
    ratios = 0.5 * (known.sum() - 1) * np.log(max(alternatives.count.sum(), 2.0))
    alike = _search(alternatives, np.logical_not(known), np.where(known, 0.0, beta - np.median(beta[known])))[2]
    target = alternatives.samples.tau * np.exp(-beta)[:, None]
    residuals = alternatives.normal.residuals(target, fitted.chi)
    count = alternatives.independent_samples(residuals)
    explanation = replace(
        explanation,
        gain=gain(alike, fitted, count) - float(ratios),
        vuong_statistic=alternatives.vuong_statistic(fitted, residuals, count),
        dispersion=overdispersion(alternatives.normal, target, fitted, count),
    )
    return _described(explanation, np.exp(beta - np.median(beta[known])), deviation, known)


def _described(explanation: Explanation, factor: FloatArray, deviation: FloatArray, known: BoolArray) -> Explanation:
    """Return the explanation with what it says: scales (n,), deviations (n,) of their logarithms, known (n,) or not.

    The torque that is surest off is brought to the scale of the others, while `MOST_OFF` leaves enough of these; of
    more that are off, none tells which are right.
    Noted are scales apart by what drive gains of a data sheet may be, and joints whose scale no other confirms.
    """
    off = _off(factor, deviation, known)
    proved = (
        explanation.clear
        and explanation.vuong_statistic > thresholds.SCALES_STATISTIC_FACTOR * thresholds.MIN_VUONG_STATISTIC
    )
    each = [
        f'{name} {by:.3g} ± {by * std:.1g}' for name, by, std in zip(explanation.names, factor, deviation, strict=True)
    ]
    notes = []
    if proved and not off and float(np.ptp(np.log(factor[known]))) > np.log(thresholds.NOTED_FACTOR):
        notes.append(
            'in what several joints feel, the torques are these many times those of the others (log-likelihood '
            f'+{explanation.gain:.0f}): {", ".join(itertools.compress(each, known))}; drive gains may be off by so '
            'much: --loaded and --payload-mass find them'
        )
    uncertain = [name for name, std in zip(explanation.names, deviation, strict=True) if 2 * std > np.log(2.0)]
    if uncertain:
        notes.append(
            f'no other joint shows to within a factor of two what the torque of {", ".join(uncertain)} is: its '
            'unit and drive gain are taken as given'
        )
    return replace(
        explanation,
        code='drive_gain' if len(off) == 1 else 'current',
        text='the torques do not go together: in what several joints feel, they are these many times those of the '
        f'other joints: {", ".join(each[j] for j in off)}',
        mend=Corrections(torque_scale={explanation.names[off[0]]: float(1 / factor[off[0]])})
        if len(off) == 1
        else None,
        matters=proved and bool(off),
        notes=tuple(notes),
        figures={
            name: {'factor': float(by) if tells else None, 'std': float(by * std) if tells else None}
            for name, by, std, tells in zip(explanation.names, factor, deviation, known, strict=True)
        },
    )


def _off(factor: FloatArray, deviation: FloatArray, known: BoolArray) -> list[int]:
    """Return the joint that is surest not to have the scale of the others, or all such where they are too many.

    Apart by more than `DATA_SHEET_FACTOR` from most others, and from their median by more than two deviations.
    """
    size = np.where(known, np.log(factor), 0.0)
    apart = (np.abs(size[:, None] - size[known]) > np.log(thresholds.DATA_SHEET_FACTOR)).sum(axis=1)
    away = np.flatnonzero(known & (2 * apart > known.sum() - 1) & (np.abs(size) > 2 * deviation))
    away = away[np.argsort(-np.abs(size[away]) / deviation[away])]
    return away[: 1 if len(away) <= thresholds.MOST_OFF * known.sum() else None].tolist()


def _search(
    alternatives: Alternatives, free: BoolArray, beta: FloatArray
) -> tuple[FloatArray, FloatArray, ExplanationFit]:
    """Return β (n,), its information (n, n) and fit, with the scales `free` (n,) sought from `beta`."""
    tau, count, normal = alternatives.samples.tau, alternatives.count, alternatives.normal
    weighted = tau * alternatives.samples.weight

    def penalised(beta: FloatArray) -> tuple[ExplanationFit, float]:
        fit = normal.fit(tau * np.exp(-beta)[:, None])
        return fit, float(
            0.5 * count @ np.log(fit.unexplained + thresholds.RESOLVED**2)
            + 0.5 * (beta @ beta) / thresholds.PRIOR_DEVIATION**2
        )

    closest = _closest(alternatives, weighted * np.exp(-beta)[:, None], penalised(beta)[0])
    beta = min([beta, *(beta + np.diag(closest)[free])], key=lambda start: penalised(start)[1])
    damping, (fit, least) = 1e-3, penalised(beta)
    for _ in range(STEPS):
        information, slope = _profile(alternatives, weighted * np.exp(-beta)[:, None], fit, beta)
        damped = information + damping * np.diag(np.diag(information))
        step = np.zeros(len(beta))
        if free.any():
            step[free] = np.linalg.solve(damped[np.ix_(free, free)], slope[free])
        longest = float(np.abs(step).max())
        if longest == 0:
            break
        step *= min(1.0, MAX_STEP / longest)
        other, value = penalised(beta + step)
        if value > least:
            damping *= 10
            if damping > 1e6:
                break
            continue
        better, beta, fit, least, damping = least - value, beta + step, other, value, 0.2 * damping
        if better < 1e-3:
            break
    information = _profile(alternatives, weighted * np.exp(-beta)[:, None], fit, beta)[0]
    return beta, information, fit


def _known(covariance: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return the joints whose scales the data tell, and every deviation from the mean of those, (n,) each."""
    known = np.ones(len(covariance), dtype=bool)
    while True:
        centred = np.eye(len(known)) - known / known.sum()
        deviation = np.sqrt(np.maximum(np.diag(centred @ covariance @ centred.T), 0.0))
        worst = int(np.argmax(np.where(known, deviation, -1.0)))
        if deviation[worst] < thresholds.MAX_SCALE_DEVIATION or known.sum() == 1:
            return known & (deviation < thresholds.MAX_SCALE_DEVIATION), deviation
        known[worst] = False


def _summed(
    alternatives: Alternatives, weighted: FloatArray, fit: ExplanationFit
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each torque's variance (n,), W_jᵀ y_j over it (n, b), and the inverse (b, b) of the matrices summed so."""
    normal = alternatives.normal
    variance = (fit.unexplained + thresholds.RESOLVED**2) * (weighted**2).sum(axis=1) / alternatives.count
    variance = np.maximum(variance, np.finfo(float).tiny)
    right = np.einsum('jbs,js->jb', normal.rows, weighted, optimize=True) / variance[:, None]
    return variance, right, inverse_of(np.tensordot(1 / variance, normal.matrix, axes=1))


def _closest(alternatives: Alternatives, weighted: FloatArray, fit: ExplanationFit) -> FloatArray:
    """Return β (n,) at which each torque by itself is closest to what the others say; 0 where they say none."""
    variance, right, inverse = _summed(alternatives, weighted, fit)
    explained = right @ inverse
    said = (explained * (right.sum(axis=0) - right)).sum(axis=1)
    size = (weighted**2).sum(axis=1) / variance - (explained * right).sum(axis=1)
    return -np.log(np.divide(said, size, out=np.ones(len(said)), where=(said > 0) & (size > 0)))


def _profile(
    alternatives: Alternatives, weighted: FloatArray, fit: ExplanationFit, beta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return information (n, n) and slope (n,) of β with χ eliminated; weighted (n, samples): torques over scales."""
    chi = fit.chi
    variance, right, inverse = _summed(alternatives, weighted, fit)
    own = alternatives.normal.matrix @ chi / variance[:, None]
    right = right - own
    information = np.diag(own @ chi + 1 / thresholds.PRIOR_DEVIATION**2) - own @ inverse @ own.T
    slope = right @ chi - own @ (inverse @ right.sum(axis=0)) - beta / thresholds.PRIOR_DEVIATION**2
    return 0.5 * (information + information.T), slope
