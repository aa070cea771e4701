"""The result of an identification: what it found, its dynamics description, and what that predicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.describe import describe
from joint_dynamics.identification.display import as_html, summary_line
from joint_dynamics.identification.findings import Findings
from joint_dynamics.identification.validate import predict_torque
from joint_dynamics.recording import Recording


@dataclass(frozen=True)
class IdentificationResult(Findings):
    """Identified parameters of a robot.

    Attributes
    ----------
    problem: the regression problem (columns, their names and expressions). settings, plan: as used, with the cut-offs
    chosen.
    solution: chi (b,) and conditioning. covariance: (b, b), robust against correlation in time.
    training, validation: one Fit per recording. reasons: why the result is not reliable (empty where it is).
    seconds: how long it took. notes: of the recordings and of the method, for the reader.
    standard: (p,) full standard set, where the method found one. rotor: what was compensated before, None where nothing
    was. details: what the steps of the method say of themselves.
    validity: {joint: {speed, load, temperature}} within which the friction was checked. resting: friction of joints at
    rest, None: rest was not looked at. transmissions: {joint: stiffness, kinematic error, backlash} of those where both
    sides were recorded.
    drive_gain_deviation: {value, assumed} of currents. drive_gains, payload: as identified, None: not asked for.
    diagnostics: of the residuals. checks: delay, torque scales, differences between recordings and the like, entries of
    summary.json.

    """

    @cached_property
    def description(self) -> DynamicsDescription:
        """The DynamicsDescription of this result: one document, whose date is that of the first look at it."""
        return describe(self)

    def predict(self, recording: Recording) -> FloatArray:
        """Return the torque that the description predicts along a recording, (samples, joints) [N·m].

        As `validate` computes it.

        Joints in the order of `description`, every sample of the recording; its own torque or current takes no part.

        Raises
        ------
        JointDynamicsError
            As `predict_torque` does.
        """
        return predict_torque(self.description, recording, self.settings)

    def __repr__(self) -> str:
        return f'<IdentificationResult {summary_line(self)}>'

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the verdict with its reasons, residuals and parameters."""
        return as_html(self)
