"""What a dynamics description may hold: one table of fields, and the check of a document against it.

Every refusal names the path of the field, what was expected there and what was found. The table can be walked
(`fields`, `item` of a check), so that nothing may be added to it of which nobody says what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.standard_parameters import INERTIAL
from joint_dynamics.settings import Declaration, Refused

FORMAT = 'joint_dynamics'
VERSION = 2
#: Greatest magnitude of a number; the largest a description is known to hold are stiffnesses of 1e9 N·m/rad³ and their
#: squares.
MAX_NUMBER = 1e30
#: Most operators of a Maxwell-slip model.
MAX_OPERATORS = 100

Check = Callable[[Any, str], None]


def fail(path: str, expected: str, found: Any) -> None:
    """Raise the one error of this module."""
    raise Refused(f'dynamics description: {path}', expected, found)


def number(value: Any, path: str) -> None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MAX_NUMBER <= value <= MAX_NUMBER:
        large = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float('inf')
        fail(path, f'a number of at most {MAX_NUMBER:g}' if large else 'a finite number', value)


def number_of(**rules: float) -> Check:
    """A finite number within bounds: `lower`, `upper`, `above`, `below` of `settings.Declaration`."""
    declared = Declaration('', **rules)  # type: ignore[arg-type]

    def check(value: Any, path: str) -> None:
        number(value, path)
        if not declared.allows(value):
            fail(path, f'a number, {declared.rule}', value)

    return check


positive = number_of(above=0)


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


def truth(value: Any, path: str) -> None:
    """Either true or false."""
    if not isinstance(value, bool):
        fail(path, 'true or false', value)


class ListOf:
    """A list whose items pass `item`."""

    def __init__(self, item: Check, length: int | None = None):
        self.item, self.length = item, length

    def __call__(self, value: Any, path: str) -> None:
        """Check; raise JointDynamicsError."""
        if not isinstance(value, (list, tuple)) or (self.length is not None and len(value) != self.length):
            fail(path, 'a list' if self.length is None else f'a list of {self.length}', value)
        for index, item in enumerate(value):
            self.item(item, f'{path}[{index}]')


class Record:
    """A mapping with exactly these `fields`, of which `required` have to be there.

    `whole` looks at it as a whole afterwards.
    """

    def __init__(
        self, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None, whole: Check | None = None
    ):
        self.required, self.fields, self._whole = tuple(required), {**required, **(optional or {})}, whole

    def __call__(self, value: Any, path: str) -> None:
        """Check; raise JointDynamicsError."""
        if not isinstance(value, Mapping):
            fail(path, f'a mapping with {", ".join(self.required or self.fields)}', value)
        prefix = f'{path}.' if path else ''
        for key in value:
            if key not in self.fields:
                fail(f'{prefix}{key}', f'one of {", ".join(self.fields)}', 'this unknown field')
        for key in self.required:
            if key not in value:
                fail(f'{prefix}{key}', 'this field', 'nothing')
        for key, item in value.items():
            self.fields[key](item, f'{prefix}{key}')
        if self._whole is not None:
            self._whole(value, path)


class MappingOf:
    """A mapping from any name to what passes `item`."""

    def __init__(self, item: Check):
        self.item = item

    def __call__(self, value: Any, path: str) -> None:
        """Check; raise JointDynamicsError."""
        if not isinstance(value, Mapping):
            fail(path, 'a mapping', value)
        for key, item in value.items():
            self.item(item, f'{path}.{key}')


def list_of(check: Check, length: int | None = None) -> Check:
    """A list whose items pass `check`."""
    return ListOf(check, length)


def record(
    required: Mapping[str, Check], optional: Mapping[str, Check] | None = None, whole: Check | None = None
) -> Check:
    """A mapping with exactly these fields."""
    return Record(required, optional, whole)


def mapping_of(check: Check) -> Check:
    """A mapping from any name to what passes `check`."""
    return MappingOf(check)


def operators(value: Any, path: str) -> None:
    """A number of Maxwell-slip operators."""
    if type(value) is not int or not 1 <= value <= MAX_OPERATORS:
        fail(path, f'a whole number from 1 to {MAX_OPERATORS}', value)


def _row(value: Any, path: str) -> None:
    list_of(number)(value, path)
    if not 1 <= len(value) <= MAX_OPERATORS:
        fail(path, f'1 to {MAX_OPERATORS} numbers', value)


def _presliding(value: Any, path: str) -> None:
    (_map if isinstance(value, Mapping) else positive)(value, path)


SLIP = record(
    {'presliding': _presliding},
    {'operators': operators, 'r_Delta': positive, 'r_k': positive, 'limits': _row, 'stiffness': _row},
)


def _friction(value: Any, path: str) -> None:
    from joint_dynamics.joint import FrictionModel

    try:
        FrictionModel.from_dict(value)
    except (JointDynamicsError, TypeError, LookupError, ValueError, AttributeError) as error:
        fail(path, 'a friction document (docs/joint_models.md)', str(error))


def _map(value: Any, path: str) -> None:
    from joint_dynamics.joint import PeriodicMap

    anything_plain(value, path)
    try:
        PeriodicMap.from_dict(value)
    except (JointDynamicsError, TypeError, LookupError, AttributeError, ValueError) as error:
        fail(path, 'a periodic map (docs/joint_models.md)', str(error))


def _stiffness(value: Any, path: str) -> None:
    if not value['coefficients']:
        fail(f'{path}.coefficients', 'at least one coefficient', value['coefficients'])


class _Interval(ListOf):
    def __init__(self) -> None:
        super().__init__(number, 2)

    def __call__(self, value: Any, path: str) -> None:
        super().__call__(value, path)
        if value[0] > value[1]:
            fail(path, 'the lower number first', value)


VALUE = record({'value': number}, {'std': optional_number, 'prior': number, 'unit': text, 'method': text})
ROTOR = record(
    {'value': number}, {'std': optional_number, 'prior': number, 'unit': text, 'method': text, 'identifiable': truth}
)
FRICTION = record(
    {'parameters': mapping_of(number)},
    {
        'standard_deviations': mapping_of(number),
        'maxwell_slip': SLIP,
        'directions': anything_plain,
        'scale': list_of(number, 2),
        'quadrants': mapping_of(number),
        'range': anything_plain,
        'method': text,
    },
    _friction,
)
STIFFNESS = record(
    {'coefficients': list_of(number)},
    {'standard_deviations': list_of(number), 'range': anything_plain, 'method': text},
    _stiffness,
)
LINK = record(dict.fromkeys(INERTIAL, number))
VALIDITY = record({}, {'speed': positive, 'load': number_of(lower=0), 'temperature': _Interval()})
JOINT = record(
    {},
    {
        'drive_gain': VALUE,
        'rotor_inertia': ROTOR,
        'friction': FRICTION,
        'stiffness': STIFFNESS,
        'damping': VALUE,
        'kinematic_error': _map,
        'backlash': _map,
        'temperature_range': list_of(number, 2),
        'validity': VALIDITY,
        'gear_ratio': VALUE,
        'terms': list_of(
            record({'document': anything_plain, 'values': list_of(number)}, {'std': list_of(optional_number)})
        ),
    },
)
IDENTITY = record(
    {
        'version': number,
        'hash': text,
        'joints': mapping_of(
            record(
                {
                    'type': text,
                    'offset': list_of(number, 3),
                    'rotation': list_of(number, 3),
                    'axis': list_of(number, 3),
                },
                {'parent': optional_text, 'coupling': list_of(number)},
            )
        ),
    },
    {'mass': number},
)
DOCUMENT = record(
    {
        'format': text,
        'version': number,
        'robot': record(
            {'joint_names': list_of(text)},
            {
                'name': text,
                'urdf': text,
                'mdh': anything_plain,
                'identity': IDENTITY,
                'locked': mapping_of(number),
                'coupling': list_of(list_of(number)),
            },
        ),
        'joints': mapping_of(JOINT),
    },
    {
        'inertial': record(
            {'standard': mapping_of(LINK)},
            {
                'base': list_of(record({'name': text, 'expression': text, 'value': number}, {'std': optional_number})),
                'coupling': mapping_of(number),
            },
        ),
        'mounting': list_of(list_of(number, 3), 3),
        'payload': record(
            {'mass': VALUE, 'first_moments': list_of(number, 3)},
            {'inertia': list_of(number, 6), 'std': list_of(optional_number), 'attached': truth},
        ),
        'provenance': anything_plain,
    },
)


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
    found: dict[str, Any] = {**document, 'version': VERSION, 'joints': joints}
    for name, part in joints.items():
        slip = (
            part.get('friction', {}).get('maxwell_slip')
            if isinstance(part, Mapping) and isinstance(part.get('friction', {}), Mapping)
            else None
        )
        if not isinstance(slip, dict) or 'presliding' in slip:
            continue
        if 'backlash' not in part:
            fail(
                f'joints.{name}.backlash', 'this field beside a Maxwell-slip part in a document of version 1', 'nothing'
            )
        width = part['backlash']
        _map(width, f'joints.{name}.backlash')
        # Joints may share a part of the document, as YAML's aliases do: each gets its own.
        length = {key: item for key, item in width.items() if key not in ('standard_deviations', 'coverage')}
        part['friction'] = {**part['friction'], 'maxwell_slip': {**slip, 'presliding': length}}
        if slip.get('operators') == 2 and slip.get('limits') == [1e-4, 1.0] and len(width.get('values', ())) == 1:
            del part['backlash']
    return found


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
    for section, present in (
        ('joints', document['joints']),
        ('inertial.standard', document.get('inertial', {}).get('standard')),
    ):
        if present is None:
            continue
        for name in names:
            if name not in present:
                fail(f'{section}.{name}', 'this joint of robot.joint_names', 'nothing')
        for name in present:
            if name not in names:
                fail(f'{section}.{name}', f'a joint of robot.joint_names ({", ".join(names)})', 'another one')
