r"""Whether a law of friction holds within the recordings, or only stands for what differs between parts of the data.

Friction is not the same in every recording: a gear that is ten kelvin colder has a fifth more of it. Where the cold
recording is the slow one, a law of speed takes that up, and predicts slow motion of the warm robot wrongly; leaving
recordings out does not show it, as every subset is confounded alike. So the coefficients d of a law are estimated
twice: from all rows (χ), and with every joint having Coulomb and viscous friction of its own in every recording
(fixed effects, χ_w). Where only speed and load decide, both estimate the same [Hausman 1978; Mundlak 1978], and

    z² = (d − d_w)ᵀ V⁻¹ (d − d_w),    V = Σ_g s_g s_gᵀ,    s_g = [M⁻¹ A_g ρ_g − M_w⁻¹ A_w,g ρ_w,g]_d,

is a χ² of as many degrees of freedom as the joint has columns in the law; V is the covariance from the scatter of
the blocks of time g, which needs no residuals of one variance [Arellano 1993]. Own friction concerns the rows of one
joint in one recording only, and is taken out of these rows before (Frisch and Waugh 1933).

Laws are approximations, and with good data two estimates of an approximation differ by a tenth with certainty. So where
they do not agree, the law is asked what it is worth: with the coefficients that all rows give it, it leaves
(d − d_w)ᵀN(d − d_w) of the d_wᵀN d_w that it stands for within the recordings, N = [M_w⁻¹]_dd⁻¹. What it gains there,

    h = dᵀN(2 d_w − d),    with the standard error 2 √(dᵀN V_w N d),

has to be as sure as any gain of the selection: two standard errors. A law that stands for something else has d_w near
zero, or on the other side of it, and gains nothing.

Friction drifts within a recording as well: KR300 has more of it in its first seconds, and where these are the slow ones
a law of speed takes that up. So the halves of every recording are asked like recordings, as far as they can tell: where
each holds other speeds (a sweep), friction of its own is nearly the law itself, and nothing tells one from the other. A
law is asked about in a joint where the halves' own friction leaves `WITHIN_HALVES` of what tells it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import chdtri, erfc

from joint_dynamics.arrays import FloatArray, IntArray

MIN_ERRORS = 2.0
"""Standard errors that a gain has to reach."""
CHANCE = float(erfc(MIN_ERRORS / np.sqrt(2.0)))
"""Probability below which both estimates do not agree: that of as many deviations."""
JITTER = 1e-10
WITHIN_HALVES = 1.0 / 3.0
MIN_SHARE = 1e-6
"""Share of a column's norm² that is none of the others', below which rounding decides its estimate."""


@dataclass(frozen=True)
class _Estimate:
    """How a law was estimated.

    law (d,): its coefficients; scores (d, blocks) of each; share (d,) of each column's norm² that the others cannot
    explain; inverse (d, d): block of the inverse normal matrix.
    """

    law: FloatArray
    scores: FloatArray
    share: FloatArray
    inverse: FloatArray


def halves_of(recordings: IntArray, blocks: IntArray) -> IntArray:
    """Return which half of which recording each sample is in (K,), whole blocks; see `WithinRecordings`."""
    half = np.zeros(len(blocks), dtype=int)
    for recording in np.unique(recordings):
        own = recordings == recording
        place = np.unique(blocks[own], return_inverse=True)[1]
        half[own] = 2 * place > place.max()
    return np.asarray(2 * recordings + half)


class WithinRecordings:
    """Estimates with and without friction of its own in every recording, and in every half of one.

    Parameters
    ----------
    columns
        (n, c, K) all columns, weighted: base, then candidates; base: how many of them are base columns.
    tau
        (n, K) weighted.
    friction
        for each joint the indices of its Coulomb and viscous friction among the base columns.
    blocks, recordings
        (K,) number of the block of time, and of the recording, of each sample.
    halves
        (K,) number of the half of a recording, see `halves_of`; None: halves are not asked.
    """

    def __init__(
        self,
        columns: FloatArray,
        base: int,
        tau: FloatArray,
        friction: Sequence[Sequence[int]],
        blocks: IntArray,
        recordings: IntArray,
        halves: IntArray | None = None,
    ):
        self._base, self._blocks = base, blocks
        pooled = np.concatenate([columns, tau[:, None]], axis=1)
        asked = [] if len(np.unique(recordings)) < 2 else [(recordings, 0.0)]
        asked += [] if halves is None else [(halves, WITHIN_HALVES)]
        self._least = [least for _, least in asked]
        self._rows = [pooled, *(_without_own(pooled, friction, parts) for parts, _ in asked)]
        self._grams = [np.einsum('jas,jbs->ab', rows, rows, optimize=True) for rows in self._rows]
        scale = np.sqrt(np.diag(self._grams[0])[:-1])
        # one scale for both: what own friction takes away altogether stays away
        self._scale = np.where(scale > 0, scale, 1.0)

    def disagree(self, chosen: dict[int, float], columns: Sequence[int], joints: Sequence[int]) -> set[int]:
        """Return the joints in which a law does not hold within recordings, or halves, as it does over all of them.

        Nor is worth anything there as it is.

        Parameters
        ----------
        chosen
            candidate columns in the model already {column: ridge}.
        columns, joints
            candidate columns of the law, and the joint of each.
        """
        further = sorted({*chosen, *columns})
        where = [self._base + further.index(c) for c in columns]
        everywhere, *divided = (
            self._estimate(rows, gram, [self._base + c for c in further], where)
            for rows, gram in zip(self._rows, self._grams, strict=True)
        )
        found: set[int] = set()
        for inside, least in zip(divided, self._least, strict=True):
            found |= _disagreeing(everywhere, inside, joints, np.maximum(MIN_SHARE, least * everywhere.share))
        return found

    def _estimate(self, rows: FloatArray, gram: FloatArray, further: Sequence[int], where: Sequence[int]) -> _Estimate:
        """Return what the columns at `where` of base and `further` ones are estimated at, and how."""
        b = self._base
        use = np.array([*range(b), *further])
        scale = self._scale[use]
        normal = gram[np.ix_(use, use)] / np.outer(scale, scale) + JITTER * len(use) * np.eye(len(use))
        factor = scipy.linalg.cho_factor(normal)
        chi = scipy.linalg.cho_solve(factor, gram[use, -1] / scale) / scale
        pick = np.zeros((len(use), len(where)))
        pick[where, np.arange(len(where))] = 1.0
        inverse = scipy.linalg.cho_solve(factor, pick)
        share = 1.0 / inverse[where, np.arange(len(where))]
        solve = (inverse / scale[where] / scale[:, None]).T
        first, rest = rows[:, :b], rows[:, further]
        residual = rows[:, -1] - chi[:b] @ first - chi[b:] @ rest
        each = ((solve[:, :b] @ first + solve[:, b:] @ rest) * residual[:, None]).sum(axis=0)
        return _Estimate(
            chi[where],
            np.stack([np.bincount(self._blocks, row) for row in each]),
            share,
            inverse[where] / np.outer(scale[where], scale[where]),
        )


def _without_own(rows: FloatArray, friction: Sequence[Sequence[int]], parts: IntArray) -> FloatArray:
    """Return the rows (n, c + 1, K) without what each joint's own friction explains in each part."""
    within = rows.copy()
    for j, own in enumerate(friction):
        for part in np.unique(parts) if own else ():
            here = np.flatnonzero(parts == part)
            span = scipy.linalg.orth(rows[j][np.asarray(own)[:, None], here].T, rcond=1e-6)
            within[j][:, here] -= (within[j][:, here] @ span) @ span.T
    return within


def _disagreeing(everywhere: _Estimate, inside: _Estimate, joints: Sequence[int], least: FloatArray) -> set[int]:
    """Return the joints in which two estimates of a law, with columns (d,) of these joints, do not agree.

    least (d,): share of a column's norm² below which it is not asked.
    """
    scatter = everywhere.scores - inside.scores
    found: set[int] = set()
    for j in sorted(set(joints)):
        own = [k for k, joint in enumerate(joints) if joint == j and inside.share[k] > least[k]]
        if not own:
            # one speed in each recording, others in each half: nothing within them tells a law
            continue
        law, difference = everywhere.law[own], everywhere.law[own] - inside.law[own]
        z = float(difference @ _pseudo_inverse(scatter[own] @ scatter[own].T) @ difference)
        if z <= chdtri(len(own), CHANCE):
            continue
        weighted = _pseudo_inverse(inside.inverse[np.ix_(own, own)]) @ law
        gained = float(weighted @ (2 * inside.law[own] - law))
        error = 2 * float(np.linalg.norm(weighted @ inside.scores[own]))
        if gained < MIN_ERRORS * error:
            found.add(j)
    return found


def _pseudo_inverse(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.pinv(matrix, rcond=1e-9, hermitian=True))
