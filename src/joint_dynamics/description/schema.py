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

"""Check of a dynamics description against its JSON Schema, `dynamics_description.schema.json` in this folder.

Editors complete and check `dynamics.yaml` with the same file. Checks beyond a schema are below. Every refusal names the
path of the field, the expectation and the value found. Documents of version 1 are migrated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joint_dynamics.documents import check_name
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Refused

if TYPE_CHECKING:
    from jsonschema import ValidationError

FORMAT = 'joint_dynamics'
VERSION = 2
SCHEMA_FILE = Path(__file__).with_name('dynamics_description.schema.json')
MAX_NUMBER = 1e30
"""Greatest magnitude of a number, as in the schema; the largest known are squares of 1e9 N·m/rad³."""
TYPES = {
    'number': 'a finite number', 'integer': 'a whole number', 'string': 'text', 'boolean': 'true or false',
    'array': 'a list', 'object': 'a mapping', 'null': 'null',
}  # fmt: skip


@cache
def schema() -> dict[str, Any]:
    """Return the JSON Schema of a description."""
    document = json.loads(SCHEMA_FILE.read_text(encoding='utf-8'))
    assert isinstance(document, dict)
    return document


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # a description made in Python may have tuples
    checker = Draft202012Validator.TYPE_CHECKER.redefine(
        'array', lambda _, value: isinstance(value, (list, tuple))
    ).redefine('object', lambda _, value: isinstance(value, Mapping))
    validator: Any = extend(Draft202012Validator, type_checker=checker)
    return validator(schema())


def fail(path: str, expected: str, found: Any) -> None:
    """Raise the one error of this module."""
    raise Refused(f'dynamics description: {path}', expected, found)


def validate(document: Any) -> None:
    """Check a whole document; raise JointDynamicsError with the path of the first field that is wrong."""
    if not isinstance(document, Mapping):
        raise JointDynamicsError(f'dynamics description: expected a mapping (YAML), found {type(document).__name__}')
    for key, wanted in (('format', FORMAT), ('version', VERSION)):
        if document.get(key) != wanted:
            fail(key, repr(wanted), document.get(key))
    _check_plain(document, '')
    error = next(iter(_validator().iter_errors(document)), None)
    if error is not None:
        _refuse(error)
    _check_names(document)
    for name, part in document['joints'].items():
        _check_joint(part, f'joints.{name}')


def _check_plain(value: Any, path: str) -> None:
    """Refuse everything but mappings with text as keys, lists, text, booleans, nulls and finite numbers."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            below = f'{path}.{key}' if path else str(key)
            if not isinstance(key, str):
                fail(below, 'text as the name of a field', key)
            _check_plain(item, below)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _check_plain(item, f'{path}[{index}]')
    elif value is not None and not isinstance(value, (str, bool)):
        # a whole number of YAML may be too large for a float
        if not isinstance(value, (int, float)) or value != value or value in (math.inf, -math.inf):
            fail(path, 'a finite number', value)
        if not -MAX_NUMBER <= value <= MAX_NUMBER:
            fail(path, f'a number of at most {MAX_NUMBER:g}', value)


def _refuse(error: ValidationError) -> None:
    """Raise the error of the schema in this package's form."""
    rule, wanted, found = str(error.validator), error.validator_value, error.instance
    path = ''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in error.absolute_path).lstrip('.')
    prefix = f'{path}.' if path else ''
    if rule == 'additionalProperties':
        known = error.schema['properties']
        unknown = next(key for key in found if key not in known)
        fail(f'{prefix}{unknown}', f'one of {", ".join(known)}', 'this unknown field')
    if rule == 'required':
        fail(f'{prefix}{next(key for key in wanted if key not in found)}', 'this field', 'nothing')
    expected: dict[str, Callable[[], str]] = {
        'type': lambda: ' or '.join(TYPES[each] for each in ([wanted] if isinstance(wanted, str) else wanted)),
        'enum': lambda: ' or '.join(map(str, wanted)),
        'anyOf': lambda: 'a finite number or null',
        'minItems': lambda: f'a list of {wanted} or more',
        'maxItems': lambda: f'a list of {wanted} at most',
        'minimum': lambda: f'a number of {wanted:g} or more',
        'exclusiveMinimum': lambda: f'a number above {wanted:g}',
        'maximum': lambda: f'a number of at most {wanted:g}',
    }
    fail(path, expected[rule](), found)


def _check_names(document: Mapping[str, Any]) -> None:
    """Check that joints and links are those of `robot.joint_names` and `robot.dependent_joints`."""
    names, dependent = (list(document['robot'].get(key, ())) for key in ('joint_names', 'dependent_joints'))
    if len(set(names + dependent)) != len(names + dependent):
        fail('robot.joint_names', 'at least one joint, each once, and none that is dependent', names)
    for name in names + dependent:
        check_name(name, 'dynamics description: robot.joint_names')
    for section, present, wanted in (
        ('joints', document['joints'], names),
        ('inertial.standard', document.get('inertial', {}).get('standard'), names + dependent),
    ):
        if present is None:
            continue
        for name in wanted:
            if name not in present:
                fail(f'{section}.{name}', 'this joint of robot.joint_names', 'nothing')
        for name in present:
            along = section == 'joints' and name in dependent and set(present[name]) == {'terms'}
            if name not in wanted and not along:
                fail(f'{section}.{name}', f'a joint of robot.joint_names ({", ".join(wanted)})', 'another one')


def _check_joint(part: Mapping[str, Any], path: str) -> None:
    """Check relations between the fields of a joint, and the documents of its laws by their readers."""
    from joint_dynamics.joint import FrictionModel

    friction, stiffness, backlash = (part.get(key) for key in ('friction', 'stiffness', 'backlash'))
    if friction is not None:
        _check_map(friction.get('maxwell_slip', {}).get('presliding'), f'{path}.friction.maxwell_slip.presliding')
        _read_by(FrictionModel.from_dict, 'a friction document', friction, f'{path}.friction')
    for key in ('kinematic_error', 'backlash'):
        _check_map(part.get(key), f'{path}.{key}')
    for key, interval in (
        ('stiffness.range', (stiffness or {}).get('range')),
        ('validity.temperature', part.get('validity', {}).get('temperature')),
    ):
        if interval is not None and interval[0] > interval[1]:
            fail(f'{path}.{key}', 'the lower number first', interval)
    if stiffness is not None and not any(stiffness.get('range', [1.0])):
        fail(f'{path}.stiffness.range', 'a range of deformation', stiffness['range'])
    shares = (backlash or {}).get('load_shares')
    if shares is not None and not abs(sum(shares) - 1.0) <= 1e-6:
        fail(f'{path}.backlash.load_shares', 'shares whose sum is 1', shares)


def _check_map(value: Any, path: str) -> None:
    from joint_dynamics.joint import PeriodicMap

    if isinstance(value, Mapping):
        _read_by(PeriodicMap.from_dict, 'a periodic map', value, path)


def _read_by(read: Callable[[Any], Any], what: str, value: Any, path: str) -> None:
    try:
        read(value)
    except (JointDynamicsError, TypeError, LookupError, ValueError, AttributeError) as error:
        fail(path, f'{what} (docs/reference/joint_models.md)', str(error))


def migrated(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of version 1 as one of this version; any other as it is.

    Version 1 kept the length over which the Maxwell-slip operators slip in `backlash`, whether that was measured or
    not. It is now `friction.maxwell_slip.presliding`. What identification of a robot wrote there (two operators, the
    first of a ten-thousandth) was such a length only, and is no backlash any more; a backlash that `identify-joint`
    measured stays one.
    """
    if document.get('version') != 1 or not isinstance(document.get('joints'), Mapping):
        return dict(document)
    joints = {name: dict(part) if isinstance(part, Mapping) else part for name, part in document['joints'].items()}
    current: dict[str, Any] = {**document, 'version': VERSION, 'joints': joints}
    for name, part in joints.items():
        friction = part.get('friction') if isinstance(part, Mapping) else None
        slip = friction.get('maxwell_slip') if isinstance(friction, Mapping) else None
        if not isinstance(slip, dict) or 'presliding' in slip:
            continue
        path = f'joints.{name}.backlash'
        if 'backlash' not in part:
            fail(path, 'this field beside a Maxwell-slip part in a document of version 1', 'nothing')
        width = part['backlash']
        if not isinstance(width, Mapping):
            fail(path, 'a mapping', width)
        _check_plain(width, path)
        _check_map(width, path)
        # Joints may share a part of the document, as YAML's aliases do: each gets its own.
        length = {key: item for key, item in width.items() if key not in ('standard_deviations', 'coverage')}
        part['friction'] = {**part['friction'], 'maxwell_slip': {**slip, 'presliding': length}}
        if slip.get('operators') == 2 and slip.get('limits') == [1e-4, 1.0] and len(width.get('values', ())) == 1:
            del part['backlash']
    return current
