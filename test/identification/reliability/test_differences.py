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

"""A payload or a sign of one of several recordings."""

from dataclasses import replace

from joint_dynamics.identification.reliability.alternatives import differences
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.robot import RobotModel


def test_parts_of_the_same_robot_do_not_differ(model_and_robot, alternatives_of):
    model, robot = model_and_robot
    for seed in range(8):
        runs = [robot.record(2 * seed + more, duration=8.0, rate=50.0, frequency=0.2) for more in (0, 1)]
        found = differences(alternatives_of(model, runs), ['one', 'two'])
        assert len(found) == 1 + model.n and not any(one.clear for one in found)


def test_light_payload_of_a_wrist_is_named(ur_table, true_robot_of, problem_of, corruptions):
    """It makes less than a twentieth of the arm's torque, but more than friction details at a wrist.

    It was a note beside `residual`, which asked for another mounting.
    """
    model = RobotModel.from_mdh(ur_table)
    robot = true_robot_of(model)
    robot.standard[3:, 11:13] *= 0.1
    one, two = (robot.record(seed, 10.0, rate=50.0, frequency=0.2) for seed in (1, 2))
    far = replace(two, tau=two.tau + corruptions.payload_torque(model, two, 0.4, (0.3, 0.2, 0.1)))
    (reason,) = check_training(problem_of(model, [one, far]), [one, far]).reasons
    assert reason.code == 'payload_mixed'
    assert not check_training(problem_of(model, [one, two]), [one, two]).reasons
