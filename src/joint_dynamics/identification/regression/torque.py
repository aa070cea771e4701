"""The full standard set that a solution of the base parameters stands for, and the load torque of an observation under it."""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.robot import BaseParameters, RobotModel
from joint_dynamics.robot.newton_euler import rigid_torque


def standard_set(base: BaseParameters, chi: NDArray, prior: NDArray | None) -> NDArray:
    """Return a full standard set (p,) with base values chi (b,), as near as possible to `prior` (p,), the URDF's; without one, all else zero."""
    if prior is not None:
        return base.lift(chi, prior)
    standard = np.zeros(len(base.standard_names))
    standard[base.independent] = chi
    return standard


def load_torque(model: RobotModel, observation: Observation, links: NDArray, part: slice = slice(None)) -> NDArray:
    """Return the torque τ_J of the links alone, (joints, samples) [N·m], of (a part of) an observation; links: (n, 10) inertial parameters."""
    q, dq, ddq = (np.ascontiguousarray(array[part].T) for array in (observation.q, observation.dq, observation.ddq))
    return rigid_torque(model.chain, q, dq, ddq, links)
