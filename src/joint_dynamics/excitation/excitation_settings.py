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

"""Settings: the limits of a motion, and the search for an exciting one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import INERTIAL, JOINT
from joint_dynamics.settings import PerJoint, Settings, refusal, setting

KINDS = (*INERTIAL, *JOINT, 'Fs')
"""All kinds of parameters; Fs belongs to the motors of coupled drives."""
MAX_DURATION = 3600.0  # s; limits are checked at 1 kHz, which takes half a gigabyte for an hour of six joints
CRITERIA = ('condition_number', 'log_det')


def _rising(bounds: Sequence[float | None]) -> str | None:
    lower, upper = bounds
    return None if lower is None or upper is None or lower < upper else '[lower, upper], lower < upper'


def _pairs(pairs: Sequence[Sequence[str]]) -> str | None:
    return None if all(len(pair) == 2 for pair in pairs) else 'pairs of link names'


@dataclass(frozen=True)
class PayloadSettings(Settings):
    """A body fixed to the end-effector frame; `inertia` about the centre of mass, axes of that frame."""

    SECTION = 'payload'

    mass: float = setting(..., 'mass of the body', 'kg', lower=0)
    com: Sequence[float] = setting((0.0, 0.0, 0.0), "its centre of mass in the end-effector's frame", 'm', length=3)
    inertia: Sequence[float] = setting(
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 'its inertia about that centre: XX XY XZ YY YZ ZZ', 'kg·m²', length=6
    )


@dataclass(frozen=True)
class LimitSettings(Settings):
    """The limits of a motion; those of the URDF are multiplied by `safety_factor`, those given here are not.

    A value per joint is a number for all joints, a list in joint order or a mapping {joint: number}. The torque limit
    needs inertial parameters.

    Raises
    ------
    JointDynamicsError
        For values out of bounds.
    """

    SECTION = 'limits'

    safety_factor: float = setting(
        0.9, "factor on the URDF's position range (about its middle), speed and torque", above=0, upper=1
    )
    velocity: PerJoint | None = setting(
        None, "speed limit per joint, in place of the URDF's", 'rad/s', above=0, none='of the URDF'
    )
    acceleration: PerJoint | None = setting(
        None,
        'acceleration limit per joint',
        'rad/s²',
        above=0,
        none='the allowed speed is reached in 0.5 s, as a URDF has none',
    )
    torque: PerJoint | None = setting(
        None, "torque limit per joint, in place of the URDF's", 'N·m', above=0, none='of the URDF'
    )
    continuous_range: float = setting(math.pi, 'a joint without position limits keeps to ± this', 'rad', above=0)
    lower: PerJoint | None = setting(None, 'further lower position limit per joint', 'rad', none='none')
    upper: PerJoint | None = setting(None, 'further upper position limit per joint', 'rad', none='none')
    torque_limit: bool = setting(True, 'keep the torque limit; false: the torque is not checked')
    viscous_friction: PerJoint = setting(0.0, 'viscous friction per joint, added to the torque', 'N·m·s/rad', lower=0)
    coulomb_friction: PerJoint = setting(0.0, 'Coulomb friction per joint, added to the torque', 'N·m', lower=0)
    payload: PayloadSettings | None = setting(
        None, 'body at the end-effector, added to the torque: `mass`, `com`, `inertia`', none='none'
    )
    end_effector: str | None = setting(
        None, 'frame of `radius`, `height` and payload', none='the last one of the chain'
    )
    radius: Sequence[float | None] | None = setting(
        None,
        "[lower, upper] of the end-effector's distance from the base's z axis, null for no bound",
        'm',
        length=2,
        none='not bounded',
        check=_rising,
    )
    height: Sequence[float | None] | None = setting(
        None,
        "[lower, upper] of the end-effector's height along the base's z axis, null for no bound",
        'm',
        length=2,
        none='not bounded',
        check=_rising,
    )
    clearance: float | None = setting(
        0.01,
        'least distance of links that are not neighbours (needs collision geometry)',
        'm',
        above=0,
        none='not checked',
    )
    floor: float | None = setting(
        None,
        'height of a floor; all moving links keep `clearance` from it (needs collision geometry)',
        'm',
        none='no floor',
    )
    ignored_pairs: Sequence[Sequence[str]] = setting((), 'pairs of links whose distance is not checked', check=_pairs)
    package_dirs: Sequence[str] = setting((), 'where `package://` of mesh files is looked up')

    def check(self) -> None:
        """Check that a floor height comes with a clearance."""
        if self.floor is not None and self.clearance is None:
            raise JointDynamicsError('limits.floor: expected a clearance to keep from it, found clearance: null')


@dataclass(frozen=True)
class ExcitationSettings(Settings):
    """An optimised Fourier series [L eq 20-21] and the search for it.

    The effort of the search is counted, not timed. The same seed gives the same result at any speed of the machine and
    any number of processes. A motion found with
    `samples_per_cycle` is assessed at ten times that; its margins do not depend on it.

    Attributes
    ----------
    criterion
        `condition_number` of the scaled base regressor, or `log_det` (−log det of the information matrix).

    Raises
    ------
    JointDynamicsError
        For values out of bounds.
    """

    period: float = setting(10.0, 'period of the series', 's', lower=0.1, upper=3600)
    harmonics: int = setting(5, 'harmonics of the series', lower=1, upper=100)
    repeats: int = setting(1, 'how often the period is played', lower=1, upper=10_000)
    ramp: float | None = setting(
        None,
        'transition between rest and series, at each end',
        's',
        lower=0.01,
        none='a fifth of the period',
        upper=3600,
    )
    posture: Sequence[float] | Mapping[str, float] | None = setting(
        None,
        'where the motion starts and ends, a list or {joint: angle}',
        'rad',
        none='the mean posture of the series, which is optimised too',
    )
    criterion: str = setting('condition_number', 'what is minimised', choices=CRITERIA)
    kinds: Sequence[str] = setting(KINDS, 'kinds of parameters in the regressor', choices=KINDS)
    starts: int = setting(8, 'most searches', lower=1, upper=10_000)
    candidates: int = setting(4, 'random motions; each search starts from the best', lower=1, upper=1000)
    patience: int = setting(3, 'searches in a row without gain, after which no further begins', lower=1, upper=10_000)
    seed: int = setting(0, 'seed of the random motions', lower=0)
    processes: int | None = setting(None, 'searches at the same time', lower=1, none='one per core', upper=1024)
    samples_per_cycle: int = setting(
        20, 'samples per period of the highest harmonic, while searching', lower=8, upper=100
    )
    limits: LimitSettings = setting(LimitSettings(), 'the limits of the motion')

    def check(self) -> None:
        """Check that the motion ends within MAX_DURATION."""
        if not self.repeats * self.period <= MAX_DURATION:
            raise refusal('repeats', f'periods of at most {MAX_DURATION:g} s together', self.repeats * self.period)

    @property
    def ramp_time(self) -> float:
        """Length of each ramp [s]."""
        return self.period / 5 if self.ramp is None else self.ramp
