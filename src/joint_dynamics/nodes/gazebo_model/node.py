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

"""Gives Gazebo's robot what Gazebo has not: motor-side signals with current, and joint temperatures."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState, Temperature

from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, STALE
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.run import run
from joint_dynamics.nodes.framework.tables import ParameterRow, publishes, subscribes
from joint_dynamics.nodes.interfaces.messages import joint_state, seconds, temperature
from joint_dynamics.simulation.motor_side import MotorSideModel

STATES_TIMEOUT = 1.0
"""Joint states that stay away for so long [s of the wall] are missed."""


class GazeboModelNode(DynamicsNode):
    """See the module; the model itself is `simulation.motor_side`."""

    NAME = 'gazebo_model'
    PARAMETERS = (
        ParameterRow(
            'torque',
            'inverse_dynamics',
            'source of the joint torque: inertials of the URDF, or the effort of joint_states, which needs an '
            'effort interface in Gazebo',
            choices=('inverse_dynamics', 'effort'),
        ),
        ParameterRow('seed', 0, 'seed of the spread of the drives', '', 0, 2**31 - 1),
        ParameterRow(
            'ambient_temperature',
            25.0,
            'temperature of the surroundings, and initial temperature of all parts',
            '°C',
            -20,
            60,
        ),
        ParameterRow('heat_speed', 1.0, 'factor of the speed of heat flow', '', 0, 200),
        ParameterRow('temperature_rate', 2.0, 'rate of the temperature topics', 'Hz', 0.1, 100),
    )
    TOPICS = (
        subscribes('joint_states', 'sensor_msgs/JointState', 'of Gazebo: position rad, velocity rad/s, effort N·m'),
        publishes(
            'motor_states',
            'sensor_msgs/JointState',
            'motor side, reflected to the joint side: position rad, velocity rad/s, effort: motor current in A',
        ),
        publishes('<joint>/temperature', 'sensor_msgs/Temperature', 'of each joint, °C; `frame_id` is the joint'),
    )

    def configure(self) -> None:
        """Build the drives and subscribe."""
        self._joints: Sequence[str] = self.robot.joint_names
        self._model = MotorSideModel(
            self.robot,
            seed=self.parameters['seed'],
            temperature=self.parameters['ambient_temperature'],
            heat_speed=self.parameters['heat_speed'],
        )
        self._temperature = self._model.gear
        self._stamp: Any = None
        self._motor = self.advertise(JointState, 'motor_states')
        self._thermometers = [
            self.advertise(Temperature, f'{joint}/temperature', row='<joint>/temperature') for joint in self._joints
        ]
        self.subscribe(JointState, 'joint_states', self._take, stream=True)
        self.every(1.0 / self.parameters['temperature_rate'], self._publish_temperature)
        self._came = -math.inf
        self.every(STATES_TIMEOUT / 4, self._check_inputs, steady=True)
        self._check_inputs()

    def _check_inputs(self) -> None:
        """Say when nothing comes, as of a Gazebo that was killed."""
        if time.monotonic() - self._came > STATES_TIMEOUT:
            never = math.isinf(self._came)
            self.diagnostics.set('inputs', STALE, f'{"no message yet on" if never else "silent:"} joint_states')

    def on_time_jump(self, delta: float) -> None:
        """Restart, because the simulation was reset."""
        if hasattr(self, '_model'):
            self._model.reset()

    def _take(self, message: JointState) -> None:
        index = {name: k for k, name in enumerate(message.name)}
        if not all(joint in index for joint in self._joints):
            return
        self._came = time.monotonic()
        order = [index[joint] for joint in self._joints]
        wanted = [
            message.position,
            message.velocity,
            *([message.effort] if self.parameters['torque'] == 'effort' else []),
        ]
        if any(len(values) != len(message.name) for values in wanted):
            self.diagnostics.set(
                'inputs',
                ERROR,
                f'joint_states: expected positions, velocities{", efforts" * (len(wanted) == 3)} of '
                f'{len(message.name)} joints, found {", ".join(str(len(values)) for values in wanted)}',
            )
            return
        signals = [np.array(values)[order] for values in wanted]
        if not all(np.isfinite(signal).all() for signal in signals):
            self.diagnostics.set('inputs', ERROR, 'joint_states: expected numbers, found others')
            return
        stamp = message.header.stamp
        sample = self._model.step(seconds(stamp), *signals)
        self._temperature, self._stamp = sample.temperature, stamp
        self._motor.publish(joint_state(stamp, self._joints, sample.current, sample.theta, sample.dtheta))
        self.diagnostics.set('inputs', OK, 'joint_states arrive')

    def _publish_temperature(self) -> None:
        if self._stamp is None:
            return
        for publisher, joint, value in zip(self._thermometers, self._joints, self._temperature, strict=True):
            publisher.publish(temperature(self._stamp, joint, value))


def main() -> int:
    """Run the node; return the exit status."""
    return run(GazeboModelNode)


if __name__ == '__main__':
    sys.exit(main())
