r"""Relative scales of the torques: what the joints share says of their units and drive gains.

Let the torque of joint j be b_j times what it should be, y_j = b_j W_j χ + ρ_j. A common factor is a factor of χ and
leaves every residual as it is: no data show it. Friction, rotor inertia and whatever else only one joint feels takes
up its own b_j. The parameters that several joints feel (masses and inertias beyond the next joint) do not: they tell
the ratios b_i/b_j, with a deviation that says how well. β_j = ln b_j and χ maximise the likelihood of
`evidence` by Gauss-Newton steps on the normal equations alone,

    [M_j  M_j χ; χᵀM_j  χᵀM_j χ] [dχ; dβ_j] = [W_jᵀρ_j; χᵀW_jᵀρ_j],    M_j = W_jᵀW_j,

summed over joints with the variance of each one's independent samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import ExplanationFit, gain, steadiness
from joint_dynamics.identification.reliability.explanation import overdispersion
from joint_dynamics.identification.reliability.thresholds import (
    DATA_SHEET_FACTOR,
    LOG_LIKELIHOOD_THRESHOLD,
    MAX_SCALE_DEVIATION,
    MIN_EVIDENCE,
    MIN_STEADINESS,
    NOTED_FACTOR,
    PRIOR_DEVIATION,
    RESOLVED,
    STEADY,
)
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording.corrections import Corrections

STEPS = 40
MAX_STEP = 0.7
"""Largest step of any β: a factor of two."""


@dataclass(frozen=True)
class Scales:
    """Scale of each torque over the median of those that the data tell.

    names (n,); factor (n,); deviation (n,) of its logarithm; known (n,) bool: which the data tell; gain: log-likelihood
    over the known ones being alike, less ½ ln N for each of their ratios [nats]; steadiness: of that of all scales (see
    `evidence`); fitted: with the scales; dispersion: of that fit (see `overdispersion`).
    """

    names: Sequence[str]
    factor: FloatArray
    deviation: FloatArray
    known: BoolArray
    gain: float
    steadiness: float
    fitted: ExplanationFit
    dispersion: float = 1.0

    @property
    def off(self) -> list[int]:
        """Joints whose scale is not that of the others, the farthest first.

        None within `DATA_SHEET_FACTOR` or two deviations.
        """
        known = np.flatnonzero(self.known)
        size = np.log(self.factor)[known]
        if not len(known) or np.ptp(size) < np.log(DATA_SHEET_FACTOR):
            return []
        away = known[(np.abs(size) > 0.5 * np.log(DATA_SHEET_FACTOR)) & (np.abs(size) > 2 * self.deviation[known])]
        return [int(j) for j in away[np.argsort(-np.abs(np.log(self.factor)[away]))]]

    @property
    def mend(self) -> Corrections | None:
        """What brings one torque to the scale of the others; where several are off, none tells which are right."""
        if len(self.off) != 1:
            return None
        return Corrections(torque_scale={self.names[self.off[0]]: float(1 / self.factor[self.off[0]])})

    @property
    def told(self) -> bool:
        """Whether other scales explain the torques better than a model that is somewhat wrong lets expect."""
        return (
            self.gain > LOG_LIKELIHOOD_THRESHOLD
            and self.gain / self.dispersion > MIN_EVIDENCE
            and self.steadiness > STEADY * MIN_STEADINESS
        )

    @property
    def clear(self) -> bool:
        """Whether they do, and are farther apart than drive gains of a data sheet."""
        return self.told and bool(self.off)

    @property
    def noted(self) -> bool:
        """Whether they do, and are as far apart as drive gains of a data sheet may be."""
        return self.told and not self.off and float(np.ptp(np.log(self.factor[self.known]))) > np.log(NOTED_FACTOR)

    @property
    def reason(self) -> Reason:
        """That the torques of some joints are off by a factor."""
        listed = ', '.join(
            f'{self.names[j]} {self.factor[j]:.2g} ± {self.factor[j] * self.deviation[j]:.1g}' for j in self.off
        )
        return Reason(
            'drive_gain' if len(self.off) == 1 else 'current',
            'the torques do not go together: in what several joints feel, they are these many times those of the other '
            f'joints: {listed} (log-likelihood +{self.gain:.0f}); look whether they are currents (then give drive '
            'gains), or whether a unit or a drive gain is wrong',
            mend={} if self.mend is None else {'recording': self.mend.stated()},
        )

    @property
    def notes(self) -> list[str]:
        """Scales apart by what drive gains of a data sheet may be, and joints whose scale no other confirms."""
        notes, each = [], list(zip(self.names, self.factor, self.deviation, self.known, strict=True))
        if self.noted:
            listed = ', '.join(
                f'{name} {by:.3g} ± {by * deviation:.1g}' for name, by, deviation, known in each if known
            )
            notes.append(
                'in what several joints feel, the torques are these many times those of the others (log-likelihood '
                f'+{self.gain:.0f}): {listed}; drive gains may be off by so much: --loaded and --payload-mass find them'
            )
        uncertain = [name for name, _, deviation, _ in each if 2 * deviation > np.log(2.0)]
        if uncertain:
            notes.append(
                f'no other joint shows to within a factor of two what the torque of {", ".join(uncertain)} is: its '
                'unit and drive gain are taken as given'
            )
        return notes

    def summary(self) -> dict[str, Mapping[str, Any]]:
        """Return the entry `torque_scales` of summary.json: {joint: {factor, std}}, None where nothing tells it."""
        return {
            'torque_scales': {
                name: {'factor': float(factor) if known else None, 'std': float(factor * deviation) if known else None}
                for name, factor, deviation, known in zip(
                    self.names, self.factor, self.deviation, self.known, strict=True
                )
            }
        }


def estimate_scales(alternatives: Alternatives) -> Scales:
    """Return the scales of the torques relative to each other, to which the likelihood points."""
    n = len(alternatives.names)
    beta, information, fitted, gained = _search(alternatives, np.ones(n, dtype=bool), np.zeros(n))
    known, deviation = _known(np.asarray(np.linalg.inv(information), dtype=float))
    if known.sum() < 2:
        return Scales(alternatives.names, np.ones(n), deviation, np.zeros(n, dtype=bool), 0.0, 0.0, fitted)
    ratios = 0.5 * (known.sum() - 1) * np.log(max(alternatives.count.sum(), 2.0))
    alike = _search(alternatives, np.logical_not(known), np.where(known, 0.0, beta - np.median(beta[known])))[3]
    target = alternatives.samples.tau * np.exp(-beta)[:, None]
    return Scales(
        alternatives.names,
        np.exp(beta - np.median(beta[known])),
        deviation,
        known,
        gained - alike - float(ratios),
        steadiness(
            (alternatives.given, alternatives.residuals),
            (fitted, alternatives.normal.residuals(target, fitted.chi)),
            alternatives.count,
            alternatives.samples.weight,
            alternatives.blocks,
        ),
        fitted,
        overdispersion(alternatives.normal, target, fitted, alternatives.count),
    )


def _search(
    alternatives: Alternatives, free: BoolArray, beta: FloatArray
) -> tuple[FloatArray, FloatArray, ExplanationFit, float]:
    """Return β (n,), its information (n, n), fit and gain, with the scales `free` (n,) sought from `beta`."""
    tau, count, normal = alternatives.samples.tau, alternatives.count, alternatives.normal
    weighted = tau * alternatives.samples.weight

    def tried(beta: FloatArray) -> tuple[ExplanationFit, float]:
        found = normal.fit(tau * np.exp(-beta)[:, None])
        return found, float(
            0.5 * count @ np.log(found.unexplained + RESOLVED**2) + 0.5 * (beta @ beta) / PRIOR_DEVIATION**2
        )

    damping, (found, least) = 1e-3, tried(beta)
    for _ in range(STEPS):
        information, slope = _profile(alternatives, weighted * np.exp(-beta)[:, None], found, beta)
        damped = information + damping * np.diag(np.diag(information))
        step = np.zeros(len(beta))
        if free.any():
            step[free] = np.linalg.solve(damped[np.ix_(free, free)], slope[free])
        longest = float(np.abs(step).max())
        if longest == 0:
            break
        step *= min(1.0, MAX_STEP / longest)
        other, value = tried(beta + step)
        if value > least:
            damping *= 10
            if damping > 1e6:
                break
            continue
        better, beta, found, least, damping = least - value, beta + step, other, value, 0.2 * damping
        if better < 1e-3:
            break
    information = _profile(alternatives, weighted * np.exp(-beta)[:, None], found, beta)[0]
    return beta, information, found, gain(alternatives.given, found, count)


def _known(covariance: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return the joints whose scales the data tell, and every deviation from the mean of those, (n,) each."""
    known = np.ones(len(covariance), dtype=bool)
    while True:
        centred = np.eye(len(known)) - known / known.sum()
        deviation = np.sqrt(np.maximum(np.diag(centred @ covariance @ centred.T), 0.0))
        worst = int(np.argmax(np.where(known, deviation, -1.0)))
        if deviation[worst] < MAX_SCALE_DEVIATION or known.sum() == 1:
            return known & (deviation < MAX_SCALE_DEVIATION), deviation
        known[worst] = False


def _profile(
    alternatives: Alternatives, weighted: FloatArray, found: ExplanationFit, beta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return information (n, n) and slope (n,) of β with χ eliminated; weighted (n, samples): torques over scales."""
    normal, chi = alternatives.normal, found.chi
    variance = (found.unexplained + RESOLVED**2) * (weighted**2).sum(axis=1) / alternatives.count
    variance = np.maximum(variance, np.finfo(float).tiny)
    own = normal.matrix @ chi / variance[:, None]
    right = np.einsum('jbs,js->jb', normal.rows, weighted, optimize=True) / variance[:, None] - own
    shared = np.tensordot(1 / variance, normal.matrix, axes=1)
    scale = np.sqrt(np.maximum(np.diag(shared), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    inverse = np.linalg.pinv(shared / np.outer(scale, scale), rcond=1e-10, hermitian=True)
    cross = own.T / scale[:, None]
    information = np.diag(own @ chi + 1 / PRIOR_DEVIATION**2) - cross.T @ inverse @ cross
    slope = right @ chi - cross.T @ (inverse @ (right.sum(axis=0) / scale)) - beta / PRIOR_DEVIATION**2
    return 0.5 * (information + information.T), slope
