# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

r"""Rotor compensation with two encoders and the joint models of a description [M5 eq 12-16].

    τ_J = K_τ i − B θ̈ − f̂(ω, τ_J, T)

is formed before the filters from the known joint models (rotor inertia B, friction with load, temperature and
Maxwell-slip). The regressor keeps sgn θ̇, θ̇, an offset and θ̈ for what f̂ and B missed; the description gets both
together.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joint_dynamics.arm import Arm, DescribedTerms
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import Observation
from joint_dynamics.robot import RobotModel


@dataclass(frozen=True)
class RotorSide:
    """The known joints as an arm, and their parts of the description; remarks: on parts that were not used."""

    arm: Arm
    document: dict[str, Any]
    remarks: tuple[str, ...] = ()

    @classmethod
    def load(cls, source: str | Path | DynamicsDescription, model: RobotModel) -> RotorSide:
        """Read a description.

        Raises JointDynamicsError where it lacks rotor inertia or friction of a joint, or inertial parameters.
        """
        description = source if isinstance(source, DynamicsDescription) else DynamicsDescription.load(source)
        missing = [
            name for name in model.joint_names if not {'rotor_inertia', 'friction'} <= set(description.joint(name))
        ]
        if missing:
            raise JointDynamicsError(
                'rotor: expected rotor_inertia and friction of every joint, found them missing for '
                f'{", ".join(missing)}'
            )
        if 'inertial' not in description.document:
            raise JointDynamicsError('rotor: dynamics description: inertial: expected this field, found nothing')
        arm = Arm.from_description(model, description)
        # Coupled motors and further terms are columns of the regression, and are found there.
        links = arm.robot.standard(arm.parameters).links_only().values
        remarks = (
            *arm.remarks,
            *(f'{name}: not subtracted first, estimated again' for name in arm.terms.names(arm.joint_names)),
        )
        if arm.coupled is not None:
            remarks += ('inertial.coupling: not subtracted first, estimated again',)
        return cls(
            replace(arm, terms=DescribedTerms(), parameters=links),
            {name: description.joint(name) for name in model.joint_names},
            tuple(f'rotor: {remark}' for remark in remarks),
        )

    def compensate(self, observation: Observation) -> Observation:
        """Return an observation with the motor torque replaced by the transmission torque τ_J.

        The hysteresis is undeformed at the first sample.
        """
        o = observation
        return replace(o, tau=self.arm.transmission_torque(o.tau, o.q, o.dq, o.ddq, **o.motor))

    def document_of(self, name: str, identified: dict[str, float]) -> dict[str, Any]:
        """Return rotor inertia, friction and maps of one joint with the identified additions: Ia, Fv, Fc, off."""
        part = copy.deepcopy(self.document[name])
        part['rotor_inertia'] = {'value': float(part['rotor_inertia']['value'] + identified['Ia'])}
        values = part['friction']['parameters']
        # The additions are relative to the friction at its present scale, of which the description keeps both.
        scale = part['friction'].get('scale', [1.0, 0.0])[0]
        level, rise = float(values['F_C0']), float(identified['Fc']) / (scale if scale > 0 else 1.0)
        values.update(
            F_C0=level + rise,
            F_V1=values.get('F_V1', 0.0) + identified['Fv'],
            offset=values.get('offset', 0.0) + identified['off'],
        )
        if 'F_S' in values:
            values['F_S'] += rise
        return {
            key: part[key]
            for key in ('rotor_inertia', 'friction', 'backlash', 'kinematic_error', 'stiffness', 'damping')
            if key in part
        }
