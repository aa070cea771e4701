"""Whether the motor's angles are on the joint side of the transmission, with the joint's sign."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joint_dynamics.identification.reliability.thresholds import RATIO_TOLERANCE, TRAVEL
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.recording import Recording


def motor_side_reasons(recording: Recording) -> Iterator[Reason]:
    """Yield a reason for each joint whose θ does not follow q one to one.

    The ratio is that of least squares of θ on q, about their means. φ = θ − q is the deformation of the transmission,
    at most some mrad, beside a travel of at least `TRAVEL`.
    """
    if recording.theta is None:
        return
    q = recording.q - recording.q.mean(axis=0)
    theta = recording.theta - recording.theta.mean(axis=0)
    for j, name in enumerate(recording.joint_names):
        if np.ptp(recording.q[:, j]) < TRAVEL:
            continue
        ratio = float(q[:, j] @ theta[:, j] / (q[:, j] @ q[:, j]))
        if abs(ratio - 1.0) > RATIO_TOLERANCE:
            what = 'turns the other way' if abs(ratio + 1.0) < RATIO_TOLERANCE else 'is not reflected to the joint side'
            yield Reason(
                'motor_side',
                f'{recording.name}: the motor of {name} turns {ratio:.4g} rad per rad of the joint, expected 1 on the '
                f'joint side: it {what}; state recording.motor_states.gear_ratio',
            )
