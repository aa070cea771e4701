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

"""The interface of a feedforward law, and the registry of laws.

A law returns the motor effort along a desired motion. Laws are found by name in one entry-point group, the shipped ones
and those of any other installed package. Another package adds one with, in its own setup.py,

    entry_points={'joint_dynamics.controllers': ['my_law = my_package.my_module:MyLaw']}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Literal

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Parameter, PerJoint, check_keys, value_of
from joint_dynamics.settings.base import per_joint

GROUP = 'joint_dynamics.controllers'
Output = Literal['effort', 'current']


@dataclass(frozen=True)
class LawParameter(Parameter):
    """One parameter of a law; the `feedforward` node declares it as a ROS parameter of the same fields.

    `per_joint`: the law gets an array (n,).
    """

    element: type = float


class Law(ABC):
    """Base of every feedforward law, shipped or of another package.

    A law that cannot do its work raises JointDynamicsError with the reason.

    Parameters
    ----------
    arm
        the arm that the law uses.
    parameters : mapping
        one value for each of PARAMETERS, checked; `create` completes them.

    Attributes
    ----------
    PARAMETERS, DERIVATIVES
        parameters of the law, and the number of derivatives of the desired motion that it needs, 2 to 4.
    output
        `effort` (N·m) or `current` (A).
    """

    PARAMETERS: ClassVar[tuple[LawParameter, ...]] = ()
    DERIVATIVES: ClassVar[int] = 2

    output: Output = 'effort'

    def __init__(self, arm: Arm, parameters: Mapping[str, Any]):
        self.arm = arm

    @abstractmethod
    def effort_along(self, motion: FloatArray) -> FloatArray:
        """Return the effort (N, n) along a desired motion (N, 5, n): q rad, q̇, q̈, q⃛, q⁗, one instant a row.

        The law continues from its present state: a long motion arrives in several pieces.
        """

    def reset(self) -> None:  # noqa: B027 (not every law has a state)
        """Forget the internal state, as after a motion that was planned and not executed."""

    def adapt(self, temperature: FloatArray, friction_scale: FloatArray) -> None:  # noqa: B027 (nor adapts)
        """Take the present temperatures (n,) °C and the estimator's α (n, 2), [1, N·m·s/rad]; NaN: unknown."""

    def motor_motion(self, motion: FloatArray) -> FloatArray:
        """Return θ_d rad, θ̇_d, θ̈_d (N, 3, n), the motors' encoder readings along a desired motion (N, 5, n).

        Raises
        ------
        JointDynamicsError
            For a law without a model of the motor side.
        """
        raise JointDynamicsError(
            f'{type(self).__name__}: expected a law with a model of the motor side, such as flexible_joint, found none'
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs of `adapt` that the law uses: `temperature`, `friction_scale`."""
        return ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Fields of the dynamics description that are ignored or used differently; to be shown once."""
        return self.arm.remarks

    @property
    def validity_violations(self) -> tuple[str, ...]:
        """Joints and quantities that have left the range of validity of the description since the last `reset`."""
        return ()


def _installed() -> dict[str, EntryPoint]:
    # A package that is on the path twice, installed and in development, is listed twice with the same value.
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.value)}


def available() -> dict[str, str]:
    """Return the name of every installed law with its `module:Class`; nothing is imported."""
    return {name: point.value for name, point in sorted(_installed().items())}


def load(name: str) -> type[Law]:
    """Return the class of the law of this name.

    Raises
    ------
    JointDynamicsError
        For an unknown name, a name that two packages claim, a failed import, and a class that is no `Law`.
    """
    if name == 'joint_torque_feedback':
        raise JointDynamicsError(
            'law: expected a law for whole trajectories, found joint_torque_feedback; since 0.3.0 laws with feedback'
            ' are in the C++ controller (docs/how-to/controller_plugin.md)'
        )
    values = {point.value for point in entry_points(group=GROUP) if point.name == name}
    if not values:
        raise JointDynamicsError(
            f'law: expected one of {", ".join(available()) or "none (no law is installed)"}, found {name!r}'
        )
    if len(values) > 1:
        raise JointDynamicsError(f'law: expected one law {name!r}, found {" and ".join(sorted(values))}')
    point = _installed()[name]
    try:
        law = point.load()
    except Exception as error:
        raise JointDynamicsError(
            f'law: expected {name!r} ({point.value}) to load, found {type(error).__name__}: {error}'
        ) from error
    if not (isinstance(law, type) and issubclass(law, Law)):
        raise JointDynamicsError(
            f'law: expected {point.value} to be a subclass of joint_dynamics.control.Law with effort_along(motion),'
            f' the interface since 0.3.0, found {law!r}'
        )
    return law


def create(name: str, arm: Arm, **parameters: Any) -> Law:
    """Return the law of this name for an arm; parameters left out have their defaults.

    Raises
    ------
    JointDynamicsError
        As `load` does, for an unknown or invalid parameter, and for an arm that the law refuses.
    """
    kind = load(name)
    rows = {row.name: row for row in kind.PARAMETERS}
    check_keys(parameters, rows, name)
    values: dict[str, Any] = {}
    for key, row in rows.items():
        value = parameters.get(key, row.default)
        if row.per_joint:
            values[key] = per_joint(value_of(PerJoint, value, key, row.declared), arm.joint_names, key)
        else:
            values[key] = row.value(value)
    try:
        return kind(arm, values)
    except JointDynamicsError:
        raise
    except Exception as error:
        raise JointDynamicsError(
            f'law: expected {name!r} to be made from an arm and its parameters, found {type(error).__name__}: {error}'
        ) from error
