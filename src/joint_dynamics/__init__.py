"""joint_dynamics: what the joints of a robot arm really do - identify, estimate, excite, feed forward (ROS 2).

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
    from joint_dynamics.arm import Arm
    from joint_dynamics.control import ControlLoop, LoopSettings, fill_effort
    from joint_dynamics.description import DynamicsDescription, export, export_urdf, pinocchio_model
    from joint_dynamics.errors import JointDynamicsError
    from joint_dynamics.estimation import (
        EstimationSession,
        EstimationSettings,
        FrictionEstimator,
        MomentumObserver,
        PayloadEstimator,
        StiffnessEstimator,
    )
    from joint_dynamics.excitation import ExcitationResult, ExcitationSettings, LimitSettings, optimise
    from joint_dynamics.identification import (
        IdentificationResult,
        IdentificationSettings,
        identify,
        validate_description,
    )
    from joint_dynamics.identification.joint_tests.identify_joint import JointSettings, identify_joint
    from joint_dynamics.identification.joint_tests.result import JointTestResult
    from joint_dynamics.joint import FrictionModel, MaxwellSlip, TorsionalStiffness
    from joint_dynamics.recording import Recording, RecordingBuilder, RecordingSettings
    from joint_dynamics.robot import BaseParameters, RobotModel

_EXPORTED_BY = {
    'arm': ('Arm',),
    'control': ('ControlLoop', 'LoopSettings', 'fill_effort'),
    'description': ('DynamicsDescription', 'export', 'export_urdf', 'pinocchio_model'),
    'errors': ('JointDynamicsError',),
    'estimation': (
        'EstimationSession',
        'EstimationSettings',
        'FrictionEstimator',
        'MomentumObserver',
        'PayloadEstimator',
        'StiffnessEstimator',
    ),
    'excitation': ('ExcitationResult', 'ExcitationSettings', 'LimitSettings', 'optimise'),
    'identification': ('IdentificationResult', 'IdentificationSettings', 'identify', 'validate_description'),
    'identification.joint_tests.identify_joint': ('JointSettings', 'identify_joint'),
    'identification.joint_tests.result': ('JointTestResult',),
    'joint': ('FrictionModel', 'MaxwellSlip', 'TorsionalStiffness'),
    'recording': ('Recording', 'RecordingBuilder', 'RecordingSettings'),
    'robot': ('BaseParameters', 'RobotModel'),
}
_HOME = {name: f'joint_dynamics.{folder}' for folder, names in _EXPORTED_BY.items() for name in names}

__all__ = [  # noqa: RUF022  (in the order of the workflow, as in docs/reference/python.md)
    'RobotModel',
    'BaseParameters',
    'Recording',
    'RecordingBuilder',
    'RecordingSettings',
    'optimise',
    'ExcitationSettings',
    'LimitSettings',
    'ExcitationResult',
    'identify',
    'IdentificationSettings',
    'IdentificationResult',
    'validate_description',
    'identify_joint',
    'JointSettings',
    'JointTestResult',
    'DynamicsDescription',
    'export',
    'export_urdf',
    'pinocchio_model',
    'Arm',
    'FrictionModel',
    'MaxwellSlip',
    'TorsionalStiffness',
    'EstimationSession',
    'EstimationSettings',
    'FrictionEstimator',
    'MomentumObserver',
    'PayloadEstimator',
    'StiffnessEstimator',
    'ControlLoop',
    'LoopSettings',
    'fill_effort',
    'JointDynamicsError',
    '__version__',
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
