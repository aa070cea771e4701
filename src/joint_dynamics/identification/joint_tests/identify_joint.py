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

"""One joint's physics from a dedicated test: from recordings of the robot to a result and a description.

Each test has a name and its settings. Known parts of the description are subtracted, and the result is merged into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm, apply_friction_scale
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.friction import FrictionSettings, identify_friction
from joint_dynamics.identification.joint_tests.hysteresis import HysteresisSettings, identify_hysteresis
from joint_dynamics.identification.joint_tests.load_temperature import (
    LoadSettings,
    TemperatureSettings,
    identify_load,
    identify_temperature,
)
from joint_dynamics.identification.joint_tests.oscillation import (
    DampingSettings,
    InertiaSettings,
    identify_damping,
    identify_inertia,
)
from joint_dynamics.identification.joint_tests.result import JointTestResult
from joint_dynamics.identification.joint_tests.stiffness import StiffnessSettings, identify_stiffness
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import Settings, declarations, refusal, setting


@dataclass(frozen=True)
class JointSettings(Settings):
    """The section `joint` of a configuration: common settings, and a section for each test."""

    SECTION = 'joint'

    cutoff: float = setting(10.0, 'low-pass of position and torque', 'Hz', lower=0.01, upper=10_000)
    drive_gains: Mapping[str, float] = setting({}, 'joint torque per current, by joint', 'N·m/A')
    stiffness: StiffnessSettings = setting(StiffnessSettings(), 'stiffness of the transmission')
    friction: FrictionSettings = setting(FrictionSettings(), 'friction over speed')
    load: LoadSettings = setting(LoadSettings(), 'friction over load')
    temperature: TemperatureSettings = setting(TemperatureSettings(), 'friction over temperature')
    hysteresis: HysteresisSettings = setting(HysteresisSettings(), 'backlash, kinematic error, presliding')
    damping: DampingSettings = setting(DampingSettings(), 'damping of the transmission')
    inertia: InertiaSettings = setting(InertiaSettings(), 'inertia by a virtual spring')


TESTS = tuple(name for name in declarations(JointSettings) if name not in ('cutoff', 'drive_gains'))


def run_test(
    test: str, recordings: Sequence[JointData], settings: Any, part: Mapping[str, Any] | None = None
) -> JointTestResult:
    """Run one test on the recordings of one joint.

    Parameters
    ----------
    test
        its name, one of `TESTS`.
    recordings
        the joint's signals, of each recording.
    settings
        of this test.
    part
        of a dynamics description, for this joint: its friction, maps and stiffness are subtracted first.

    Raises
    ------
    JointDynamicsError
        For a missing signal or setting.
    NotReliableError
        For data that do not determine the result.
    """
    prior = JointPrior.of(recordings[0].joint, part or {})
    if test == 'damping' and settings.inertia is None:
        settings = replace(settings, inertia=prior.rotor_inertia)
    base = prior.friction
    by_test: dict[str, Callable[[], JointTestResult]] = {
        'stiffness': lambda: identify_stiffness(recordings, settings, base, prior.kinematic_error, prior.backlash),
        'friction': lambda: identify_friction(recordings, settings, base),
        'load': lambda: identify_load(recordings, settings, base),
        'temperature': lambda: identify_temperature(recordings, settings, base),
        'hysteresis': lambda: identify_hysteresis(recordings, settings, base, prior.stiffness),
        'damping': lambda: identify_damping(recordings, settings),
        'inertia': lambda: identify_inertia(recordings, settings),
    }
    result = by_test[test]()
    result.warnings.extend(prior.remarks)
    return result


@dataclass(frozen=True)
class JointPrior:
    """Description of one joint, in the units of its arm; None: not described."""

    friction: FrictionModel | None
    kinematic_error: PeriodicMap | None
    backlash: PeriodicMap | None
    stiffness: TorsionalStiffness | None
    rotor_inertia: float | None
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, joint: str, part: Mapping[str, Any]) -> JointPrior:
        """Return the prior of one joint from its `part` of a description."""
        document = {'robot': {'joint_names': [joint]}, 'joints': {joint: apply_friction_scale(part)}}
        arm = Arm.of_joints(DynamicsDescription(document))
        # Tests subtract the friction model only, not the further terms.
        remarks = [f'{name}: not subtracted' for name in arm.terms.names([joint])]
        if arm.validity is not None:
            remarks.append(f'joints.{joint}.validity: unchanged; although the test may exceed it')
        maps, described = (arm.kinematic_error, arm.backlash), arm.stiffness
        error, backlash = (None if table is None else table.for_joint(0) for table in maps)
        if backlash is not None and backlash.tables[0].max() <= 2.0 * arm.backlash_deviation[0]:
            # The lost motion is a share of the width: a width of about zero gives no usable unit.
            backlash = None
            remarks.append(f'joints.{joint}.backlash: within two deviations of zero, ignored')
        return cls(
            arm.friction,
            error,
            backlash,
            None if described is None else TorsionalStiffness(described.coefficients[0], described.reach[0]),
            float(arm.rotor_inertia[0]) if 'rotor_inertia' in part else None,
            tuple(remarks),
        )


def merged_description(
    joint_names: Sequence[str], result: JointTestResult, description: DynamicsDescription | None
) -> tuple[DynamicsDescription, list[str]]:
    """Put a test's result into a description, or into a new one of `joint_names` alone; return it with warnings.

    A friction part without Coulomb level (of a load or temperature test without a friction test before) is omitted,
    with a warning. The recordings show the present friction: the α of the description is multiplied into its
    parameters, and nominal afterwards (`arm.apply_friction_scale`).

    Raises
    ------
    JointDynamicsError
        Where the description has no such joint.
    """
    bare = {'robot': {'joint_names': list(joint_names)}, 'joints': {name: {} for name in joint_names}}
    merged = DynamicsDescription(bare if description is None else description.document)
    part, warnings = merged.joint(result.joint), []
    for key, value in result.document.items():
        if key != 'friction':
            part[key] = value
            continue
        friction = merge(apply_friction_scale(part).get('friction', {}), value)
        if 'quadrants' in friction and 'quadrants' not in value:
            warnings.append(f'joints.{result.joint}.friction.quadrants: still replace Coulomb and viscous friction')
        if 'F_C0' in friction.get('parameters', {}):
            part['friction'] = friction
        else:
            warnings.append(
                'the friction is not in dynamics.yaml: it has no Coulomb level; run the friction test first and give'
                ' its dynamics.yaml with --description'
            )
    return DynamicsDescription(merged.document), warnings


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return two mappings merged field by field; the new value wins, and Maxwell-slip is replaced as a whole."""
    merged = dict(old)
    for key, value in new.items():
        merged[key] = (
            merge(old[key], value)
            if isinstance(value, Mapping) and isinstance(old.get(key), Mapping) and key != 'maxwell_slip'
            else value
        )
    return merged


STILL = 0.05  # largest travel of a joint at rest, as a share of the largest travel of all joints


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
        whose rigid-body torque is subtracted, unless the recordings have a load torque; None: that of `description`,
        or none.
    description
        of earlier tests: its part of the joint is subtracted, and the result is added to a copy of it.
    settings
        of all tests (section `joint` of a configuration).

    Returns
    -------
    JointTestResult
        values with deviations and units, `reasons` where it is not reliable, and the `description`.

    Raises
    ------
    JointDynamicsError
        For recordings, robot and description that do not fit together, and for a missing signal or setting.
    NotReliableError
        For data that do not determine the result.
    """
    if test not in TESTS:
        raise refusal('test', f'one of {", ".join(TESTS)}', test)
    recordings = [recordings] if isinstance(recordings, Recording) else list(recordings)
    if not recordings:
        raise JointDynamicsError(f'{test}: expected at least one recording, found none')
    settings = settings if isinstance(settings, JointSettings) else JointSettings.from_mapping(settings)
    joint = joint or moving_joint(recordings)
    arm = None if robot is None else Arm(robot)
    if description is not None and (robot is not None or 'inertial' in description.document):
        arm = Arm.from_description(robot, description)
    part: Mapping[str, Any] = {} if description is None else description.joint(joint)
    gains = settings.drive_gains
    if joint not in gains and 'drive_gain' in part:
        gains = {joint: float(part['drive_gain']['value'])}
    data = [
        joint_data(recording, joint, drive_gains=gains, arm=arm, cutoff=settings.cutoff) for recording in recordings
    ]
    result = run_test(test, data, getattr(settings, test), part)
    names = recordings[0].joint_names if arm is None else arm.joint_names
    merged, left_out = merged_description(names, result, description)
    return replace(result, warnings=[*result.warnings, *left_out], merged=merged)


def moving_joint(recordings: Sequence[Recording]) -> str:
    """Return the only joint that moves in recordings of the same joints.

    Raises
    ------
    JointDynamicsError
        Where none or several move.
    """
    names = recordings[0].joint_names
    travel = np.max([np.ptp(recording.q, axis=0) for recording in recordings], axis=0)
    moving = [name for name, span in zip(names, travel, strict=True) if span > STILL * max(travel.max(), 1e-9)]
    if len(names) > 1 and len(moving) != 1:
        raise JointDynamicsError(
            f'joint under test: expected one moving joint, found {len(moving)}: {", ".join(moving)}; name it (on the '
            'command line with --joint)'
        )
    return names[0] if len(names) == 1 else moving[0]
