"""A setting that may differ from joint to joint, as one number per joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.settings.declaration import Declaration
from joint_dynamics.settings.values import Refused, value_of

_NUMBER = Declaration('')


def per_joint(value: Any, joint_names: Sequence[str], where: str, others: bool = False) -> FloatArray:
    """Return one number per joint (n,).

    Parameters
    ----------
    value
        a number for all, a list in the order of `joint_names`, or a mapping {joint: number} of all joints, and of
        further ones where `others` may be there too. Raises JointDynamicsError.
    """
    names = ', '.join(joint_names)
    if isinstance(value, Mapping):
        missing = [name for name in joint_names if name not in value]
        strange = [] if others else [name for name in value if name not in joint_names]
        if missing or strange:
            raise Refused(where, f'a number for each of {names}', list(value))
        value = [value[name] for name in joint_names]
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) and np.ndim(value):
        if len(value) != len(joint_names):
            raise Refused(where, f'{len(joint_names)} numbers, one for each of {names}', list(value))
        return np.array(
            [value_of(float, item, f'{where}[{name}]', _NUMBER) for item, name in zip(value, joint_names, strict=True)]
        )
    return np.full(len(joint_names), value_of(float, value, where, _NUMBER))
