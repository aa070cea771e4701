"""One declaration per setting: name, default, bounds, unit and meaning stand once; everything else follows from them.

    @dataclass(frozen=True)
    class Smoothing(Settings):
        window: float = setting(0.1, 'length of the smoother', 's', above=0.0, upper=10.0)
        kind: str = setting('taper', 'shape of the smoother', choices=('taper', 'flat'))

From it come the check of what is given (in the constructor, and from a section of a YAML file by `from_mapping`), the
parameter of a ROS node (`Parameter.of`, `nodes.parameters`), and the table in the documentation (`settings_table`).
Every refusal has one form: `where.name: expected …, found …`.

Pydantic would carry the checks, but ROS 2 Jazzy's platform packages version 1 of it where the package index has version
2, which do not agree; and ROS needs unit, bounds and per-joint values of a parameter in a form of its own.
"""

from joint_dynamics.settings.base import PerJoint, Refused, Settings, check_keys, refusal, value_of
from joint_dynamics.settings.declaration import Declaration, declarations, setting
from joint_dynamics.settings.parameter import Parameter

__all__ = [
    'Declaration',
    'Parameter',
    'PerJoint',
    'Refused',
    'Settings',
    'check_keys',
    'declarations',
    'refusal',
    'setting',
    'value_of',
]
