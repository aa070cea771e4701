"""Migration of dynamics descriptions of earlier versions to the present one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joint_dynamics.description.field_checks import fail
from joint_dynamics.description.schema import VERSION, periodic_map


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
        periodic_map(width, f'joints.{name}.backlash')
        # Joints may share a part of the document, as YAML's aliases do: each gets its own.
        length = {key: item for key, item in width.items() if key not in ('standard_deviations', 'coverage')}
        part['friction'] = {**part['friction'], 'maxwell_slip': {**slip, 'presliding': length}}
        if slip.get('operators') == 2 and slip.get('limits') == [1e-4, 1.0] and len(width.get('values', ())) == 1:
            del part['backlash']
    return current
