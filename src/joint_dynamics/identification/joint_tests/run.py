"""One test by name: its settings, what it takes from a description, and its result merged into that description."""
from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.joint_tests.damping import DampingSettings, identify_damping
from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.friction import FrictionSettings, identify_friction
from joint_dynamics.identification.joint_tests.hysteresis import HysteresisSettings, identify_hysteresis
from joint_dynamics.identification.joint_tests.inertia import InertiaSettings, identify_inertia
from joint_dynamics.identification.joint_tests.load import LoadSettings, identify_load
from joint_dynamics.identification.joint_tests.load_quadrants import identify_quadrants
from joint_dynamics.identification.joint_tests.result import TestResult
from joint_dynamics.identification.joint_tests.settings import settings_from
from joint_dynamics.identification.joint_tests.stiffness import StiffnessSettings, identify_stiffness
from joint_dynamics.identification.joint_tests.temperature import TemperatureSettings, identify_temperature
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness

SETTINGS: dict[str, type] = {
    'stiffness': StiffnessSettings, 'friction': FrictionSettings, 'load': LoadSettings, 'temperature': TemperatureSettings,
    'hysteresis': HysteresisSettings, 'damping': DampingSettings, 'inertia': InertiaSettings}
TESTS = tuple(SETTINGS)
GENERAL = ('cutoff', 'drive_gains')


def test_settings(test: str, config: Mapping[str, Any]) -> Any:
    """Settings of one test from the section `joint` of a configuration; the other tests' parts are checked too. Raises JointDynamicsError."""
    if test not in SETTINGS:
        raise JointDynamicsError(f'expected a test of {", ".join(TESTS)}, found {test!r}')
    for name in config:
        if name not in SETTINGS and name not in GENERAL:
            raise JointDynamicsError(f'joint.{name}: expected one of {", ".join((*GENERAL, *TESTS))}')
    built: dict[str, Any] = {name: settings_from(cls, config.get(name, {}), f'joint.{name}') for name, cls in SETTINGS.items()}
    return built[test]


def run_test(test: str, recordings: Sequence[JointData], settings: Any, part: Mapping[str, Any] | None = None) -> TestResult:
    """Run one test on the recordings of one joint.

    part  this joint's part of a dynamics description, where there is one: friction, maps and stiffness known already are taken off first.
    """
    if not recordings:
        raise JointDynamicsError(f'{test}: expected at least one recording')
    part = part or {}
    base = _friction(part)
    error = None if 'kinematic_error' not in part else PeriodicMap.from_dict(part['kinematic_error'])
    stiffness = None if 'stiffness' not in part else TorsionalStiffness.from_dict(part['stiffness'])
    rotor = part.get('rotor_inertia', {}).get('value')
    if test == 'friction':
        return identify_friction(recordings, settings, base)
    if test == 'load' and settings.form == 'quadrants':
        return identify_quadrants(recordings, settings.dq_s)
    if test == 'load':
        return identify_load(recordings, settings, base)
    if test == 'temperature':
        return identify_temperature(recordings, settings, base)
    if test == 'hysteresis':
        return identify_hysteresis(recordings, settings, base, stiffness)
    if test == 'stiffness':
        if settings.rotor_inertia is None and rotor is not None:
            settings = replace(settings, rotor_inertia=rotor)
        backlash = None if 'backlash' not in part else PeriodicMap.from_dict(part['backlash'])
        return identify_stiffness(recordings, settings, base, error, backlash)
    if test == 'damping':
        if settings.inertia is None and rotor is not None:
            settings = replace(settings, inertia=rotor)
        return identify_damping(recordings, settings)
    if test == 'inertia':
        return identify_inertia(recordings, settings)
    raise JointDynamicsError(f'expected a test of {", ".join(TESTS)}, found {test!r}')


test_settings.__test__ = False  # type: ignore[attr-defined]  # not a test case of pytest, whatever its name


def _friction(part: Mapping[str, Any]) -> FrictionModel | None:
    if 'friction' not in part:
        return None
    return FrictionModel.from_dict(part['friction'], part.get('kinematic_error'))


def merged_description(joint_names: Sequence[str], result: TestResult, description: DynamicsDescription | None) -> DynamicsDescription:
    """Put a test's result into a description, or into a new one that holds nothing else.

    A friction part that lacks the Coulomb level (a load or temperature test without a friction test before) cannot stand alone: it is left out,
    with a warning on the result.
    """
    if description is None:
        document: dict[str, Any] = {'robot': {'joint_names': list(joint_names)}, 'joints': {name: {} for name in joint_names}}
    else:
        document = copy.deepcopy(description.document)
    if result.joint not in document['joints']:
        raise JointDynamicsError(f'dynamics description: expected the joint {result.joint}, found {", ".join(document["joints"])}')
    part = document['joints'][result.joint]
    for key, value in result.document.items():
        if key != 'friction':
            part[key] = value
            continue
        friction = merge(part.get('friction', {}), value)
        if 'F_C0' in friction.get('parameters', {}):
            part['friction'] = friction
        else:
            result.warnings.append('the friction found is not in dynamics.yaml: it needs a Coulomb level; run the friction test first and give its '
                                   'dynamics.yaml with --description')
    return DynamicsDescription(document)


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings merged field by field; the new value wins."""
    merged = dict(old)
    for key, value in new.items():
        merged[key] = merge(old[key], value) if isinstance(value, Mapping) and isinstance(old.get(key), Mapping) and key != 'maxwell_slip' else value
    return merged
