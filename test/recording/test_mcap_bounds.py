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

"""An MCAP file decompresses to a bounded size, whatever it claims."""

import os
import resource
import struct

import lz4.frame
import pytest
import zstandard

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import load_recording
from joint_dynamics.recording.mcap_file import MAX_CHUNK

MAGIC = b'\x89MCAP0\r\n'
CHUNK = 0x06
ZEROS = bytes(MAX_CHUNK + 1)
COMPRESS = {'zstd': zstandard.ZstdCompressor().compress, 'lz4': lz4.frame.compress, '': bytes}


@pytest.mark.parametrize('compression', COMPRESS)
@pytest.mark.parametrize('claimed', [len(ZEROS), 10, 3 * 10**9])
@pytest.mark.parametrize('finished', [False, True])
def test_a_chunk_that_claims_too_much_is_refused(tmp_path, compression, claimed, finished):
    data, name = COMPRESS[compression](ZEROS), compression.encode()
    content = struct.pack('<QQQII', 0, 0, claimed, 0, len(name)) + name + struct.pack('<Q', len(data)) + data
    (tmp_path / 'run').mkdir()
    path = tmp_path / 'run' / 'run_0.mcap'
    path.write_bytes(MAGIC + struct.pack('<BQ', CHUNK, len(content)) + content)
    if finished:
        information = {
            'storage_identifier': 'mcap',
            'relative_file_paths': ['run_0.mcap'],
            'topics_with_message_count': [],
        }
        (tmp_path / 'run' / 'metadata.yaml').write_text(str({'rosbag2_bagfile_information': information}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(JointDynamicsError, match=r'run_0\.mcap'):
        load_recording(tmp_path / 'run')
    asked = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert asked < 10 * MAX_CHUNK  # a few copies, not the size that is claimed


def test_a_pipe_in_a_recording_is_refused(tmp_path):
    (tmp_path / 'run').mkdir()
    os.mkfifo(tmp_path / 'run' / 'run_0.mcap')
    os.mkfifo(tmp_path / 'run.csv')
    for name in ('run', 'run.csv'):
        with pytest.raises(JointDynamicsError, match='pipe'):
            load_recording(tmp_path / name)
