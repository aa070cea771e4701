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

"""The changes of recordings that alternatives suppose: what each says, and the correction that makes it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from joint_dynamics.recording.conversions import Corrections

#: Factors that are tried on one joint's torque, and on the time stamps.
TORQUE_FACTORS = (1e-3, 0.01, 0.1, 0.25, 0.5, 2.0, 4.0, 10.0, 100.0, 1e3)
TIME_FACTORS = (1e-3, 1e-2, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.4, 2.0, 3.0, 5.0, 10.0, 20.0, 100.0, 1e3)
#: Zeros of a joint that are tried [rad].
TURNS = (np.pi / 2, -np.pi / 2, np.pi)
#: Ways a base may stand, with roll, pitch and yaw of `robot.mounting` [rad].
UP_DIRECTIONS = {
    'up along +x': (0.0, -np.pi / 2, 0.0),
    'up along −x': (0.0, np.pi / 2, 0.0),
    'up along +y': (np.pi / 2, 0.0, 0.0),
    'up along −y': (-np.pi / 2, 0.0, 0.0),
    'up along +z': (0.0, 0.0, 0.0),
    'up along −z': (np.pi, 0.0, 0.0),
}


class Change(NamedTuple):
    """A change of the recordings that an alternative supposes: its text, and its correction."""

    code: str
    text: str
    mend: Corrections


def swaps(names: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (in words, joint → column) of any two columns swapped, and of all in reverse."""
    for first, second in itertools.combinations(names, 2):
        yield f'of {first} and {second} are swapped', {first: second, second: first}
    if len(names) > 3:
        reverse = zip(names, names[::-1], strict=True)
        yield 'are in reverse order', {name: other for name, other in reverse if name != other}


def sign_changes(names: Sequence[str]) -> list[Change]:
    """Return torques of the other sign, of all joints and of each."""
    every = Corrections(torque_sign=dict.fromkeys(names, -1.0))
    return [Change('torque_sign', 'the torques of all joints have the opposite sign', every)] + [
        Change('torque_sign', f'the torque of {name} has the opposite sign', Corrections(torque_sign={name: -1.0}))
        for name in names
    ]


def scale_change(name: str, factor: float) -> Change:
    """Return the torque of one joint times a factor."""
    what = f'the torque of {name} is about {1 / factor:g} times its expected value'
    return Change('drive_gain', what, Corrections(torque_scale={name: factor}))


def order_changes(names: Sequence[str]) -> list[Change]:
    """Return columns of any two joints swapped, or of all in reverse: of torques, of positions, of both."""
    changes = []
    for text, order in swaps(names):
        changes += [
            Change('torque_order', f'the torques {text}', Corrections(torque_order=order)),
            Change('position_order', f'the positions {text}', Corrections(position_order=order)),
            Change('joint_order', f'the columns {text}', Corrections(torque_order=order, position_order=order)),
        ]
    return changes


def position_changes(names: Sequence[str]) -> list[Change]:
    """Return signs and units of positions."""
    changes = []
    for name in names:
        turned, what = {name: -1.0}, f'the position of {name} has the opposite sign'
        both = Corrections(position_sign=turned, torque_sign=turned)
        axis = f'position and torque of {name} both have the opposite sign: its axis points the other way'
        changes += [Change('position_sign', what, Corrections(position_sign=turned)), Change('axis_sign', axis, both)]
    for factor, what in (
        (np.pi / 180, 'the positions are in degrees, not in rad'),
        (180 / np.pi, 'the positions were converted from degrees twice'),
    ):
        changes.append(Change('degrees', what, Corrections(position_scale=dict.fromkeys(names, factor))))
    return changes


def offset_change(name: str, size: float) -> Change:
    """Return a position that reads `size` [rad] too much throughout."""
    what = f'the position of {name} is off by about {np.degrees(size):+.3g}° throughout'
    return Change('position_offset', what, Corrections(zero_offset={name: float(f'{-size:.3g}')}))


def time_change(scale: float) -> Change:
    """Return stamps that have to be multiplied by `scale`."""
    what = f'the recordings lasted {scale:.4g} times as long as their stamps say'
    return Change('time_scale', what, Corrections(time_scale=float(f'{scale:.4g}')))
