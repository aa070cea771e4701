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

"""Recordings written as they come.

Bit for bit, numbered on, never overwritten, readable after a kill or a full disk.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import Reader
from rosbags.typesys import get_types_from_msg

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import BagWriter, bag_writer, load_recording, new_recording
from joint_dynamics.recording.bag import DEFINITIONS
from joint_dynamics.recording.mcap_file import McapFile

# Writes the messages of a file (topic, type, received, bytes pickled) up to the first number and hands them over, then
# up to the second.
CHILD = """
import sys, pickle
from joint_dynamics.recording import new_recording
rows = pickle.load(open(sys.argv[1], 'rb'))
handed, all_ = int(sys.argv[3]), int(sys.argv[4])
number, writer = new_recording(sys.argv[2])
for k, row in enumerate(rows[:all_]):
    if k == handed:
        writer.flush()
    writer.write(*row)
print('written', flush=True)
sys.stdin.read()
"""


def written(folder, rows, **custom):
    writer = BagWriter(folder)
    for row in rows:
        writer.write(*row)
    writer.close(**custom)
    return folder


@pytest.fixture
def empty(tmp_path):
    folder = tmp_path / 'recording_1'
    folder.mkdir()
    return folder


@pytest.fixture
def rows_file(tmp_path, raw_rows):
    """The rows in a file, for another process."""
    (tmp_path / 'rows').write_bytes(pickle.dumps(raw_rows))
    return tmp_path / 'rows'


def messages_of(path):
    """Topic, type, time and bytes of the messages of an MCAP file, up to its last whole chunk."""
    return [(topic.name, topic.kind, received, data) for topic, received, data in McapFile(path).messages()]


def read_back(folder):
    with Reader(folder) as reader:
        return [
            (connection.topic, connection.msgtype, received, bytes(data))
            for connection, received, data in reader.messages()
        ]


def test_what_is_read_back_is_what_was_written_bit_for_bit(empty, raw_rows, motion):
    written(empty, raw_rows)
    assert [item.name for item in sorted(empty.iterdir())] == ['metadata.yaml', 'recording_1_0.mcap']
    assert read_back(empty) == raw_rows
    recording = load_recording(empty)
    np.testing.assert_array_equal(recording.q, motion.q(motion.stamps()))
    assert not any('never ended' in note for note in recording.notes)


def test_metadata_follow_rosbag2(empty, raw_rows):
    written(empty, raw_rows, note='on the bench')
    information = yaml.safe_load((empty / 'metadata.yaml').read_text())['rosbag2_bagfile_information']
    assert information['version'] == 9
    assert information['message_count'] == len(raw_rows)
    assert information['starting_time']['nanoseconds_since_epoch'] == raw_rows[0][2]
    assert information['duration']['nanoseconds'] == raw_rows[-1][2] - raw_rows[0][2]
    assert information['custom_data'] == {'note': 'on the bench'}
    # anchors and aliases are YAML, but not what other writers of these files use
    assert '&' not in (empty / 'metadata.yaml').read_text()


@pytest.mark.parametrize('kind', DEFINITIONS)
def test_the_definition_of_every_input_is_whole(kind):
    """rosbags parses it, with the types of all fields."""
    text = bag_writer.message_definition(kind)
    assert kind in get_types_from_msg(text, kind)


def test_a_type_that_is_not_known_is_refused(empty):
    with pytest.raises(JointDynamicsError, match='my_msgs/msg/Own'):
        BagWriter(empty).write('/own', 'my_msgs/msg/Own', 0, b'')


def test_numbering_goes_on_and_nothing_is_overwritten(tmp_path, raw_rows):
    (tmp_path / 'recording_4.csv').write_text('kept')
    for expected in (5, 6):
        number, writer = new_recording(tmp_path)
        assert number == expected
        writer.write(*raw_rows[expected])
        writer.close()
    assert new_recording(tmp_path, after=9)[0] == 10
    assert (tmp_path / 'recording_4.csv').read_text() == 'kept'
    assert read_back(tmp_path / 'recording_5') == [raw_rows[5]]
    with pytest.raises(JointDynamicsError, match='recording_5'):
        BagWriter(tmp_path / 'recording_5')


def test_an_output_folder_that_cannot_be(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(JointDynamicsError, match=str(tmp_path / 'file')):
        new_recording(tmp_path / 'file')


def test_a_killed_writer_leaves_what_it_handed_over(tmp_path, rows_file, raw_rows, motion):
    handed = 300
    command = [sys.executable, '-c', CHILD, rows_file, tmp_path / 'out', str(handed), '390']
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == 'written\n'
    child.kill()
    child.wait()
    folder = tmp_path / 'out' / 'recording_1'
    recording = load_recording(folder)
    assert recording.samples >= handed - 1
    np.testing.assert_array_equal(recording.q, motion.q(motion.stamps())[: recording.samples])
    assert any('never ended' in note for note in recording.notes)
    kept = messages_of(folder / 'recording_1_0.mcap')
    assert kept == raw_rows[: len(kept)]
    assert new_recording(tmp_path / 'out')[0] == 2


def test_a_file_cut_anywhere_is_read_up_to_its_last_whole_chunk(tmp_path, empty, raw_rows):
    writer = BagWriter(empty)
    ends = []
    for k, row in enumerate(raw_rows):
        writer.write(*row)
        if k % 100 == 99:
            writer.flush()
            ends.append((writer.file.stat().st_size, k + 1))
    content = writer.file.read_bytes()
    writer.abandon()
    cut = tmp_path / 'cut.mcap'
    for size in np.random.default_rng(5).integers(60, len(content), 40):
        cut.write_bytes(content[:size])
        found = messages_of(cut)
        assert found == raw_rows[: len(found)]
        assert len(found) >= max([0, *(count for end, count in ends if end <= size)])


def test_damage_within_an_unfinished_file_is_found(empty, raw_rows):
    writer = BagWriter(empty)
    for row in raw_rows:
        writer.write(*row)
    writer.flush()
    content = bytearray(writer.file.read_bytes())
    writer.abandon()
    content[len(content) // 2] ^= 1
    (empty / 'recording_1_0.mcap').write_bytes(bytes(content))
    with pytest.raises(JointDynamicsError, match=r'recording_1_0\.mcap'):
        load_recording(empty)


def test_messages_wait_no_longer_than_stated(monkeypatch, empty, raw_rows):
    """A killed node loses at most half a second: its own look every 50 ms takes part of it."""
    assert bag_writer.FLUSH_EVERY <= 0.25
    now = [100.0]
    monkeypatch.setattr(bag_writer.time, 'monotonic', lambda: now[0])
    writer = BagWriter(empty)
    for row in raw_rows[:50]:
        writer.write(*row)
    assert not messages_of(writer.file)
    now[0] += bag_writer.FLUSH_EVERY + 0.001
    writer.write(*raw_rows[50])
    assert len(messages_of(writer.file)) == 51
    writer.write(*raw_rows[51])
    writer.flush_when_due()
    assert len(messages_of(writer.file)) == 51
    now[0] += bag_writer.FLUSH_EVERY + 0.001
    writer.flush_when_due()
    assert len(messages_of(writer.file)) == 52


FULL_DISK = """
import sys, pickle, resource
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import BagWriter
rows = pickle.load(open(sys.argv[1], 'rb'))
writer = BagWriter(sys.argv[2])
for row in rows[:200]:
    writer.write(*row)
writer.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (writer.file.stat().st_size + 1000,) * 2)
for row in rows[200:]:
    writer.write(*row)
for attempt in (writer.flush, writer.flush, lambda: writer.write(*rows[0]), writer.close):
    try:
        attempt()
        print('nothing')
    except JointDynamicsError as error:
        print(error)
"""


def test_after_a_full_disk_what_was_written_stays(rows_file, raw_rows, empty):
    """A limit on the size of files stands for the disk: the system call fails in the same place."""
    command = [sys.executable, '-c', FULL_DISK, rows_file, empty]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    assert child.stdout.startswith(f'{empty}: ') and 'File too large' in child.stdout.splitlines()[0]
    assert load_recording(empty).samples >= 199
    kept = messages_of(empty / 'recording_1_0.mcap')
    assert kept == raw_rows[: len(kept)]
