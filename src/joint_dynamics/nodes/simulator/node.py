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

"""ROS node of a simulated robot with the topics of ros2_control.

The plant is a flexible-joint arm with known parameters (`simulation`), published as `~/truth`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, Temperature
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.nodes.framework.diagnostics import OK, WARN
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.run import run
from joint_dynamics.nodes.framework.tables import LATCHED, RELIABLE_SENSOR, SENSOR
from joint_dynamics.nodes.interfaces.messages import joint_state, stamp, temperature
from joint_dynamics.nodes.simulator.parameters import PARAMETERS, TOPICS, build_robot, plant_change, trajectory_points
from joint_dynamics.recording.inputs import stamp_of
from joint_dynamics.settings import ParameterValues
from joint_dynamics.simulation import Controllers, Pace, Samples

EPOCH = 10**9  # ns, first simulated time; 0 means `no time yet` in ROS
SHORTEST_PERIOD = 1e-4  # s of wall time, of the timer; the executor needs time for messages in between
LONGEST_PERIOD = 1.0  # s of wall time, of the timer


class SimulatorNode(DynamicsNode):
    """Simulated robot; simulated time advances while the node is active.

    Parameters that take effect at once change the plant (payload, wear, external torque) or its controllers. `pace`
    ties simulated time to wall time and keeps it within `max_lead` of the followers.
    """

    NAME = 'simulator'
    PARAMETERS = PARAMETERS
    TOPICS = TOPICS
    ROBOT = False

    def __init__(self, node_name: str | None = None, **options: Any):
        super().__init__(node_name, **options)
        # Robots in namespaces share one /clock, so none publishes it unless publish_clock is given.
        if self.get_namespace() != '/' and 'publish_clock' not in self._parameter_overrides:
            self.set_parameters([Parameter('publish_clock', value=False)])

    def configure(self) -> None:
        """Build the plant, its controllers, topics and timers; the first start on a machine compiles the plant."""
        value = self.parameters
        self.get_logger().info('building the robot; the first start on a machine compiles the plant')
        self.simulated = build_robot(value)
        # Without this line, the first step of a motion would wait for the compiler.
        self.simulated.compile()
        self._first_position = self.simulated.truth.position
        self.parameters.declare_joints(self.simulated.joint_names)
        for parameter in ('heating', 'wear', 'external_torque', 'payload_mass'):
            plant_change(self.simulated, value, parameter, at_once=True)()
        self.simulated.place(self._first_position)
        self.controllers = Controllers(
            self.simulated,
            effort_joints=value['effort_joints'] or None,
            active=value['controller'],
            add_gravity=value['add_gravity'],
        )
        self.pace = Pace(
            self.simulated.period,
            factor=value['real_time_factor'],
            max_lead=value['max_lead'],
            batch=max(1, round(value['batch'] * value['rate'])),
        )
        self._epoch = EPOCH if value['publish_clock'] else 0
        self._advertise()
        self._listen()
        self._rejected = False
        self._timer = self.every(self._wall_period(), self._tick, steady=True)
        self.every(1.0, self._report, steady=True)

    def _advertise(self) -> None:
        names = self.simulated.joint_names
        self._joint_states, self._motor_states, self._true_states = (
            self.advertise(JointState, topic, RELIABLE_SENSOR)
            for topic in ('joint_states', 'motor_states', '~/true_states')
        )
        self._thermometers = [
            self.advertise(Temperature, f'{joint}/temperature', row='<joint>/temperature') for joint in names
        ]
        self._clock_publisher = self.advertise(Clock, '/clock') if self.parameters['publish_clock'] else None
        self._truth = self.advertise(String, '~/truth', LATCHED, when_inactive=True)
        # Kept as an attribute: a publisher that is collected takes its latched message with it.
        self._description = self.advertise(String, 'robot_description', LATCHED, when_inactive=True)
        self._description.publish(String(data=self.simulated.model.urdf or ''))
        self._data_sheet = self.advertise(String, '~/data_sheet', LATCHED, when_inactive=True)
        self._data_sheet.publish(
            String(
                data=json.dumps(
                    {
                        'joint_names': list(names),
                        'drive_gain': self.simulated.nominal_gains.tolist(),
                        'gear_ratio': self.simulated.drives.gear_ratio.tolist(),
                    }
                )
            )
        )
        self._publish_truth()

    def _listen(self) -> None:
        trajectories = f'{self.parameters["trajectory_controller"]}/joint_trajectory'
        self.subscribe(
            JointTrajectory,
            trajectories,
            self._take_trajectory,
            RELIABLE_SENSOR,
            row='<trajectory_controller>/joint_trajectory',
            stream=True,
        )
        self.subscribe(JointTrajectory, '~/joint_trajectory', self._take_trajectory, RELIABLE_SENSOR, stream=True)
        self.subscribe(
            Float64MultiArray,
            f'{self.parameters["effort_controller"]}/commands',
            self._take_efforts,
            SENSOR,
            row='<effort_controller>/commands',
            stream=True,
        )
        self.subscribe(JointState, 'joint_commands', self._take_joint_command, SENSOR, stream=True)
        for topic in self.parameters['follow_topics']:
            self.subscribe(
                JointState,
                topic,
                lambda message, topic=topic: self.pace.followed(topic, (stamp_of(message, 0) - self._epoch) * 1e-9),
                RELIABLE_SENSOR,
                row='<follow_topics>',
                stream=True,
            )
        self.serve('~/reset', self._reset)

    def _wall_period(self) -> float:
        """Return the period of the timer that runs due ticks, s of wall time."""
        rate = self.parameters['rate'] * self.parameters['real_time_factor']
        return min(max(1.0 / rate, SHORTEST_PERIOD), LONGEST_PERIOD) if rate > 0.0 else SHORTEST_PERIOD

    def activate(self) -> None:
        """Start simulated time."""
        if not self.parameters['publish_clock'] and not self._epoch:
            self._epoch = self.get_clock().now().nanoseconds
        self.pace.restart()

    # Commands.

    def _command(self, take: Any, *arguments: Any) -> None:
        """Call `take`; report a refused command in diagnostics and log."""
        try:
            take(*arguments)
            if self._rejected:
                self._rejected = False
                self.diagnostics.set('commands', OK, f'{self.controllers.active} is active')
        except JointDynamicsError as error:
            self._rejected = True
            self.diagnostics.set('commands', WARN, one_line(error))
            self.get_logger().warning(one_line(error), throttle_duration_sec=1.0)

    def _take_trajectory(self, message: JointTrajectory) -> None:
        def follow() -> None:
            begin = stamp_of(message, 0)
            start = (begin - self._epoch) * 1e-9 if begin else None
            self.controllers.follow(message.joint_names, trajectory_points(message), start)

        self._command(follow)

    def _take_efforts(self, message: Float64MultiArray) -> None:
        active = self.controllers.active
        self._command(self.controllers.command_effort, message.data)
        if self.controllers.active != active:
            # The command switched the controller. An outdated parameter could not switch it back.
            self.set_parameters([Parameter('controller', value=self.controllers.active)])

    def _take_joint_command(self, message: JointState) -> None:
        self._command(self.controllers.command_joints, message.name, message.position, message.velocity, message.effort)

    def _reset(self) -> str:
        self.simulated.place(self._first_position)
        self.controllers.switch(self.controllers.active)
        return 'at rest at the first position'

    def check_parameters(self, values: ParameterValues, changed: Sequence[str]) -> None:
        """Refuse values that this plant cannot take."""
        for name in changed:
            plant_change(self.simulated, values, name.partition('.')[0])

    def parameters_changed(self, changed: dict[str, Any]) -> None:
        """Apply changed parameters to plant, controllers and pace."""
        for name in dict.fromkeys(name.partition('.')[0] for name in changed):
            if name == 'controller':
                if changed[name] != self.controllers.active:
                    self.controllers.switch(changed[name])
                    self.diagnostics.set('commands', OK, f'{changed[name]} is active')
            elif name == 'add_gravity':
                self.controllers.add_gravity = changed[name]
            elif name == 'real_time_factor':
                self.pace.factor = changed[name]
                self._timer.timer_period_ns = int(1e9 * self._wall_period())
            elif name == 'max_lead':
                self.pace.max_lead = changed[name]
            else:
                plant_change(self.simulated, self.parameters, name)()

    # Time.

    def _tick(self) -> None:
        if not self.is_active:
            return
        due = self.pace.due(time.monotonic(), self.simulated.ticks)
        if due:
            first = self.simulated.ticks
            self._publish(first, self.simulated.run(self.controllers.commands(due)))

    def _publish(self, first: int, samples: Samples) -> None:
        value, rate = self.parameters, self.simulated.rate
        efforts = {'current': samples.current, 'torque': samples.effort}
        ratio = self.simulated.drives.gear_ratio if value['motor_side'] == 'shaft' else 1.0
        has_true_subscriber = self._true_states.get_subscription_count() > 0
        clock_every = max(value['publish_every'], round(rate / value['clock_rate']))
        temperature_every = max(1, round(rate / value['temperature_rate']))
        for k in range(len(samples)):
            tick = first + k
            if tick % value['publish_every'] and tick % temperature_every and tick % clock_every:
                continue
            # Computed from the tick count, because a sum of periods drifts.
            now = stamp(self._epoch + round(tick * 1e9 / rate))
            if tick % value['publish_every'] == 0:
                rows = [
                    (self._joint_states, efforts[value['effort']][k], samples.q[k], samples.dq[k]),
                    (
                        self._motor_states,
                        efforts[value['motor_effort']][k],
                        samples.theta[k] * ratio,
                        samples.dtheta[k] * ratio,
                    ),
                ]
                if has_true_subscriber:
                    rows.append(
                        (self._true_states, samples.transmission_torque[k], samples.true_q[k], samples.true_dq[k])
                    )
                for publisher, *values in rows:
                    publisher.publish(joint_state(now, samples.joint_names, *values))
            if tick % temperature_every == 0:
                for publisher, joint, degrees in zip(
                    self._thermometers, samples.joint_names, samples.temperature[k], strict=True
                ):
                    publisher.publish(temperature(now, joint, degrees))
            if self._clock_publisher is not None and tick % clock_every == 0:
                self._clock_publisher.publish(Clock(clock=now))
            if tick % round(rate) == 0:
                self._publish_truth()

    def _publish_truth(self) -> None:
        when = {'time': self.simulated.time, 'motion_end': self.controllers.end}
        document = {**when, **self.simulated.truth.as_document()}
        self._truth.publish(String(data=json.dumps(document)))

    def _report(self) -> None:
        for topic in self.parameters['follow_topics']:
            # The simulation does not wait for a topic without publishers.
            if self.count_publishers(self.resolve_topic_name(topic)) == 0:
                self.pace.forget(topic)
        wanted, waits = self.parameters['real_time_factor'], self.pace.waiting_for
        slow = bool(waits) or (wanted > 0.0 and self.pace.achieved < 0.9 * wanted)
        message = (
            f'waits for {waits} (max_lead must exceed its delay)'
            if waits
            else 'runs slower than real_time_factor'
            if slow
            else 'runs'
        )
        self.diagnostics.set(
            'simulation',
            WARN if slow else OK,
            message if self.is_active else 'inactive',
            simulated_time=self.simulated.time,
            real_time_factor=self.pace.achieved,
            controller=self.controllers.active,
        )


def main() -> int:
    """Run the node as a process."""
    return run(SimulatorNode)


if __name__ == '__main__':
    sys.exit(main())
