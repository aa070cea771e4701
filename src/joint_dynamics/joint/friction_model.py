"""The extended Generalized Maxwell-Slip friction model of all joints at once [M6 eq 3-20].

    f = F(τ_J) H + F_v,    F(τ_J) = F_C0 + F_Cl |τ_J| + F_C1 τ_J²
    F_v = H (F_S − F_C0) exp(−(|ω|/V_S)^μ) + F_V1 ω + F_V2 |ω|ω + F_V3 ω³ + sgn(ω)√|ω| (F_T0 + F_T1 (T − T0) + F_T2 (T⁻³ − T0⁻³)) + offset

[M6 eq 11] gives the Stribeck term sgn ω and so keeps a jump 2(F_S − F(0)) at ω = 0; it is multiplied by H here, so that nothing jumps. In
steady slip H = ±1 = sgn ω, and the model is the static map [M3 eq 14] with the load and temperature parts added.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.load import CoulombLevel
from joint_dynamics.joint.maps import PeriodicMap
from joint_dynamics.joint.maxwell_slip import MaxwellSlip
from joint_dynamics.joint.static_friction import StaticFriction, direction
from joint_dynamics.joint.temperature import T_MAX, T_MIN, TemperatureFriction, root_speed

# Name, default, meaning and unit; the order is that of the documents. F_S None means F_C0.
PARAMETERS: dict[str, float | None] = {
    'F_C0': None, 'F_Cl': 0.0, 'F_C1': 0.0, 'tau_max': np.inf, 'F_S': None, 'V_S': 0.1, 'mu': 1.0, 'F_V1': 0.0, 'F_V2': 0.0, 'F_V3': 0.0,
    'F_T0': 0.0, 'F_T1': 0.0, 'F_T2': 0.0, 'T_0': 25.0, 'T_min': T_MIN, 'T_max': T_MAX, 'offset': 0.0}
DOCUMENT_FIELDS = {'parameters', 'standard_deviations', 'maxwell_slip', 'directions', 'scale', 'quadrants', 'range', 'method'}


class FrictionModel:
    """Friction of n joints on the motor coordinate; arrays (…, n) in rad/s, N·m, °C; parameters in SI as (n,) arrays or numbers.

    parameters    names of `PARAMETERS`, each a number or (n,); F_C0 is needed, the rest has defaults that switch its term off.
    maxwell_slip  the hysteresis; None for a model that is only given H, or evaluated as a static map.
    """

    def __init__(self, parameters: Mapping[str, ArrayLike], maxwell_slip: MaxwellSlip | None = None, *, joints: int | None = None) -> None:
        _check_fields(parameters, set(PARAMETERS), needed='F_C0', what='parameter')
        sizes = {np.size(value) for value in parameters.values()} | ({joints} if joints else set())
        if maxwell_slip is not None:
            sizes.add(maxwell_slip.joints)
        self.joints = max(sizes)
        if sizes - {1, self.joints}:
            raise JointDynamicsError(f'friction: expected parameters for one or {self.joints} joints, found sizes {sorted(sizes)}')
        full = {name: parameters.get(name, default) for name, default in PARAMETERS.items()}
        full['F_S'] = full['F_C0'] if full['F_S'] is None else full['F_S']
        self.parameters: dict[str, NDArray] = {
            name: np.broadcast_to(np.asarray(value, float), (self.joints,)).copy() for name, value in full.items()}
        p = self.parameters
        self.coulomb = CoulombLevel(p['F_C0'], p['F_Cl'], p['F_C1'], p['tau_max'])
        self.static_part = StaticFriction(p['F_C0'], p['F_S'], p['V_S'], p['mu'], p['F_V1'], p['F_V2'], p['F_V3'], p['offset'])
        self.temperature = TemperatureFriction(p['F_T1'], p['F_T2'], p['T_0'], p['T_min'], p['T_max'])
        self.maxwell_slip = maxwell_slip

    def level(self, tau_J: ArrayLike = 0.0) -> NDArray:
        """Coulomb level F(τ_J), N·m, (…, n)."""
        return self.coulomb.level(tau_J)

    def speed_part(self, H: ArrayLike, omega: ArrayLike, temperature: ArrayLike | None = None) -> NDArray:
        """F_v(ω, T) with its Stribeck term on H, N·m, (…, n); without a temperature the joint is taken to be at T0."""
        omega = np.asarray(omega, dtype=float)
        root = self.parameters['F_T0'] + (0.0 if temperature is None else self.temperature.factor(temperature))
        smooth = self.static_part.viscous(omega) + root_speed(omega) * root + self.parameters['offset']
        return np.asarray(H) * self.static_part.stribeck(omega) + smooth

    def torque(self, H: ArrayLike, omega: ArrayLike, tau_J: ArrayLike = 0.0, temperature: ArrayLike | None = None) -> NDArray:
        """Friction torque f, N·m, (…, n), for a given hysteresis H, speed ω, transmission torque τ_J and temperature T."""
        return self.level(tau_J) * np.asarray(H) + self.speed_part(H, omega, temperature)

    def static(self, omega: ArrayLike, tau_J: ArrayLike = 0.0, temperature: ArrayLike | None = None, smoothing: float = 0.0) -> NDArray:
        """Return the static map: the model in steady slip, H = sgn ω (or tanh(ω/smoothing), smoothing in rad/s); N·m."""
        return self.torque(direction(omega, smoothing), omega, tau_J, temperature)

    def regressor(self, H: ArrayLike, omega: ArrayLike, tau_J: ArrayLike = 0.0) -> NDArray:
        """Y = [F(τ_J) H, ω] of the adaptive law, nominal α = [1, 0], shape (…, n, 2) [M6 eq 24; H carries 𝓑⁻¹, missing in print]."""
        first, second = np.broadcast_arrays(self.level(tau_J) * np.asarray(H), np.asarray(omega, dtype=float))
        return np.stack([first, second], axis=-1)

    def _slip(self) -> MaxwellSlip:
        if self.maxwell_slip is None:
            raise JointDynamicsError('friction: this model has no Maxwell-slip part; give it one, or use static()')
        return self.maxwell_slip

    def step(self, theta: ArrayLike, omega: ArrayLike, tau_J: ArrayLike = 0.0, temperature: ArrayLike | None = None) -> NDArray:
        """Take one sample (n,): advance the hysteresis to θ (rad) and return f (n,) N·m."""
        return self.torque(self._slip().step(theta), omega, tau_J, temperature)

    def run(self, theta: ArrayLike, omega: ArrayLike, tau_J: ArrayLike = 0.0, temperature: ArrayLike | None = None) -> NDArray:
        """Take a recording (N, n): the same as `step` sample by sample, N·m (N, n)."""
        return self.torque(self._slip().run(theta), omega, tau_J, temperature)

    def reset(self, theta: ArrayLike | None = None, direction: ArrayLike = 0.0) -> None:
        """Forget the hysteresis, see `MaxwellSlip.reset`."""
        self._slip().reset(theta, direction)

    def copy(self) -> FrictionModel:
        """Return an independent twin with its own hysteresis state."""
        return FrictionModel(self.parameters, None if self.maxwell_slip is None else self.maxwell_slip.copy(), joints=self.joints)

    def to_dict(self, joint: int = 0) -> dict:
        """Document of one joint: `{parameters: {name: value}, maxwell_slip: {…}}`; infinite bounds are left out."""
        values = {name: float(value[joint]) for name, value in self.parameters.items() if np.isfinite(value[joint])}
        document: dict = {'parameters': values}
        if self.maxwell_slip is not None:
            document['maxwell_slip'] = self.maxwell_slip.to_dict(joint)
        return document

    @classmethod
    def from_dicts(cls, documents: Sequence[Mapping], backlash: Sequence[Mapping | PeriodicMap] | None = None,
                   kinematic_error: Sequence[Mapping | PeriodicMap] | None = None) -> FrictionModel:
        """Build n joints from their friction documents and, where they have a Maxwell-slip part, their backlash (and kinematic error) maps.

        Fields as in docs/joint_models.md. Raises when a document has a Maxwell-slip part but no backlash map is given.
        """
        for document in documents:
            _check_fields(document, DOCUMENT_FIELDS, needed='parameters', what='field')
            _check_fields(document['parameters'], set(PARAMETERS), needed='F_C0', what='parameter')
        names = [name for name in PARAMETERS if any(name in document['parameters'] for document in documents)]
        columns = {}
        for name in names:
            default = PARAMETERS[name]
            columns[name] = [d['parameters'].get(name, d['parameters']['F_C0'] if default is None else default) for d in documents]
        slips = [document.get('maxwell_slip') for document in documents]
        slip = None
        if any(item is not None for item in slips):
            if backlash is None or any(item is None for item in slips):
                raise JointDynamicsError('friction: a Maxwell-slip part needs a backlash map, and every joint needs both')
            slip = MaxwellSlip.from_dicts([item for item in slips if item is not None], _maps(backlash),
                                          None if kinematic_error is None else _maps(kinematic_error))
        return cls(columns, slip, joints=len(documents))

    @classmethod
    def from_dict(cls, document: Mapping, backlash: Mapping | PeriodicMap | None = None,
                  kinematic_error: Mapping | PeriodicMap | None = None) -> FrictionModel:
        """Build one joint from its documents, see `from_dicts`."""
        return cls.from_dicts([document], None if backlash is None else [backlash], None if kinematic_error is None else [kinematic_error])


def _check_fields(given: Mapping, known: set[str], *, needed: str, what: str) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise JointDynamicsError(f'friction: unknown {what} {unknown[0]!r}')
    if needed not in given:
        raise JointDynamicsError(f'friction: expected the {what} {needed}')


def _maps(items: Sequence[Mapping | PeriodicMap]) -> list[PeriodicMap]:
    return [item if isinstance(item, PeriodicMap) else PeriodicMap.from_dict(item) for item in items]
