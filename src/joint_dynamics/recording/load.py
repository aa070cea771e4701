"""From what a user names on the command line to a Recording."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from joint_dynamics.recording.recording import Recording


def load_recording(spec: str | Path, settings: Mapping[str, Any] | None = None,
                   joint_names: Sequence[str] | None = None) -> Recording:
    """Read a rosbag2 folder, a single .mcap or .db3 file, or a CSV file, optionally a window `PATH@t0:t1` (s from the start)."""
    raise NotImplementedError
