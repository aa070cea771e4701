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

"""`joint-dynamics calibrate` for a simulated robot, beside its nodes: the one place of its arguments in launch files.

A real robot is calibrated by hand, as the command asks before it moves.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.conditions import IfCondition
from launch.substitutions import IfElseSubstitution, LaunchConfiguration, NotEqualsSubstitution

from joint_dynamics.python_process import module_command

WAIT = 600  # s, longest start of the nodes on a busy machine


def generate_launch_description():
    """Return the arguments, and the command where a folder is given; it moves the robot without a question."""
    words = ['calibrate', '--yes', '--wait', str(WAIT), '--out', LaunchConfiguration('calibrate_into')]
    # --yes once more where there is nothing else to say: an empty word would be an argument
    sim_time = IfElseSubstitution(LaunchConfiguration('use_sim_time'), '--sim-time', '--yes')
    namespace = ['--namespace=', LaunchConfiguration('namespace', default='')]
    config = ['--config=', LaunchConfiguration('calibrate_config')]
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'calibrate_into',
                default_value='',
                description='new folder: the robot is calibrated into it at once, and moves; empty: it is not',
            ),
            DeclareLaunchArgument(
                'calibrate_config', default_value='', description='YAML with settings of that calibration'
            ),
            ExecuteProcess(
                cmd=[*module_command('joint_dynamics.cli.main'), *words, sim_time, namespace, config],
                name='calibrate',
                output='both',
                condition=IfCondition(NotEqualsSubstitution(LaunchConfiguration('calibrate_into'), '')),
            ),
        ]
    )
