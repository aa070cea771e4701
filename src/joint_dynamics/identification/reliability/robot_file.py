r"""Other torques and other motion, told by the inertials that the robot file holds.

With free parameters a torque of another scale, or a position with another zero, is told only by what joints share,
which a short motion hardly shows. The robot file often knows the links: with its torque τ_file of all links at one
scale, a payload at the last link (ten parameters) and friction, rotor and offset of every joint,

    τ_j ≈ s τ_file,j + Y_j p + Ia θ̈ + Fv θ̇ + Fc sgn θ̇ + o,

a handful of parameters is to explain all joints together, and every alternative is told by far. Robot files also hold
nonsense, as a mass of 1 kg for every link. So nothing is said by one whose links, with the change, leave more than
`DETAILS` times as much over as free parameters do with what explains the torques best, as given or otherwise, or have
a scale s that no tool makes (`units.DISAGREEMENT_FACTOR`). The change has to gain more than any one link of the file's
being another one does, and to explain a twentieth of some joint's torque; what free parameters lose by it is taken off
the gain. What that is worth follows from how much worse the few parameters fit than noise lets expect, as everywhere
(`overdispersion`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import ExplanationFit, NormalEquations, columns_of, gain
from joint_dynamics.identification.reliability.explanation import Alternative, least_evidence
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.identification.reliability.thresholds import (
    DISAGREEMENT_FACTOR,
    FREE_SCALE_THRESHOLD,
    MIN_EFFECT,
    MOTION_KINDS,
    TORQUE_KINDS,
)
from joint_dynamics.robot import INERTIAL, RobotModel
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.standard_parameters import link_columns

DETAILS = 2.0
"""So many times what free parameters leave over the robot file's links may: as bodies may (`bodies.DETAILS`)."""
OWN = 4
"""Columns that only one joint feels: rotor inertia, viscous and Coulomb friction, offset."""


class FileAlternatives(Alternatives):
    """Alternatives to what is given where the links are those of the robot file, at one scale, with a payload.

    free: alternatives with free parameters; best: what of them explains the torques best, as given or otherwise.
    """

    def __init__(self, free: Alternatives, best: ExplanationFit):
        self.free, self.best = free, best
        self.gains = {found.text: found.gain for found in free.tried}
        super().__init__(free.model, free.samples)

    def least(self, code: str) -> float:
        """Return the evidence that an alternative of a kind needs [nats]: torques and motion each have their bound."""
        return least_evidence(self.model, code, len(TORQUE_KINDS) if code in TORQUE_KINDS else MOTION_KINDS)

    def normals(self, motions: Sequence[FilteredSamples]) -> Iterator[NormalEquations]:
        """Yield the normal equations of other motions."""
        for k, samples in enumerate(motions):
            if k == 0 or not samples.moves_as(motions[k - 1]):
                rows = self.columns(samples)
            yield self.equations(rows, samples)

    def normal_on(self, chain: Chain) -> NormalEquations:
        """Return the normal equations of the motion on another chain."""
        return self.equations(self.columns(self.samples, chain), self.samples)

    def columns(self, samples: FilteredSamples, chain: Chain | None = None) -> FloatArray:
        """Return the rows (joints, columns, samples): torque of the file's links, a payload's, each joint's own."""
        return _columns(self.model, samples, chain)

    def equations(self, rows: FloatArray, samples: FilteredSamples) -> NormalEquations:
        """Return the normal equations of `columns` of samples."""
        n, first = self.model.n, rows.shape[1] - OWN * self.model.n
        friction = [np.array([first + OWN * j + 1, first + OWN * j + 2]) for j in range(n)]
        power = np.zeros((n, rows.shape[1]))
        for j, columns in enumerate(friction):
            power[j, columns] = (rows[j, columns] * samples.dtheta[j] * samples.weight[j] ** 2).sum(axis=1)
        positive = np.array([first + OWN * j for j in range(n)])
        return NormalEquations(rows, samples.weight, friction, power, positive)

    @functools.cached_property
    def by_link(self) -> float:
        """What the file's being wrong in the one link that helps most gains [nats]."""
        return max(self._other_link(k) for k in range(len(self.model.link_names)))

    def _other_link(self, link: int) -> float:
        """Return what the file's being wrong in one link gains: ten parameters of that link's own [nats]."""
        own = np.arange(len(self.model.parameter_names))[link_columns(link)]
        columns = columns_of(self.samples, self.model, independent=own)[:, : len(INERTIAL)]
        free = np.zeros((len(columns), columns.shape[1]))
        normal = NormalEquations(
            np.concatenate([_columns(self.model, self.samples), columns], axis=1),
            self.samples.weight,
            self.normal.friction,
            np.concatenate([self.normal.power, free], axis=1),
            self.normal.positive,
        )
        return gain(self.given, normal.fit(self.samples.tau), self.count)

    def fitted(
        self, code: str, text: str, normal: NormalEquations, target: FloatArray, order: IntArray | None = None
    ) -> Alternative:
        """Return one alternative as `Alternatives.fitted`, its gain less what free parameters lose by it.

        No gain is left where the links of the file leave too much over.
        """
        found = super().fitted(code, f'{text}, by the inertials of the robot file', normal, target, order)
        if not found.ahead:
            return found
        if found.gain < self.by_link + FREE_SCALE_THRESHOLD or not self._good(found.fitted):
            return replace(found, gain=0.0)
        lost = self.gains[text] if text in self.gains else self._lost(code, text, target, order)
        return replace(found, gain=found.gain + min(0.0, lost))

    def _lost(self, code: str, text: str, target: FloatArray, order: IntArray | None) -> float:
        """Return what free parameters gain by a change of the torques that was not worth trying with them."""
        return self.free.fitted(code, text, self.free.normal, target, order).gain

    def _good(self, changed: ExplanationFit) -> bool:
        """Whether the file's links, with a change of the torques, are links of this robot and the change matters."""
        size = ((self.samples.tau * self.samples.weight) ** 2).sum(axis=1)
        left, free = float(changed.unexplained @ size), float(self.best.unexplained @ size)
        better = float((self.given.unexplained - changed.unexplained).max())
        return (
            left < DETAILS**2 * free
            and 1 / DISAGREEMENT_FACTOR < changed.chi[0] < DISAGREEMENT_FACTOR
            and better > MIN_EFFECT**2
        )


def file_alternatives(free: Alternatives, others: Iterable[Alternative] = ()) -> FileAlternatives | None:
    """Return the alternatives by the robot file's inertials, None where it holds none.

    free: those without them; others: what explains the torques better without them.
    """
    parameters = free.model.parameters
    if parameters is None or not np.any(parameters):
        return None
    size = ((free.samples.tau * free.samples.weight) ** 2).sum(axis=1)
    best = min((free.given, *(other.fitted for other in others)), key=lambda fitted: float(fitted.unexplained @ size))
    return FileAlternatives(free, best)


def _columns(model: RobotModel, samples: FilteredSamples, chain: Chain | None = None) -> FloatArray:
    """Return the rows (joints, columns, samples): torque of the file's links, a payload's, each joint's own."""
    n = model.n
    inertial = model.columns(INERTIAL)
    stated = np.asarray(model.parameters, dtype=float)[inertial]
    rows = columns_of(samples, model, chain, inertial)[:, : len(inertial)]
    last = np.flatnonzero(np.isin(inertial, np.arange(len(model.parameter_names))[link_columns(n - 1)]))
    own = np.zeros((n, OWN * n, samples.q.shape[1]))
    for j in range(n):
        own[j, OWN * j : OWN * (j + 1)] = (
            samples.ddtheta[j],
            samples.dtheta[j],
            samples.sign[j],
            np.ones_like(samples.sign[j]),
        )
    payload = rows[:, last[: len(INERTIAL)]]
    return np.concatenate([np.einsum('jps,p->js', rows, stated)[:, None], payload, own], axis=1)
