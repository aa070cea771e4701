"""One joint's physics from a test made for it: from recordings of the robot to a result and a description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.data import joint_data
from joint_dynamics.identification.joint_tests.result import JointTestResult
from joint_dynamics.identification.joint_tests.run import TESTS, JointSettings, merged_description, run_test
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import refusal

__all__ = ['JointSettings', 'JointTestResult', 'identify_joint', 'moving_joint']

STILL = 0.05
"""A joint that travels less than this share of the one that travels most does not count as moving."""


def identify_joint(
    test: str,
    recordings: Recording | Sequence[Recording],
    joint: str | None = None,
    *,
    robot: RobotModel | None = None,
    description: DynamicsDescription | None = None,
    settings: JointSettings | Mapping[str, Any] | None = None,
) -> JointTestResult:
    """Identify stiffness, friction, load, temperature, hysteresis, damping or inertia of one joint.

    Parameters
    ----------
    test
        which of these.
    recordings
        of a motion made for the test (docs/reference/commands/identify-joint.md).
    joint
        its name; None: the only one that moves.
    robot
        whose rigid-body torque is taken off, unless the recordings have a load torque of their own; None: as
        `description` has it, or none.
    description
        of earlier tests: what it says of the joint is taken off, and the result is added to a copy of it.
    settings
        of all tests (section `joint` of a configuration).

    Returns
    -------
    JointTestResult
        values with deviations and units, `reasons` where it is not reliable, and the `description`.

    Raises
    ------
    JointDynamicsError
        Where recordings, robot and description do not fit together or lack what the test needs.
    NotReliableError
        Where the recordings do not show what the test identifies.
    """
    if test not in TESTS:
        raise refusal('test', f'one of {", ".join(TESTS)}', test)
    recordings = [recordings] if isinstance(recordings, Recording) else list(recordings)
    if not recordings:
        raise JointDynamicsError(f'{test}: expected at least one recording, found none')
    settings = settings if isinstance(settings, JointSettings) else JointSettings.from_mapping(settings)
    joint = joint or moving_joint(recordings)
    arm, unused = _arm(robot, description)
    part: Mapping[str, Any] = {} if description is None else description.joint(joint)
    gains = settings.drive_gains
    if joint not in gains and 'drive_gain' in part:
        gains = {joint: float(part['drive_gain']['value'])}
    data = [
        joint_data(recording, joint, drive_gains=gains if joint in gains else None, arm=arm, cutoff=settings.cutoff)
        for recording in recordings
    ]
    result = run_test(test, data, getattr(settings, test), part)
    names = recordings[0].joint_names if arm is None else arm.joint_names
    merged, left_out = merged_description(names, result, description)
    return replace(result, warnings=[*unused, *result.warnings, *left_out], merged=merged)


def moving_joint(recordings: Sequence[Recording]) -> str:
    """Return the only joint that moves in recordings of the same joints.

    Raises
    ------
    JointDynamicsError
        Where it is not one.
    """
    names = recordings[0].joint_names
    travel = np.max([np.ptp(recording.q, axis=0) for recording in recordings], axis=0)
    moving = [name for name, span in zip(names, travel, strict=True) if span > STILL * max(travel.max(), 1e-9)]
    if len(names) > 1 and len(moving) != 1:
        raise JointDynamicsError(
            f'joint under test: expected one that moves, found {len(moving)}: {", ".join(moving)} (name it; on the '
            'command line with --joint)'
        )
    return names[0] if len(names) == 1 else moving[0]


def _arm(robot: RobotModel | None, description: DynamicsDescription | None) -> tuple[Arm | None, list[str]]:
    """Return the arm whose link torque is taken off, and a note on what of the description it does not use.

    As it was described before, else as the URDF has it; None where neither robot nor inertial parameters are known.
    """
    if description is None:
        return None if robot is None else Arm(robot), []
    if robot is None:
        return Arm.from_description(None, description) if 'inertial' in description.document else None, []
    description.check_robot(robot)
    missing = [name for name in robot.joint_names if name not in description.joint_names]
    if not missing:
        return Arm.from_description(robot, description), []
    unused = [key for key in ('inertial', 'payload', 'mounting') if key in description.document]
    note = f'{", ".join(unused)} of the description not used: it does not have {", ".join(missing)} of the robot'
    return Arm(robot), [note] if unused else []
