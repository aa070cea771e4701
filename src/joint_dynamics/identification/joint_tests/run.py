"""One test by name: its settings, what it takes from a description, and its result merged into that description."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from joint_dynamics.arm import Arm, apply_friction_scale
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.damping import DampingSettings, identify_damping
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.friction import FrictionSettings, identify_friction
from joint_dynamics.identification.joint_tests.hysteresis import HysteresisSettings, identify_hysteresis
from joint_dynamics.identification.joint_tests.inertia import InertiaSettings, identify_inertia
from joint_dynamics.identification.joint_tests.load import LoadSettings, identify_load
from joint_dynamics.identification.joint_tests.quadrants import identify_quadrants
from joint_dynamics.identification.joint_tests.result import JointTestResult
from joint_dynamics.identification.joint_tests.stiffness import StiffnessSettings, identify_stiffness
from joint_dynamics.identification.joint_tests.temperature import TemperatureSettings, identify_temperature
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness
from joint_dynamics.settings import Settings, declarations, setting


@dataclass(frozen=True)
class JointSettings(Settings):
    """The section `joint` of a configuration: what all tests need, and a section for each test."""

    SECTION = 'joint'

    cutoff: float = setting(10.0, 'low-pass of position and torque', 'Hz', above=0)
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
        this joint's part of a dynamics description, where there is one: friction, maps and stiffness known already are
        taken off first.

    Raises
    ------
    JointDynamicsError
        For another test, without recordings, and where they lack what the test needs.
    """
    if not recordings:
        raise JointDynamicsError(f'{test}: expected at least one recording, found none')
    prior = JointPrior.of(recordings[0].joint, part or {})
    result = _run(test, recordings, settings, prior)
    result.warnings.extend(prior.remarks)
    return result


@dataclass(frozen=True)
class JointPrior:
    """What a description says of one joint, as its arm has it; None what it does not say."""

    friction: FrictionModel | None
    kinematic_error: PeriodicMap | None
    backlash: PeriodicMap | None
    stiffness: TorsionalStiffness | None
    rotor_inertia: float | None
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, joint: str, part: Mapping[str, Any]) -> JointPrior:
        """Return what `part` of a description says of a joint."""
        document = {'robot': {'joint_names': [joint]}, 'joints': {joint: apply_friction_scale(part)}}
        arm = Arm.of_joints(DynamicsDescription(document))
        # A test takes off what it needs of the friction model; these have no part in it.
        remarks = [f'{name}: not taken off' for name in arm.terms.names([joint])]
        if arm.validity is not None:
            remarks.append(f'joints.{joint}.validity: stays as it is; the test may have gone further')
        backlash = None if arm.backlash is None else arm.backlash.for_joint(0)
        if backlash is not None and backlash.tables[0].max() <= 2.0 * arm.backlash_deviation[0]:
            # A width that may be none is no unit for what is lost: its share would be divided by next to nothing.
            backlash = None
            remarks.append(f'joints.{joint}.backlash: within two deviations of zero, taken as not measured')
        return cls(
            arm.friction,
            None if arm.kinematic_error is None else arm.kinematic_error.for_joint(0),
            backlash,
            None
            if arm.stiffness is None
            else TorsionalStiffness(arm.stiffness.coefficients[0], arm.stiffness.reach[0]),
            float(arm.rotor_inertia[0]) if 'rotor_inertia' in part else None,
            tuple(remarks),
        )


def _run(test: str, recordings: Sequence[JointData], settings: Any, prior: JointPrior) -> JointTestResult:
    base, rotor = prior.friction, prior.rotor_inertia
    if test == 'friction':
        return identify_friction(recordings, settings, base)
    if test == 'load' and settings.form == 'quadrants':
        return identify_quadrants(recordings, settings.dq_s)
    if test == 'load':
        return identify_load(recordings, settings, base)
    if test == 'temperature':
        return identify_temperature(recordings, settings, base)
    if test == 'hysteresis':
        return identify_hysteresis(recordings, settings, base, prior.stiffness)
    if test == 'stiffness':
        if settings.rotor_inertia is None and rotor is not None:
            settings = replace(settings, rotor_inertia=rotor)
        return identify_stiffness(recordings, settings, base, prior.kinematic_error, prior.backlash)
    if test == 'damping':
        if settings.inertia is None and rotor is not None:
            settings = replace(settings, inertia=rotor)
        return identify_damping(recordings, settings)
    if test == 'inertia':
        return identify_inertia(recordings, settings)
    raise JointDynamicsError(f'expected a test of {", ".join(TESTS)}, found {test!r}')


def merged_description(
    joint_names: Sequence[str], result: JointTestResult, description: DynamicsDescription | None
) -> tuple[DynamicsDescription, list[str]]:
    """Put a test's result into a description, or into a new one that holds nothing else; return it with warnings.

    A friction part that lacks the Coulomb level (a load or temperature test without a friction test before) cannot
    stand alone: it is left out, with a warning. What was measured is the friction as it is now: the
    present α of the description goes into its parameters, and is nominal afterwards (`arm.apply_friction_scale`).
    """
    if description is None:
        document: dict[str, Any] = {
            'robot': {'joint_names': list(joint_names)},
            'joints': {name: {} for name in joint_names},
        }
    else:
        document = copy.deepcopy(description.document)
    if result.joint not in document['joints']:
        raise JointDynamicsError(
            f'dynamics description: expected the joint {result.joint}, found {", ".join(document["joints"])}'
        )
    part, warnings = document['joints'][result.joint], []
    for key, value in result.document.items():
        if key != 'friction':
            part[key] = value
            continue
        friction = merge(apply_friction_scale(part).get('friction', {}), value)
        if 'quadrants' in friction and 'quadrants' not in value:
            warnings.append(
                f'joints.{result.joint}.friction.quadrants: still stand in the place of Coulomb and viscous friction'
            )
        if 'F_C0' in friction.get('parameters', {}):
            part['friction'] = friction
        else:
            warnings.append(
                'the friction is not in dynamics.yaml: it needs a Coulomb level; run the friction test first and'
                ' give its dynamics.yaml with --description'
            )
    return DynamicsDescription(document), warnings


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings merged field by field; the new value wins."""
    merged = dict(old)
    for key, value in new.items():
        merged[key] = (
            merge(old[key], value)
            if isinstance(value, Mapping) and isinstance(old.get(key), Mapping) and key != 'maxwell_slip'
            else value
        )
    return merged
