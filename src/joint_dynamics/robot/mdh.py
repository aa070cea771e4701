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

"""Modified Denavit-Hartenberg tables (Khalil's convention) as robots: kinematics without a URDF.

Frame j follows from frame j−1 by Rx(alpha_j) Tx(a_j) Rz(theta_j + q_j) Tz(d_j) [A table 2.1, M table 2.1]; for a
prismatic joint q_j adds to d_j instead. The origin of frame j is at [a, −d sin alpha, d cos alpha] in frame j−1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.documents import check_name, parse_yaml
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.limits import JointLimits, check_count
from joint_dynamics.robot.urdf import read_source
from joint_dynamics.robot.urdf_checks import MAX_LENGTH


@dataclass(frozen=True)
class MdhTable:
    """Rows of a serial chain: `names` (n,), `alpha` [rad], `a` [m], `d` [m], `theta` [rad], `prismatic` (n,) bool.

    `coupling` (n, n) or None: motor angles are `coupling` times joint angles, up to each motor's gear ratio.
    """

    names: tuple[str, ...]
    alpha: FloatArray
    a: FloatArray
    d: FloatArray
    theta: FloatArray
    prismatic: BoolArray
    coupling: FloatArray | None
    limits: JointLimits

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.names)

    def document(self) -> dict[str, Any]:
        """Return the table as the mapping that `load_mdh` reads (without the coupling)."""
        return _plain(self)


def _plain(table: MdhTable) -> dict[str, Any]:
    rows = [
        {
            'name': table.names[j],
            'alpha': float(table.alpha[j]),
            'a': float(table.a[j]),
            'd': float(table.d[j]),
            'theta': float(table.theta[j]),
            'type': 'prismatic' if table.prismatic[j] else 'revolute',
        }
        for j in range(table.n)
    ]
    document: dict[str, Any] = {'joints': rows}
    if np.all(np.isfinite(table.limits.velocity)):
        document['velocity_limit_rad_s'] = table.limits.velocity.tolist()
    return document


def load_mdh(source: str | Path | Mapping[str, Any]) -> MdhTable:
    """Read a table from a mapping, YAML text or its path, with `joints`, a list of {name, alpha, a, d, theta[, type]}.

    Optional keys: `position_coupling_R` (n, n) and `velocity_limit_rad_s` (n,); `type` is `revolute` (default) or
    `prismatic`.

    Raises
    ------
    JointDynamicsError
        For an invalid table; the message names row and key.
    """
    if isinstance(source, Mapping):
        document, name = source, 'MDH table'
    else:
        text, name = read_source(source)
        document = parse_yaml(text, f'robot {name}')
    if not isinstance(document, Mapping) or not isinstance(document.get('joints'), list) or not document['joints']:
        raise JointDynamicsError(f'robot {name}: expected a list `joints` of MDH rows, found none')
    check_count(len(document['joints']), f'robot {name}')
    names, rows, prismatic = [], [], []
    for index, row in enumerate(document['joints'], start=1):
        where = f'robot {name}: joints[{index}]'
        if not isinstance(row, Mapping):
            raise JointDynamicsError(
                f'{where}: expected a mapping with name, alpha, a, d, theta, found {repr(row)[:200]}'
            )
        kind = row.get('type', 'revolute')
        if kind not in ('revolute', 'prismatic'):
            raise JointDynamicsError(f'{where}.type: expected revolute or prismatic, found {kind!r}')
        if not isinstance(row.get('name', ''), str):
            raise JointDynamicsError(
                f'{where}.name: expected text, found {row["name"]!r} (YAML reads on, off, yes and no as true and false:'
                ' quote them)'
            )
        names.append(row.get('name') or f'joint_{index}')
        check_name(names[-1], f'{where}.name')
        prismatic.append(kind == 'prismatic')
        try:
            rows.append([_number(row[key]) for key in ('alpha', 'a', 'd', 'theta')])
        except KeyError as error:
            raise JointDynamicsError(f'{where}: expected alpha, a, d and theta, found no {error.args[0]}') from None
        except (TypeError, ValueError, OverflowError):
            raise JointDynamicsError(
                f'{where}: expected numbers for alpha, a, d and theta, found {str(dict(row))[:200]}'
            ) from None
    values = np.array(rows)
    for index, row in enumerate(values, start=1):
        if not np.all(np.abs(row) <= MAX_LENGTH):
            raise JointDynamicsError(
                f'robot {name}: joints[{index}]: expected finite numbers (rad, m) of at most {MAX_LENGTH:g}, '
                f'found {row.tolist()}'
            )
    if len(set(names)) != len(names):
        raise JointDynamicsError(f'robot {name}: expected each joint name once, found {names}')
    n = len(names)
    limits = JointLimits.unlimited(n)
    if 'velocity_limit_rad_s' in document:
        limits.velocity[:] = _array(document['velocity_limit_rad_s'], (n,), f'robot {name}: velocity_limit_rad_s')
        if not np.all(limits.velocity > 0):
            raise JointDynamicsError(
                f'robot {name}: velocity_limit_rad_s: expected numbers above 0, found {limits.velocity.tolist()}'
            )
    coupling = document.get('position_coupling_R')
    if coupling is not None:
        coupling = _array(coupling, (n, n), f'robot {name}: position_coupling_R')
    alpha, a, d, theta = values.T
    return MdhTable(tuple(names), alpha, a, d, theta, np.array(prismatic), coupling, limits)


def _number(value: Any) -> float:
    if isinstance(value, (bool, str)):
        raise TypeError
    return float(value)


def _array(value: Any, shape: tuple[int, ...], where: str) -> FloatArray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise JointDynamicsError(f'{where}: expected numbers, found {value!r}') from None
    if array.shape != shape:
        raise JointDynamicsError(f'{where}: expected shape {shape}, found {array.shape}')
    return array


def build_from_mdh(table: MdhTable) -> pinocchio.Model:
    """Return the chain as a pinocchio model whose joint frames are the MDH frames (no inertias)."""
    model = pinocchio.Model()
    model.name = 'mdh'
    parent = 0
    for j in range(table.n):
        twist = pinocchio.SE3(pinocchio.utils.rotate('x', table.alpha[j]), np.array([table.a[j], 0.0, 0.0]))
        along = pinocchio.SE3(pinocchio.utils.rotate('z', table.theta[j]), np.array([0.0, 0.0, table.d[j]]))
        joint = pinocchio.JointModelPZ() if table.prismatic[j] else pinocchio.JointModelRZ()
        parent = model.addJoint(parent, joint, twist * along, table.names[j])
        model.addJointFrame(parent)
    return model
