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

"""The `estimator` node: friction, stiffness, torques, payload and health while the robot works.

See docs/reference/nodes/estimator.md.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, String

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.estimation import EstimationSession, EstimationSettings, HealthThresholds, TorqueEstimate, estimates
from joint_dynamics.estimation.conditions import conditions, contact_condition, quantities
from joint_dynamics.nodes.estimator.parameters import PARAMETERS, TOPICS, TUNED, settings_of
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, WARN
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.run import run
from joint_dynamics.nodes.framework.tables import LATCHED
from joint_dynamics.nodes.interfaces.input_parameters import check_described_effort, recording_settings
from joint_dynamics.nodes.interfaces.inputs import InputSet
from joint_dynamics.nodes.interfaces.messages import joint_state
from joint_dynamics.nodes.interfaces.messages import stamp as stamp_message
from joint_dynamics.settings import ParameterValues

LEVELS = {'ok': OK, 'warning': WARN, 'error': ERROR}
FILE = 'dynamics.yaml'


class EstimatorNode(DynamicsNode):
    """Takes the robot's signals, gives estimates; everything that is computed is in joint_dynamics.estimation."""

    NAME = 'estimator'
    PARAMETERS = PARAMETERS
    TOPICS = TOPICS
    GONE = EstimationSettings.GONE
    DESCRIPTION: ClassVar[Literal['none', 'optional', 'required']] = 'required'

    _session: EstimationSession | None = None
    # Joints whose contact the diagnostics say already.
    _contact: BoolArray | None = None

    def configure(self) -> None:
        """Build the estimation from the description, or from what an earlier run saved; subscribe, advertise."""
        values = self.parameters
        assert self.description is not None
        inputs = recording_settings(values, self.robot.joint_names)
        check_described_effort(self.description, inputs)
        offered = [quantity for item in inputs.inputs(self.robot.joint_names) for quantity in item.quantities]
        self._path = self.output_folder(self.get_fully_qualified_name().strip('/').replace('/', '_')) / FILE
        self.get_logger().info('building the estimator; the first start on a machine compiles it')
        self._session = EstimationSession(
            self.robot,
            self.description,
            offered,
            settings_of(values),
            period=1.0 / values['sample_rate'] if values['sample_rate'] else None,
            max_gap=values['max_gap'],
            motor_side=inputs.motor_side,
            saved=self._saved(),
            thresholds=HealthThresholds(tuple(values['stiffness_change']), tuple(values['friction_change'])),
            working_range=values['working_range'],
        )
        self._session.learning = values['learn']
        for remark in self._session.remarks:
            self.get_logger().info(remark)
        self.diagnostics.set('setup', OK, '; '.join(self._session.remarks) or 'all parts in use')
        self.diagnostics.report_doubtful(self.description.doubtful_joints(self.robot.joint_names))
        self._torques, self._external, self._frictions = (
            self.advertise(JointState, f'~/{name}_torques') for name in ('joint', 'external', 'friction')
        )
        self._tables = {
            name: self.advertise(Float64MultiArray, f'~/{name}')
            for name in ('friction_parameters', 'friction_covariance', 'stiffness_parameters', 'stiffness_covariance')
        }
        names = quantities(self._session)
        self._estimates = {name: self.advertise(JointState, f'~/estimates/{name}') for name in names}
        self._payload = self.advertise(InertiaStamped, '~/payload')
        self._description_publisher = self.advertise(String, '~/dynamics_description', LATCHED, when_inactive=True)
        self.serve('~/reset', self._reset)
        self.serve('~/save', self._save)
        self._published = -1
        InputSet(self, inputs, self._take, after=self._after)
        self.every(1.0 / values['parameter_rate'], self._publish_parameters, steady=True)
        self.every(0.5, self._report, steady=True)
        if values['save_period'] > 0:
            self.every(values['save_period'], self._save_now_and_then, steady=True)
        self._steps_saved = 0
        self._publish_description(self._session.description)

    def _saved(self) -> DynamicsDescription | None:
        if not self.parameters['resume'] or not self._path.exists():
            return None
        try:
            return DynamicsDescription.load(self._path)
        except JointDynamicsError as error:
            self.get_logger().warning(f'not continuing from {self._path}: {one_line(error)}')
            return None

    @property
    def session(self) -> EstimationSession:
        """The estimation; from configuring to cleanup."""
        if self._session is None:
            raise JointDynamicsError('estimator: expected the node to be configured, found that it is not')
        return self._session

    def activate(self) -> None:
        """Begin to listen; earlier messages do not count."""
        self.session.forget_time()

    def deactivate(self) -> None:
        """Write the learnt values."""
        self._write()

    def cleanup(self) -> None:
        """Let go of the estimation."""
        self._session = None

    def on_time_jump(self, delta: float) -> None:
        """Forget the signals of the old time."""
        if self._session is not None:
            self._session.forget_time()

    def check_parameters(self, values: ParameterValues, changed: Sequence[str]) -> None:
        """Refuse settings that contradict each other, or that the present inputs do not allow."""
        if TUNED & set(changed):
            self.session.trial(settings_of(values))

    def parameters_changed(self, changed: dict[str, Any]) -> None:
        """Apply parameters that take effect at once."""
        self.session.learning = self.parameters['learn']
        if TUNED & set(changed):
            self.session.retune(settings_of(self.parameters))

    # Inputs.

    def _take(self, quantity: str, stamp: int, names: Sequence[str], values: Any) -> None:
        if self.is_active:
            self.session.take(quantity, stamp, names, values)

    def _after(self, topic: str) -> None:
        if not self.is_active:
            return
        rate = self.parameters['torque_rate']
        step = 1e9 / rate if rate > 0 else 0.0
        for estimate in self.session.run():
            stamp = estimate.stamp
            self._report_contact(estimate.contact)
            # Half a sample early is as near as it gets.
            if (
                self._published < 0
                or stamp < self._published
                or stamp - self._published >= step - 0.5e9 * (self.session.timeline.period or 0.0)
            ):
                self._published = stamp
                self._publish_torques(estimate)

    # Outputs.

    def _report_contact(self, contact: BoolArray) -> None:
        """Say a contact of a joint that has none in the diagnostics at once: it may be over before the next report."""
        if self._contact is None or (contact & ~self._contact).any():
            assert self.session.estimator is not None
            level, message, shown = contact_condition(self.session.estimator)
            self.diagnostics.set('contact', LEVELS[level], message, **shown)
            if contact.any():
                self.diagnostics.publish()
            self._contact = contact

    def _publish_torques(self, estimate: TorqueEstimate) -> None:
        names, when = self.robot.joint_names, stamp_message(estimate.stamp)
        self._torques.publish(joint_state(when, names, estimate.torque, estimate.q, estimate.dq))
        self._external.publish(joint_state(when, names, estimate.external))
        self._frictions.publish(joint_state(when, names, estimate.friction))

    def _publish_parameters(self) -> None:
        estimate = None if self._session is None else self._session.estimator
        if estimate is None or not self.is_active or not estimate.filter.ready:
            return
        names = self.robot.joint_names
        if estimate.friction is not None:
            self._publish_table('friction', *estimate.friction_scale())
        if estimate.stiffness is not None:
            covariance = estimate.stiffness.covariance * (estimate.stiffness.noise**2)[:, None, None]
            self._publish_table('stiffness', estimate.stiffness.known, covariance)
        now = self.get_clock().now().to_msg()
        for name, quantity in estimates(self.session).items():
            self._estimates[name].publish(joint_state(now, names, quantity.deviation, quantity.value))
        if estimate.payload is not None and estimate.payload.known:
            self._payload.publish(
                payload_message(now, names[-1], estimate.payload.mass, estimate.payload.first_moments)
            )

    def _publish_table(self, what: str, parameters: FloatArray, covariance: FloatArray) -> None:
        self._tables[f'{what}_parameters'].publish(table(('joint', 'parameter'), parameters))
        self._tables[f'{what}_covariance'].publish(table(('joint', 'parameter', 'parameter'), covariance))

    def _report(self) -> None:
        if self._session is None:
            return
        if not self.is_active:
            self.diagnostics.set('samples', OK, 'not active')
            return
        for name, (level, message, shown) in conditions(self._session).items():
            self.diagnostics.set(name, LEVELS[level], message, **shown)
        self._contact = None if self._session.estimator is None else self._session.estimator.contact
        if self._session.arm.validity is not None:
            self.diagnostics.report_validity(self._session.validity_violations)

    # Services and the saved file.

    def _reset(self) -> str:
        self.session.reset()
        self._publish_description(self.session.description)
        return 'restarted from the dynamics description'

    def _save(self) -> str:
        if self.session.estimator is None:
            raise JointDynamicsError('save: expected samples first, found none')
        self._write(refuse=True)
        return str(self._path)

    def _save_now_and_then(self) -> None:
        if self.is_active:
            self._write()

    def _write(self, refuse: bool = False) -> None:
        session = self._session
        if session is None or session.estimator is None or (session.steps == self._steps_saved and not refuse):
            return
        try:
            date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds')
            description = session.adapted(date)
            description.save(self._path)
        except JointDynamicsError as error:
            self.diagnostics.set('save', ERROR, str(error))
            if refuse:
                raise
            self.get_logger().error(str(error))
            return
        self._steps_saved = session.steps
        self.diagnostics.set('save', OK, f'written to {self._path}')
        self._publish_description(description)

    def _publish_description(self, description: DynamicsDescription) -> None:
        self._description_publisher.publish(String(data=description.to_yaml()))


def table(labels: Sequence[str], values: FloatArray) -> Float64MultiArray:
    """Return an array with its layout labelled, row-major."""
    message = Float64MultiArray(data=values.ravel().tolist())
    stride = values.size
    for label, size in zip(labels, values.shape, strict=True):
        message.layout.dim.append(MultiArrayDimension(label=label, size=size, stride=stride))
        stride //= max(size, 1)
    return message


def payload_message(stamp: Time, frame: str, mass: float, first_moments: FloatArray) -> InertiaStamped:
    """Return mass and centre of mass in `frame`; the inertia is not estimated and stays 0."""
    message = InertiaStamped()
    message.header.stamp, message.header.frame_id = stamp, frame
    message.inertia.m = mass
    if mass > 0:
        message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = (
            float(value) / mass for value in first_moments
        )
    return message


def main(arguments: list[str] | None = None) -> int:
    """Run the node as a process."""
    return run(EstimatorNode, arguments)


if __name__ == '__main__':
    sys.exit(main())
