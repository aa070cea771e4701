"""From samples as they come, of a file or of live topics, to one Recording."""

from __future__ import annotations

from joint_dynamics.recording.recording import Recording
from joint_dynamics.recording.signal_builder import SignalBuilder


class RecordingBuilder(SignalBuilder):
    """Collects samples and aligns them when asked; used by the readers of files and by nodes alike.

        builder = RecordingBuilder(joint_names, settings)
        for topic, message_type in builder.topics().items():      # subscribe, and in the callback:
            builder.add_message(topic, message, received_ns)
        recording = builder.build('live')

    Not thread-safe: a node hands a filled builder to its worker and goes on with a new one.

    Parameters
    ----------
    joint_names: the joints wanted, in their order; None: those of the link-side positions, in order of appearance.
    settings: RecordingSettings or the mapping it is made from.
    limits: of these joints, where the robot is known: what is orders of magnitude beyond them is refused.

    Attributes
    ----------
    counts: messages read so far, by topic.
    unprotected: what is added to the message where values are not plausible, by readers of files without checksums.

    """

    def build(self, name: str = 'recording', window: tuple[float | None, float | None] = (None, None)) -> Recording:
        """Return everything added so far, aligned.

        What is wrong outside the window (gaps, NaN) does no harm.

        Parameters
        ----------
        name
            of the recording, in messages and reports.
        window
            (t0, t1) [s from the start], t1 left out, None for an open end.

        Raises
        ------
        JointDynamicsError
            One line, for what cannot be used.
        """
        return self.aligned(Recording, name, window)

    def build_pieces(
        self, name: str = 'recording', window: tuple[float | None, float | None] = (None, None)
    ) -> list[Recording]:
        """Return the same in pieces between gaps that are too long to be bridged; one where there is none.

        Parameters
        ----------
        name
            of the recording; of a piece `name@t0:t1`.
        window
            as of `build`.

        Raises
        ------
        JointDynamicsError
            One line, for what cannot be used, and where more than `max_left_out` of the settings would be left out.
        """
        return self.pieces(Recording, name, window)
