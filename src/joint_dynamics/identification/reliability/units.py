"""Whether effort is in N·m: the torques against the robot file's inertials and effort limits."""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import columns_of
from joint_dynamics.identification.reliability.thresholds import (
    DISAGREEMENT_FACTOR,
    HEAVIEST,
    LOG_LIKELIHOOD_THRESHOLD,
    SAID,
    SMALL_TORQUE_SHARE,
)
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.robot.mounting import GRAVITY
from joint_dynamics.robot.standard_parameters import INERTIAL


def check_units(alternatives: Alternatives, rated: FloatArray) -> list[Reason]:
    """Return a reason where torques are a fraction of what inertials and limits let expect, or more than any arm's.

    rated: what the joints are rated for (n,) [N·m], NaN where not known (`joints.rated_torques`).
    """
    model, samples = alternatives.model, alternatives.samples
    largest = np.quantile(np.abs(samples.tau), 0.99, axis=1)
    if np.isfinite(rated).all() and np.all(largest < SMALL_TORQUE_SHARE * rated):
        return [
            Reason(
                'current',
                f'no effort reaches {100 * SMALL_TORQUE_SHARE:g} % of its limit in the robot file (largest: '
                f'{100 * float((largest / rated).max()):.2g} %): '
                'look whether it is a current (then give drive gains), or in another unit than N·m',
            )
        ]
    reach = sum(float(np.linalg.norm(place.translation)) for place in list(model.pinocchio.jointPlacements)[2:])
    heaviest = HEAVIEST * reach**4 * GRAVITY
    if reach > 0 and largest.max() > heaviest and not np.any(model.chain.prismatic):
        return [
            Reason(
                'current',
                f'{alternatives.names[int(largest.argmax())]} gives {largest.max():.3g} N·m, more than an arm of '
                f'{reach:.2g} m could weigh ({heaviest:.2g} N·m for a tenth of a block of steel of its reach): look '
                'whether efforts are in mN·m, or another unit than N·m',
            )
        ]
    if model.parameters is None or not np.any(model.parameters):
        return []
    factors = _factors(alternatives)
    seen = factors[np.isfinite(factors)]
    # far above them says nothing: many robot files hold a mass of 1 kg for every link
    if len(seen) >= 2 and np.median(seen) < 1 / DISAGREEMENT_FACTOR:
        listed = ', '.join(
            f'{name} {factor:.3g}'
            for name, factor in zip(alternatives.names, factors, strict=True)
            if np.isfinite(factor)
        )
        return [
            Reason(
                'current',
                f'the efforts are these many times what the inertials of the robot file let expect: {listed}; look '
                'whether they are currents (then give drive gains), or in another unit than N·m',
            )
        ]
    return []


def _factors(alternatives: Alternatives) -> np.ndarray:
    """Return s_j (n,) of τ_j ≈ s_j τ_file,j + friction + offset, NaN where the file's torque is not clearly in it."""
    model, samples = alternatives.model, alternatives.samples
    parameters = model.parameters
    assert parameters is not None
    inertial = model.columns(INERTIAL)
    stated = np.einsum(
        'jps,p->js', columns_of(samples, model, independent=inertial)[:, : len(inertial)], parameters[inertial]
    )
    found = np.full(model.n, np.nan)
    for j in range(model.n):
        w = samples.weight[j]
        own = np.column_stack([samples.ddtheta[j], samples.dtheta[j], samples.sign[j], np.ones_like(w)]) * w[:, None]
        y, x = samples.tau[j] * w, stated[j] * w
        basis = np.linalg.qr(own)[0]
        y, x = y - basis @ (basis.T @ y), x - basis @ (basis.T @ x)
        power = float(x @ x)
        if power <= 0 or y @ y <= 0:
            continue
        share = float(x @ y) ** 2 / power / float(y @ y)
        if (
            share > SAID
            and x @ y > 0
            and -0.5 * alternatives.count[j] * np.log(1 - min(share, 1 - 1e-9)) > LOG_LIKELIHOOD_THRESHOLD
        ):
            found[j] = float(x @ y) / power
    return found
