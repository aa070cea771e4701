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

"""What moves with several joints: joints that follow others, and coupled drives.

The joints are mimic joints of a URDF, and the passive ones of closed parallelograms. A closed loop that linear
relations describe is cut open to a tree of N joints, of which n move by themselves:

    q_tree = G q + c,    q̇_tree = G q̇,    q̈_tree = G q̈,    τ = Gᵀ τ_tree

with constant G (N, n) and c (N,): forces within the loop do no work and do not contribute to τ [Khalil and Dombre,
Modeling, Identification and Control of Robots, ch. 10]. Computations per link use the tree; G and c are defined here,
and for the compiled loops in the rows of `newton_euler.Link`.

Coupled drives are two motors that drive two joints through a constant matrix, as joints 5 and 6 of a Stäubli TX-40.
Motor m turns with Σ_k c_mk q̇_k, c_mm = 1. Its rotor and friction torque acts on every joint k with c_mk ≠ 0 through
c_mkᵀ, so that each coupled motor adds three parameters [G eq 24-25]: Ia_m and Fv_m multiply the motion of the *other*
joints (the own one is in Ia_k, Fv_k already), Fs_m the sign of the motor's speed.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.newton_euler import LEADERS

MAX_RATIO = 1e4
"""Largest factor between the positions of two joints (m, rad); a gripper's mm per rad are 1e-3."""


@dataclass(frozen=True)
class Follows:
    """Position of a dependent joint: Σ ratios[leader] q_leader + offset [rad or m]."""

    ratios: Mapping[str, float] = field(default_factory=dict)
    offset: float = 0.0


@dataclass(frozen=True)
class JointTree:
    """N joints of a tree, parents first, of which n move by themselves.

    Links are counted as their parameters are: those of the n joints first, in the tree's order, then those of the
    dependent joints, in the tree's order.

    Attributes
    ----------
    names, moving
        (N,) of the tree's joints; (N,) which of them are independent.
    matrix, offset
        G (N, n) and c (N,) [rad or m].
    """

    names: tuple[str, ...]
    moving: tuple[bool, ...]
    matrix: FloatArray
    offset: FloatArray

    @classmethod
    def of(cls, names: Sequence[str], dependent: Mapping[str, Follows]) -> JointTree:
        """Return the tree of joints `names`, of which those in `dependent` follow some of the others."""
        joints = [name for name in names if name not in dependent]
        places = [dependent.get(name, Follows({name: 1.0})) for name in names]
        matrix = np.array([[place.ratios.get(name, 0.0) for name in joints] for place in places])
        offset = np.array([place.offset for place in places])
        return cls(tuple(names), tuple(name not in dependent for name in names), matrix, offset)

    @property
    def dependent(self) -> dict[str, Follows]:
        """The joints that follow others."""
        followers = {}
        for name, moves, row, offset in zip(self.names, self.moving, self.matrix, self.offset, strict=True):
            if not moves:
                leaders = {key: float(ratio) for key, ratio in zip(self.joint_names, row, strict=True) if ratio != 0}
                followers[name] = Follows(leaders, float(offset))
        return followers

    @property
    def plain(self) -> bool:
        """Whether every joint moves by itself."""
        return all(self.moving)

    @cached_property
    def row(self) -> IntArray:
        """(N,) Where in the tree the joint is that moves each link."""
        return np.argsort(np.logical_not(self.moving), kind='stable')

    @cached_property
    def link(self) -> IntArray:
        """(N,) Which link each joint of the tree moves: the inverse of `row`."""
        return np.argsort(self.row)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """(n,) The joints that move by themselves."""
        return tuple(name for name, moves in zip(self.names, self.moving, strict=True) if moves)

    @property
    def link_names(self) -> tuple[str, ...]:
        """(N,) The joint that moves each link."""
        return tuple(self.names[k] for k in self.row)

    def positions(self, q: FloatArray) -> FloatArray:
        """Return q_tree (…, N) of q (…, n) [rad or m]."""
        return q if self.plain else q @ self.matrix.T + self.offset

    def rates(self, dq: FloatArray) -> FloatArray:
        """Return q̇_tree (…, N) of q̇ (…, n), or of another derivative."""
        return dq if self.plain else dq @ self.matrix.T

    def torques(self, tau: FloatArray) -> FloatArray:
        """Return τ (…, n) of τ_tree (…, N) [N·m or N]."""
        return tau if self.plain else tau @ self.matrix

    def folded(self, square: FloatArray) -> FloatArray:
        """Return Gᵀ A G (n, n) of a matrix A (N, N) that takes rates of the tree to its torques."""
        return square if self.plain else self.matrix.T @ square @ self.matrix

    def followed(self, link: int) -> tuple[dict[int, float], float]:
        """Return {joint: ratio} that the joint of a link follows, and its offset; of one that moves by itself, 1 and 0.

        Where it follows none that moves, the first joint with ratio 0.
        """
        row = self.matrix[self.row[link]]
        leaders = np.flatnonzero(row) if row.any() else [0]
        return {int(j): float(row[j]) for j in leaders}, float(self.offset[self.row[link]])

    @property
    def several(self) -> FloatArray:
        """(k, n) The rows of G of dependent joints that follow more than one other, and have friction of their own."""
        return self.matrix[np.logical_not(self.moving) & (np.count_nonzero(self.matrix, axis=1) > 1)]


def mimics_of(elements: Mapping[str, ET.Element], where: str) -> dict[str, Follows]:
    """Return the joints of a URDF, its numbers checked, that mimic another; raise JointDynamicsError for none."""
    followers = {}
    for name, joint in elements.items():
        mimic = joint.find('mimic')
        if mimic is None or joint.get('type') == 'fixed':
            continue
        leader, here = mimic.get('joint'), f'{where}, joint {name}'
        if leader is None or leader not in elements:
            raise JointDynamicsError(f'robot {here}: expected a joint that it mimics, found {leader!r}')
        ratio, offset = (float(mimic.get(key, default)) for key, default in (('multiplier', '1'), ('offset', '0')))
        followers[name] = _checked(Follows({leader: ratio}, offset), f'robot {here}: mimic')
    return followers


def read_parallelograms(value: Any) -> dict[str, Follows]:
    """Read `robot.parallelograms`: {passive joint: {joint it copies: factor, …, offset: rad or m}}.

    Raises
    ------
    JointDynamicsError
        For an invalid entry, which it names.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise JointDynamicsError(f'robot.parallelograms: expected passive joints with what they copy, found {value!r}')
    followers = {}
    for name, entry in value.items():
        where = f'robot.parallelograms.{name}'
        numbers = isinstance(entry, Mapping) and all(
            isinstance(key, str) and isinstance(number, (int, float)) and not isinstance(number, bool)
            for key, number in entry.items()
        )
        if not isinstance(name, str) or not numbers or not set(entry) - {'offset'}:
            raise JointDynamicsError(
                f'{where}: expected the joints that it copies with a factor each, such as {{shoulder: -1}}, found '
                f'{entry!r}'
            )
        ratios = {key: float(number) for key, number in entry.items() if key != 'offset'}
        followers[name] = _checked(Follows(ratios, float(entry.get('offset', 0.0))), where)
    return followers


def _checked(follows: Follows, where: str) -> Follows:
    if (
        not all(0 < abs(ratio) <= MAX_RATIO for ratio in follows.ratios.values())
        or not abs(follows.offset) <= MAX_RATIO
    ):
        raise JointDynamicsError(
            f'{where}: expected factors other than 0 and an offset, within ±{MAX_RATIO:g}, found '
            f'{dict(follows.ratios)} and {follows.offset:g}'
        )
    return follows


def resolved(
    declared: Mapping[str, Follows], moving: Collection[str], locked: Mapping[str, float]
) -> dict[str, Follows]:
    """Return the joints of `moving` that each declared joint follows in the end, through chains of dependent joints.

    A joint that follows none of them stays at its offset. locked: {joint: position} of joints that do not move, 0 for
    those not named.

    Raises
    ------
    JointDynamicsError
        For a joint that follows itself, or more than `LEADERS` others.
    """

    def end(name: str, above: tuple[str, ...]) -> Follows:
        if name in above:
            raise JointDynamicsError(f'robot: expected joints that follow others, found {name}, which follows itself')
        if name in moving:
            return Follows({name: 1.0})
        if name in locked or name not in declared:
            return Follows({}, locked.get(name, 0.0))
        ratios: dict[str, float] = {}
        offset = declared[name].offset
        for leader, ratio in declared[name].ratios.items():
            part = end(leader, (*above, name))
            offset += ratio * part.offset
            for key, more in part.ratios.items():
                ratios[key] = ratios.get(key, 0.0) + ratio * more
        ratios = {key: ratio for key, ratio in ratios.items() if ratio != 0.0}
        if len(ratios) > LEADERS:
            raise JointDynamicsError(
                f'robot: expected joints that follow at most {LEADERS} others, found {name}, which follows '
                f'{", ".join(ratios)}'
            )
        return Follows(ratios, offset)

    return {name: end(name, ()) for name in declared}


class DriveCoupling:
    """Coupling of n joints by a constant matrix, and passive joints that move with several of them.

    Parameters
    ----------
    matrix
        (n, n), motor angles = matrix · joint angles. Rows are normalised by their diagonal (the gear ratio).
    passive
        (k, n), positions of passive joints per joint position; they have friction as coupled motors do.

    Attributes
    ----------
    matrix
        (n, n) with unit diagonal.
    ratios
        (c, n) of the motors that drive more than one joint, and of the passive joints.
    parameter_names
        of the extra parameters, three for each of `ratios` (motors count from 1, passive joints after n).

    """

    def __init__(self, matrix: Any, passive: FloatArray | None = None):
        try:
            matrix = np.asarray(matrix, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise JointDynamicsError(
                f'coupling: expected a square matrix of numbers, found {str(matrix)[:80]}'
            ) from None
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise JointDynamicsError(f'coupling: expected a square matrix, found shape {matrix.shape}')
        n = len(matrix) if passive is None else passive.shape[1]
        if len(matrix) != n:
            raise JointDynamicsError(f'coupling: expected {n} rows for {n} joints, found {len(matrix)}')
        diagonal = np.diag(matrix)
        if not np.all(np.abs(matrix) < 1e9) or np.any(diagonal == 0) or not abs(np.linalg.det(matrix)) >= 1e-12:
            raise JointDynamicsError(
                'coupling: expected a regular matrix of finite numbers without zeros on the diagonal, found '
                f'{str(matrix.tolist())[:80]}'
            )
        self.matrix = matrix / diagonal[:, None]
        every = self.matrix if passive is None else np.concatenate([self.matrix, passive])
        several = np.flatnonzero(np.count_nonzero(every, axis=1) > 1)
        self.ratios = every[several]
        self.parameter_names = [f'{kind}_m{m + 1}' for m in several for kind in ('Ia', 'Fv', 'Fs')]

    @property
    def coupled(self) -> bool:
        """Whether a motor drives more than one joint."""
        return bool(np.any(self.matrix != np.eye(len(self.matrix))))

    def regressor_rows(self, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """Return the extra columns, (joints, parameters, samples), of speeds and accelerations (joints, samples)."""
        n, samples = dq.shape
        rows = np.zeros((n, 3 * len(self.ratios), samples))
        for index, c in enumerate(self.ratios):
            for k in np.flatnonzero(c):
                others = np.where(np.arange(n) == k, 0.0, c)
                rows[k, 3 * index] = c[k] * (others @ ddq)
                rows[k, 3 * index + 1] = c[k] * (others @ dq)
                rows[k, 3 * index + 2] = c[k] * np.sign(c @ dq)
        return rows
