r"""Rotor compensation with two encoders and the joint models of a description [M5 eq 12-16].

    τ_J = K_τ i − B θ̈ − f̂(ω, τ_J, T)

is formed before the filters from what is known of the joints (rotor inertia B, friction with load, temperature and Maxwell-slip). The
regressor keeps sgn θ̇, θ̇, an offset and θ̈ for what f̂ and B missed; the description gets both together.
"""
from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.regression.torque import inertial_only, load_torque
from joint_dynamics.joint import FrictionModel
from joint_dynamics.robot import RobotModel


@dataclass(frozen=True)
class RotorSide:
    """What is known of the joints: B (n,) [kg·m²], their friction, and the inertial parameters (n, 10) that give the load torque."""

    model: RobotModel
    B: NDArray
    friction: FrictionModel
    links: NDArray
    document: dict[str, Any]

    @classmethod
    def load(cls, source: str | Path | DynamicsDescription, model: RobotModel) -> RotorSide:
        """Read a description; raise JointDynamicsError where it lacks rotor inertia or friction of a joint, or inertial parameters."""
        description = source if isinstance(source, DynamicsDescription) else DynamicsDescription.load(source)
        missing = [name for name in model.joint_names if not {'rotor_inertia', 'friction'} <= set(description.joint(name))]
        if missing:
            raise JointDynamicsError(f'rotor: expected rotor_inertia and friction of every joint, missing for {", ".join(missing)}')
        links = inertial_only(model, description.standard_parameters(model, friction=False))
        return cls(model, description.values('rotor_inertia', model.joint_names), description.friction(model.joint_names), links,
                   {name: description.joint(name) for name in model.joint_names})

    def torque(self, observation: Observation) -> NDArray:
        """Return B θ̈ + f̂(ω, τ_J, T), (samples, n) [N·m], hysteresis undeformed at the first sample."""
        load = load_torque(self.model, observation, self.links).T
        friction = self.friction.copy()
        if friction.maxwell_slip is None:
            found = friction.static(observation.dtheta, load, observation.temperature)
        else:
            friction.reset()
            found = friction.run(observation.theta, observation.dtheta, load, observation.temperature)
        return self.B * observation.ddtheta + found

    def compensate(self, observation: Observation) -> Observation:
        """Return an observation with the transmission torque τ_J in the place of the motor torque."""
        return replace(observation, tau=observation.tau - self.torque(observation))

    def document_of(self, name: str, found: dict[str, float]) -> dict[str, Any]:
        """Return rotor inertia, friction and maps of one joint with what was found on top of them: Ia, Fv, Fc, off."""
        part = copy.deepcopy(self.document[name])
        part['rotor_inertia'] = {'value': float(part['rotor_inertia']['value'] + found['Ia'])}
        values = part['friction']['parameters']
        level, rise = float(values['F_C0']), float(found['Fc'])
        values.update(F_C0=level + rise, F_V1=values.get('F_V1', 0.0) + found['Fv'], offset=values.get('offset', 0.0) + found['off'])
        if 'F_S' in values:
            values['F_S'] += rise
        return {key: part[key] for key in ('rotor_inertia', 'friction', 'backlash', 'kinematic_error', 'stiffness', 'damping') if key in part}
