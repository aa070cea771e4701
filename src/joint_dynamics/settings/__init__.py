"""One declaration per setting, with name, default, bounds, unit and meaning; everything else follows from it.

    @dataclass(frozen=True)
    class Smoothing(Settings):
        window: float = setting(0.1, 'length of the smoother', 's', above=0.0, upper=10.0)
        kind: str = setting('taper', 'shape of the smoother', choices=('taper', 'flat'))

From it follow the checks of values (in the constructor, and from a section of a YAML file by `from_mapping`), the
parameter of a ROS node (`Parameter.of`, `nodes.parameters`), and the table in the documentation (`settings_table`).
Every error has the form `where.name: expected …, found …`.

Pydantic could do the checks, but the platform of ROS 2 Jazzy has version 1 and the package index version 2, which are
incompatible; and ROS needs unit, bounds and per-joint values of a parameter in a form of its own.
"""

from joint_dynamics.settings.base import PerJoint, Refused, Settings, check_keys, refusal, value_of
from joint_dynamics.settings.declaration import Declaration, declarations, setting
from joint_dynamics.settings.parameter import Parameter, ParameterValues

__all__ = [
    'Declaration',
    'Parameter',
    'ParameterValues',
    'PerJoint',
    'Refused',
    'Settings',
    'check_keys',
    'declarations',
    'refusal',
    'setting',
    'value_of',
]
