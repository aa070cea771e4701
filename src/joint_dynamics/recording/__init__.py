"""One Recording of aligned arrays, from rosbag2, CSV or live topics."""

from joint_dynamics.recording.bag_writer import BagWriter
from joint_dynamics.recording.encoder_step import encoder_step
from joint_dynamics.recording.inputs import QUANTITIES
from joint_dynamics.recording.load import end_unfinished, new_recording, refuse_recording, short_name, with_short_names
from joint_dynamics.recording.mcap_file import check_checksums
from joint_dynamics.recording.periods import Repetition, average_periods, find_repetition
from joint_dynamics.recording.recording import Recording, RecordingBuilder
from joint_dynamics.recording.recording_settings import RecordingSettings

load_recording, load_pieces = Recording.load, Recording.load_pieces

__all__ = [
    'QUANTITIES',
    'BagWriter',
    'Recording',
    'RecordingBuilder',
    'RecordingSettings',
    'Repetition',
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
