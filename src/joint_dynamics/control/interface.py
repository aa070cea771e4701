"""The interface of a feedforward controller: a plugin class in the terms of ros2_control, run by `ControlLoop`.

A controller claims interfaces by name (`<joint>/<quantity>`), is configured once, activated and deactivated any number
of times, and updated at the rate of the joint states. It reads and writes arrays over the joints in the robot's order:

    state      measured and estimated quantities, `STATES`
    reference  the desired motion, `REFERENCES` (the reference interfaces of a chainable controller)
    command    its output, `effort` (joint torque, N·m) or `current` (A)

It never commands a robot directly: every command passes the safety gate.

Controllers are found by name, the shipped ones and those of any other installed package, from one entry-point group.
Another package adds one with, in its own setup.py,

    entry_points={'joint_dynamics.controllers': ['my_law = my_package.my_module:MyLaw']}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Parameter, PerJoint, check_keys, value_of
from joint_dynamics.settings.base import per_joint

if TYPE_CHECKING:
    from joint_dynamics.arm import Arm
from importlib.metadata import EntryPoint, entry_points

#: State quantities and their units. `effort` is the measured motor torque K_τ i, `torque` that through the
#: transmission.
STATES: dict[str, str] = {
    'position': 'rad, link side',
    'velocity': 'rad/s, link side',
    'effort': 'N·m, motor torque on the joint side',
    'temperature': '°C',
    'motor_position': 'rad, reflected',
    'motor_velocity': 'rad/s, reflected',
    'torque': 'N·m through the transmission, of the estimator or a sensor',
    'friction_scale': 'α1 of the estimator, 1',
    'viscous_excess': 'α2 of the estimator, N·m·s/rad',
}
#: The desired motion and its derivatives, link side.
REFERENCES: dict[str, str] = {
    'position': 'rad',
    'velocity': 'rad/s',
    'acceleration': 'rad/s²',
    'jerk': 'rad/s³',
    'snap': 'rad/s⁴',
}
COMMANDS: dict[str, str] = {'effort': 'N·m, joint side', 'current': 'A'}


@dataclass(frozen=True)
class InterfaceConfiguration:
    """The interfaces a controller claims, as `<joint>/<quantity>`.

    `optional` ones may be missing or old and are then NaN or held.
    """

    names: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @classmethod
    def individual(
        cls, joint_names: Sequence[str], quantities: Iterable[str], optional: Iterable[str] = ()
    ) -> InterfaceConfiguration:
        """Return the claim of every joint's `quantities`, and of its `optional` ones."""

        def names(wanted: Iterable[str]) -> tuple[str, ...]:
            return tuple(f'{joint}/{quantity}' for quantity in wanted for joint in joint_names)

        return cls(names(quantities), names(optional))

    def quantities(self, joint_names: Sequence[str], known: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the quantities claimed, required and optional.

        Each must be claimed for every joint and be a known one.

        Raises
        ------
        JointDynamicsError
            For an interface that does not exist or is missing, which it names.
        """
        return self._quantities(self.names, joint_names, known), self._quantities(self.optional, joint_names, known)

    @staticmethod
    def _quantities(names: Iterable[str], joint_names: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
        claimed: dict[str, set[str]] = {}
        for name in names:
            joint, _, quantity = name.rpartition('/')
            if joint not in joint_names or quantity not in known:
                raise JointDynamicsError(
                    f'interface: expected <joint>/<quantity> with a joint of {", ".join(joint_names)} and a '
                    'quantity of '
                    f'{", ".join(known)}, found {name!r}'
                )
            claimed.setdefault(quantity, set()).add(joint)
        for quantity, joints in claimed.items():
            missing = [joint for joint in joint_names if joint not in joints]
            if missing:
                raise JointDynamicsError(
                    f'interface {quantity!r}: expected it to be claimed for every joint, not found for {missing[0]}'
                )
        return tuple(claimed)


class Interfaces:
    """Loaned values: one array (n,) per quantity, NaN until written; the arrays stay the same objects.

    Attributes
    ----------
    rows
        (quantities, n) all values, one row per quantity in the order of `quantities`.

    """

    def __init__(self, joint_names: Sequence[str], quantities: Iterable[str]):
        self.joint_names = tuple(joint_names)
        wanted = tuple(dict.fromkeys(quantities))
        self.rows: FloatArray = np.full((len(wanted), len(self.joint_names)), np.nan)
        self._values = dict(zip(wanted, self.rows, strict=True))

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that are loaned."""
        return tuple(self._values)

    def __contains__(self, quantity: str) -> bool:
        return quantity in self._values

    def __getitem__(self, quantity: str) -> FloatArray:
        """Return the values (n,) of one quantity, in the robot's joint order."""
        return self._values[quantity]

    def __setitem__(self, quantity: str, values: ArrayLike) -> None:
        self._values[quantity][:] = values

    def clear(self) -> None:
        """Set all values to unknown (NaN)."""
        self.rows.fill(np.nan)


@dataclass(frozen=True)
class ControllerParameter(Parameter):
    """One parameter of a controller; the `feedforward` node declares it as a ROS parameter of the same fields.

    `per_joint`: the controller gets an array (n,).
    """

    element: type = float


@dataclass(frozen=True)
class ControllerSetup:
    """What a controller is configured with: the arm, and its parameters by name."""

    arm: Arm
    parameters: Mapping[str, Any]

    @classmethod
    def of(cls, controller: Controller | type[Controller], arm: Arm, **values: Any) -> ControllerSetup:
        """Return a setup with the controller's defaults but for `values`.

        Raises
        ------
        JointDynamicsError
            For a name it does not have.
        """
        rows = {row.name: row for row in controller.PARAMETERS}
        check_keys(values, rows, 'controller')
        parameters: dict[str, Any] = {}
        for name, row in rows.items():
            value = values.get(name, row.default)
            if row.per_joint:
                checked = value_of(PerJoint, value, name, row.declared)
                parameters[name] = per_joint(checked, arm.joint_names, name)
            else:
                parameters[name] = row.value(value)
        return cls(arm, parameters)


class Controller(ABC):
    """Base of every feedforward law, own or of another package (entry-point group `joint_dynamics.controllers`).

    A subclass is constructed without arguments. A hook that cannot do its work raises JointDynamicsError with the
    reason: configuring or activating is then refused. An exception out of `update` ends with zero torque until the
    controller is activated again.

    Attributes
    ----------
    PARAMETERS, OPEN_LOOP
        its parameters, and whether it works without measurements, as in trajectory mode.
    command, state, reference
        the loaned interfaces, from configuration on.

    """

    PARAMETERS: ClassVar[tuple[ControllerParameter, ...]] = ()
    OPEN_LOOP: ClassVar[bool] = True

    command: Interfaces
    state: Interfaces
    reference: Interfaces

    def assign_interfaces(self, command: Interfaces, state: Interfaces, reference: Interfaces) -> None:
        """Take the loaned interfaces; called between `on_configure` and `on_activate`."""
        self.command, self.state, self.reference = command, state, reference

    @abstractmethod
    def on_configure(self, setup: ControllerSetup) -> None:
        """Prepare for the arm and the parameters; called before the interfaces are claimed."""

    @abstractmethod
    def command_interface_configuration(self) -> InterfaceConfiguration:
        """Return the one command quantity it writes, of `COMMANDS`, for every joint."""

    @abstractmethod
    def state_interface_configuration(self) -> InterfaceConfiguration:
        """Return the state quantities it reads, of `STATES`."""

    def reference_interface_configuration(self) -> InterfaceConfiguration:
        """Return how much of the desired motion it needs, of `REFERENCES`.

        By default position, velocity and acceleration.
        """
        return InterfaceConfiguration.individual(self.joint_names, ('position', 'velocity', 'acceleration'))

    def on_activate(self) -> None:  # noqa: B027 (not every law has something to forget)
        """Reset the internal state; the first update follows."""

    def on_deactivate(self) -> None:  # noqa: B027
        """No update follows until it is activated again."""

    @abstractmethod
    def update(self, time: float, period: float) -> None:
        """Read state and reference, write the command. time: s, steady; period: s since the last update, > 0."""

    def motor_reference(self, motion: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return θ_d (n,) rad, θ̇_d, θ̈_d: the encoder readings of the motors along a desired motion (5, n) of the link.

        For a robot whose own controller closes its loop on the motor side.

        Raises
        ------
        JointDynamicsError
            For a law without a model of the motor side.
        """
        raise JointDynamicsError(
            f'{type(self).__name__}: expected a law that knows the motor side, such as flexible_joint, found one that'
            ' does not'
        )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the robot's order; a subclass sets `_joint_names` in `on_configure`, or overrides this."""
        return self._joint_names

    _joint_names: tuple[str, ...] = ()


GROUP = 'joint_dynamics.controllers'


def _installed() -> dict[str, EntryPoint]:
    # A package that is on the path twice, installed and in development, is listed twice with the same value.
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.value)}


def available() -> dict[str, str]:
    """Return the name of every installed controller with the `module:Class` it stands for; nothing is imported."""
    return {name: point.value for name, point in sorted(_installed().items())}


def load(name: str) -> type[Controller]:
    """Return the class of the controller of this name.

    Raises
    ------
    JointDynamicsError
        When there is none, when two packages claim the name, or when it cannot be imported or is no Controller.
    """
    values = {point.value for point in entry_points(group=GROUP) if point.name == name}
    if not values:
        raise JointDynamicsError(
            f'law: expected one of {", ".join(available()) or "none (no controller is installed)"}, found {name!r}'
        )
    if len(values) > 1:
        raise JointDynamicsError(f'law: expected one controller {name!r}, found {" and ".join(sorted(values))}')
    point = _installed()[name]
    try:
        law = point.load()
    except Exception as error:
        raise JointDynamicsError(
            f'law: expected {name!r} ({point.value}) to load, found {type(error).__name__}: {error}'
        ) from error
    if not (isinstance(law, type) and issubclass(law, Controller)):
        raise JointDynamicsError(
            f'law: expected {point.value} to be a subclass of joint_dynamics.control.Controller, found {law!r}'
        )
    return law


def create(name: str) -> Controller:
    """Return a new, unconfigured controller of this name.

    Raises
    ------
    JointDynamicsError
        As `load` does, or when it cannot be constructed.
    """
    kind = load(name)
    try:
        return kind()
    except Exception as error:
        raise JointDynamicsError(
            f'law: expected {name!r} to be made without arguments, found {type(error).__name__}: {error}'
        ) from error
