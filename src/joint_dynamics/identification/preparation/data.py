"""The recordings of one identification: for training, for validation, and with a payload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.preparation.averaging import with_mean_periods
from joint_dynamics.identification.preparation.observations import FilterPlan, shortest
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

MOVES = 0.01
"""Travel [rad or m] from which a joint moves: a torque of exactly zero is none that was measured."""


@dataclass(frozen=True)
class PreparedRecordings:
    """Recordings with the joints in the robot's order.

    Attributes
    ----------
    training
        recordings from which the robot is identified.
    validation
        recordings whose torque is predicted.
    payload_runs
        recordings with a payload on the last link.
    """

    training: Sequence[Recording]
    validation: Sequence[Recording] = ()
    payload_runs: Sequence[Recording] = ()

    @classmethod
    def of(
        cls,
        model: RobotModel,
        training: Sequence[Recording],
        validation: Sequence[Recording],
        payload_runs: Sequence[Recording],
    ) -> PreparedRecordings:
        """Take each recording's joints by name.

        Where the validation has no temperature, it is removed from the training too: selected terms must be
        predictable.

        Raises
        ------
        JointDynamicsError
            Without a recording for training, where one lacks a joint of the robot, and where a moving joint has no
            torque in any sample.
        """
        if not training:
            raise JointDynamicsError('identify: expected at least one recording, found none')
        data = cls(training, validation, payload_runs).each(
            lambda recording: _with_torques(recording.select(model.joint_names))
        )
        if any(recording.temperature is None for recording in data.validation):
            data = replace(data, training=[replace(recording, temperature=None) for recording in data.training])
        return data

    def each(self, change: Callable[[Recording], Recording]) -> PreparedRecordings:
        """Return the same with every recording changed."""
        groups = (self.training, self.validation, self.payload_runs)
        return PreparedRecordings(*([change(recording) for recording in group] for group in groups))

    def averaged(self, period: float | None, plan: FilterPlan) -> PreparedRecordings:
        """Return the same with repeated motion averaged over its periods, but for the validation."""
        training, payload_runs = (
            with_mean_periods(group, period, plan.parallel_cutoff, shortest(plan, group))
            for group in (self.training, self.payload_runs)
        )
        return replace(self, training=training, payload_runs=payload_runs)

    @property
    def notes(self) -> list[str]:
        """Notes on the processing of the recordings, each once, with the names of the recordings concerned."""
        found: dict[str, list[str]] = {}
        for recording in (*self.training, *self.validation, *self.payload_runs):
            for note in recording.notes:
                found.setdefault(note, []).append(recording.name)
        return [f'{", ".join(dict.fromkeys(names))}: {note}' for note, names in found.items()]


def _with_torques(recording: Recording) -> Recording:
    """Return the recording; refuse one that says zero of a joint that moves, which is what is not measured."""
    measured = [values for values in (recording.tau, recording.current) if values is not None]
    silent = np.ptp(recording.q, axis=0) > MOVES
    for values in measured:
        silent = silent & ~values.any(axis=0)
    if measured and silent.any():
        joints = ', '.join(np.array(recording.joint_names)[silent])
        raise JointDynamicsError(
            f'{recording.name}: torque of {joints}: expected that of a joint that moves, found zero in all '
            f'{recording.samples} samples: does the driver report it? (joint-dynamics doctor)'
        )
    return recording
