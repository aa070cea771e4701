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

"""Drives whose laws are not the methods' own, drawn from a seed; used by tests and benches.

Identification of a plant that obeys the laws of the model says little about a robot, whose laws are unknown. Here
friction over speed, presliding, the reduction of lost motion by load, elasticity, temperature and ripple each have
several forms, and a good method works with all of them. None shares code with the models of `joint/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation import Drives, ModelErrors, plausible_drives
from joint_dynamics.simulation.dynamics import RATIONAL_DROP
from joint_dynamics.simulation.transmission import operators

#: The forms of each law; the first is the methods' own.
FORMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        'friction': ('stribeck', 'hess_soom', 'eyring', 'lugre'),
        'load': ('quadratic', 'linear'),
        'temperature': ('polynomial', 'viscosity'),
        'hysteresis': ('maxwell_slip', 'even_maxwell_slip', 'bouc_wen', 'dahl'),
        'lost_motion': ('quadratic', 'exponential', 'gaussian', 'compact', 'steep'),
        'stiffness': ('cubic', 'quintic', 'soft_windup', 'slipping'),
        'ripple': ('cogging', 'current'),
        'gain': ('constant', 'saturating'),
    }
)


@dataclass(frozen=True)
class Laws:
    """The form of each law of the plant; by default the methods' own, whose constants no draw of laws changes.

    Attributes
    ----------
    friction
        over speed. `stribeck`: exponential drop, polynomial; `hess_soom`: rational drop [Hess and Soom 1990] and a
        power of the speed; `eyring`: Gaussian drop and arsinh of the speed; `lugre`: Gaussian drop, linear, and the
        bristles' own damping in presliding.
    load
        `quadratic` with a small linear part, or `linear`.
    temperature
        `polynomial` times √|ω|, or `viscosity`, which falls exponentially (Reynolds).
    hysteresis
        `maxwell_slip`, as wide as the backlash; or, wider or narrower than it, `even_maxwell_slip` (evenly spaced
        operators), `bouc_wen` or `dahl`.
    lost_motion
        how a load reduces it: γ of `dynamics.lost_motion_share`.
    stiffness
        `cubic`; `quintic`; `soft_windup`, soft about zero torque and linear beyond; `slipping`, cubic with a part that
        slips.
    ripple
        `cogging` of 12 cycles per motor turn, or other numbers of cycles and a ripple proportional to the `current`.
    gain
        `constant`, or `saturating` with current.

    """

    friction: str = 'stribeck'
    load: str = 'quadratic'
    temperature: str = 'polynomial'
    hysteresis: str = 'maxwell_slip'
    lost_motion: str = 'quadratic'
    stiffness: str = 'cubic'
    ripple: str = 'cogging'
    gain: str = 'constant'

    def __post_init__(self) -> None:
        for name, form in asdict(self).items():
            if form not in FORMS[name]:
                raise JointDynamicsError(f'laws: expected {name} as {", ".join(FORMS[name])}, found {form!r}')

    @classmethod
    def drawn(cls, seed: int) -> Laws:
        """Return laws drawn from `seed`, all forms of a kind being equally likely."""
        rng = np.random.default_rng([seed, 0x1A])
        return cls(**{name: forms[rng.integers(len(forms))] for name, forms in FORMS.items()})

    def __str__(self) -> str:
        """Return the forms, in order."""
        return ', '.join(asdict(self).values())

    def drives(self, effort: FloatArray, seed: int, errors: ModelErrors | None = None) -> Drives:
        """Return plausible drives of a seed for torque limits `effort` (n,) [N·m] under these laws."""
        return self.applied(plausible_drives(effort, seed, errors or ModelErrors()), seed)

    def applied(self, drives: Drives, seed: int) -> Drives:
        """Return `drives` under these laws, constants drawn from `seed`; the methods' own forms change nothing."""
        rng = np.random.default_rng([seed, 0x1B])
        for name, form in asdict(self).items():
            if form != FORMS[name][0]:
                drives = drives._replace(**_CHANGES[name](form, drives, rng))
        return drives


def _uniform(drives: Drives, rng: np.random.Generator, low: float, high: float) -> FloatArray:
    return rng.uniform(low, high, drives.gain.size)


def _limit(drives: Drives) -> FloatArray:
    return drives.max_current * drives.nominal_gain


def _friction(form: str, d: Drives, rng: np.random.Generator) -> dict[str, FloatArray]:
    # As much viscous friction at 1 rad/s as the polynomial has.
    unit = d.viscous + d.viscous_square + d.viscous_cubic
    nothing = np.zeros_like(unit)
    change = {
        'stribeck_speed': d.stribeck_speed * _uniform(d, rng, 0.5, 2.0),
        'stribeck_shape': np.full_like(unit, 2.0),
        'viscous_square': nothing,
        'viscous_cubic': nothing,
    }
    if form == 'hess_soom':
        return change | {
            'stribeck_form': np.full_like(unit, RATIONAL_DROP),
            'viscous': unit,
            'stribeck_shape': _uniform(d, rng, 1.2, 2.2),
            'viscous_power': _uniform(d, rng, 0.55, 0.85),
        }
    if form == 'eyring':
        bend = _uniform(d, rng, 0.2, 1.0)
        return change | {'viscous': unit / (bend * np.arcsinh(1.0 / bend)), 'viscous_bend': bend}
    return change | {
        'viscous': unit,
        'bristle_damping': unit * _uniform(d, rng, 1.0, 3.0),
        'bristle_speed': _uniform(d, rng, 0.01, 0.03),
    }


def _load(form: str, d: Drives, rng: np.random.Generator) -> dict[str, FloatArray]:
    return {'coulomb_load': np.zeros_like(d.gain), 'load_linear': _uniform(d, rng, 0.01, 0.03)}


def _temperature(form: str, d: Drives, rng: np.random.Generator) -> dict[str, FloatArray]:
    nothing = np.zeros_like(d.gain)
    return {
        'temperature_linear': nothing,
        'temperature_cubic': nothing,
        'viscosity_slope': _uniform(d, rng, 0.012, 0.025),
        'viscosity_share': _uniform(d, rng, 0.05, 0.2),
    }


def _hysteresis(form: str, d: Drives, rng: np.random.Generator) -> dict[str, FloatArray]:
    # Presliding belongs to the gear's teeth and bearings, the lost motion to its play: nothing ties one's width to the
    # other's.
    width = rng.uniform(0.4, 1.6)
    if form == 'even_maxwell_slip':
        nodes = np.linspace(0.0, 1.0, rng.integers(4, 11))[1:]
        bend = rng.uniform(1.0, 4.0)
        radius, weight = operators(nodes, np.expm1(-bend * nodes) / np.expm1(-bend))
        return {'radius': radius * width, 'weight': weight / width}
    unloading = np.ones_like(d.gain) if form == 'dahl' else _uniform(d, rng, 0.0, 0.8)
    return {'bristle': _uniform(d, rng, 3.0, 8.0) / width, 'unloading': unloading}


def _lost_motion(form: str, d: Drives, rng: np.random.Generator) -> dict[str, FloatArray]:
    return {
        'lash_law': np.full_like(d.gain, FORMS['lost_motion'].index(form)),
        'lash_load': _limit(d) * 10.0 ** _uniform(d, rng, -2.2, -1.2),
        'lash_lag': _uniform(d, rng, 0.03, 0.2),
    }


def _stiffness(form: str, d: Drives, rng: np.random.Generator) -> dict[str, FloatArray]:
    largest = _limit(d) / d.stiffness
    if form == 'quintic':
        return {
            'stiffness_cubic': 0.3 * d.stiffness_cubic,
            'stiffness_quintic': _uniform(d, rng, 0.1, 0.4) * d.stiffness / largest**4,
        }
    if form == 'soft_windup':
        return {
            'stiffness_cubic': np.zeros_like(d.gain),
            'windup': _uniform(d, rng, 0.3, 0.6) * d.stiffness,
            'windup_range': _uniform(d, rng, 0.05, 0.2) * largest,
        }
    return {
        'slip_stiffness': _uniform(d, rng, 0.05, 0.2) * d.stiffness,
        'slip_range': _uniform(d, rng, 0.02, 0.06) * largest,
    }


def _ripple(form: str, d: Drives, rng: np.random.Generator) -> dict[str, FloatArray]:
    return {
        'cogging_cycles': rng.choice([6.0, 18.0, 24.0, 42.0], d.gain.size),
        'gear_cycles': rng.choice([1.0, 3.0, 4.0], d.gain.size),
        'gain_ripple': _uniform(d, rng, 0.003, 0.01),
    }


def _gain(form: str, d: Drives, rng: np.random.Generator) -> dict[str, FloatArray]:
    return {'gain_saturation': _uniform(d, rng, 0.01, 0.05)}


_CHANGES = {
    'friction': _friction,
    'load': _load,
    'temperature': _temperature,
    'hysteresis': _hysteresis,
    'lost_motion': _lost_motion,
    'stiffness': _stiffness,
    'ripple': _ripple,
    'gain': _gain,
}
