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

"""Settings of a batch identification, for Python, configuration files and the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from joint_dynamics.arm import Term, terms_from_config
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Settings, setting

METHODS = ('ols', 'wls', 'irls', 'i-irls', 'tls')


def _bounds(mass: Sequence[float] | None) -> str | None:
    if mass is None or (mass[0] <= mass[1] and mass[1] > 0):
        return None
    return '[smallest, largest] total mass, smallest ≤ largest and largest > 0'


@dataclass(frozen=True)
class PhysicalOptions(Settings):
    """The prior and its weight, and bounds of the robot's mass."""

    SECTION = 'identification.physical'

    pull: float = setting(0.1, 'weight of the prior', above=0)
    prior: str | None = setting(
        None, 'URDF or MJCF (extra mujoco) of the robot, whose inertials are the prior', none='those of the robot file'
    )
    mass: tuple[float, ...] | None = setting(
        None,
        'smallest and largest total mass of the moving links',
        'kg',
        lower=0,
        length=2,
        none='not known',
        check=_bounds,
    )

    @classmethod
    def from_given(cls, given: Any, where: str = '') -> PhysicalOptions:
        """Return the options; true stands for the defaults. Raises JointDynamicsError."""
        return cls() if given is True else super().from_given(given, where)


@dataclass(frozen=True)
class KnownPayload(Settings):
    """Known parameters of a payload, in the frame of the joint that moves its link, inertia about its origin."""

    SECTION = 'identification.payload'

    mass: float | None = setting(None, 'weighed mass', 'kg', above=0, upper=1000, none='not known')
    joint: str | None = setting(None, 'joint of the link that carries it', none='the last one')
    position: Sequence[float] | None = setting(
        None,
        'position in the frame of that joint; only the mass is then identified, as a point mass',
        'm',
        length=3,
        none='identified',
    )
    known: Mapping[str, float] = setting({}, 'further parameters that are known, as {MX: kg·m}')

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.position is not None and (self.mass is not None or self.known):
            raise JointDynamicsError(
                f'{self.SECTION}: expected `position` (the mass is identified) or `mass` and `known` (the rest is), '
                'found both'
            )


@dataclass(frozen=True)
class IdentificationSettings(Settings):
    """Settings of `identify`; None means that the value follows from the data by the stated rule.

    f_dyn is `dynamics_bandwidth` of the training recordings where it is not given. condition_limit:
    of the columns scaled to norm 1. terms: see `terms_from_config`. selection: not with `ols`. options: of `irls`
    and `i-irls`, `regression.iirls.FrictionOptions`.

    Raises
    ------
    JointDynamicsError
        For a value that is not allowed.
    """

    SECTION = 'identification'
    GONE: ClassVar[Mapping[str, str]] = {
        'encoder_step': 'leave it out, a joint at rest is predicted by its rest torque and the Coulomb level'
    }

    method: str = setting('wls', 'how the parameters are estimated', choices=METHODS)
    f_dyn: float | None = setting(
        None,
        'bandwidth of the dynamics, from which the cut-offs follow',
        'Hz',
        lower=0.01,
        upper=1000,
        none='from the data',
    )
    position_cutoff: float | None = setting(
        None, 'zero-phase filter on positions', 'Hz', lower=0.01, upper=10000, none='5 f_dyn'
    )
    parallel_cutoff: float | None = setting(
        None, 'filter on torque and regressor', 'Hz', lower=0.01, upper=10000, none='2 f_dyn'
    )
    decimation: int | None = setting(
        None, 'keep every n-th filtered sample', lower=1, upper=10000, none='⌊0.8 f_s/(4 f_dyn)⌋'
    )
    trim: float | None = setting(
        None,
        'cut off at each end after the position filter',
        's',
        lower=0,
        none='one period of the position cut-off',
        upper=3600,
    )
    drive_gains: Mapping[str, float] | None = setting(
        None, 'joint torque per current of each joint, for recordings with currents', 'N·m/A', none='not known'
    )
    drive_gain_deviation: float | Mapping[str, float] | None = setting(
        None,
        'relative standard deviation of the drive gains, of all or by joint (± 5 % of a data sheet: 0.03); it '
        'adds to the deviations of the parameters',
        lower=0,
        below=1,
        none='0.058 for currents',
    )
    terms: tuple[Term, ...] = setting(
        (),
        'further regressor columns: {joint: [{fourier: 2}, {spring: 1}, {friction: F_T0}, {stribeck: 0.4}, '
        '{hysteresis: 0.001}]}',
    )
    condition_limit: float = setting(
        300.0, 'condition number above which the excitation is insufficient', lower=1, upper=1e12
    )
    proceed: bool = setting(False, 'accept a result that is not reliable')
    period: float | None = setting(
        None,
        'period over which a repeated motion is averaged; 0: no averaging',
        's',
        lower=0,
        none='found from the data',
        upper=3600,
    )
    moving_speed: float = setting(0.02, 'speed above which a sample counts as moving', 'rad/s', lower=0)
    rest_speed: float = setting(
        0.01,
        'speed below which a joint rests, with unknown friction; 0: rows at rest count like all others',
        'rad/s',
        lower=0,
        upper=1,
    )
    selection: bool = setting(True, 'choose further friction terms by held-out data')
    payload: KnownPayload | None = setting(
        None, 'known values of the payload: `mass`, `known`, the `joint` that moves it, its `position`', none='nothing'
    )
    physical: bool | PhysicalOptions = setting(
        False, 'nearest physically possible parameters (needs cvxpy): true, or `pull`, `prior` and `mass`'
    )
    essential: bool | str = setting(
        False,
        'drop insignificant parameters, by relative deviation (ratio, true) or by F-statistic (f)',
        choices=('ratio', 'f'),
    )
    rotor: Any = setting(
        None, 'description (file) whose rotor inertia and friction are subtracted from the torque first', none='none'
    )
    options: Mapping[str, Any] = setting({}, 'further settings of the method')

    @property
    def known_payload(self) -> dict[str, float]:
        """Known parameters of the payload: {M, MX, …: value}."""
        if self.payload is None:
            return {}
        return ({} if self.payload.mass is None else {'M': self.payload.mass}) | dict(self.payload.known)

    @classmethod
    def from_mapping(cls, mapping: Any, where: str = '') -> IdentificationSettings:
        """Build from the `identification` part of a configuration file.

        Parameters
        ----------
        mapping
            keys and values.
        where
            prefix of the keys in error messages.

        Raises
        ------
        JointDynamicsError
            For an invalid key or value, naming the key.
        """
        if isinstance(mapping, Mapping) and 'terms' in mapping:
            mapping = {**mapping, 'terms': terms_from_config(mapping['terms'])}
        return super().from_mapping(mapping, where)

    @classmethod
    def from_config(cls, config: Any) -> IdentificationSettings:
        """Build from `config`, the `identification` part of a configuration file, as `from_mapping`."""
        return cls.from_mapping(config)
