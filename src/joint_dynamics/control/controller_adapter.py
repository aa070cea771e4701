"""A controller and the interfaces that it is loaned: its command for given values, without any checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.aged_interfaces import AgedInterfaces
from joint_dynamics.control.interface import COMMANDS, REFERENCES, STATES, Controller, ControllerSetup, Interfaces
from joint_dynamics.errors import JointDynamicsError


class ControllerAdapter:
    """A controller with its loaned interfaces, which are copies: it cannot change the measured values.

    Parameters
    ----------
    controller
        a law, not yet configured.
    arm
        the arm that the law uses.
    parameters : mapping
        of the controller, by name; defaults for those left out.

    Attributes
    ----------
    output
        `effort` or `current`, the unit of its commands.
    required, optional
        states that it needs, and those it can do without.
    states, references
        interfaces of all states that it is loaned, and of the references that it follows.

    Raises
    ------
    JointDynamicsError
        When the controller refuses its configuration, or claims an interface that does not exist.
    """

    def __init__(self, controller: Controller, arm: Arm, parameters: Mapping[str, Any] | None = None):
        self._controller = controller
        controller.on_configure(ControllerSetup.of(controller, arm, **(parameters or {})))
        names = arm.joint_names
        commands, _ = controller.command_interface_configuration().quantities(names, COMMANDS)
        if len(commands) != 1:
            raise JointDynamicsError(
                f'controller: expected it to claim one command, effort or current, found {commands}'
            )
        self.output = commands[0]
        self.required, self.optional = controller.state_interface_configuration().quantities(names, STATES)
        self.references, _ = controller.reference_interface_configuration().quantities(names, REFERENCES)
        # Where the arm is and how fast is looked at whatever the law does.
        self.states = tuple(dict.fromkeys(('position', 'velocity', *self.required, *self.optional)))
        self._command = Interfaces(names, commands)
        self._state, self._reference = Interfaces(names, self.states), Interfaces(names, REFERENCES)
        controller.assign_interfaces(self._command, self._state, self._reference)

    def clear(self) -> None:
        """Set all interfaces to unknown (NaN)."""
        for interfaces in (self._state, self._reference, self._command):
            interfaces.clear()

    def read_state(self, measured: AgedInterfaces, time: float) -> None:
        """Copy the states at `time` s; optional ones that are too old are left out."""
        for quantity in self.states:
            self._state[quantity] = measured[quantity]
        for quantity in self.optional:
            # Too old to be used: the law goes on with the last good one, or with its nominal value.
            self._state[quantity][measured.stale(quantity, time)] = np.nan

    def warning(self, measured: AgedInterfaces, time: float) -> str:
        """Return which slow inputs are missing or old at `time` s, '' if none."""
        for quantity in reversed(self.optional):
            old = measured.stale(quantity, time)
            if old.any():
                return f'{quantity} of {measured.joint_names[int(np.argmax(old))]} is missing or old: going on without'
        return ''

    def read_reference(self, desired: Interfaces) -> None:
        """Copy the references."""
        self._reference.rows[:] = desired.rows

    def command(self, time: float, period: float) -> FloatArray:
        """Return its command (n,) [N·m or A] for the values read last; raises what the controller raises.

        Parameters
        ----------
        time
            s, of a steady clock.
        period
            s since the last command.
        """
        command = self._command[self.output]
        command.fill(np.nan)
        with np.errstate(all='ignore'):
            self._controller.update(time, period)
        return command.copy()

    def along(
        self, motion: FloatArray, time: float, period: float, measured: AgedInterfaces | None = None
    ) -> FloatArray:
        """Return its command (n,) [N·m or A] at one instant of a motion that is tracked perfectly.

        Parameters
        ----------
        motion
            (5, n): q and its derivatives to the fourth [rad, rad/s, …].
        time
            s, of a steady clock.
        period
            s since the last command.
        measured
            states beside position and velocity; None: those read last.

        Raises
        ------
        JointDynamicsError
            When the law fails, or needs measurements.
        """
        if not self._controller.OPEN_LOOP:
            raise JointDynamicsError(
                f'{type(self._controller).__name__}: expected a law that needs no measurement for a trajectory, found'
                ' one that does (use it in streaming mode)'
            )
        if measured is not None:
            self.read_state(measured, time)
        for quantity, row in zip(REFERENCES, motion, strict=True):
            self._reference[quantity] = row
        for quantity, row in zip(('position', 'velocity'), motion, strict=False):
            self._state[quantity] = row
        try:
            command = self.command(time, period)
        except Exception as error:
            raise JointDynamicsError(f'law: expected a command, found {type(error).__name__}: {error}') from error
        if not np.isfinite(command).all():
            raise JointDynamicsError(f'law: expected a finite command, found {command.tolist()}')
        return command
