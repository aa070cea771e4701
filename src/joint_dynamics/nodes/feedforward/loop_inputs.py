"""What a robot and an estimator tell a control loop: samples of inputs, α, torques through the transmission."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control import ControlLoop
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.recording.inputs import stamp_of
from joint_dynamics.recording.recording_settings import RecordingSettings

#: Quantity of an input -> state of the loop.
STATES = {
    'q': 'position',
    'dq': 'velocity',
    'tau': 'effort',
    'temperature': 'temperature',
    'theta': 'motor_position',
    'dtheta': 'motor_velocity',
    'load': 'torque',
}
MOTOR_STATES = {'motor_position': 'motor_position', 'motor_velocity': 'motor_velocity', 'motor_torque': 'effort'}


class LoopInputs:
    """Writes what comes in into the states of a loop, as far as its law uses them.

    Attributes
    ----------
    settings
        of the inputs.
    position_came
        whether positions have come since that was last looked at; settable.
    """

    def __init__(self, loop: ControlLoop, settings: RecordingSettings, clock: LoopClock):
        self.settings = settings
        self.position_came = False
        self._loop, self._clock = loop, clock
        self._joint_names = loop.arm.joint_names

    def take_sample(self, quantity: str, stamp: int, names: Sequence[str], values: Any) -> None:
        """Take a sample of an input, stamp [ns]; see `InputSet`."""
        state = self._loop.state
        if quantity == 'current' and 'effort' in state:
            gains = dict(zip(self._joint_names, self._loop.arm.drive_gain, strict=True))
            quantity, values = (
                'tau',
                [value * gains.get(name, math.nan) for name, value in zip(names, values, strict=True)],
            )
        if quantity in STATES:
            state.write(STATES[quantity], values, self._clock.time_of(stamp), names)
            self.position_came = self.position_came or quantity == 'q'
        elif quantity in MOTOR_STATES and MOTOR_STATES[quantity] in state:
            given = dict(zip(names, values, strict=True))
            raw = np.array([[given.get(name, math.nan) for name in self._joint_names]])
            reflect = getattr(self.settings.motor_side, quantity.removeprefix('motor_'))
            state.write(MOTOR_STATES[quantity], reflect(raw, self._joint_names)[0], self._clock.time_of(stamp))

    def take_friction(self, message: Float64MultiArray) -> None:
        """Take α₁ and α₂ of all joints; raises JointDynamicsError for another size."""
        alpha = table_of(message, self._joint_names, 2, 'friction_parameters')
        for column, quantity in enumerate(('friction_scale', 'viscous_excess')):
            self._loop.state.write(quantity, alpha[:, column], self._clock.now())

    def take_torques(self, message: JointState) -> None:
        """Take the torques through the transmission [N·m]; raises JointDynamicsError for another size."""
        if len(message.effort) != len(message.name):
            raise JointDynamicsError(
                f'joint_torques: expected one effort per name, found {len(message.effort)} for {len(message.name)}'
            )
        stamp = stamp_of(message, 0)
        when = self._clock.time_of(stamp) if stamp else self._clock.now()
        self._loop.state.write('torque', message.effort, when, message.name)


class LoopClock:
    """Time of the loop [s] of one node, from its configuration on.

    Attributes
    ----------
    simulated
        whether the node lives in simulated time.
    """

    def __init__(self, node: DynamicsNode):
        self._node = node
        self.simulated = bool(node.get_parameter('use_sim_time').value)
        self._newest = -math.inf

    def forget(self) -> None:
        """Forget the newest stamp, as after a jump of time."""
        self._newest = -math.inf

    def now(self) -> float:
        """Return the present time [s]."""
        if not self.simulated:
            return time.monotonic()
        # Joint states may be ahead of the /clock message of the same instant.
        return max(self._node.clock_time(), self._newest)

    def time_of(self, stamp: int) -> float:
        """Return the time of the loop [s] that a stamp [ns] of the node's clock means."""
        clock = self._node.get_clock().now().nanoseconds
        if self.simulated:
            # A stamp far in the future is a defect that must not make everything else look old; the loop refuses it.
            instant = stamp * 1e-9
            if instant <= clock * 1e-9 + self._node.parameters['timeout']:
                self._newest = max(self._newest, instant)
            return instant
        return time.monotonic() - (clock - stamp) * 1e-9


def table_of(message: Any, joint_names: Sequence[str], columns: int, what: str) -> FloatArray:
    """Return a Float64MultiArray of one row per joint, (n, columns); raises JointDynamicsError on another shape."""
    n = len(joint_names)
    values = np.array(message.data, dtype=float)
    sizes = [dimension.size for dimension in message.layout.dim]
    if values.size != n * columns or (sizes and sizes != [n, columns]):
        raise JointDynamicsError(f'{what}: expected {n} rows of {columns} values, found {sizes or values.size}')
    return values.reshape(n, columns)
