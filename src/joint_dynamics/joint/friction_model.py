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

"""The extended Generalized Maxwell-Slip friction model of all joints at once [M6 eq 3-20].

    f = F(τ_J) H + F_v;    F(τ_J) = F_C0 + F_Cl |τ_J| + F_C1 τ_J²;
    F_v = H (F_S − F_C0) exp(−(|ω|/V_S)^μ) + F_V1 ω + F_V2 |ω|ω + F_V3 ω³
          + sgn(ω)√|ω| (F_T0 + F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³)) + offset.

The Stribeck term has H in place of sgn ω [M6 eq 11], so that nothing jumps at ω = 0. In steady slip H = sgn ω.

For a joint with `quadrants`, Hamon's dry friction replaces F(τ_J) H and all terms of F_v but the temperature's
[H eq 30; H eq 22 is printed wrong]. With E = exp(−|ω|/q̇_s), P⁺ = (1 + H sgn τ_J)/2 and P⁻ = 1 − P⁺:

    (P⁺(a_m + b_m E) + P⁻(a_g − b_g E) − 1) τ_J + (P⁺(c_m + d_m E) + P⁻(c_g + d_g E)) H + F_V ω + τ_off
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import laws
from joint_dynamics.joint.constants import NONE, Record, blank
from joint_dynamics.joint.friction_documents import (
    DOCUMENT_FIELDS,
    PARAMETERS,
    QUADRANTS,
    check_fields,
    check_temperatures,
    check_values,
    quadrants_of,
)
from joint_dynamics.joint.maps import PeriodicMap
from joint_dynamics.joint.maxwell_slip import MaxwellSlip


class FrictionModel:
    """Friction of n joints on the motor coordinate; arrays (…, n) in rad/s, N·m, °C.

    Parameters
    ----------
    parameters : mapping
        names of `PARAMETERS`, each a number or (n,) in SI; F_C0 is required, the others default to values that switch
        their term off.
    maxwell_slip
        the hysteresis; None for a model that is only given H, or evaluated as a static map.
    joints
        n, needed where all parameters are numbers; None: their size.
    quadrants
        Hamon's friction of all joints, by the names of `QUADRANTS`, each a number or (n,), NaN for joints without;
        None: no joint has it.

    Raises
    ------
    JointDynamicsError
        For an unknown parameter, a missing F_C0, quadrants without dq_s, and sizes that do not agree.
    """

    def __init__(
        self,
        parameters: Mapping[str, ArrayLike],
        maxwell_slip: MaxwellSlip | None = None,
        *,
        joints: int | None = None,
        quadrants: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        check_fields(parameters, set(PARAMETERS), needed='F_C0', what='parameter')
        if quadrants is not None:
            check_fields(quadrants, set(QUADRANTS), needed='dq_s', what='quadrant parameter')
        sizes = {np.size(value) for values in (parameters, quadrants or {}) for value in values.values()}
        if joints:
            sizes.add(joints)
        if maxwell_slip is not None:
            sizes.add(maxwell_slip.joints)
        self.joints = max(sizes)
        if sizes - {1, self.joints}:
            raise JointDynamicsError(
                f'friction: expected parameters for one or {self.joints} joints, found sizes {sorted(sizes)}'
            )
        full = {name: parameters.get(name, default) for name, default in PARAMETERS.items()}
        full['F_S'] = full['F_C0'] if full['F_S'] is None else full['F_S']
        self.parameters: dict[str, FloatArray] = {
            name: np.broadcast_to(np.asarray(value, float), (self.joints,)).copy() for name, value in full.items()
        }
        check_values(self.parameters)
        check_temperatures(*(self.parameters[name] for name in ('T_min', 'T_max', 'T_0')))
        self.maxwell_slip = maxwell_slip
        self.quadrants = (
            None
            if quadrants is None
            else {name: np.broadcast_to(np.asarray(value, float), (self.joints,)) for name, value in quadrants.items()}
        )
        self._constants = blank(self.joints)
        self.write_constants(self._constants)

    def write_constants(self, joints: Record) -> None:
        """Write the parameters into records (n,) of `constants.JOINT`; `maxwell_slip` writes the hysteresis."""
        for name, values in self.parameters.items():
            joints[name] = values
        if self.quadrants is None:
            return
        described = self.has_quadrants
        check_values({name: values[described] for name, values in self.quadrants.items()})
        joints['quadrants'] = described
        for name, values in self.quadrants.items():
            joints[name] = np.where(described, values, joints[name])

    @property
    def has_quadrants(self) -> BoolArray:
        """Which joints have Hamon's friction, (n,) bool."""
        return np.zeros(self.joints, dtype=bool) if self.quadrants is None else ~np.isnan(self.quadrants['dq_s'])

    def _of(self, law: int, *given: ArrayLike) -> FloatArray:
        return laws.evaluate(law, self.joints, self._constants, NONE, *given)

    def level(self, tau_J: ArrayLike = 0.0) -> FloatArray:
        """Coulomb level F(τ_J) (…, n) [N·m] under the torque tau_J through the transmission (…, n) [N·m]."""
        return self._of(laws.COULOMB_LEVEL, tau_J)

    def dry(self, H: ArrayLike, omega: ArrayLike, tau_J: ArrayLike = 0.0) -> FloatArray:
        """Dry friction F(τ_J) H, or Hamon's where the joint has `quadrants`, (…, n) [N·m].

        α₁ of the adaptive law scales it. H (…, n), without unit; omega, tau_J: ω and τ_J (…, n) [rad/s, N·m].
        """
        return self._of(laws.DRY_FRICTION, H, omega, tau_J)

    def viscous(self, omega: ArrayLike) -> FloatArray:
        """Return F_V1 ω + F_V2 |ω|ω + F_V3 ω³ (…, n) [N·m]; omega: ω (…, n) [rad/s]."""
        return self._of(laws.VISCOUS, omega)

    def speed_part(self, H: ArrayLike, omega: ArrayLike, temperature: ArrayLike | None = None) -> FloatArray:
        """F_v(ω, T) with its Stribeck term on H, (…, n) [N·m].

        Parameters
        ----------
        H, omega
            hysteresis and ω, (…, n) [–, rad/s].
        temperature
            (…, n) or one [°C]; None: the joint is at T0.
        """
        warm = self._of(laws.WARMTH, self.parameters['T_0'] if temperature is None else temperature)
        return self._of(laws.SPEED_FRICTION, H, omega, warm)

    def torque(
        self, H: ArrayLike, omega: ArrayLike, tau_J: ArrayLike = 0.0, temperature: ArrayLike | None = None
    ) -> FloatArray:
        """Friction torque f, (…, n) [N·m].

        Parameters
        ----------
        H, omega, tau_J
            hysteresis, speed ω and transmission torque τ_J, (…, n) [–, rad/s, N·m].
        temperature
            (…, n) or one [°C]; None: the joint is at T0.
        """
        return self.dry(H, omega, tau_J) + self.speed_part(H, omega, temperature)

    def static(
        self, omega: ArrayLike, tau_J: ArrayLike = 0.0, temperature: ArrayLike | None = None, smoothing: float = 0.0
    ) -> FloatArray:
        """Return the static map (…, n) [N·m]: the model in steady slip, H = sgn ω.

        Parameters
        ----------
        omega, tau_J, temperature
            as in `torque`.
        smoothing
            s [rad/s]; above 0, tanh(ω/s) replaces sgn ω.
        """
        speed = np.asarray(omega, dtype=float)
        H = np.tanh(speed / smoothing) if smoothing > 0 else np.sign(speed)
        return self.torque(H, speed, tau_J, temperature)

    def _slip(self) -> MaxwellSlip:
        if self.maxwell_slip is None:
            raise JointDynamicsError(
                'friction: expected a model with a Maxwell-slip part, found none: give it one, or use static()'
            )
        return self.maxwell_slip

    def step(
        self, theta: ArrayLike, omega: ArrayLike, tau_J: ArrayLike = 0.0, temperature: ArrayLike | None = None
    ) -> FloatArray:
        """Advance the hysteresis to θ and return f (n,) [N·m] of this sample.

        theta, omega, tau_J, temperature: (n,) [rad, rad/s, N·m, °C]. Raises JointDynamicsError without a Maxwell-slip
        part.
        """
        return self.torque(self._slip().step(theta), omega, tau_J, temperature)

    def run(
        self, theta: ArrayLike, omega: ArrayLike, tau_J: ArrayLike = 0.0, temperature: ArrayLike | None = None
    ) -> FloatArray:
        """Return f (N, n) [N·m] of a recording, the same as `step` sample by sample.

        theta, omega, tau_J, temperature: (N, n) [rad, rad/s, N·m, °C]. Raises JointDynamicsError without a Maxwell-slip
        part.
        """
        return self.torque(self._slip().run(theta), omega, tau_J, temperature)

    def reset(self, theta: ArrayLike | None = None, direction: ArrayLike = 0.0) -> None:
        """Forget the hysteresis, see `MaxwellSlip.reset`: theta (n,) [rad], direction (n,) without unit.

        Raises JointDynamicsError without a Maxwell-slip part.
        """
        self._slip().reset(theta, direction)

    @property
    def depends_on_load(self) -> BoolArray:
        """Whether the friction of each joint depends on τ_J, (n,) bool."""
        p = self.parameters
        loaded: BoolArray = (p['F_Cl'] != 0) | (p['F_C1'] != 0)
        return loaded | self.has_quadrants

    @property
    def depends_on_temperature(self) -> FloatArray:
        """Whether the friction of each joint depends on T, (n,) bool."""
        return (self.parameters['F_T1'] != 0) | (self.parameters['F_T2'] != 0)

    def bounded(self, load: ArrayLike, temperature: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf)) -> FrictionModel:
        """Return the same friction, held constant beyond |τ_J| = load (n,) N·m and outside [low, high] (n,) °C.

        T_0, at which the temperature part vanishes, stays within them. The hysteresis is shared.
        """
        p = self.parameters
        low = np.minimum(np.maximum(p['T_min'], temperature[0]), p['T_0'])
        high = np.maximum(np.minimum(p['T_max'], temperature[1]), p['T_0'])
        bounds = {'tau_max': load, 'T_min': low, 'T_max': np.maximum(high, np.nextafter(low, np.inf))}
        return FrictionModel({**p, **bounds}, self.maxwell_slip, joints=self.joints, quadrants=self.quadrants)

    def copy(self) -> FrictionModel:
        """Return an independent twin with its own hysteresis state."""
        slip = None if self.maxwell_slip is None else self.maxwell_slip.copy()
        return FrictionModel(self.parameters, slip, joints=self.joints, quadrants=self.quadrants)

    def to_dict(self, joint: int = 0) -> dict[str, Any]:
        """Document of one joint: `{parameters: {name: value}, maxwell_slip: {…}}`; infinite bounds are left out."""
        values = {name: float(value[joint]) for name, value in self.parameters.items() if np.isfinite(value[joint])}
        document: dict[str, Any] = {'parameters': values}
        if self.maxwell_slip is not None:
            document['maxwell_slip'] = self.maxwell_slip.to_dict(joint)
        if self.quadrants is not None and self.has_quadrants[joint]:
            document['quadrants'] = {name: float(value[joint]) for name, value in self.quadrants.items()}
        return document

    @classmethod
    def from_dicts(
        cls, documents: Sequence[Mapping[str, Any]], kinematic_error: Sequence[PeriodicMap] | None = None
    ) -> FrictionModel:
        """Build n joints from their documents; fields as in docs/reference/joint_models.md.

        Parameters
        ----------
        documents
            friction of the joints, one document per joint.
        kinematic_error
            their maps θ̃(θ) [rad], which the Maxwell-slip part subtracts; None: none.

        Raises
        ------
        JointDynamicsError
            For an unknown or missing field, and where one joint has a Maxwell-slip part and another has none.
        """
        for document in documents:
            check_fields(document, DOCUMENT_FIELDS, needed='parameters', what='field')
            check_fields(document['parameters'], set(PARAMETERS), needed='F_C0', what='parameter')
        given = [document['parameters'] for document in documents]
        columns = {
            name: [part.get(name, part['F_C0'] if default is None else default) for part in given]
            for name, default in PARAMETERS.items()
        }
        slips = [document.get('maxwell_slip') for document in documents]
        slip = None
        if any(item is not None for item in slips):
            if any(item is None for item in slips):
                raise JointDynamicsError(
                    'friction: expected a Maxwell-slip part of every joint or of none, found one of some'
                )
            slip = MaxwellSlip.from_dicts([item for item in slips if item is not None], kinematic_error)
        return cls(
            columns,
            slip,
            joints=len(documents),
            quadrants=quadrants_of([document.get('quadrants') for document in documents]),
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], kinematic_error: PeriodicMap | None = None) -> FrictionModel:
        """Build one joint from its `document` and the map of its `kinematic_error`, see `from_dicts`."""
        return cls.from_dicts([document], None if kinematic_error is None else [kinematic_error])
