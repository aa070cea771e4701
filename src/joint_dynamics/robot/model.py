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

"""The arm as rigid bodies with drives: one object for a URDF or an MDH table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.chain import gravity_in_base
from joint_dynamics.robot.dependent import Follows, read_parallelograms, resolved
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.robot.linear_dynamics import LinearDynamics
from joint_dynamics.robot.mdh import MdhTable, build_from_mdh, load_mdh
from joint_dynamics.robot.urdf import build_from_urdf, read_source, stripped_urdf
from joint_dynamics.settings import Parameter


def _mounting(values: list[float]) -> str | None:
    return None if len(values) in (0, 3, 4) else 'nothing, roll-pitch-yaw (3 numbers) or a quaternion x y z w (4)'


JOINTS = Parameter('joints', [], 'the joints to work with, in this order; empty: all movable joints of the robot')
MOUNTING = Parameter(
    'mounting',
    [],
    'rotation from base to world, roll-pitch-yaw in rad or quaternion x y z w; empty: base z axis up',
    element=float,
    check=_mounting,
)


class RobotModel(LinearDynamics):
    """A robot of n one-axis joints; build it with `from_urdf`, `from_mdh` or `load`.

    Standard parameters are those of `StandardParameters`, 14 per joint and three per coupled motor. Torques act on the
    joint, in the direction of q, and are those that the drive has to provide: tau = M(q) q̈ + C q̇ + g(q) + friction
    [M2 eq 2.23-2.24].

    Parameters
    ----------
    model, limits
        the pinocchio model and the limits of its joints.
    mounting, coupling
        see `from_urdf`.
    weightless
        whether the torques of the robot leave gravity out, because it compensates its own weight.
    dependent
        the joints of the model that follow others.
    has_inertials
        whether the model's inertials are known.
    urdf, locked, held, parallelograms, mdh
        the source: URDF text; {name: rad or m} of locked joints as given, and of all joints held; see `from_urdf`; MDH
        table.

    Attributes
    ----------
    joint_names, n, limits
        of the independent joints, in chain order.
    link_names, prismatic
        see `LinearDynamics`.
    parameter_names
        names of the standard parameters, p in all.
    parameters : array or None
        (p,) [SI] from the URDF's inertials (rotor and friction 0), or None where it has none.
    pinocchio
        the pinocchio model of all moving joints, for forward kinematics and geometry, at `tree_position`.
    urdf
        its text, None for an MDH table.
    locked
        {name: rad or m} as given.
    held
        {name: rad or m} of the movable joints of the URDF that do not move here.
    mdh
        the table, None for a URDF.
    coupling
        DriveCoupling or None.

    Raises
    ------
    JointDynamicsError
        For a joint that has more than one axis, or a coupling that does not fit.
    """

    def __init__(
        self,
        model: pinocchio.Model,
        limits: JointLimits,
        *,
        mounting: Any = None,
        coupling: ArrayLike | None = None,
        weightless: bool = False,
        dependent: Mapping[str, Follows] | None = None,
        has_inertials: bool = False,
        urdf: str | None = None,
        locked: Mapping[str, float] | None = None,
        held: Mapping[str, float] | None = None,
        parallelograms: Mapping[str, Mapping[str, float]] | None = None,
        mdh: MdhTable | None = None,
    ):
        model.gravity.linear = np.zeros(3) if weightless else gravity_in_base(mounting)
        super().__init__(model, coupling, has_inertials=has_inertials, dependent=dependent)
        self.limits = limits
        self.mounting, self.weightless = mounting, weightless
        self.urdf = urdf
        self.locked, self.held = dict(locked or {}), dict(held or {})
        self.parallelograms = dict(parallelograms or {})
        self.mdh = mdh

    @classmethod
    def from_urdf(
        cls,
        source: str | Path,
        *,
        joints: Sequence[str] | None = None,
        locked: Mapping[str, float] | None = None,
        mounting: Any = None,
        coupling: ArrayLike | None = None,
        parallelograms: Mapping[str, Mapping[str, float]] | None = None,
    ) -> RobotModel:
        """Build from a URDF.

        Parameters
        ----------
        source
            a path or XML text.
        joints
            those to keep, in any order; None: all independent movable ones. Joints that mimic them move along.
        locked
            {name: rad or m}, positions of the other joints, 0 if not named.
        mounting
            see `mounting_rotation`.
        coupling
            (n, n) motor angles [rad] from joint angles [rad], None for one motor per joint.
        parallelograms
            {passive joint: {joint it copies: factor, …, offset: rad or m}}, for closed loops that a URDF cannot hold:
            the passive joint is at Σ factor q + offset.

        Raises
        ------
        JointDynamicsError
            For a source that is no robot of one-axis joints.
        """
        built = build_from_urdf(source, joints, locked, parallelograms)
        return cls(
            built.model,
            built.limits,
            mounting=mounting,
            coupling=coupling,
            dependent=built.dependent,
            has_inertials=built.has_inertials,
            urdf=built.text,
            locked=locked,
            held=built.held,
            parallelograms=parallelograms,
        )

    @classmethod
    def from_mdh(
        cls,
        source: str | Path | Mapping[str, Any],
        *,
        mounting: Any = None,
        coupling: ArrayLike | None = None,
        parallelograms: Mapping[str, Mapping[str, float]] | None = None,
    ) -> RobotModel:
        """Build from an MDH table in YAML or a mapping.

        Parameters
        ----------
        source
            the table, see `load_mdh`: a path, YAML text or a mapping.
        mounting
            see `mounting_rotation`.
        coupling
            (n, n) motor angles [rad] from joint angles [rad]; None: the table's own.
        parallelograms
            as in `from_urdf`.

        Raises
        ------
        JointDynamicsError
            For a source that is no robot of one-axis joints.
        """
        table = load_mdh(source)
        coupling = table.coupling if coupling is None else coupling
        model, declared = build_from_mdh(table), read_parallelograms(parallelograms)
        names = list(model.names)[1:]
        for name in (*declared, *(leader for follows in declared.values() for leader in follows.ratios)):
            if name not in names:
                raise JointDynamicsError(
                    f'robot.parallelograms: expected a joint of {", ".join(names)}, found {name!r}'
                )
        moving = [name not in declared for name in names]
        return cls(
            model,
            table.limits.of(moving),
            mounting=mounting,
            coupling=coupling,
            dependent=resolved(declared, [name for name in names if name not in declared], {}),
            parallelograms=parallelograms,
            mdh=table,
        )

    @classmethod
    def load(cls, source: str | Path, **options: Any) -> RobotModel:
        """Build from a URDF or an MDH table, distinguished by content.

        Parameters
        ----------
        source
            a path, or the text itself.
        options
            as for `from_urdf` and `from_mdh`.

        Raises
        ------
        JointDynamicsError
            For an unreadable file, and for one without a robot of one-axis joints.
        """
        text, _ = read_source(source)
        if text.lstrip().startswith('<'):
            return cls.from_urdf(source, **options)
        for option in ('joints', 'locked'):
            if options.pop(option, None):
                raise JointDynamicsError(
                    f'robot {source}: expected a URDF where `{option}` is given, found an MDH table'
                )
        return cls.from_mdh(source, **options)

    def standing(
        self, mounting: Any = None, coupling: ArrayLike | None = None, weightless: bool | None = None
    ) -> RobotModel:
        """Return the same arm with another mounting or another coupling of its drives, with or without gravity.

        Parameters
        ----------
        mounting
            see `mounting_rotation`; None: unchanged.
        coupling
            (n, n) motor angles [rad] from joint angles [rad]; None: unchanged.
        weightless
            whether its torques leave gravity out; None: unchanged.
        """
        mounting = self.mounting if mounting is None else mounting
        coupling = (self.coupling.matrix if self.coupling else None) if coupling is None else coupling
        same: dict[str, Any] = {
            name: getattr(self, name) for name in ('urdf', 'locked', 'held', 'parallelograms', 'mdh')
        }
        same['weightless'] = self.weightless if weightless is None else weightless
        same |= {'dependent': self.chain.tree.dependent, 'has_inertials': self.parameters is not None}
        return RobotModel(self.pinocchio.copy(), self.limits, mounting=mounting, coupling=coupling, **same)

    def locked_at(self, places: Mapping[str, float]) -> RobotModel:
        """Return the same arm with some of its locked joints elsewhere; itself where none is.

        Parameters
        ----------
        places
            {name: rad or m} of locked joints.
        """
        if all(abs(self.held[name] - place) <= 1e-3 for name, place in places.items()):
            return self
        moved = RobotModel.from_urdf(
            self.urdf or '',
            joints=self.joint_names,
            locked={**self.locked, **places},
            mounting=self.mounting,
            coupling=self.coupling.matrix if self.coupling else None,
            parallelograms=self.parallelograms,
        )
        return moved.standing(weightless=self.weightless)

    def kinematics(self) -> dict[str, Any]:
        """Return the data to rebuild this robot from a document, apart from joint names and mounting.

        That is `urdf` (without its geometry) or `mdh`.
        """
        entries: dict[str, Any] = (
            {'mdh': self.mdh.document()} if self.mdh is not None else {'urdf': stripped_urdf(self.urdf or '')}
        )
        if self.locked:
            entries['locked'] = {name: float(value) for name, value in self.locked.items()}
        if not self.chain.tree.plain:
            entries['dependent_joints'] = list(self.link_names[self.n :])
        if self.parallelograms:
            entries['parallelograms'] = {name: dict(entry) for name, entry in self.parallelograms.items()}
        if self.coupling is not None and self.coupling.coupled:
            entries['coupling'] = self.coupling.matrix.tolist()
        return entries

    def tree_position(self, q: FloatArray) -> FloatArray:
        """Return the positions (…, N) of all joints of `pinocchio` for independent ones at (…, n) [rad or m]."""
        return self.chain.tree.positions(q)
