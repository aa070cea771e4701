"""The columns of additional terms, which are linear only for a given load torque and hysteresis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arm import Motion, Term, slip_of
from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.base_rows import spans
from joint_dynamics.identification.regression.torque import LoadTorques
from joint_dynamics.robot import RobotModel

KEPT = 16 * 2**20
"""Size up to which, in all, columns at the kept samples are kept for the next solution [bytes]."""
DIRECTED = {'F_S', 'F_Cl', 'F_C1'}
"""Parameters of friction in the direction of slip, which hysteresis turns gradually."""


@dataclass(frozen=True)
class FrictionState:
    """The state of the friction columns, taken from the preceding solution.

    The columns are linear only for a given state, so state and solution are iterated.

    Attributes
    ----------
    links
        (n, 10) inertial parameters for computing the load torque.
    load_limit
        (n,) bound of |τ_J| [N·m], so that no law is extrapolated.
    width, share
        (n,) of the hysteresis, zero where there is none.
    """

    links: FloatArray | None = None
    load_limit: FloatArray | None = None
    width: FloatArray | None = None
    share: FloatArray | None = None


class AdditionalColumns:
    """Columns of terms for some observations of one robot, kept with what of a state they are made with.

    Parameters
    ----------
    model
        the robot; loads: the load torques of the observations.
    """

    def __init__(self, model: RobotModel, observations: Sequence[Observation], loads: LoadTorques):
        self._joints, self._tree = model.joint_names, model.chain.tree
        self._observations = observations
        self._loads = loads
        self._kept: dict[tuple[Any, ...], FloatArray] = {}
        self._room = KEPT

    def at_kept_samples(self, index: int, terms: Sequence[Term], state: FrictionState) -> FloatArray:
        """Return the columns of one observation at its kept samples, (columns, kept)."""
        keys = [(index, term.joint, term.columns, term.width, *self._state_of(term, state)) for term in terms]
        known = [self._kept.get(key) for key in keys]
        fresh = self._filtered(
            self._observations[index],
            [term for term, columns in zip(terms, known, strict=True) if columns is None],
            state,
        )
        first = 0
        parts = [np.zeros((0, len(self._observations[index].kept)))]
        for key, term, columns in zip(keys, terms, known, strict=True):
            if columns is None:
                columns = fresh[first : first + len(term.names)].copy()
                first += len(term.names)
            self._keep(key, columns)
            parts.append(columns)
        return np.concatenate(parts)

    def _keep(self, key: tuple[Any, ...], columns: FloatArray) -> None:
        """Keep columns longer than all that were asked for before."""
        self._room += self._kept.pop(key, columns[:0]).nbytes
        while columns.nbytes > self._room and self._kept:
            self._room += self._kept.pop(next(iter(self._kept))).nbytes
        if columns.nbytes <= self._room:
            self._room -= columns.nbytes
            self._kept[key] = columns

    def _state_of(self, term: Term, state: FrictionState) -> tuple[Any, ...]:
        """Return what of a state the columns of a term are made with: load, and (share, width) of the hysteresis."""
        load = hysteresis = None
        if term.joint not in self._joints:
            return load, hysteresis
        j = self._joints.index(term.joint)
        if 'load' in term.needs and state.links is not None:
            load = state.links.tobytes(), None if state.load_limit is None else float(state.load_limit[j])
        directed = any(name in DIRECTED for column in term.columns for name, _ in column.law)
        if directed and state.share is not None and state.width is not None and state.share[j] > 0:
            hysteresis = float(state.share[j]), float(state.width[j])
        return load, hysteresis

    def _filtered(self, observation: Observation, terms: Sequence[Term], state: FrictionState) -> FloatArray:
        if not terms:
            return np.zeros((0, len(observation.kept)))
        slips = slips_of(observation, terms, state, self._joints)
        if observation.decimator is None:
            return self.at_full_rate(observation, slice(0, len(observation.q)), terms, state, slips)
        return np.concatenate(
            [
                self.at_full_rate(observation, slice(first, end), terms, state, slips) @ weights
                for _, first, end, weights in spans(observation)
            ],
            axis=1,
        )

    def at_full_rate(
        self,
        observation: Observation,
        part: slice,
        terms: Sequence[Term],
        state: FrictionState,
        slips: dict[float, FloatArray],
    ) -> FloatArray:
        """Return the columns of consecutive samples, (columns, samples); slips: see `slips_of`."""
        q, dtheta = (np.ascontiguousarray(values[part].T) for values in (observation.q, observation.dtheta))
        direction = np.sign(dtheta)
        load = self._load(observation, part, terms, state)
        rows = np.empty((sum(len(term.names) for term in terms), q.shape[1]))
        first = 0
        for term in terms:
            columns = slice(first, first + len(term.names))
            first = columns.stop
            if term.joint not in self._joints:
                position = self._tree.positions(observation.q[part])[:, self._tree.names.index(term.joint)]
                rows[columns] = term.values(position, np.zeros_like(position))
                continue
            j = self._joints.index(term.joint)
            sign, hysteresis = direction[j], self._state_of(term, state)[1]
            if hysteresis is not None:
                share, width = hysteresis
                sign = sign * (1 - share) + share * slips[width][part, j]
            motion = Motion(
                q[j],
                dtheta[j],
                sign,
                None if load is None else load[j],
                None if observation.temperature is None else observation.temperature[part, j],
                {} if term.width is None else {term.width: slips[term.width][part, j]},
            )
            rows[columns] = term.of(motion)
        return rows

    def _load(
        self, observation: Observation, part: slice, terms: Sequence[Term], state: FrictionState
    ) -> FloatArray | None:
        if state.links is None or not any('load' in term.needs for term in terms):
            return None
        load = self._loads.of(observation, state.links, part)
        limit = state.load_limit
        return load if limit is None else np.clip(load, -limit[:, None], limit[:, None])


def slips_of(
    observation: Observation, terms: Sequence[Term], state: FrictionState, joint_names: Sequence[str]
) -> dict[float, FloatArray]:
    """Return {width [rad]: H (samples, n)} for all widths that terms, or the state of their joints, ask for."""
    widths = {term.width for term in terms if term.width is not None}
    if state.width is not None and state.share is not None:
        joints = {joint_names.index(term.joint) for term in terms if term.joint in joint_names}
        widths |= {float(state.width[j]) for j in joints if state.share[j] > 0}
    return {width: slip_of(observation.theta, width) for width in sorted(widths)}
