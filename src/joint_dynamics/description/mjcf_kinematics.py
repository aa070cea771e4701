"""A robot as MuJoCo reads it from an MJCF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.placement import Posture
from joint_dynamics.errors import JointDynamicsError, one_line


class MjcfKinematics:
    """Kinematics and inertials of an MJCF, by MuJoCo.

    Parameters
    ----------
    path
        of the file.
    joint_names
        the joints, which it has.

    Raises
    ------
    JointDynamicsError
        Where mujoco is missing or refuses the file, or a joint is not there.
    """

    def __init__(self, path: str | Path, joint_names: Sequence[str]):
        try:
            import mujoco
        except ImportError:
            raise JointDynamicsError(
                f'MJCF {path}: expected the package mujoco to read it, found none (pip install joint_dynamics[mujoco])'
            ) from None
        self.source = f'MJCF {path}'
        # What MuJoCo warns of in a file that is only read would end in a log in the working folder.
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda text: None)
        try:
            self._model: Any = mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise JointDynamicsError(f'MJCF {path}: expected what MuJoCo reads, found: {one_line(error)}') from None
        finally:
            mujoco.set_mju_user_warning(before)
        there = [self._model.joint(k).name for k in range(self._model.njnt)]
        missing = [name for name in joint_names if name not in there]
        if missing:
            raise JointDynamicsError(
                f'MJCF {path}: expected the joints {", ".join(missing)}, found {", ".join(there) or "none"}'
            )
        self._joints = [self._model.joint(name) for name in joint_names]
        self._data: Any = mujoco.MjData(self._model)
        self._run = mujoco.mj_kinematics

    def at(self, q: FloatArray) -> Posture:
        """Return the robot at joint positions q (n,), all others where the file has them."""
        self._data.qpos[:] = self._model.qpos0
        for joint, angle in zip(self._joints, q, strict=True):
            # A joint that is given a reference angle is at 0 there.
            self._data.qpos[joint.qposadr[0]] = angle
        self._run(self._model, self._data)
        bodies = [int(joint.bodyid[0]) for joint in self._joints]
        return Posture(
            [self._place(body) for body in bodies],
            np.array([self._data.xanchor[joint.id] for joint in self._joints]),
            np.array([self._data.xaxis[joint.id] for joint in self._joints]),
            self._place(int(self._model.body_parentid[bodies[0]])),
        )

    def carried(self) -> list[pinocchio.Inertia]:
        """Return per joint the inertia of the body it moves and of all that stands still on it, in that body's frame.

        Joints that were not named stand where the file has them, and what they move is carried.
        """
        self.at(np.zeros(len(self._joints)))
        carriers = {int(joint.bodyid[0]): k for k, joint in enumerate(self._joints)}
        inertias = [pinocchio.Inertia.Zero() for _ in self._joints]
        for body in range(1, self._model.nbody):
            up = body
            while up and up not in carriers:
                up = int(self._model.body_parentid[up])
            if up:
                k = carriers[up]
                inertias[k] += self._place(up).actInv(self._place(body)).act(self._own(body))
        return inertias

    def _place(self, body: int) -> pinocchio.SE3:
        return pinocchio.SE3(np.array(self._data.xmat[body]).reshape(3, 3), np.array(self._data.xpos[body]))

    def _own(self, body: int) -> pinocchio.Inertia:
        w, x, y, z = self._model.body_iquat[body]
        rotation = pinocchio.Quaternion(w, x, y, z).normalized().toRotationMatrix()
        tensor = rotation @ np.diag(self._model.body_inertia[body]) @ rotation.T
        return pinocchio.Inertia(float(self._model.body_mass[body]), np.array(self._model.body_ipos[body]), tensor)
