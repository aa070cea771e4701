"""The arm as rigid bodies with drives: one object for a URDF or an MDH table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pinocchio
from numpy.typing import ArrayLike

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.limits import JointLimits
from joint_dynamics.robot.linear_dynamics import LinearDynamics
from joint_dynamics.robot.mdh import MdhTable, build_from_mdh, load_mdh
from joint_dynamics.robot.mounting import gravity_in_base
from joint_dynamics.robot.urdf import build_from_urdf, read_source, stripped_urdf


class RobotModel(LinearDynamics):
    """A robot of n one-axis joints; build it with `from_urdf`, `from_mdh` or `load`.

    Standard parameters are those of `StandardParameters`, 14 per joint and three per coupled motor. Torques act on the
    joint, in the direction of q, and are what the drive has to give: tau = M(q) q̈ + C q̇ + g(q) + friction [M2 eq
    2.23-2.24].

    Parameters
    ----------
    model, limits
        the pinocchio model and the limits of its joints.
    mounting, coupling
        see `from_urdf`.
    has_inertials
        whether the model's inertials are known.
    urdf, locked, mdh
        what it was built from: text, {name: rad}, table.

    Attributes
    ----------
    joint_names, n, limits: of the joints, in chain order.
    parameter_names: names of the standard parameters, p in all.
    parameters: (p,) [SI] from the URDF's inertials (rotor and friction 0), or None where it has none.
    pinocchio: the pinocchio model, for forward kinematics and geometry; `urdf` its text, None for an MDH table;
    `locked` {name: rad}.
    mdh: the table, None for a URDF. coupling: DriveCoupling or None.

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
        has_inertials: bool = False,
        urdf: str | None = None,
        locked: Mapping[str, float] | None = None,
        mdh: MdhTable | None = None,
    ):
        model.gravity.linear = gravity_in_base(mounting)
        super().__init__(model, coupling, has_inertials=has_inertials)
        self.limits = limits
        self.mounting = mounting
        self.urdf = urdf
        self.locked = dict(locked or {})
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
    ) -> RobotModel:
        """Build from a URDF.

        Parameters
        ----------
        source
            a path or XML text.
        joints
            those to keep (default: all movable ones that mimic no other); the rest is locked at `locked` {name: rad} or
            0.
        mounting
            see `mounting_rotation`.
        coupling
            (n, n) motor angles [rad] from joint angles [rad], None for one motor per joint.

        Raises
        ------
        JointDynamicsError
            Naming what was expected and found.
        """
        model, limits, has_inertials, text = build_from_urdf(source, joints, locked)
        return cls(
            model, limits, mounting=mounting, coupling=coupling, has_inertials=has_inertials, urdf=text, locked=locked
        )

    @classmethod
    def from_mdh(
        cls, source: str | Path | Mapping[str, Any], *, mounting: Any = None, coupling: ArrayLike | None = None
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

        Raises
        ------
        JointDynamicsError
            Naming what was expected and found.
        """
        table = load_mdh(source)
        coupling = table.coupling if coupling is None else coupling
        return cls(build_from_mdh(table), table.limits, mounting=mounting, coupling=coupling, mdh=table)

    @classmethod
    def load(cls, source: str | Path, **options: Any) -> RobotModel:
        """Build from a URDF or an MDH table, told apart by content.

        Parameters
        ----------
        source
            a path, or the text itself.
        options
            as for `from_urdf` and `from_mdh`.

        Raises
        ------
        JointDynamicsError
            For a file that cannot be read, is neither, or has no robot of one-axis joints in it.
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

    def standing(self, mounting: Any = None, coupling: ArrayLike | None = None) -> RobotModel:
        """Return the same arm with another mounting or another coupling of its drives.

        Parameters
        ----------
        mounting
            see `mounting_rotation`; None: as it is.
        coupling
            (n, n) motor angles [rad] from joint angles [rad]; None: as it is.
        """
        mounting = self.mounting if mounting is None else mounting
        coupling = (self.coupling.matrix if self.coupling else None) if coupling is None else coupling
        return RobotModel(
            self.pinocchio.copy(),
            self.limits,
            mounting=mounting,
            coupling=coupling,
            has_inertials=self.parameters is not None,
            urdf=self.urdf,
            locked=self.locked,
            mdh=self.mdh,
        )

    def kinematics(self) -> dict[str, Any]:
        """Return what a document needs to build this robot again, beside joint names and mounting.

        `urdf` (stripped of pictures) or `mdh`.
        """
        found: dict[str, Any] = (
            {'mdh': self.mdh.document()} if self.mdh is not None else {'urdf': stripped_urdf(self.urdf or '')}
        )
        if self.locked:
            found['locked'] = {name: float(value) for name, value in self.locked.items()}
        if self.coupling is not None:
            found['coupling'] = self.coupling.matrix.tolist()
        return found
