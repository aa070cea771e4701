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

"""A flexible-joint robot with known truth, independent of the physics code it tests.

    robot = FlexibleJointRobot(seed=1)               # a UR5e at 1 kHz, model errors and sensor noise on
    trajectory = TrajectoryPoints(time, q, dq, ddq)  # points (P, n); or effort= for feedforward
    recording = record(robot, trajectory)            # Recording: q, dq, theta, dtheta, current, temperature
    samples = play(robot, trajectory)                # the same with the truth beside it (samples.friction, …)
    samples = robot.step(Command.torque(tau))        # one tick; or Command.track(q, dq, effort)
    robot.truth.stiffness                            # and .friction(omega), .base_parameters, .drive_gains, …
    FlexibleJointRobot(errors=ModelErrors.none(), sensors=Sensors.ideal())  # exactly the methods' model

The first simulation of an installation compiles the plant (about ten seconds) and keeps it.
"""

from joint_dynamics.simulation.controllers import CONTROLLERS, Controllers, play, record, recording_of
from joint_dynamics.simulation.drives import Drives, plausible_drives
from joint_dynamics.simulation.rigid_body import Payload
from joint_dynamics.simulation.robot import FlexibleJointRobot, Pace, initial_posture, ur5e_description, ur5e_urdf
from joint_dynamics.simulation.simulation_settings import ModelErrors, Sensors, SimulationSettings
from joint_dynamics.simulation.trajectory import Command, Reference, Samples, TrajectoryPoints
from joint_dynamics.simulation.truth import Truth

__all__ = [
    'CONTROLLERS',
    'Command',
    'Controllers',
    'Drives',
    'FlexibleJointRobot',
    'ModelErrors',
    'Pace',
    'Payload',
    'Reference',
    'Samples',
    'Sensors',
    'SimulationSettings',
    'TrajectoryPoints',
    'Truth',
    'initial_posture',
    'plausible_drives',
    'play',
    'record',
    'recording_of',
    'ur5e_description',
    'ur5e_urdf',
]
