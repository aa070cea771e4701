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

"""The whole chain in one process, without ROS: excite, record, identify, estimate, feed forward, wear.

Nothing of the simulated truth goes into it: the robot is commanded, recorded, and looked at by its sensors; its maker's
data sheet gives the drive gains. Only the figures compare with the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.control import create
from joint_dynamics.demo import scenario
from joint_dynamics.demo.comparison import compare_parameters, friction_errors, map_nrmse
from joint_dynamics.demo.scenario import (
    FLOOR,
    GAIN_DEVIATION,
    HEATING_TIME,
    INERTIA_ERROR,
    REST_GAIN,
    WEAR,
    heating,
    unknown_tool,
)
from joint_dynamics.estimation import JointEstimator
from joint_dynamics.excitation.plan import PlanSettings, plan
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import (
    Command,
    FlexibleJointRobot,
    ModelErrors,
    TrajectoryPoints,
    play,
    recording_of,
    ur5e_urdf,
)

WARM_EVERY = 100  # samples between looks of the estimator at the temperature


@dataclass
class Chain:
    """The chain of one simulated robot; `cycles`: of the work that the estimator learns from.

    Attributes
    ----------
    recordings
        exciting motion, constant speeds, work.
    result
        of the identification.
    estimator
        started from the identified description.
    tracking, torque
        mean squares (n,) of position error [rad²] and of torque left to the controller [(N·m)²], by law; of the worn
        robot `worn_nominal` (friction as when new) and `worn_adaptive`.
    contacts
        samples with a false contact, of `learned` samples.
    """

    seed: int = 0
    drives: object = None
    repeats: int = 2
    cycles: int = 2
    recordings: list = field(default_factory=list)
    result: object = None
    estimator: object = None
    tracking: dict = field(default_factory=dict)
    torque: dict = field(default_factory=dict)
    contacts: int = 0
    learned: int = 0

    def __post_init__(self):
        self.model = RobotModel.load(ur5e_urdf())
        start, errors = scenario.cycle().q[0], ModelErrors(inertia=INERTIA_ERROR)
        self.robot = FlexibleJointRobot(seed=self.seed, rate=500.0, errors=errors, position=start, drives=self.drives)
        self.robot.attach_payload(unknown_tool(self.seed))
        self.robot.place(start)
        self.new = {}

    def run(self):
        """Run all stages; return the chain."""
        for stage in (self.record, self.identify, self.estimate, self.feed_forward, self.wear_out):
            stage()
        return self

    def record(self):
        """Play and record the exciting motion, constant speeds and the work."""
        work = scenario.cycle()
        points = exciting_motion(self.repeats).trajectory.sample(100.0)
        speeds = scenario.constant_speeds(work.q[0])
        for name, motion in (('exciting', points), ('speeds', speeds), ('work', work)):
            samples = play(self.robot, TrajectoryPoints(motion.time, motion.q, motion.dq, motion.ddq), hold=0.5)
            self.recordings.append(recording_of(samples, name=name))

    def identify(self):
        """Identify the robot from the first two recordings, validated by the third."""
        sheet = dict(zip(self.robot.joint_names, map(float, self.robot.nominal_gains), strict=True))
        settings = IdentificationSettings(drive_gains=sheet, drive_gain_deviation=GAIN_DEVIATION)
        self.result = identify(self.model, self.recordings[:2], self.recordings[2:], settings)

    @property
    def arm(self):
        """The identified arm."""
        return Arm.from_description(self.model, self.result.description)

    def estimate(self):
        """Let the estimator learn from the work."""
        self.estimator = JointEstimator(self.arm, self.robot.period)
        for _ in range(self.cycles):
            self.follow(scenario.cycle())
        self.new = self._figures()

    def follow(self, motion):
        """Play a motion and let the estimator learn from it."""
        samples = play(self.robot, TrajectoryPoints(motion.time, motion.q, motion.dq, motion.ddq))
        for k in range(len(samples)):
            if k % WARM_EVERY == 0:
                self.estimator.set_temperature(samples.temperature[k])
            if self.estimator.update(samples.q[k], samples.current[k], samples.theta[k]):
                self.contacts += bool(self.estimator.contact.any())
                self.learned += 1

    def feed_forward(self):
        """Run the work under the robot's own controller alone, with static and with adaptive friction fed forward."""
        laws = {
            'none': None,
            'static': create('computed_torque', self.arm, friction='static', friction_smoothing=0.02),
            'adaptive': create('adaptive_friction', self.arm, rest_gain=REST_GAIN),
        }
        for name, law in laws.items():
            self._work(name, law, name == 'adaptive')

    def wear_out(self):
        """Wear and warm the joints at work, let the estimator follow, and feed forward without and with adaptation."""
        robot, work = self.robot, scenario.cycle()
        robot.place(work.q[0])
        self.estimator.reset_signals()
        robot.set_wear(WEAR, HEATING_TIME)
        robot.set_heating(heating(self.model.limits.effort))
        self.follow(work)
        robot.set_heating(0.0)
        for motion in (scenario.constant_speeds(work.q[0]), work):
            self.follow(motion)
        nominal = {'alpha_lower': [1.0, 0.0], 'alpha_upper': [1.0, 0.0]}
        for name, bounds in (('worn_nominal', nominal), ('worn_adaptive', {})):
            law = create('adaptive_friction', self.arm, rest_gain=REST_GAIN, **bounds)
            self._work(name, law, name == 'worn_adaptive')

    def _work(self, name, law, adaptive):
        robot, path = self.robot, scenario.cycle_path()
        reference = path.sample(np.arange(0.0, path.end, robot.period))
        robot.place(reference[0, 0])
        feedforward = np.zeros((len(reference), robot.n))
        if law is not None:
            scale = self.estimator.friction_scale()[0] if adaptive else np.full((robot.n, 2), np.nan)
            law.adapt(self.estimator.temperature, scale)
            feedforward[:] = law.effort_along(reference)
        robot.shift_integral(-feedforward[0])
        samples = robot.run(Command.track(reference[:, 0], reference[:, 1], feedforward))
        self.tracking[name] = np.mean((samples.q - reference[:, 0]) ** 2, axis=0)
        self.torque[name] = np.mean((samples.effort - feedforward) ** 2, axis=0)

    def _figures(self):
        truth, work = self.robot.truth.as_document(), scenario.cycle()
        summary = self.result.summary()
        comparison = compare_parameters(summary['parameters'], truth)
        friction = friction_errors(self.result.description, self.estimator.friction_scale()[0], truth)
        return {
            'coverage_percent': comparison.coverage_percent,
            'median_error_percent': comparison.median_error_percent,
            'work_residual_percent': summary['validation_moving_overall_percent'],
            'stiffness_described_nrmse': map_nrmse(self.arm.stiffness, self.model, work, truth),
            'stiffness_nrmse': map_nrmse(self.estimator.stiffness, self.model, work, truth),
            'friction_identified_percent': friction['friction_error_identified_percent'],
            'friction_adapted_percent': friction['friction_error_adapted_percent'],
        }

    def figures(self):
        """Return the errors against the truth, by plain names: percent, mrad, N·m; `worn_…` of the worn robot."""
        worn = self._figures()
        return {
            **self.new,
            'contact_percent': 100.0 * self.contacts / self.learned,
            **{f'tracking_{law}_mrad': 1e3 * float(np.sqrt(value.mean())) for law, value in self.tracking.items()},
            **{f'torque_{law}': float(np.sqrt(value.mean())) for law, value in self.torque.items()},
            'worn_stiffness_nrmse': worn['stiffness_nrmse'],
            'worn_friction_adapted_percent': worn['friction_adapted_percent'],
            'worn_torque_left_percent': 100.0 * self.torque['worn_adaptive'] / self.torque['worn_nominal'],
            'worn_tracking_left_percent': 100.0 * self.tracking['worn_adaptive'] / self.tracking['worn_nominal'],
        }


@cache
def exciting_motion(repeats=2):
    """Return the exciting motion, planned from the URDF alone, so one for all robots of it; always the same."""
    work = scenario.cycle()
    lower, upper = scenario.working_range(work)
    fourier = {'period': 10.0, 'repeats': repeats, 'starts': 1, 'candidates': 2, 'samples_per_cycle': 10}
    section = {
        'posture': work.q[0].tolist(),
        'limits': {'lower': lower, 'upper': upper, 'floor': FLOOR},
        'fourier': {**fourier, 'processes': 1},
    }
    return plan(RobotModel.load(ur5e_urdf()), PlanSettings.from_config(section))
