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

"""joint_dynamics: joint dynamics of robot arms - identify, estimate, excite, feed forward (ROS 2).

    from joint_dynamics import Recording, RobotModel, identify

The names of `__all__` are what programs may build on. Each is imported when it is first asked for (PEP 562), so that
the command line starts without numpy; every folder exports what else it has.
"""

import os
import sys

if sys.argv[:1] == ['-m'] and 'joint_dynamics' in sys.orig_argv[-len(sys.argv)]:
    # `python -m` is looking for a module of this package, with the working folder first on the path: a struct.py or
    # rclpy.py there would be executed. What PYTHONPATH names is the user's own.
    _given = {part for part in os.environ.get('PYTHONPATH', '').split(os.pathsep) if part}
    sys.path[:] = [folder for folder in sys.path if folder in _given or folder not in ('', os.getcwd())]

from importlib import import_module
from typing import TYPE_CHECKING, Any

from joint_dynamics.version import __version__

if TYPE_CHECKING:
    from joint_dynamics.arm import Arm as Arm
    from joint_dynamics.control import FillSettings as FillSettings
    from joint_dynamics.control import fill_effort as fill_effort
    from joint_dynamics.description import DynamicsDescription as DynamicsDescription
    from joint_dynamics.description import export as export
    from joint_dynamics.description import export_urdf as export_urdf
    from joint_dynamics.errors import JointDynamicsError as JointDynamicsError
    from joint_dynamics.estimation import EstimationSession as EstimationSession
    from joint_dynamics.estimation import EstimationSettings as EstimationSettings
    from joint_dynamics.estimation import FrictionEstimator as FrictionEstimator
    from joint_dynamics.estimation import PayloadEstimator as PayloadEstimator
    from joint_dynamics.estimation import StiffnessEstimator as StiffnessEstimator
    from joint_dynamics.excitation import ExcitationResult as ExcitationResult
    from joint_dynamics.excitation import ExcitationSettings as ExcitationSettings
    from joint_dynamics.excitation import LimitSettings as LimitSettings
    from joint_dynamics.excitation import optimise as optimise
    from joint_dynamics.identification import IdentificationResult as IdentificationResult
    from joint_dynamics.identification import IdentificationSettings as IdentificationSettings
    from joint_dynamics.identification import identify as identify
    from joint_dynamics.identification import validate_description as validate_description
    from joint_dynamics.identification.joint_tests.identify_joint import JointSettings as JointSettings
    from joint_dynamics.identification.joint_tests.identify_joint import identify_joint as identify_joint
    from joint_dynamics.identification.joint_tests.result import JointTestResult as JointTestResult
    from joint_dynamics.joint import FrictionModel as FrictionModel
    from joint_dynamics.joint import MaxwellSlip as MaxwellSlip
    from joint_dynamics.joint import TorsionalStiffness as TorsionalStiffness
    from joint_dynamics.recording import Recording as Recording
    from joint_dynamics.recording import RecordingBuilder as RecordingBuilder
    from joint_dynamics.recording import RecordingSettings as RecordingSettings
    from joint_dynamics.robot import BaseParameters as BaseParameters
    from joint_dynamics.robot import RobotModel as RobotModel

#: Folder -> the names it exports, in the order of the workflow, as in docs/reference/python.md.
_EXPORTED_BY = {
    'robot': ('RobotModel', 'BaseParameters'),
    'recording': ('Recording', 'RecordingBuilder', 'RecordingSettings'),
    'excitation': ('optimise', 'ExcitationSettings', 'LimitSettings', 'ExcitationResult'),
    'identification': ('identify', 'IdentificationSettings', 'IdentificationResult', 'validate_description'),
    'identification.joint_tests.identify_joint': ('identify_joint', 'JointSettings'),
    'identification.joint_tests.result': ('JointTestResult',),
    'description': ('DynamicsDescription', 'export', 'export_urdf'),
    'arm': ('Arm',),
    'joint': ('FrictionModel', 'MaxwellSlip', 'TorsionalStiffness'),
    'estimation': (
        'EstimationSession',
        'EstimationSettings',
        'FrictionEstimator',
        'PayloadEstimator',
        'StiffnessEstimator',
    ),
    'control': ('FillSettings', 'fill_effort'),
    'errors': ('JointDynamicsError',),
}
_HOME = {name: f'joint_dynamics.{folder}' for folder, names in _EXPORTED_BY.items() for name in names}

__all__ = [*_HOME, '__version__']


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
