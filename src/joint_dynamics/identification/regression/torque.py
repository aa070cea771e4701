"""The full standard set that a solution of the base parameters stands for.

The load torque of an observation under it.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.standard_rows import StandardRows
from joint_dynamics.robot import BaseParameters, RobotModel, StandardParameters

INERTIAL_SPREAD = 0.3
"""How far a URDF's inertials may be off, as a share of themselves.

What weighs one parameter of a base combination against another.
"""
KEPT = 16 * 2**20
"""Size of an observation's positions up to which its load torque is kept [bytes]."""
UNKNOWN = 100.0
"""Spread of a rotor inertia, of which a URDF says nothing, in units of the largest spread of a link's inertia."""


def standard_set(base: BaseParameters, chi: FloatArray, prior: FloatArray | None) -> FloatArray:
    """Return a full standard set (p,) with base values chi (b,), as near as possible to `prior` (p,), the URDF's.

    Without one, all else zero.

    Near is meant in what a URDF may be off by: where motion shows only the sum of a link's inertia and its rotor's
    (ZZR), the link's stays with the URDF's and the rotor, of which that says nothing, takes the rest, but never less
    than nothing.
    """
    if prior is not None and np.any(prior):
        spread = prior_spread(base, prior)
        rotors = np.array([name.startswith('Ia_') for name in base.standard_names]) & ~_alone(base)
        while True:
            lifted = base.lift(chi, prior, spread)
            below = rotors & (lifted < 0)
            if not below.any():
                return lifted
            prior, spread = np.where(below, 0.0, prior), np.where(below, 0.0, spread)
    if prior is not None:
        return base.lift(chi, prior)
    standard = np.zeros(len(base.standard_names))
    standard[base.independent] = chi
    return standard


def _alone(base: BaseParameters) -> BoolArray:
    """Which standard parameters (p,) are a base parameter by themselves: no prior can change them."""
    alone = np.zeros(len(base.standard_names), dtype=bool)
    alone[base.independent[np.count_nonzero(base.matrix, axis=1) == 1]] = True
    return alone


def prior_spread(base: BaseParameters, prior: FloatArray) -> FloatArray:
    """Return the standard deviation of each parameter of the prior, (p,) [SI].

    For a link it follows from `INERTIAL_SPREAD` of its mass, radius of gyration and inertia.
    """
    n = sum(name.startswith('M_') for name in base.standard_names)
    links = StandardParameters(prior, n).links
    mass, inertia = np.maximum(links[:, 9], 1e-3), np.maximum(0.5 * np.abs(links[:, [0, 3, 5]]).sum(axis=1), 1e-6)
    standard = StandardParameters(np.ones(len(prior)), n)
    standard.links[:, :6], standard.links[:, 6:9], standard.links[:, 9] = (
        inertia[:, None],
        np.sqrt(mass * inertia)[:, None],
        mass,
    )
    standard.links[:] *= INERTIAL_SPREAD
    standard.rotor_inertia[:] = UNKNOWN * INERTIAL_SPREAD * inertia.max()
    return standard.values


class LoadTorques:
    """Load torques of whole observations, kept until others are asked for: most are asked for several times."""

    def __init__(self, model: RobotModel, rows: StandardRows):
        self._model, self._rows = model, rows
        self._kept: dict[int, tuple[Observation, bytes, FloatArray]] = {}

    def of(self, observation: Observation, links: FloatArray, part: slice = slice(None)) -> FloatArray:
        """Return `load_torque` of (a part of) an observation; of long ones nothing is kept.

        Parameters
        ----------
        links
            (n, 10) inertial parameters.
        """
        if observation.q.nbytes > KEPT:
            return load_torque(self._model, observation, links, part)
        known, key, torque = self._kept.get(id(observation), (None, b'', np.zeros(0)))
        if known is not observation or key != links.tobytes():
            pieces = self._rows.of(observation)
            torque = (
                load_torque(self._model, observation, links) if pieces is None else self._rows.torque(pieces, links)
            )
            self._kept[id(observation)] = observation, links.tobytes(), torque
        return torque[:, part]


def load_torque(
    model: RobotModel, observation: Observation, links: FloatArray, part: slice = slice(None)
) -> FloatArray:
    """Return the torque τ_J of the links alone, (joints, samples) [N·m], of (a part of) an observation.

    Parameters
    ----------
    links
        (n, 10) inertial parameters.
    """
    return model.chain.torque(observation.q[part], observation.dq[part], observation.ddq[part], links).T
