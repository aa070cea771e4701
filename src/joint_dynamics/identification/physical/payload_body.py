r"""The body nearest to an identified payload: mass above zero, inertia that goes with mass and centre.

With the estimate x̂ (10,) and its covariance C, the body solves min (x − x̂)ᵀ C⁻¹ (x − x̂) with the pseudo-inertia
P(x) positive semidefinite (Wensing et al. 2018); known parameters keep their values. The deviations stay those of the
estimate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from joint_dynamics.identification.drive_gains.payload_runs import PayloadParameters
from joint_dynamics.identification.physical.semidefinite import _BASIS, _SCALE, MARGIN, _cvxpy, _solve


def payload_body(payload: PayloadParameters) -> PayloadParameters:
    """Return the nearest payload that is a body.

    Raises
    ------
    JointDynamicsError
        Where cvxpy or its solver is missing, or where no body has the known parameters.
    """
    body = np.einsum('p,prc->rc', payload.values, _BASIS)
    if np.linalg.eigvalsh(_SCALE @ body @ _SCALE)[0] >= MARGIN:
        return payload
    cp = _cvxpy()
    x = cp.Variable(len(payload.values))
    P = sum(x[k] * (_SCALE @ _BASIS[k] @ _SCALE) for k in range(len(payload.values)))
    free = np.flatnonzero(~payload.known & np.isfinite(payload.deviation))
    covariance = (
        payload.covariance
        if payload.covariance is not None
        else np.diag(np.where(np.isfinite(payload.deviation), payload.deviation, 0.0) ** 2)
    )
    part = covariance[np.ix_(free, free)]
    scale = np.sqrt(np.diag(part))
    values, vectors = np.linalg.eigh(part / np.outer(scale, scale))
    root = (vectors / np.sqrt(np.maximum(values, 1e-9 * values[-1]))).T / scale
    constraints = [P >> MARGIN * np.eye(4)]
    if payload.known.any():
        constraints.append(x[np.flatnonzero(payload.known)] == payload.values[payload.known])
    _solve(cp, cp.Problem(cp.Minimize(cp.sum_squares(root @ (x[free] - payload.values[free]))), constraints), 'payload')
    return replace(payload, values=np.where(payload.known, payload.values, np.array(x.value)), body=True)
