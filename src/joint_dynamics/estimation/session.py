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

"""One robot's online estimation from stamped samples to estimates, conditions and the adapted description, without ROS.

Between topics and `JointEstimator`: alignment on one grid, reflection of the motor side, temperatures, recovery from
gaps and jumps of time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.description_update import (
    adapted_description,
    fingerprint,
    is_adapted_copy,
    notes_of,
    reference_of,
)
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.health import HealthMonitor, HealthThresholds, JointHealth
from joint_dynamics.estimation.input_values import MotorReflection, plausible_samples
from joint_dynamics.estimation.joint_estimator import JointEstimator
from joint_dynamics.estimation.timeline import NS, Timeline
from joint_dynamics.recording.conversions import MotorSide
from joint_dynamics.robot import RobotModel

PERIOD = 0.002  # s, assumed between samples before the first one, to try settings
EFFORTS = ('current', 'tau', 'motor_torque')
"""Sources of the motor torque, in the order of preference."""
MOTOR = {'motor_position': 'theta', 'motor_torque': 'tau'}


class TorqueEstimate(NamedTuple):
    """The estimates of one sample, stamped with the delay subtracted; signs as in `JointEstimator`.

    Attributes
    ----------
    stamp
        ns.
    q, dq
        (n,) rad and rad/s, smoothed, of the link.
    torque, external, friction
        (n,) N·m: through the transmission, of the link on its surroundings, and of the friction.
    contact
        (n,) bool.

    """

    stamp: int
    q: FloatArray
    dq: FloatArray
    torque: FloatArray
    external: FloatArray
    friction: FloatArray
    contact: BoolArray


class EstimationSession:
    """Samples in, estimates out.

    Parameters
    ----------
    robot, description
        RobotModel and DynamicsDescription of its joints; parts that are missing are not used, or learnt.
    offered
        quantities that the inputs may provide (those of Recording, and motor_position, motor_torque).
    settings
        EstimationSettings; where the description lacks friction, the method `adaptive` is replaced, which `remarks`
        states.
    period
        of the samples [s]; None: from the stamps.
    max_gap
        longest gap bridged [s].
    motor_side
        MotorSide, how motor signals are reflected.
    saved
        adapted description of an earlier run; used when it is a copy of `description`, otherwise ignored, which
        `remarks` states.
    thresholds
        HealthThresholds.
    working_range
        deformation over which stiffnesses are compared [rad].

    Attributes
    ----------
    estimator
        None until the period is known.
    remarks
        messages to be shown once.
    begun_anew, begun_anew_said
        number of restarts because filters were not finite, and how many of them `conditions` has reported.

    Raises
    ------
    JointDynamicsError
        Where robot, description and inputs do not fit together.
    """

    def __init__(
        self,
        robot: RobotModel,
        description: DynamicsDescription,
        offered: Sequence[str],
        settings: EstimationSettings | None = None,
        *,
        period: float | None = None,
        max_gap: float = 0.1,
        motor_side: MotorSide | None = None,
        saved: DynamicsDescription | None = None,
        thresholds: HealthThresholds | None = None,
        working_range: float = 1e-3,
    ) -> None:
        self.remarks: list[str] = []
        self.robot, self.described = robot, description
        self.base = fingerprint(description)
        self.history: list[Any] = []
        if saved is not None and is_adapted_copy(saved, description):
            description = saved
            self.history = list(notes_of(saved).get('runs', []))
            self.remarks.append('continues from the saved estimates')
        elif saved is not None:
            self.remarks.append('the saved estimates belong to another dynamics description and are not used')
        self.description = description
        self.arm = Arm.from_description(robot, description)
        self.remarks += self.arm.remarks
        known = np.isfinite(self.arm.drive_gain).all()
        usable = [name for name in EFFORTS if name in offered and (name != 'current' or known)]
        if not usable:
            raise JointDynamicsError(
                'estimator: expected motor torque, or motor current and drive gains in the dynamics description, found '
                f'{", ".join(offered) or "no input"}'
            )
        self._effort_source = usable[0]
        self.effort = MOTOR.get(self._effort_source, self._effort_source)
        self.two_sides = 'theta' in offered or 'motor_position' in offered
        if not self.two_sides:
            self.remarks.append('no motor-side encoder: no stiffness, and friction with the angle of the link')
        if 'temperature' not in offered:
            self.remarks.append('no temperature: the temperature term of the friction stays constant')
        self.reads_temperature = 'temperature' in offered
        self._motors = MotorReflection(motor_side or MotorSide(), robot.joint_names)
        quantities = ('q', self.effort, 'theta') if self.two_sides else ('q', self.effort)
        self.timeline = Timeline(
            robot.joint_names, quantities, period, max_gap=max_gap, plausible=plausible_samples(robot, quantities)
        )
        self.monitor = HealthMonitor(
            reference_of(description, self.arm), working_range, thresholds or HealthThresholds()
        )
        self.estimator: JointEstimator | None = None
        self.steps, self.seconds = 0, 0.0
        self._restarts = self.begun_anew = self.begun_anew_said = 0
        self._temperatures = np.full(robot.n, np.nan)
        self._learning = True
        trial = self.trial(settings or EstimationSettings())
        self.settings = trial.settings
        self.remarks += trial.remarks

    @property
    def learning(self) -> bool:
        """Whether parameters adapt; settable."""
        return self._learning

    @learning.setter
    def learning(self, value: bool) -> None:
        self._learning = bool(value)
        if self.estimator is not None:
            self.estimator.learning = self._learning

    def retune(self, settings: EstimationSettings) -> None:
        """Continue with other settings: learnt friction and stiffness stay, the signals restart."""
        self.settings = self.trial(settings).settings
        old = self.estimator
        if old is None:
            return
        new = self._begin()
        if old.friction is not None and new.friction is not None:
            new.friction.reset(old.friction.parameters)
        if old.stiffness is not None and new.stiffness is not None and old.stiffness.order == new.stiffness.order:
            new.stiffness.reset(old.stiffness.coefficients)

    @property
    def validity_violations(self) -> list[str]:
        """Joints and quantities that have left the range of validity of the friction since the estimates began."""
        return [] if self.estimator is None else self.estimator.watch.notes()

    def trial(self, settings: EstimationSettings) -> JointEstimator:
        """Return a new estimator for the present period, or for `PERIOD` before the first samples.

        Raises JointDynamicsError where the estimation could not continue with these settings; changes nothing.
        """
        effort = 'current' if self._effort_source == 'current' else 'torque'
        period = self.timeline.period or PERIOD
        return JointEstimator(self.arm, period, settings, motor_side=self.two_sides, effort=effort)

    def _begin(self) -> JointEstimator:
        """Make the estimator of the present settings the one that runs."""
        self.estimator = self.trial(self.settings)
        self.estimator.learning = self._learning
        self.estimator.set_temperature(self._temperatures)
        return self.estimator

    def take(self, quantity: str, stamp: int, names: Sequence[str], values: ArrayLike) -> None:
        """Take one sample of an input.

        Parameters
        ----------
        quantity
            one of `offered`, or `temperature`.
        stamp
            ns.
        names, values
            of the joints, and theirs (len(names),) in the quantity's unit: rad, rad/s, N·m, A, °C.
        """
        if quantity == 'temperature':
            self._warm(names, values)
        elif quantity in MOTOR and quantity in ('motor_position', self._effort_source):
            self.timeline.add(MOTOR[quantity], stamp, names, self._motors.reflected(quantity, names, values))
        elif quantity == self._effort_source or quantity in ('q', 'theta'):
            self.timeline.add(quantity, stamp, names, values)

    def _warm(self, names: Sequence[str], values: ArrayLike) -> None:
        for name, value in zip(names, np.atleast_1d(np.asarray(values, dtype=float)), strict=True):
            if name in self.robot.joint_names:
                self._temperatures[self.robot.joint_names.index(name)] = value
        if self.estimator is not None:
            self.estimator.set_temperature(self._temperatures)

    def run(self) -> Iterator[TorqueEstimate]:
        """Process the samples that are complete, and yield the estimates of each that has any."""
        for stamp, arrays in self.timeline.samples():
            begin = time.perf_counter()
            now = self.estimator or self._begin()
            if self.timeline.restarts != self._restarts:
                self._restarts = self.timeline.restarts
                now.reset_signals()
            ready = now.update(arrays['q'], arrays[self.effort], arrays.get('theta'))
            self.steps += 1
            if ready and not now.finite:
                self.begun_anew += 1
                now.begin_anew()
                ready = False
            self.seconds += time.perf_counter() - begin
            if ready:
                yield TorqueEstimate(
                    stamp - round(now.delay / NS), now.q.copy(), now.dq.copy(), now.torque, now.external,
                    now.friction_torque, now.contact,
                )  # fmt: skip

    def forget_time(self) -> None:
        """Restart the signals, as after a jump of the clock or a pause in listening; learnt values stay."""
        self.timeline.reset()
        if self.estimator is not None:
            self.estimator.reset_signals()

    def reset(self) -> None:
        """Restart from the identified description; all learnt values are discarded."""
        self.description = self.described
        self.arm = Arm.from_description(self.robot, self.described)
        self.history = []
        self.monitor.reference = reference_of(self.described, self.arm)
        self.monitor.reset()
        self.timeline.reset()
        if self.estimator is not None:
            self._begin()

    def health(self) -> list[JointHealth]:
        """Return the health of every joint; empty before there is an estimator."""
        return [] if self.estimator is None else self.monitor.of(self.estimator)

    def adapted(self, date: str) -> DynamicsDescription:
        """Return the adapted description; `date` of this run, ISO 8601."""
        if self.estimator is None:
            return self.description
        run: dict[str, Any] = {'base': self.base, 'date': date, 'health': self.health(), 'history': self.history}
        return adapted_description(self.description, self.estimator, reference=self.monitor.reference, **run)
