"""Energy balance of the plant: the work put in must be stored or dissipated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joint_dynamics.simulation.dynamics import spring_energy
from joint_dynamics.simulation.links import Links, Workspace
from joint_dynamics.simulation.packed import PlantConstants, PlantState
from joint_dynamics.simulation.rigid_body import link_energy


@dataclass(frozen=True)
class Energy:
    """Energies and works in J; works since the audit began.

    Energies: `links` and `rotors` kinetic, `gravity` potential (0 with all mass at the base), `springs`. Works put in:
    `motor`, `cogging`, `external` (pushes on bodies included), `contact` (negative: dissipated). Works taken out:
    `friction`, `damping`. `settings`: work of wear and of the load-dependent play. `error`: change of the stored energy
    less the net work. `throughput`: sum of all works' magnitudes, a scale for the error.
    """

    links: float
    rotors: float
    gravity: float
    springs: float
    motor: float
    cogging: float
    external: float
    friction: float
    damping: float
    contact: float
    settings: float
    error: float

    @property
    def stored(self) -> float:
        """Energy in the plant, J."""
        return self.links + self.rotors + self.gravity + self.springs

    @property
    def throughput(self) -> float:
        """Sum of the works' magnitudes, J."""
        works = self.motor, self.cogging, self.external, self.friction, self.damping, self.contact
        return sum(map(abs, works))


class EnergyAudit:
    """The energy at the start of an audit, and the balance since then."""

    def __init__(self) -> None:
        self._start = 0.0

    def reset(self, links: Links, plant: PlantConstants, state: PlantState, work: Workspace) -> None:
        """Start anew from the present state."""
        state.work[:] = 0.0
        self._start = sum(_stored(links, plant, state, work))

    def balance(self, links: Links, plant: PlantConstants, state: PlantState, work: Workspace) -> Energy:
        """Return the balance since the start."""
        stored = _stored(links, plant, state, work)
        motor, cogging, external, friction, damping, contact, settings = state.work.tolist()
        gained = motor + cogging + external + contact + settings - friction - damping
        kinetic, potential, rotors, springs = stored
        works = motor, cogging, external, friction, damping, contact, settings
        return Energy(kinetic, rotors, potential, springs, *works, float(sum(stored) - self._start - gained))


def _stored(
    links: Links, plant: PlantConstants, state: PlantState, work: Workspace
) -> tuple[float, float, float, float]:
    kinetic, potential = link_energy(
        links, np.ascontiguousarray(state.motion[0]), np.ascontiguousarray(state.motion[1]), work
    )
    rotors = float(0.5 * np.sum(plant.joints['rotor_inertia'] * state.motion[3] ** 2))
    return kinetic, potential, rotors, spring_energy(plant, state)
