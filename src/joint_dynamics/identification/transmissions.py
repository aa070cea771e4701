"""The transmissions of a robot with two encoders per joint, from the recordings of its bodies' identification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.errors import NotReliableError
from joint_dynamics.recording import Recording

if TYPE_CHECKING:
    from joint_dynamics.identification.joint_tests.result import JointTestResult


def identify_transmissions(
    arm: Arm, recordings: Sequence[Recording], gain_share: float | Mapping[str, float] | None = None
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return {joint: {stiffness, kinematic_error, backlash}} as in a description, and remarks.

    Every recording must have θ; coupled drives are excluded, because their motors do not belong to one joint.
    Quantities that the data of a joint do not determine are left out, with a remark.

    Parameters
    ----------
    arm
        whose bodies, payload included, give the torque through the transmissions.
    recordings
        with the joints in the arm's order.
    gain_share
        relative deviation of the drive gains, one number or by joint; that torque, and with it the stiffness, has the
        same relative deviation. None: exact.
    """
    model = arm.robot
    if model.coupling is not None or any(recording.theta is None for recording in recordings):
        return {}, []
    # here, as `identify` imports this module, and most recordings have one encoder per joint
    from joint_dynamics.identification.joint_tests.data import joint_data
    from joint_dynamics.identification.joint_tests.transmission import identify_transmission

    transmissions: dict[str, dict[str, Any]] = {}
    notes = []
    for index, name in enumerate(model.joint_names):
        limit = float(model.limits.effort[index])
        data = [joint_data(recording, name, arm=arm) for recording in recordings]
        try:
            result = identify_transmission(data, limit=limit if np.isfinite(limit) and limit > 0 else None)
        except NotReliableError as error:
            notes.append(str(error))
            continue
        if result.reasons:
            notes += [f'transmission: {name}: not described: {reason}' for reason in result.reasons]
            continue
        share = gain_share.get(name, 0.0) if isinstance(gain_share, Mapping) else gain_share or 0.0
        transmissions[name] = _with_gain(result, float(share))
    return transmissions, notes


def _with_gain(result: JointTestResult, share: float) -> dict[str, Any]:
    """Return the document of one joint, the deviation of its stiffness with that of the drive gain."""
    stiffness = result.document['stiffness']
    deviations = np.hypot(stiffness['standard_deviations'], share * np.array(stiffness['coefficients'])).tolist()
    return {**result.document, 'stiffness': {**stiffness, 'standard_deviations': deviations}}
