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

Bit for bit what was given, numbered on, never overwritten, readable after a kill or a full disk.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import Reader

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import (
    BagWriter,
    bag_writer,
    check_checksums,
    end_unfinished,
    load_recording,
    new_recording,
    refuse_recording,
)
from joint_dynamics.recording.bag import CONTROL_MSGS
from joint_dynamics.recording.inputs import FLOAT64_MULTI_ARRAY, JOINT_STATE, TEMPERATURE
from joint_dynamics.recording.mcap_file import bytes_left_out, stored_messages

# Writes the messages of a file (topic, type, received, bytes as npz) up to the first number and hands them over, then
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
    assert check_checksums(empty / 'recording_1_0.mcap')
    recording = load_recording(empty)
    np.testing.assert_array_equal(recording.q, motion.q(motion.stamps()))
    assert not any('never ended' in note for note in recording.notes)


def test_metadata_follow_rosbag2(empty, raw_rows):
    written(empty, raw_rows, note='on the bench')
    information = yaml.safe_load((empty / 'metadata.yaml').read_text())['rosbag2_bagfile_information']
    assert information['version'] == 9
    assert information['storage_identifier'] == 'mcap'
    assert information['relative_file_paths'] == ['recording_1_0.mcap']
    assert information['message_count'] == len(raw_rows)
    assert information['starting_time']['nanoseconds_since_epoch'] == raw_rows[0][2]
    assert information['duration']['nanoseconds'] == raw_rows[-1][2] - raw_rows[0][2]
    topics = {item['topic_metadata']['name']: item for item in information['topics_with_message_count']}
    assert topics['/joint_states']['message_count'] == len(raw_rows) - 1
    assert topics['/joint_states']['topic_metadata']['type'] == JOINT_STATE
    assert topics['/joint_states']['topic_metadata']['type_description_hash'].startswith('RIHS01_')
    assert information['custom_data'] == {'note': 'on the bench'}
    # anchors and aliases are YAML, but not what other writers of these files use
    assert '&' not in (empty / 'metadata.yaml').read_text()


@pytest.mark.parametrize('kind', [JOINT_STATE, TEMPERATURE, FLOAT64_MULTI_ARRAY, *CONTROL_MSGS])
def test_the_definition_of_every_input_is_known(kind):
    encoding, text = bag_writer.message_definition(kind)
    assert encoding == 'ros2msg'
    assert text.strip()


def test_a_type_that_is_not_known_is_refused(empty):
    with pytest.raises(JointDynamicsError, match='my_msgs/msg/Own: expected a message type of'):
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
    with pytest.raises(JointDynamicsError, match='expected a recording that can be written, found: File exists'):
        BagWriter(tmp_path / 'recording_5')


def test_an_output_folder_that_cannot_be(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(JointDynamicsError, match='expected a folder that can be written'):
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
    (note,) = (note for note in recording.notes if 'never ended' in note)
    assert 'never ended: read' in note

    before = [
        (stored.topic, stored.kind, stored.received, stored.data)
        for stored in stored_messages(folder / 'recording_1_0.mcap')
    ]
    (line,) = end_unfinished(tmp_path / 'out')
    assert line == f'{folder} was never ended: {len(before)} messages kept'
    assert read_back(folder) == before == raw_rows[: len(before)]
    assert (
        'recovered'
        in yaml.safe_load((folder / 'metadata.yaml').read_text())['rosbag2_bagfile_information']['custom_data']
    )
    assert sorted(item.name for item in folder.iterdir()) == ['metadata.yaml', 'recording_1_0.mcap']
    assert end_unfinished(tmp_path / 'out') == []
    number, _ = new_recording(tmp_path / 'out')
    assert number == 2


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
        found = [(stored.topic, stored.kind, stored.received, stored.data) for stored in stored_messages(cut)]
        assert found == raw_rows[: len(found)]
        assert len(found) >= max([0, *(count for end, count in ends if end <= size)])
        assert 0 <= bytes_left_out(cut) < size


def test_damage_within_an_unfinished_file_is_found(tmp_path, empty, raw_rows):
    writer = BagWriter(empty)
    for row in raw_rows:
        writer.write(*row)
    writer.flush()
    content = bytearray(writer.file.read_bytes())
    writer.abandon()
    content[len(content) // 2] ^= 1
    (empty / 'recording_1_0.mcap').write_bytes(bytes(content))
    with pytest.raises(JointDynamicsError, match='expected an MCAP file, found a damaged one'):
        load_recording(empty)
    (line,) = end_unfinished(tmp_path)
    assert 'could not be made up for' in line
    assert (empty / 'recording_1_0.mcap').read_bytes() == content
    assert len(list(empty.iterdir())) == 1


def test_messages_wait_no_longer_than_stated(monkeypatch, empty, raw_rows):
    """What is told of a killed node is half a second: the rest of it is for the node, which looks every 50 ms."""
    assert bag_writer.FLUSH_EVERY <= 0.25
    now = [100.0]
    monkeypatch.setattr(bag_writer.time, 'monotonic', lambda: now[0])
    writer = BagWriter(empty)
    for row in raw_rows[:50]:
        writer.write(*row)
    assert not list(stored_messages(writer.file))
    now[0] += bag_writer.FLUSH_EVERY + 0.001
    writer.write(*raw_rows[50])
    assert len(list(stored_messages(writer.file))) == 51
    writer.write(*raw_rows[51])
    writer.flush_when_due()
    assert len(list(stored_messages(writer.file))) == 51
    now[0] += bag_writer.FLUSH_EVERY + 0.001
    writer.flush_when_due()
    assert len(list(stored_messages(writer.file))) == 52


def test_one_that_is_being_written_is_left_alone(tmp_path, raw_rows):
    _, writer = new_recording(tmp_path)
    for row in raw_rows:
        writer.write(*row)
    writer.flush()
    assert end_unfinished(tmp_path) == []
    writer.close()
    assert read_back(writer.folder) == raw_rows


def test_a_recording_of_another_recorder_is_left_alone(tmp_path, write_bag, joint_state_rows):
    """It locks nothing and may still be writing; reading it does no harm."""
    path = write_bag(tmp_path / 'recording_3', joint_state_rows())
    (path / 'metadata.yaml').unlink()
    content = (path / 'recording_3.mcap').read_bytes()
    (path / 'recording_3.mcap').write_bytes(content[:-100])
    assert end_unfinished(tmp_path) == []
    assert (path / 'recording_3.mcap').read_bytes() == content[:-100]
    assert load_recording(path).samples == 401


@pytest.mark.parametrize('kind', ['folder', 'file', 'metadata'])
def test_a_link_to_somebody_elses_is_left_alone(tmp_path, raw_rows, kind):
    foreign, out = tmp_path / 'foreign', tmp_path / 'out'
    _, writer = new_recording(foreign)
    for row in raw_rows:
        writer.write(*row)
    writer.flush()
    writer.abandon()
    content = writer.file.read_bytes()
    _, own = new_recording(out)
    own.abandon()
    if kind == 'folder':
        (out / 'recording_2').symlink_to(writer.folder)
    elif kind == 'file':
        own.file.unlink()
        own.file.symlink_to(writer.file)
    else:
        (own.folder / '.metadata.yaml.part').symlink_to(writer.file)
    end_unfinished(out)
    assert [item.name for item in writer.folder.iterdir()] == [writer.file.name]
    assert writer.file.read_bytes() == content
    assert not (kind == 'file' and (own.folder / 'metadata.yaml').exists())


def test_a_refused_recording_stays_with_the_reason(empty, raw_rows):
    written(empty, raw_rows, note='kept')
    refuse_recording(empty, 'a gap of 1.2 s: "too long"')
    information = yaml.safe_load((empty / 'metadata.yaml').read_text())['rosbag2_bagfile_information']
    assert information['custom_data'] == {'note': 'kept', 'refused': 'a gap of 1.2 s: "too long"'}
    assert read_back(empty) == raw_rows


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


def test_a_full_disk_is_said_once_and_what_was_written_stays(tmp_path, rows_file, raw_rows, empty):
    """A limit on the size of files stands for the disk: the system call fails in the same place."""
    command = [sys.executable, '-c', FULL_DISK, rows_file, empty]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    first, *others = child.stdout.splitlines()
    assert first == f'{empty}: expected a recording that can be written, found: File too large'
    assert others == ['nothing'] * 3
    assert load_recording(empty).samples >= 199
    (line,) = end_unfinished(tmp_path)
    assert 'messages kept' in line
    assert read_back(empty) == raw_rows[: len(read_back(empty))]
