"""What a dynamics description may hold: one table of fields, and the check of a document against it.

Every refusal names the path of the field, what was expected there and what was found.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.regressor import INERTIAL

FORMAT = 'joint_dynamics'
VERSION = 1
#: Greatest magnitude of a number; the largest a description is known to hold are stiffnesses of 1e9 N·m/rad³ and their squares.
MAX_NUMBER = 1e30
#: Most operators of a Maxwell-slip model.
MAX_OPERATORS = 100

Check = Callable[[Any, str], None]


def fail(path: str, expected: str, found: Any) -> None:
    """Raise the one error of this module."""
    text = repr(found)[:200]
    raise JointDynamicsError(f'dynamics description: {path}: expected {expected}, found {text if len(text) < 80 else text[:77] + "..."}')


def number(value: Any, path: str) -> None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MAX_NUMBER <= value <= MAX_NUMBER:
        large = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float('inf')
        fail(path, f'a number of at most {MAX_NUMBER:g}' if large else 'a finite number', value)


def positive(value: Any, path: str) -> None:
    """A finite number above 0."""
    number(value, path)
    if value <= 0:
        fail(path, 'a number above 0', value)


def optional_number(value: Any, path: str) -> None:
    """A finite number or null."""
    if value is not None:
        number(value, path)


def text(value: Any, path: str) -> None:
    """A string."""
    if not isinstance(value, str):
        fail(path, 'text', value)


def optional_text(value: Any, path: str) -> None:
    """A string or null."""
    if value is not None:
        text(value, path)


def anything_plain(value: Any, path: str) -> None:
    """Any tree of mappings, lists, text, booleans, nulls and finite numbers."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            anything_plain(item, f'{path}.{key}')
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            anything_plain(item, f'{path}[{index}]')
    elif value is not None and not isinstance(value, (str, bool)):
        number(value, path)


def list_of(check: Check, length: int | None = None) -> Check:
    """A list whose items pass `check`."""
    def run(value: Any, path: str) -> None:
        if not isinstance(value, (list, tuple)) or (length is not None and len(value) != length):
            fail(path, 'a list' if length is None else f'a list of {length}', value)
        for index, item in enumerate(value):
            check(item, f'{path}[{index}]')
    return run


def record(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """A mapping with exactly these fields."""
    def run(value: Any, path: str) -> None:
        if not isinstance(value, Mapping):
            fail(path, f'a mapping with {", ".join(required) or ", ".join(optional or {})}', value)
        known = {**required, **(optional or {})}
        prefix = f'{path}.' if path else ''
        for key in value:
            if key not in known:
                fail(f'{prefix}{key}', f'one of {", ".join(known)}', 'this unknown field')
        for key in required:
            if key not in value:
                fail(f'{prefix}{key}', 'this field', 'nothing')
        for key, item in value.items():
            known[key](item, f'{prefix}{key}')
    return run


def mapping_of(check: Check) -> Check:
    """A mapping from any name to what passes `check`."""
    def run(value: Any, path: str) -> None:
        if not isinstance(value, Mapping):
            fail(path, 'a mapping', value)
        for key, item in value.items():
            check(item, f'{path}.{key}')
    return run


def operators(value: Any, path: str) -> None:
    """A number of Maxwell-slip operators."""
    if type(value) is not int or not 1 <= value <= MAX_OPERATORS:
        fail(path, f'a whole number from 1 to {MAX_OPERATORS}', value)


def _row(value: Any, path: str) -> None:
    list_of(number)(value, path)
    if not 1 <= len(value) <= MAX_OPERATORS:
        fail(path, f'1 to {MAX_OPERATORS} numbers', value)


SLIP = record({}, {'operators': operators, 'r_Delta': positive, 'r_k': positive, 'limits': _row, 'stiffness': _row})


def _friction(value: Any, path: str) -> None:
    from joint_dynamics.joint import FrictionModel
    record({'parameters': mapping_of(number)}, {
        'standard_deviations': mapping_of(number), 'maxwell_slip': SLIP, 'directions': anything_plain, 'scale': list_of(number, 2),
        'quadrants': anything_plain, 'range': anything_plain, 'method': text})(value, path)
    try:
        FrictionModel.from_dict({key: item for key, item in value.items() if key != 'maxwell_slip'})
    except (JointDynamicsError, TypeError, LookupError, AttributeError, ValueError) as error:
        fail(path, 'a friction document (docs/joint_models.md)', str(error))


def _map(value: Any, path: str) -> None:
    from joint_dynamics.joint import PeriodicMap
    anything_plain(value, path)
    try:
        PeriodicMap.from_dict(value)
    except (JointDynamicsError, TypeError, LookupError, AttributeError, ValueError) as error:
        fail(path, 'a periodic map (docs/joint_models.md)', str(error))


def _stiffness(value: Any, path: str) -> None:
    record({'coefficients': list_of(number)}, {'standard_deviations': list_of(number), 'range': anything_plain, 'method': text})(value,
    path)
    if not value['coefficients']:
        fail(f'{path}.coefficients', 'at least one coefficient', value['coefficients'])


VALUE = record({'value': number}, {'std': optional_number, 'prior': number, 'unit': text, 'method': text})
LINK = record(dict.fromkeys(INERTIAL, number))
JOINT = record({}, {
    'drive_gain': VALUE, 'rotor_inertia': VALUE, 'friction': _friction, 'stiffness': _stiffness, 'damping': VALUE,
    'kinematic_error': _map, 'backlash': _map, 'temperature_range': list_of(number, 2), 'gear_ratio': VALUE,
    'terms': list_of(record({'document': anything_plain, 'values': list_of(number)}, {'std': list_of(optional_number)}))})
IDENTITY = record({'version': number, 'hash': text, 'joints': mapping_of(record({
    'type': text, 'offset': list_of(number, 3), 'rotation': list_of(number, 3), 'axis': list_of(number, 3)}, {
        'parent': optional_text, 'coupling': list_of(number)}))}, {'mass': number})
DOCUMENT = record({
    'format': text, 'version': number,
    'robot': record({'joint_names': list_of(text)}, {'name': text, 'urdf': text, 'mdh': anything_plain, 'identity': IDENTITY,
                                                     'locked': mapping_of(number),
                                                     'coupling': list_of(list_of(number))}),
    'joints': mapping_of(JOINT),
}, {
    'inertial': record({'standard': mapping_of(LINK)}, {
        'base': list_of(record({'name': text, 'expression': text, 'value': number}, {'std': optional_number})),
        'coupling': mapping_of(number)}),
    'mounting': list_of(list_of(number, 3), 3),
    'payload': record({'mass': VALUE, 'first_moments': list_of(number, 3)}, {'inertia': list_of(number, 6), 'std': list_of(optional_number)}),
    'provenance': anything_plain,
})


def validate(document: Any) -> None:
    """Check a whole document; raise JointDynamicsError with the path of the first field that is wrong."""
    if not isinstance(document, Mapping):
        raise JointDynamicsError(f'dynamics description: expected a mapping (YAML), found {type(document).__name__}')
    if document.get('format') != FORMAT:
        fail('format', repr(FORMAT), document.get('format'))
    if document.get('version') != VERSION:
        fail('version', f'{VERSION}', document.get('version'))
    DOCUMENT(document, '')
    names = list(document['robot']['joint_names'])
    if len(set(names)) != len(names) or not names:
        fail('robot.joint_names', 'at least one joint, each once', names)
    for section, present in (('joints', document['joints']), ('inertial.standard', document.get('inertial', {}).get('standard'))):
        if present is None:
            continue
        for name in names:
            if name not in present:
                fail(f'{section}.{name}', 'this joint of robot.joint_names', 'nothing')
        for name in present:
            if name not in names:
                fail(f'{section}.{name}', f'a joint of robot.joint_names ({", ".join(names)})', 'another one')
