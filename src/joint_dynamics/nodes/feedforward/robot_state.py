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

"""The latest state of the robot: positions, temperatures and the estimator's α, with their ages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from std_msgs.msg import Float64MultiArray

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError

OTHER_CLOCK = 86400.0
"""Stamps further from the clock here than this [s] come from another kind of clock."""
NAMES = {'position': 'joint state', 'temperature': 'temperature', 'friction_scale': 'friction scale of the estimator'}


class RobotState:
    """The latest values of each quantity, of all joints in the robot's order; times are s of the node's clock.

    Parameters
    ----------
    joint_names
        joints in the robot's order.
    timeout, slow_timeout
        s, largest age of positions, and of temperatures and α.

    Attributes
    ----------
    position_came
        whether positions have come since this was last set to False.
    """

    def __init__(self, joint_names: Sequence[str], timeout: float, slow_timeout: float):
        self._joint_names = tuple(joint_names)
        self._index = {name: k for k, name in enumerate(joint_names)}
        self._timeouts = {'position': timeout, 'temperature': slow_timeout, 'friction_scale': slow_timeout}
        self.forget()

    def forget(self) -> None:
        """Forget all values."""
        n = len(self._joint_names)
        self._values = {name: np.full((n, 2 if name == 'friction_scale' else 1), np.nan) for name in self._timeouts}
        self._times = {name: np.full(n, -math.inf) for name in self._timeouts}
        self.position_came = False

    def take_sample(self, quantity: str, stamp: int, names: Sequence[str], values: Any) -> None:
        """Take a sample of an input, stamp [ns]; see `InputSet`."""
        name = {'q': 'position', 'temperature': 'temperature'}.get(quantity)
        if name is None:
            return
        for joint, value in zip(names, values, strict=True):
            k = self._index.get(joint)
            if k is not None:
                self._values[name][k], self._times[name][k] = value, stamp * 1e-9
        self.position_came = self.position_came or name == 'position'

    def take_friction(self, message: Float64MultiArray, now: float) -> None:
        """Take α₁ and α₂ of all joints; raises JointDynamicsError for another size."""
        n = len(self._joint_names)
        values = np.array(message.data, dtype=float)
        sizes = [dimension.size for dimension in message.layout.dim]
        if values.size != 2 * n or (sizes and sizes != [n, 2]):
            raise JointDynamicsError(
                f'friction_parameters: expected {n} rows of 2 values, found {sizes or values.size}'
            )
        self._values['friction_scale'][:] = values.reshape(n, 2)
        self._times['friction_scale'][:] = now

    @property
    def position(self) -> FloatArray:
        """The latest positions (n,) rad, whatever their age; NaN: none yet."""
        return self._values['position'][:, 0].copy()

    def fresh(self, name: str, now: float) -> FloatArray:
        """Return the values of a quantity (n, k), NaN where they are too old."""
        values = self._values[name].copy()
        values[~self._is_fresh(name, now)] = np.nan
        return values

    def fault(self, name: str, now: float) -> str:
        """Return why the values of a quantity cannot be used at `now` s, '' if they can."""
        values, times, timeout = self._values[name], self._times[name], self._timeouts[name]
        bad = ~(self._is_fresh(name, now) & np.isfinite(values).all(axis=1))
        if not bad.any():
            return ''
        j = int(np.argmax(bad))
        age = now - times[j]
        what = f'{NAMES[name]} of {self._joint_names[j]}'
        if math.isinf(age):
            return f'{what} has not arrived yet'
        if abs(age) <= timeout:
            return f'{what} is not a finite number'
        remedy = ': set use_sim_time alike here and at its publisher' if abs(age) >= OTHER_CLOCK else ''
        old = f'{age:.3f} s old' if age > 0.0 else f'stamped {-age:.3f} s ahead of the clock here'
        return f'{what} is {old}, allowed are {timeout:g} s{remedy}'

    def _is_fresh(self, name: str, now: float) -> Any:
        # A value stamped as far in the future counts as old too, for its age is unknown.
        return np.abs(now - self._times[name]) <= self._timeouts[name]
