# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The recordings of one identification: for training, for validation, and with a payload; their averages over periods.

Model errors repeat with the motion. Treating M periods as independent would reduce the deviations of the parameters by
√M, although these errors stay the same; the mean period counts once, with 1/M of the noise variance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import FilterPlan
from joint_dynamics.recording import Recording, Repetition, average_periods, find_repetition
from joint_dynamics.recording.inputs import TORQUES
from joint_dynamics.recording.plausibility import NEEDS_EFFORT, NO_EFFORT
from joint_dynamics.robot import RobotModel
from joint_dynamics.signals.filtering import zero_phase_lowpass

TORQUE = 0.1  # largest difference of torque between periods, over its deviation from its mean (rms, per moving joint)
WARMTH = 2.0  # °C, largest difference of temperature between periods
LONG = 20_000  # samples up to which a recording is used at its own rate
OVERSAMPLING = 20.0  # rate over the position cut-off that a long recording keeps at least: means droop by 0.4 % there
PIECE = re.compile(r' \((before|after|mean of \d+ periods)\)$')
PIECES = ('before', 'mean', 'after')
"""How the names of the pieces of a recording end, and in which order they come."""
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
            lambda recording: without_torque_of(model, _with_torques(recording.select(model.joint_names)))
        )
        if any(recording.temperature is None for recording in data.validation):
            data = replace(data, training=[replace(recording, temperature=None) for recording in data.training])
        return data

    def each(self, change: Callable[[Recording], Recording]) -> PreparedRecordings:
        """Return the same with every recording changed."""
        groups = (self.training, self.validation, self.payload_runs)
        return PreparedRecordings(*([change(recording) for recording in group] for group in groups))

    def averaged(self, period: float | None, plan: FilterPlan) -> PreparedRecordings:
        """Return the same with repeated motion averaged over its periods, without the validation."""
        training, payload_runs = (
            with_mean_periods(group, period, plan.parallel_cutoff, plan.shortest(group))
            for group in (self.training, self.payload_runs)
        )
        return replace(self, training=training, payload_runs=payload_runs)

    def thinned(self, plan: FilterPlan) -> PreparedRecordings:
        """Return the same with long recordings at a lower rate, still far above that of the motion."""
        return self.each(lambda recording: thinned(recording, plan.position_cutoff))

    @property
    def notes(self) -> list[str]:
        """Notes on the processing of the recordings, each once, with the names of the recordings concerned."""
        names_by_note: dict[str, list[str]] = {}
        for recording in (*self.training, *self.validation, *self.payload_runs):
            for note in recording.notes:
                names_by_note.setdefault(note, []).append(recording.name)
        return [f'{", ".join(dict.fromkeys(names))}: {note}' for note, names in names_by_note.items()]


def thinned(recording: Recording, cutoff: float) -> Recording:
    """Return a long recording with means of several samples in place of each, all signals alike.

    cutoff: of the positions [Hz]; the rate stays `OVERSAMPLING` times as high.
    """
    factor = min(recording.samples // LONG, int(recording.rate / (OVERSAMPLING * cutoff)))
    if factor < 2:
        return recording
    count = recording.samples // factor

    def means(values: FloatArray) -> FloatArray:
        return np.asarray(values[: count * factor].reshape(count, factor, -1).mean(axis=1))

    arrays: dict[str, Any] = {name: means(getattr(recording, name)) for name in recording.quantities}
    time = means(recording.time)[:, 0]
    note = f'means of {factor} samples in place of the {recording.samples} at {recording.rate:.4g} Hz'
    return replace(recording, time=time - time[0], notes=(*recording.notes, note), **arrays)


def locked_as_recorded(model: RobotModel, recordings: Sequence[Recording]) -> RobotModel:
    """Return the robot whose locked joints stand where the recordings have them.

    Raises JointDynamicsError for a locked joint that moves in a recording, or stands elsewhere in another one or in
    `robot.locked`.
    """
    places = dict[str, float]()
    for recording in recordings:
        for name, (low, high) in recording.others.items():
            if name not in model.held:
                continue
            where = f'{recording.name}: {name}: expected a locked joint'
            if not high - low <= NEEDS_EFFORT:
                raise JointDynamicsError(
                    f'{where} to stand still, found it between {low:.4g} and {high:.4g} rad: name it in robot.joints'
                )
            middle = 0.5 * (low + high)
            stated = places.setdefault(name, model.locked.get(name, middle))
            if not abs(middle - stated) <= NEEDS_EFFORT:
                raise JointDynamicsError(
                    f'{where} at {stated:.4g} rad, as robot.locked or another recording has it, found it at '
                    f'{middle:.4g} rad: identify such recordings apart'
                )
    return model.locked_at(places)


def of_torques(model: RobotModel, recordings: Sequence[Recording], training: int = 0) -> RobotModel:
    """Return the robot whose torques were recorded: without gravity where the recordings leave it out.

    training: number of the first recordings, which determine the parameters; a joint without torque in all of them is
    one of `without_torque`. Raises JointDynamicsError where some recordings have gravity and some do not.
    """
    silent = [set(recording.without_torque) for recording in recordings[:training]]
    if silent and (unknown := set.intersection(*silent)):
        model = model.standing(without_torque=[name for name in model.joint_names if name in unknown])
    if not any(recording.without_gravity for recording in recordings):
        return model
    for recording in recordings:
        if not recording.without_gravity:
            raise JointDynamicsError(
                f'{recording.name}: expected torque without gravity as in the other recordings, found torque with it: '
                'state what `effort` is of each, or identify them apart'
            )
    return model.standing(weightless=True)


def without_torque_of(model: RobotModel, recording: Recording) -> Recording:
    """Return the recording without the torques of the robot's `without_torque`."""
    if not set(model.without_torque) - set(recording.without_torque):
        return recording
    silent = tuple(name for name in recording.joint_names if name in {*model.without_torque, *recording.without_torque})
    known = ~np.isin(recording.joint_names, silent)
    efforts: dict[str, Any] = {
        name: getattr(recording, name) * known for name in TORQUES if name in recording.quantities
    }
    return replace(recording, without_torque=silent, **efforts)


def _with_torques(recording: Recording) -> Recording:
    """Return the recording; refuse one whose torque of a joint is zero although it moves: it was not measured."""
    measured = [values for values in (recording.tau, recording.current) if values is not None]
    silent = (np.ptp(recording.q, axis=0) > MOVES) & ~np.isin(recording.joint_names, recording.without_torque)
    for values in measured:
        silent = silent & ~(np.abs(values) > NO_EFFORT).any(axis=0)
    if measured and silent.any():
        joints = ', '.join(np.array(recording.joint_names)[silent])
        raise JointDynamicsError(
            f'{recording.name}: torque of {joints}: expected that of a joint that moves, found zero in all '
            f'{recording.samples} samples: does the driver report it? (joint-dynamics doctor)'
        )
    return recording


def with_mean_periods(
    recordings: Sequence[Recording], period: float | None, cutoff: float, shortest: float
) -> list[Recording]:
    """Return the recordings, those with several periods split into up to three: before them, their mean, after them.

    Parameters
    ----------
    period
        s; None: determined where the motion repeats; 0: no averaging.
    cutoff
        Hz below which torques are compared between periods. A recording whose torque or temperature differs between
        periods is left unchanged, with a note, because the difference may be informative.
    shortest
        s; shorter pieces are left out.

    Raises
    ------
    JointDynamicsError
        For a `period` with which no recording repeats.
    """
    if period == 0:
        return list(recordings)
    repetitions = [find_repetition(recording, period) for recording in recordings]
    if period is not None and recordings and not any(repetitions):
        raise JointDynamicsError(
            f'period: expected a recording in which the motion repeats every {period:g} s, found none'
        )
    return [
        piece
        for recording, repetition in zip(recordings, repetitions, strict=True)
        for piece in ([recording] if repetition is None else _pieces(recording, repetition, cutoff, shortest))
    ]


def wholes(names: Sequence[str]) -> list[int]:
    """Return, for each of these recordings, the number of the one from which `with_mean_periods` cut it."""
    numbers: list[int] = []
    last: tuple[str, int] | None = None
    for name in names:
        piece = PIECE.search(name)
        here = None if piece is None else (name[: piece.start()], PIECES.index(piece[1].split()[0]))
        same = here is not None and last is not None and here[0] == last[0] and here[1] > last[1]
        numbers.append(numbers[-1] if same else (numbers[-1] + 1 if numbers else 0))
        last = here
    return numbers


def _pieces(recording: Recording, repetition: Repetition, cutoff: float, shortest: float) -> list[Recording]:
    # a sample more than the periods where there is one: a window leaves out its end
    last = min(repetition.end, float(recording.time[-1]))
    periodic = recording.window(repetition.start, last + recording.period)
    difference = _difference(periodic, repetition, cutoff)
    if difference is not None:
        note = f'the motion repeats every {repetition.period:.6g} s, but {difference}: not averaged over periods'
        return [replace(recording, notes=(*recording.notes, note))]
    try:
        mean = average_periods(periodic, repetition.period)
    except JointDynamicsError as error:
        return [replace(recording, notes=(*recording.notes, f'not averaged over periods: {error}'))]
    mean = replace(mean, name=f'{recording.name} (mean of {repetition.count} periods)')
    start, end = float(recording.time[0]), float(recording.time[-1])

    def rest(begin: float, stop: float, word: str) -> Recording:
        return replace(recording.window(begin, stop), name=f'{recording.name} ({word})', notes=())

    before = [rest(start, repetition.start, 'before')] if repetition.start - start >= shortest else []
    after = [rest(repetition.end, end + recording.period, 'after')] if end - repetition.end >= shortest else []
    return [*before, mean, *after]


def _difference(periodic: Recording, repetition: Repetition, cutoff: float) -> str | None:
    """Return the difference between the periods in words, None where they agree."""
    length = round(repetition.period * periodic.rate)
    periods = [
        slice(k * length, (k + 1) * length) for k in range(repetition.count) if (k + 1) * length <= periodic.samples
    ]
    if periodic.temperature is not None:
        means = np.array([periodic.temperature[period].mean(axis=0) for period in periods])
        change = np.ptp(means, axis=0)
        if change.max() > WARMTH:
            joint = int(np.argmax(change))
            return f'the temperature of {periodic.joint_names[joint]} differs by {change[joint]:.3g} °C'
    effort = periodic.current if periodic.current is not None else periodic.tau
    if effort is None:
        return None
    smooth = zero_phase_lowpass(effort, min(cutoff, 0.4 * periodic.rate), periodic.rate)
    folded = np.array([smooth[period] for period in periods])
    mean = folded.mean(axis=0)
    motion = periodic.q.std(axis=0)
    share = np.sqrt(((folded - mean) ** 2).mean(axis=(0, 1))) / np.maximum(mean.std(axis=0), 1e-12)
    share[motion < 0.1 * motion.max()] = 0.0
    if share.max() > TORQUE:
        joint = int(np.argmax(share))
        return f'the torque of {periodic.joint_names[joint]} differs by {100 * share[joint]:.3g} % between periods'
    return None
