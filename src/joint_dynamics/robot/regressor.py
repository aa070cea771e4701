"""The joint-torque regressor of a tree of rigid bodies with all its zeros, for many samples at once."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.regressor_rows import fill_drive_rows, fill_link_rows
from joint_dynamics.robot.standard_parameters import drive_columns, link_columns, parameter_names


def regressor_rows(
    chain: Chain, q: FloatArray, dq: FloatArray, ddq: FloatArray, wanted: BoolArray | None = None
) -> FloatArray:
    """Return the regressor of one block of samples, component-major.

    Parameters
    ----------
    q, dq, ddq
        (joints, samples), rad (m), rad/s, rad/s².
    wanted
        (parameters,) bool: the inertial parameters whose columns are needed, the others stay zero; None: all.

    Returns
    -------
    (joints, parameters, samples), columns in the order of `StandardParameters`.
    """
    n, samples = q.shape
    count = len(parameter_names(len(chain.parent)))
    rows = np.zeros((n * count, samples))
    place = np.arange(n * count).reshape(n, count)
    links = np.stack([place[:, link_columns(i)] for i in chain.tree.link], axis=1)
    if wanted is not None:
        links = np.where(np.stack([wanted[link_columns(i)] for i in chain.tree.link]), links, -1)
    q, dq, ddq = (np.ascontiguousarray(array.T) for array in (q, dq, ddq))
    fill_link_rows(chain.links(), links, chain.motion(q, dq, ddq), rows)
    fill_drive_rows(np.stack([place[j, drive_columns(j)] for j in range(n)]), dq, ddq, rows)
    return rows.reshape(n, count, samples)
