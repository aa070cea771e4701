"""Where an identified friction was checked: speeds, loads, temperatures, by joint.

Friction is a law of these three. Outside, nothing says that it goes on as identified: readers of a description hold
it at the limit, and say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.physical.dissipation import checked_speed
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.torque import standard_set


def validity(problem: Problem, chi: FloatArray, standard: FloatArray | None = None) -> dict[str, dict[str, Any]]:
    """Return {joint: {speed, load, temperature}} of the kept samples of a problem, with parameters chi (b,).

    Parameters
    ----------
    standard
        the (p,) standard set that goes into the description; None: the one of chi near the URDF's. speed: |ω| [rad/s]
        on the motor side up to which the friction was made to dissipate (`physical.dissipation`: `REACH` times the
        fastest of the recordings, or the joint's limit); load: largest torque through the transmission |τ_J| [N·m] that
        the recordings have; temperature: their [lowest, highest] [°C], absent where a recording lacks it.
    """
    model = problem.model
    if standard is None:
        standard = standard_set(problem.base, chi[: problem.base.count], model.parameters)
    links = model.standard(standard).links
    load = np.zeros(model.n)
    for part in problem.observations:
        kept = part.kept
        torque = model.chain.torque(part.q[kept], part.dq[kept], part.ddq[kept], links)
        load = np.maximum(load, np.abs(torque).max(axis=0))
    if problem.state.load_limit is not None:
        load = np.maximum(load, problem.state.load_limit)
    found: dict[str, dict[str, Any]] = {
        name: {'speed': checked_speed(problem, j), 'load': float(load[j])} for j, name in enumerate(model.joint_names)
    }
    temperatures = [part.temperature[part.kept] for part in problem.observations if part.temperature is not None]
    if temperatures and len(temperatures) == len(problem.observations):
        seen = np.concatenate(temperatures)
        for j, name in enumerate(model.joint_names):
            found[name]['temperature'] = [float(seen[:, j].min()), float(seen[:, j].max())]
    return found
