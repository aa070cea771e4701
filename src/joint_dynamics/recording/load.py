"""`Recording.load` as a function, whole and in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from joint_dynamics.recording.files import read_pieces
from joint_dynamics.recording.recording import Recording
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.robot.limits import JointLimits


def load_recording(
    spec: str | Path,
    settings: RecordingSettings | Mapping[str, Any] | None = None,
    joint_names: Sequence[str] | None = None,
    limits: JointLimits | None = None,
) -> Recording:
    """Read a rosbag2 folder, a single .mcap or .db3 file, or a CSV file, optionally a window `PATH@t0:t1` of it.

    t0, t1 are s from the start; either end may be left out, and t1 is not in it. `settings` say which topic holds what
    (RecordingSettings, or the mapping it is made from); `joint_names` are the joints wanted, in their order (those of
    the robot), None for all found; `limits`: theirs, where known, which no value exceeds by orders of magnitude.

    Raises
    ------
    JointDynamicsError
        One line naming what was expected and what was found, for whatever is wrong with the recording.
    """
    return Recording.load(spec, settings, joint_names, limits)


def load_pieces(
    spec: str | Path,
    settings: RecordingSettings | Mapping[str, Any] | None = None,
    joint_names: Sequence[str] | None = None,
    limits: JointLimits | None = None,
) -> list[Recording]:
    """Read a recording in pieces, between gaps that are too long to be bridged; in one where there is none.

    `spec`, `settings`, `joint_names`, `limits`: as of `load_recording`. A piece is called `PATH@t0:t1`, and the first
    has a note of what was left out.

    Raises
    ------
    JointDynamicsError
        One line naming what was expected and what was found, for whatever is wrong with the recording; where more than
        `max_left_out` of it would be left out.
    """
    return read_pieces(Recording, spec, settings, joint_names, limits)
