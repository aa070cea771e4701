"""Settings of a batch identification, as a dataclass and as the mapping a configuration file holds."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from joint_dynamics.arm import Term, terms_from_config
from joint_dynamics.errors import JointDynamicsError

METHODS = ('ols', 'wls', 'irls', 'i-irls', 'tls')


@dataclass(frozen=True)
class IdentificationSettings:
    """What `identify` does; None means: taken from the data, by the rule named.

    Attributes
    ----------
    method: one of `METHODS`.
    f_dyn: bandwidth of the dynamics [Hz] (default: `signals.bandwidth.dynamics_bandwidth` of the training recordings).
    position_cutoff: zero-phase filter on positions [Hz] (5 f_dyn). parallel_cutoff: on torque and regressor [Hz] (2 f_dyn).
    decimation: keep every n-th sample (⌊0.8 f_s / (4 f_dyn)⌋). trim: cut off at each end after the position filter [s] (one period of
    its cut-off).
    drive_gains: {joint: N·m/A} for recordings with currents.
    drive_gain_deviation: their relative standard deviation, a number or {joint: number} (the data sheet's ± 5 %: 0.03); it goes into those of
    the parameters. None: `gain_deviation.ASSUMED` where currents are turned into torques by `drive_gains`.
    terms: additional regressor columns, see `terms_from_config`.
    condition_limit: above it (columns scaled to norm 1) the recordings do not excite the robot enough. proceed: go on all the same.
    period: recordings that repeat a motion every so many s are averaged over its periods (found by itself; 0: they are not).
    moving_speed: samples count as moving above it [rad/s].
    rest_speed: joints slower than it [rad/s] rest: their rows have a deviation of their own, one stay counting as one row (0: as all others).
    selection: try further terms on held-out parts of the training data and keep those that pay (not with `ols`).
    payload: what is known of a payload, {mass: kg, known: {MX: …}} in the last joint's frame, inertia about its origin.
    physical: move the estimate into the set of physical parameters (needs cvxpy), true or {pull, mass}. essential: drop parameters by `ratio`
    (true) or `f`, and say what it costs. rotor: description (file) whose rotor inertia and friction are taken off the torque before.
    options: further settings of the method, checked by it.

    """

    method: str = 'wls'
    f_dyn: float | None = None
    position_cutoff: float | None = None
    parallel_cutoff: float | None = None
    decimation: int | None = None
    trim: float | None = None
    drive_gains: Mapping[str, float] | None = None
    drive_gain_deviation: float | Mapping[str, float] | None = None
    terms: tuple[Term, ...] = ()
    condition_limit: float = 300.0
    proceed: bool = False
    period: float | None = None
    moving_speed: float = 0.02
    rest_speed: float = 0.01
    selection: bool = True
    payload: Mapping[str, Any] | None = None
    physical: bool | Mapping[str, Any] = False
    essential: bool | str = False
    rotor: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise JointDynamicsError(f'method: expected one of {", ".join(METHODS)}, found {self.method!r}')
        for name in ('f_dyn', 'position_cutoff', 'parallel_cutoff', 'decimation', 'trim', 'condition_limit', 'period', 'moving_speed', 'rest_speed'):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value) or value < 0:
                raise JointDynamicsError(f'{name}: expected a number of 0 or more, found {value!r}')
            if value == 0 and name not in ('trim', 'period', 'moving_speed', 'rest_speed'):
                raise JointDynamicsError(f'{name}: expected a number above 0, found 0')
        stated = 0.0 if self.drive_gain_deviation is None else self.drive_gain_deviation
        for share in stated.values() if isinstance(stated, Mapping) else (stated,):
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
                raise JointDynamicsError(f'drive_gain_deviation: expected a relative deviation within [0, 1), found {share!r}')
        for name in self.payload or {}:
            if name not in ('mass', 'known'):
                raise JointDynamicsError(f'payload.{name}: expected mass or known')
        if self.essential not in (True, False, 'ratio', 'f'):
            raise JointDynamicsError(f'essential: expected true, ratio or f, found {self.essential!r}')
        if not isinstance(self.selection, bool):
            raise JointDynamicsError(f'selection: expected true or false, found {self.selection!r}')
        if self.decimation is not None and int(self.decimation) != self.decimation:
            raise JointDynamicsError(f'decimation: expected a whole number of samples, found {self.decimation}')

    @property
    def known_payload(self) -> dict[str, float]:
        """What is known of the payload: {M, MX, …: value}."""
        payload = self.payload or {}
        return ({'M': payload['mass']} if payload.get('mass') is not None else {}) | dict(payload.get('known') or {})

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> IdentificationSettings:
        """Build from the `identification` part of a configuration file; raise JointDynamicsError that names an unknown key."""
        known = {entry.name for entry in fields(cls)}
        unknown = sorted(set(config) - known)
        if unknown:
            raise JointDynamicsError(f'identification.{unknown[0]}: expected one of {", ".join(sorted(known))}')
        values = dict(config)
        if 'terms' in values:
            values['terms'] = terms_from_config(values['terms'])
        return cls(**values)
