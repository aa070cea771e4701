"""One Recording of aligned arrays, from rosbag2, CSV or live topics."""

from joint_dynamics.recording.bag_writer import BagWriter
from joint_dynamics.recording.builder import RecordingBuilder
from joint_dynamics.recording.encoder_step import encoder_step
from joint_dynamics.recording.load import load_pieces, load_recording
from joint_dynamics.recording.mcap_checksums import add_checksums, check_checksums
from joint_dynamics.recording.periods import PeriodAverage, average_periods
from joint_dynamics.recording.quantities import QUANTITIES
from joint_dynamics.recording.recording import Recording
from joint_dynamics.recording.recording_settings import RecordingSettings
from joint_dynamics.recording.recordings_folder import end_unfinished, new_recording, refuse_recording
from joint_dynamics.recording.repetition import Repetition, find_repetition
from joint_dynamics.recording.short_names import short_name, with_short_names

__all__ = [
    'QUANTITIES',
    'BagWriter',
    'PeriodAverage',
    'Recording',
    'RecordingBuilder',
    'RecordingSettings',
    'Repetition',
    'add_checksums',
    'average_periods',
    'check_checksums',
    'encoder_step',
    'end_unfinished',
    'find_repetition',
    'load_pieces',
    'load_recording',
    'new_recording',
    'refuse_recording',
    'short_name',
    'with_short_names',
]
