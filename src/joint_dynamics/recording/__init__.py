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

"""One Recording of aligned arrays, from rosbag2, CSV or live topics."""

from joint_dynamics.recording.bag_writer import BagWriter
from joint_dynamics.recording.inputs import QUANTITIES
from joint_dynamics.recording.load import new_recording, short_name, with_short_names
from joint_dynamics.recording.periods import Repetition, average_periods, find_repetition
from joint_dynamics.recording.recording import Recording, RecordingBuilder
from joint_dynamics.recording.recording_settings import RecordingSettings

load_recording = Recording.load
load_pieces = Recording.load_pieces

__all__ = [
    'QUANTITIES',
    'BagWriter',
    'Recording',
    'RecordingBuilder',
    'RecordingSettings',
    'Repetition',
    'average_periods',
    'find_repetition',
    'load_pieces',
    'load_recording',
    'new_recording',
    'short_name',
    'with_short_names',
]
