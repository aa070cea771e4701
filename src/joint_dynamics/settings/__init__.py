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

"""One declaration per setting, with name, default, bounds, unit and meaning; everything else follows from it.

    @dataclass(frozen=True)
    class Smoothing(Settings):
        window: float = setting(0.1, 'length of the smoother', 's', above=0.0, upper=10.0)
        kind: str = setting('taper', 'shape of the smoother', choices=('taper', 'flat'))

It gives the checks of values, in the constructor and in `from_mapping` for YAML. It gives the parameter of a ROS node
(`Parameter.of`, `nodes.parameters`) and the table in the documentation (`settings_table`).
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
