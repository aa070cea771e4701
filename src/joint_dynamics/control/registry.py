"""Controllers by name: the shipped ones and those of any other installed package, from one entry-point group.

Another package adds one with, in its own setup.py,

    entry_points={'joint_dynamics.controllers': ['my_law = my_package.my_module:MyLaw']}
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from joint_dynamics.control.interface import Controller
from joint_dynamics.errors import JointDynamicsError

GROUP = 'joint_dynamics.controllers'


def _found() -> dict[str, EntryPoint]:
    # A package that is on the path twice, installed and in development, is listed twice with the same value.
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.value)}


def available() -> dict[str, str]:
    """Return the name of every installed controller with the `module:Class` it stands for; nothing is imported."""
    return {name: point.value for name, point in sorted(_found().items())}


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
    point = _found()[name]
    try:
        found = point.load()
    except Exception as error:
        raise JointDynamicsError(
            f'law: expected {name!r} ({point.value}) to load, found {type(error).__name__}: {error}'
        ) from error
    if not (isinstance(found, type) and issubclass(found, Controller)):
        raise JointDynamicsError(
            f'law: expected {point.value} to be a subclass of joint_dynamics.control.Controller, found {found!r}'
        )
    return found


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
