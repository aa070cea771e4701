"""Inertials of the true arm: the URDF's with a spread, and a payload on the last link."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import StandardParameters
from joint_dynamics.simulation.links import Links


@dataclass(frozen=True)
class Payload:
    """A body held by the last link.

    `mass` [kg], `com` (3,) [m] in the frame of the last joint, `inertia` (3, 3) about its com [kg·m²].
    """

    mass: float
    com: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike = field(default_factory=lambda: np.zeros((3, 3)))

    def __post_init__(self) -> None:
        com, inertia = np.asarray(self.com, dtype=float), np.asarray(self.inertia, dtype=float)
        if not (np.isfinite(self.mass) and self.mass >= 0.0):
            raise JointDynamicsError(f'payload: expected a mass >= 0 kg, found {self.mass}')
        if com.shape != (3,) or not np.isfinite(com).all():
            raise JointDynamicsError(f'payload: expected a centre of mass of 3 numbers [m], found {self.com}')
        if (
            inertia.shape != (3, 3)
            or not np.allclose(inertia, inertia.T)
            or not np.linalg.eigvalsh(inertia).min() >= -1e-12
        ):
            raise JointDynamicsError(f'payload: expected a symmetric inertia (3, 3) >= 0 [kg·m²], found {self.inertia}')
        object.__setattr__(self, 'com', com)
        object.__setattr__(self, 'inertia', inertia)


def _steiner(mass: float, lever: FloatArray) -> FloatArray:
    return mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))


def spread(links: Links, amount: float, seed: int) -> Links:
    """Return `links`: masses and inertias off by up to ±`amount` (relative), centres of mass by ±`amount` · 0.1 m."""
    rng = np.random.default_rng([seed, 0x1E])
    n = links.mass.size
    factor = 1.0 + amount * rng.uniform(-1.0, 1.0, n)
    inertia = links.inertia * (factor * (1.0 + amount * rng.uniform(-1.0, 1.0, n)))[:, None, None]
    return links._replace(
        mass=links.mass * factor, com=links.com + 0.1 * amount * rng.uniform(-1.0, 1.0, (n, 3)), inertia=inertia
    )


def with_payload(links: Links, payload: Payload | None) -> Links:
    """Return `links` with `payload` fixed to the last one."""
    mass, com, inertia = links.mass.copy(), links.com.copy(), links.inertia.copy()
    if payload is not None and payload.mass > 0.0:
        total = mass[-1] + payload.mass
        center = (mass[-1] * com[-1] + payload.mass * np.asarray(payload.com)) / total
        inertia[-1] = (
            inertia[-1]
            + _steiner(mass[-1], com[-1] - center)
            + np.asarray(payload.inertia)
            + _steiner(payload.mass, np.asarray(payload.com) - center)
        )
        mass[-1], com[-1] = total, center
    return links._replace(mass=mass, com=com, inertia=inertia)


def standard_parameters(
    links: Links, rotor_inertia: FloatArray, viscous: FloatArray, coulomb: FloatArray
) -> FloatArray:
    """Return the (14 n,) standard parameters in the order of `RobotModel.parameter_names`; offsets are zero."""
    standard = StandardParameters.zeros(links.mass.size)
    for k in range(links.mass.size):
        mass, com = links.mass[k], links.com[k]
        about = links.inertia[k] + _steiner(mass, com)
        standard.links[k] = (
            about[0, 0],
            about[0, 1],
            about[0, 2],
            about[1, 1],
            about[1, 2],
            about[2, 2],
            *(mass * com),
            mass,
        )
    standard.rotor_inertia[:], standard.viscous[:], standard.coulomb[:] = rotor_inertia, viscous, coulomb
    return standard.values
