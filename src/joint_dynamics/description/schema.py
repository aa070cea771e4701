"""What a dynamics description may hold: one table of fields, and the check of a document against it.

Documents of earlier versions are migrated to the present one.

Every refusal names the path of the field, what was expected there and what was found. The table can be walked
(`fields`, `item` of a check), so that nothing may be added to it of which nobody says what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from joint_dynamics.description.field_checks import (
    MAX_OPERATORS,
    ListOf,
    MappingOf,
    Record,
    anything_plain,
    fail,
    number,
    number_of,
    operators,
    optional_number,
    optional_text,
    plain_mapping,
    positive,
    text,
    truth,
)
from joint_dynamics.documents import check_name
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.stiffness import LOADS
from joint_dynamics.robot.standard_parameters import INERTIAL

FORMAT = 'joint_dynamics'
VERSION = 2


def _row(value: Any, path: str) -> None:
    ListOf(number)(value, path)
    if not 1 <= len(value) <= MAX_OPERATORS:
        fail(path, f'1 to {MAX_OPERATORS} numbers', value)


def _presliding(value: Any, path: str) -> None:
    (periodic_map if isinstance(value, Mapping) else positive)(value, path)


SLIP = Record(
    {'presliding': _presliding},
    {'operators': operators, 'r_Delta': positive, 'r_k': positive, 'limits': _row, 'stiffness': _row},
)


def _read_by(read: Callable[[Any], Any], what: str, value: Any, path: str) -> None:
    try:
        read(value)
    except (JointDynamicsError, TypeError, LookupError, ValueError, AttributeError) as error:
        fail(path, f'{what} (docs/reference/joint_models.md)', str(error))


def _friction(value: Any, path: str) -> None:
    from joint_dynamics.joint import FrictionModel

    _read_by(FrictionModel.from_dict, 'a friction document', value, path)


def periodic_map(value: Any, path: str) -> None:
    """A periodic map, as of a kinematic error or a backlash."""
    from joint_dynamics.joint import PeriodicMap

    anything_plain(value, path)
    _read_by(PeriodicMap.from_dict, 'a periodic map', value, path)


def _backlash(value: Any, path: str) -> None:
    periodic_map(value, path)
    if 'load_shares' in value:
        ListOf(number_of(lower=0), len(LOADS))(value['load_shares'], f'{path}.load_shares')
        if not abs(sum(value['load_shares']) - 1.0) <= 1e-6:
            fail(f'{path}.load_shares', 'shares whose sum is 1', value['load_shares'])
    if 'load_lag' in value:
        number_of(lower=0)(value['load_lag'], f'{path}.load_lag')


def _stiffness(value: Any, path: str) -> None:
    if not value['coefficients']:
        fail(f'{path}.coefficients', 'at least one coefficient', value['coefficients'])
    if not any(value.get('range', [1.0])):
        fail(f'{path}.range', 'a range of deformation', value['range'])


class _Interval(ListOf):
    def __init__(self) -> None:
        super().__init__(number, 2)

    def __call__(self, value: Any, path: str) -> None:
        super().__call__(value, path)
        if value[0] > value[1]:
            fail(path, 'the lower number first', value)


OF_VALUE = {'std': optional_number, 'prior': number, 'unit': text, 'method': text}
VALUE, ROTOR = Record({'value': number}, OF_VALUE), Record({'value': number}, {**OF_VALUE, 'identifiable': truth})
FRICTION = Record(
    {'parameters': MappingOf(number)},
    {
        'standard_deviations': MappingOf(number),
        'maxwell_slip': SLIP,
        'directions': anything_plain,
        'scale': ListOf(number, 2),
        'quadrants': MappingOf(number),
        'range': anything_plain,
        'method': text,
    },
    _friction,
)
STIFFNESS = Record(
    {'coefficients': ListOf(number)},
    {'standard_deviations': ListOf(number), 'range': _Interval(), 'method': text},
    _stiffness,
)
LINK = Record(dict.fromkeys(INERTIAL, number))
VALIDITY = Record({}, {'speed': positive, 'load': number_of(lower=0), 'temperature': _Interval()})
JOINT = Record(
    {},
    {
        'drive_gain': VALUE,
        'rotor_inertia': ROTOR,
        'friction': FRICTION,
        'stiffness': STIFFNESS,
        'damping': VALUE,
        'kinematic_error': periodic_map,
        'backlash': _backlash,
        'temperature_range': ListOf(number, 2),
        'validity': VALIDITY,
        'gear_ratio': VALUE,
        'terms': ListOf(
            Record({'document': plain_mapping, 'values': ListOf(number)}, {'std': ListOf(optional_number)})
        ),
    },
)
IDENTITY = Record(
    {
        'version': number,
        'hash': text,
        'joints': MappingOf(
            Record(
                {'type': text, 'offset': ListOf(number, 3), 'rotation': ListOf(number, 3), 'axis': ListOf(number, 3)},
                {'parent': optional_text, 'coupling': ListOf(number), 'follows': MappingOf(number)},
            )
        ),
    },
    {'mass': number},
)
DOCUMENT = Record(
    {
        'format': text,
        'version': number,
        'robot': Record(
            {'joint_names': ListOf(text)},
            {
                'name': text,
                'urdf': text,
                'mdh': anything_plain,
                'identity': IDENTITY,
                'locked': MappingOf(number),
                'parallelograms': MappingOf(MappingOf(number)),
                'dependent_joints': ListOf(text),
                'coupling': ListOf(ListOf(number)),
            },
        ),
        'joints': MappingOf(JOINT),
    },
    {
        'inertial': Record(
            {'standard': MappingOf(LINK)},
            {
                'base': ListOf(Record({'name': text, 'expression': text, 'value': number}, {'std': optional_number})),
                'coupling': MappingOf(number),
            },
        ),
        'mounting': ListOf(ListOf(number, 3), 3),
        'payload': Record(
            {'mass': VALUE, 'first_moments': ListOf(number, 3)},
            {'inertia': ListOf(number, 6), 'std': ListOf(optional_number), 'attached': truth},
        ),
        'provenance': anything_plain,
    },
)


def validate(document: Any) -> None:
    """Check a whole document; raise JointDynamicsError with the path of the first field that is wrong."""
    if not isinstance(document, Mapping):
        raise JointDynamicsError(f'dynamics description: expected a mapping (YAML), found {type(document).__name__}')
    if document.get('format') != FORMAT:
        fail('format', repr(FORMAT), document.get('format'))
    if document.get('version') != VERSION:
        fail('version', f'{VERSION}', document.get('version'))
    DOCUMENT(document, '')
    names, dependent = (list(document['robot'].get(key, ())) for key in ('joint_names', 'dependent_joints'))
    if len(set(names + dependent)) != len(names + dependent) or not names:
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
        periodic_map(width, path)
        # Joints may share a part of the document, as YAML's aliases do: each gets its own.
        length = {key: item for key, item in width.items() if key not in ('standard_deviations', 'coverage')}
        part['friction'] = {**part['friction'], 'maxwell_slip': {**slip, 'presliding': length}}
        if slip.get('operators') == 2 and slip.get('limits') == [1e-4, 1.0] and len(width.get('values', ())) == 1:
            del part['backlash']
    return current
