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

"""Bags of both storages, compressed or not, and defects of bags."""

import shutil

import numpy as np
import pytest
import yaml
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import load_recording
from joint_dynamics.recording.bag import DEFINITIONS, typestore
from joint_dynamics.recording.mcap_file import Topic

NAMES = ('shoulder', 'elbow', 'wrist')


@pytest.fixture
def bag(tmp_path, write_bag, joint_state_rows):
    return write_bag(tmp_path / 'run', joint_state_rows())


def damaged(path, reason, **keys):
    """Return the message with which the recording is refused: one line that names the file and the reason."""
    with pytest.raises(JointDynamicsError, match=reason) as caught:
        load_recording(path, **keys)
    assert str(path).split('@')[0] in str(caught.value)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('storage', 'compression'),
    [
        ('MCAP', None),
        ('MCAP', 'FILE'),
        ('MCAP', 'MESSAGE'),
        ('MCAP', 'STORAGE'),
        ('SQLITE3', None),
        ('SQLITE3', 'FILE'),
        ('SQLITE3', 'MESSAGE'),
    ],
)
def test_every_storage_and_compression_gives_the_same(
    tmp_path, write_bag, joint_state_rows, motion, storage, compression
):
    path = write_bag(tmp_path / 'run', joint_state_rows(), storage, compression)
    recording = load_recording(path, joint_names=('wrist', 'shoulder', 'elbow'))
    np.testing.assert_array_equal(recording.q, motion.q(motion.stamps())[:, [2, 0, 1]])
    np.testing.assert_array_equal(recording.tau, motion.tau(motion.stamps())[:, [2, 0, 1]])
    assert recording.name == str(path)


@pytest.mark.parametrize(('storage', 'name'), [('MCAP', 'run.mcap'), ('SQLITE3', 'run.db3')])
def test_a_single_file_of_a_bag_is_a_recording(tmp_path, write_bag, joint_state_rows, motion, storage, name):
    path = write_bag(tmp_path / 'run', joint_state_rows(), storage)
    alone = shutil.copy(path / name, tmp_path / f'alone@home.{name[4:]}')
    np.testing.assert_array_equal(load_recording(alone).q, motion.q(motion.stamps()))
    np.testing.assert_array_equal(load_recording(f'{alone}@0.5:1.5').q, motion.q(motion.stamps())[100:300])


def test_a_split_bag_is_read_in_the_order_of_its_files(tmp_path, write_bag, joint_state_rows, motion):
    rows = joint_state_rows()
    first, second = write_bag(tmp_path / 'first', rows[:250]), write_bag(tmp_path / 'second', rows[250:])
    shutil.copy(second / 'second.mcap', first)
    metadata = yaml.safe_load((first / 'metadata.yaml').read_text())
    information = metadata['rosbag2_bagfile_information']
    information['relative_file_paths'] = ['first.mcap', 'second.mcap']
    information['topics_with_message_count'][0]['message_count'] = len(rows)
    (first / 'metadata.yaml').write_text(yaml.safe_dump(metadata))
    np.testing.assert_array_equal(load_recording(first).q, motion.q(motion.stamps()))
    (first / 'second.mcap').write_bytes((first / 'second.mcap').read_bytes()[:-100])
    damaged(first, r'second\.mcap')


@pytest.mark.parametrize(
    ('window', 'rows'),
    [
        ('@0.5:1.5', slice(100, 300)),
        ('@:1', slice(0, 200)),
        ('@1:', slice(200, None)),
        ('@:', slice(None)),
        ('@.5:1.', slice(100, 200)),
    ],
)
def test_windows(bag, motion, window, rows):
    recording = load_recording(f'{bag}{window}')
    np.testing.assert_array_equal(recording.q, motion.q(motion.stamps())[rows])
    assert recording.time[0] == 0
    assert recording.name == f'{bag}{window}'


def test_a_window_of_the_reader_is_the_window_of_the_recording(bag):
    np.testing.assert_array_equal(load_recording(f'{bag}@0.333:1.777').q, load_recording(bag).window(0.333, 1.777).q)


@pytest.mark.parametrize('name', ['a@b', 'run@1:2', 'x@'])
def test_a_path_may_hold_an_at_sign(tmp_path, write_bag, joint_state_rows, name):
    path = write_bag(tmp_path / name, joint_state_rows())
    assert load_recording(path).samples == 401
    assert load_recording(f'{path}@0:1').samples == 200


@pytest.mark.parametrize('window', ['1', 'a:b', '-1:2', '1:1', '2:1', ':inf', '1_0:', '1:2:3'])
def test_windows_that_are_none(bag, window):
    damaged(f'{bag}@{window}', f"'{window}'")


def test_a_missing_recording(tmp_path):
    damaged(tmp_path / 'nothing', 'found no such file')
    damaged(f'{tmp_path / "nothing"}@0:1', 'found no such file')


def test_files_that_are_no_recordings(tmp_path):
    for name, content, reason in (
        ('a.txt', b'hello', r'expected a rosbag2 folder, a .mcap, .db3 or .csv file, found a file .txt'),
        ('b', b'hello', 'found a file without ending'),
        ('c.bag', b'hello', r'found a file .bag .*rosbags-convert'),
        ('c.mcap', b'', 'whole chunk'),
        ('d.mcap', b'hello, world', 'expected .*magic'),
        ('e.db3', b'', 'expected a rosbag2 recording'),
        ('f.db3', b'hello, world' * 1000, 'expected a rosbag2 recording'),
    ):
        (tmp_path / name).write_bytes(content)
        damaged(tmp_path / name, reason)


def test_a_folder_without_metadata(tmp_path, bag):
    (bag / 'metadata.yaml').unlink()
    shutil.copy(bag / 'run.mcap', bag / 'more.mcap')
    damaged(bag, r'expected metadata.yaml in a rosbag2 folder, found more.mcap, run.mcap .*reindex')
    (tmp_path / 'empty').mkdir()
    damaged(tmp_path / 'empty', 'expected metadata.yaml in a rosbag2 folder, found nothing')


@pytest.mark.parametrize('content', ['', 'a: [', 'rosbag2_bagfile_information: 3', 'other: {}', '\x00\x01'])
def test_metadata_that_cannot_be_read(bag, content):
    (bag / 'metadata.yaml').write_text(content)
    damaged(bag, 'expected a rosbag2 recording|metadata.yaml: expected')


@pytest.mark.parametrize('storage', ['MCAP', 'SQLITE3'])
@pytest.mark.parametrize('share', [0.1, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(tmp_path, write_bag, joint_state_rows, storage, share):
    path = write_bag(tmp_path / 'run', joint_state_rows(), storage)
    file = next(item for item in path.iterdir() if item.suffix in ('.mcap', '.db3'))
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    damaged(path, 'truncated|damaged|something else')
    damaged(file, 'truncated|damaged|something else')


@pytest.mark.parametrize('compression', ['FILE', 'MESSAGE', 'STORAGE'])
def test_damaged_compressed_data_are_refused(tmp_path, write_bag, joint_state_rows, compression):
    path = write_bag(tmp_path / 'run', joint_state_rows(), 'MCAP', compression)
    file = next(item for item in path.iterdir() if item.suffix != '.yaml')
    content = bytearray(file.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 200] = bytes(200)
    file.write_bytes(bytes(content))
    damaged(path, 'truncated|damaged|something else')


def test_fewer_messages_than_the_metadata_states(bag):
    text = (bag / 'metadata.yaml').read_text().replace('message_count: 401', 'message_count: 500')
    (bag / 'metadata.yaml').write_text(text)
    damaged(bag, 'expected 500 messages on /joint_states, as is stated, found 401')


def test_a_topic_that_is_not_there_lists_those_that_are(bag):
    damaged(
        bag,
        r'expected topic /robot/joint_states \(sensor_msgs/msg/JointState\), found /joint_states'
        r' \(sensor_msgs/msg/JointState\)',
        settings={'joint_states': '/robot/joint_states'},
    )
    damaged(
        bag,
        r'expected topic /\{joint\}/temperature \(sensor_msgs/msg/Temperature\)',
        settings={'temperatures': '{joint}/temperature'},
    )


def test_a_topic_of_another_type(tmp_path, write_bag, motion, messages):
    rows = messages.rows('/joint_states', motion.stamps(), lambda t: messages.array([1.0]))
    reason = 'expected sensor_msgs/msg/JointState on /joint_states, found std_msgs/msg/Float64MultiArray'
    damaged(write_bag(tmp_path / 'run', rows), reason)


def test_a_topic_without_messages(tmp_path, write_bag, joint_state_rows):
    for name, rows in (('run', joint_state_rows(topic='/other')), ('nothing', [])):
        path = write_bag(tmp_path / name, rows, empty=[('/joint_states', 'sensor_msgs/msg/JointState')])
        damaged(path, 'found none on /joint_states')


@pytest.mark.parametrize('count', ['[1, 2]', 'true', '-1', '1e30', '{}', 'many', '99999999999999999999999'])
def test_a_message_count_that_is_none_is_refused(bag, count):
    text = (bag / 'metadata.yaml').read_text().replace('message_count: 401', f'message_count: {count}')
    (bag / 'metadata.yaml').write_text(text)
    damaged(bag, 'expected a number of messages|expected a rosbag2 recording|truncated or damaged')


def test_unfinished_recordings_are_read_to_their_last_chunk(tmp_path, bag, motion):
    content = (bag / 'run.mcap').read_bytes()
    (bag / 'metadata.yaml').unlink()
    complete = load_recording(bag)
    assert complete.samples == motion.stamps().size and not complete.notes
    alone = tmp_path / 'alone.mcap'
    alone.write_bytes(content[:-5])
    cut = load_recording(alone)
    np.testing.assert_array_equal(cut.q, complete.q)
    assert any('never ended' in note for note in cut.notes)
    alone.write_bytes(content[:200])
    damaged(alone, 'ends before its first whole chunk')


@pytest.mark.parametrize('distribution', [Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY, Stores.LATEST])
def test_standard_messages_are_those_of_the_distribution(distribution):
    expected, found = get_typestore(distribution).fielddefs, typestore().fielddefs
    assert set(DEFINITIONS) <= set(found)
    for name in set(found) & set(expected):
        assert found[name] == expected[name], name


def test_a_definition_in_the_bag_goes_before_ours():
    text = f'std_msgs/Header header\nstring[] keys\nfloat64 further\n{"=" * 80}\nMSG: std_msgs/Header\nfloat64 other\n'
    fields = typestore(Topic('/names', 'control_msgs/msg/Keys', 'ros2msg', text)).fielddefs
    assert [name for name, _ in fields['control_msgs/msg/Keys'][1]] == ['header', 'keys', 'further']
    assert [name for name, _ in fields['std_msgs/msg/Header'][1]] == ['other']
