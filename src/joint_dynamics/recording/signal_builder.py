"""From samples as they come, of a file or of live topics, to aligned signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.align import Aligner
from joint_dynamics.recording.aligned_signals import AlignedSignals
from joint_dynamics.recording.checks import check_signals
from joint_dynamics.recording.common_grid import make_grid
from joint_dynamics.recording.gathering import Gathered, gather
from joint_dynamics.recording.inputs import MOTOR_SIDE, Input, absolute, topic_regex
from joint_dynamics.recording.pieces import pieces_between_gaps
from joint_dynamics.recording.quantities import POSITIONS, QUANTITIES
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.recording.streams import Stream, Table
from joint_dynamics.robot.limits import JointLimits

S = TypeVar('S', bound=AlignedSignals)
#: Motor-side quantity -> the array of the Recording it becomes.
REFLECTED = {'motor_position': 'theta', 'motor_velocity': 'dtheta', 'motor_torque': 'tau'}


class SignalBuilder:
    """Collects samples and aligns them when asked; `RecordingBuilder`, which says more, without its `build`.

    Parameters
    ----------
    joint_names
        the joints wanted, in their order; None: those of the link-side positions, in order of appearance.
    settings
        RecordingSettings or the mapping it is made from.
    limits
        of these joints, where the robot is known.
    """

    def __init__(
        self,
        joint_names: Sequence[str] | None = None,
        settings: RecordingSettings | Mapping[str, Any] | None = None,
        limits: JointLimits | None = None,
    ):
        self.limits = limits
        self.unprotected = ''
        self.joint_names = None if joint_names is None else tuple(joint_names)
        self.settings = RecordingSettings.from_mapping(settings)
        self.inputs = self.settings.inputs(self.joint_names or ())
        self.counts: dict[str, int] = {}
        self._streams: dict[tuple[str, str], Stream] = {}
        self._replacing: set[str] = set()
        self._readers: dict[str, list[Input]] = {}

    def topics(self) -> dict[str, str]:
        """Return topic -> message type of everything to subscribe to.

        `{joint}` stands for each name a joint has, here or in messages. Raises JointDynamicsError where it stands for
        names that are not known.
        """
        found: dict[str, str] = {}
        for item in self.inputs:
            for topic, kind in item.topics.items():
                if '{joint}' not in topic:
                    found[topic] = kind
                elif self.joint_names is None:
                    raise JointDynamicsError(
                        f'{topic}: expected the names of the joints, which the topic stands for, found none'
                    )
                else:
                    theirs = [name for name, ours in self.settings.names.items() if ours in self.joint_names]
                    found.update({topic.replace('{joint}', name): kind for name in (*self.joint_names, *theirs)})
        return found

    def add_message(self, topic: str, message: Any, received: int) -> None:
        """Add one message of `topic`, received at this time (ns).

        Raises
        ------
        JointDynamicsError
            When it contradicts itself.
        """
        readers = self.readers(topic)
        self.count(topic)
        for item in readers:
            for quantity, stamp, names, values in item.read(topic, message, received):
                self.add(quantity, stamp, names, values, topic, item.replaces)

    def readers(self, topic: str) -> list[Input]:
        """Return the adapters that want the messages of a topic."""
        readers = self._readers.get(topic)
        if readers is None:
            readers = [
                item
                for item in self.inputs
                if any(topic_regex(name).fullmatch(absolute(topic)) for name in item.topics)
            ]
            self._readers[topic] = readers
        return readers

    def count(self, topic: str, messages: int = 1) -> None:
        """Count messages of a topic that were read."""
        self.counts[topic] = self.counts.get(topic, 0) + messages

    def add(
        self,
        quantity: str,
        stamp: int,
        names: Sequence[str],
        values: Any,
        source: str = 'input',
        replaces: bool = False,
    ) -> None:
        """Add one sample: `values` of a quantity.

        An array of Recording, or motor_position, motor_velocity, motor_torque.

        `stamp` in ns of any clock, the same for all; `names` the joints, in the order of the values. Samples of one
        source belong together; a source that `replaces` (a second encoder) counts instead of the others for the joints
        it has.
        """
        if replaces:
            self._replacing.add(source)
        self._stream(quantity, source).append(stamp, names, values)

    def add_block(
        self,
        quantity: str,
        stamps: IntArray,
        names: Sequence[str],
        values: FloatArray,
        source: str = 'input',
        replaces: bool = False,
    ) -> None:
        """Add a block of samples of one source.

        Parameters
        ----------
        quantity
            as the fields of `Recording` are called.
        stamps
            (K,) ns.
        names
            of the joints.
        values
            (K, len(names)) in the unit of the quantity: rad, rad/s, N·m, A, °C.
        source
            where they come from, for messages.
        replaces
            see `add`.
        """
        if replaces:
            self._replacing.add(source)
        self._stream(quantity, source).extend(stamps, names, values)

    def clear(self) -> None:
        """Forget all samples (the names of interfaces, which are latched, stay)."""
        self._streams.clear()
        self.counts.clear()

    def aligned(self, kind: type[S], name: str, window: tuple[float | None, float | None]) -> S:
        """Return everything added so far as `kind`; `name` and `window` as of `RecordingBuilder.build`.

        Raises
        ------
        JointDynamicsError
            One line, for what cannot be used.
        """
        gathered = self._gather(name)
        return self._align(kind, gathered, self._grid(gathered, name, window), name)

    def pieces(self, kind: type[S], name: str, window: tuple[float | None, float | None]) -> list[S]:
        """Return the same in pieces between the gaps that are too long to be bridged, each called `name@t0:t1`.

        One piece, `aligned`, where there is no such gap. What was left out is among the notes of the first. `kind`,
        `name` and `window`: as of `aligned`.

        Raises
        ------
        JointDynamicsError
            One line, for what cannot be used; where too much would be left out.
        """
        gathered = self._gather(name)
        grid = self._grid(gathered, name, window)
        found = pieces_between_gaps(grid, gathered.tables)
        if found is None:
            return [self._align(kind, gathered, grid, name)]
        signals, whole = [], name if window == (None, None) else name.rpartition('@')[0] or name
        for t0, t1 in found.windows:
            part = f'{whole}@{t0:.6g}:{t1:.6g}'
            signals.append(self._align(kind, gathered, self._grid(gathered, part, (t0, t1)), part))
        return [replace(signals[0], notes=(found.note, *signals[0].notes)), *signals[1:]]

    def _gather(self, name: str) -> Gathered:
        return gather(self._tables(name), self.joint_names, self._replacing, name)

    def _grid(self, gathered: Gathered, name: str, window: tuple[float | None, float | None]) -> Aligner:
        return make_grid(gathered.tables, self.settings, name, window, self.joint_names, self.limits, self.unprotected)

    def _align(self, kind: type[S], gathered: Gathered, aligner: Aligner, name: str) -> S:
        joints, merged, notes = gathered.joints, gathered.quantities, list(gathered.notes)
        arrays: dict[str, FloatArray] = {}
        for quantity, members in merged.items():
            array = np.empty((aligner.grid.size, len(joints)))
            for table in members:
                array[:, [joints.index(joint) for joint in table.names]] = aligner.align(table)
            arrays[quantity] = array
        duplicates = [
            f'{table.duplicates} duplicate stamps of {table.quantity} on {table.source}: the last sample of each kept'
            for members in merged.values()
            for table in members
            if table.duplicates
        ]
        self._reflect(arrays, joints, notes)
        signals = kind(
            joints, aligner.grid - aligner.grid[0], name=name, notes=(*aligner.report(), *duplicates, *notes), **arrays
        )
        return check_signals(signals, self.settings.implausible)

    def _stream(self, quantity: str, source: str) -> Stream:
        stream = self._streams.get((quantity, source))
        if stream is None:
            if quantity not in QUANTITIES and quantity not in MOTOR_SIDE:
                raise JointDynamicsError(
                    f'{source}: quantity: expected one of {", ".join((*QUANTITIES, *MOTOR_SIDE))}, found {quantity!r}'
                )
            stream = self._streams[quantity, source] = Stream(source, quantity, self.settings.names)
        return stream

    def _tables(self, name: str) -> list[Table]:
        try:
            tables = [table for stream in self._streams.values() for table in stream.tables() if table.stamps.size]
        except JointDynamicsError as error:
            raise JointDynamicsError(f'{name}: {error}') from None
        if not any(table.quantity in POSITIONS for table in tables):
            read = ', '.join(f'{count} messages on {topic}' for topic, count in self.counts.items()) or 'no message'
            wanted = ', '.join(
                topic
                for item in self.inputs
                if any(quantity in POSITIONS for quantity in item.quantities)
                for topic in item.topics
            )
            raise JointDynamicsError(
                f'{name}: no position of any joint: expected on {wanted or "some input"}, found {read}'
            )
        return tables

    def _reflect(self, arrays: dict[str, FloatArray], joints: Sequence[str], notes: list[str]) -> None:
        """Bring motor-side signals to the joint side; without a link side, a rigid transmission gives q = θ."""
        side = self.settings.motor_side
        for motor, quantity in REFLECTED.items():
            if motor in arrays:
                if quantity in arrays:
                    raise JointDynamicsError(
                        f'{quantity}: expected one input, found it on the link side and on the motor side '
                        '(effort: none for one of them)'
                    )
                reflect = {'theta': side.position, 'dtheta': side.velocity, 'tau': side.torque}[quantity]
                arrays[quantity] = reflect(arrays.pop(motor), joints)
        if 'q' not in arrays:
            arrays['q'] = arrays['theta']
            notes.append('no link-side positions: q is the reflected motor angle (rigid transmission)')
            if 'dq' not in arrays and 'dtheta' in arrays:
                arrays['dq'] = arrays['dtheta']
