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

"""Damaged recordings: finite, plausible values, or one JointDynamicsError of one line."""

import contextlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import load_recording
from joint_dynamics.recording.plausibility import ANY_ARM
from joint_dynamics.recording.recording_settings import RecordingSettings

_spec = importlib.util.spec_from_file_location('fuzz_tools', Path(__file__).with_name('conftest.py'))
tools = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tools)
pytestmark = pytest.mark.fuzz
NAMES = ['shoulder', 'elbow']
TIME = np.arange(60) * 0.01
Q = np.column_stack([np.sin(TIME), np.cos(3 * TIME)])
DQ = np.column_stack([np.cos(TIME), -3 * np.sin(3 * TIME)])
TAU = 5 + 3 * Q
CSV = (
    'time,q1,q2,dq1,dq2,tau1,tau2\n'
    + '\n'.join(','.join(f'{value:.9g}' for value in row) for row in np.column_stack([TIME, Q, DQ, TAU]))
    + '\n'
)
SETTINGS = RecordingSettings(min_duration=0.1, min_samples=10)


@contextlib.contextmanager
def one_error(path):
    try:
        yield
    except JointDynamicsError as error:
        assert '\n' not in str(error), str(error)
        assert str(path) in str(error)
        assert len(str(error)) < 3000


def use(path):
    recording = load_recording(path, SETTINGS)
    for quantity in recording.quantities:
        values = getattr(recording, quantity)
        assert np.isfinite(values).all()
        assert np.abs(values).max() <= ANY_ARM[quantity]
    assert recording.samples < 10_000_000


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    """Folder of each storage with its files' contents."""
    store = get_typestore(Stores.ROS2_JAZZY)
    header, stamp, state = (
        store.types[name]
        for name in ('std_msgs/msg/Header', 'builtin_interfaces/msg/Time', 'sensor_msgs/msg/JointState')
    )
    found = {}
    for storage in ('MCAP', 'SQLITE3'):
        path = tmp_path_factory.mktemp('bags') / storage.lower()
        with Writer(path, version=9, storage_plugin=StoragePlugin[storage]) as writer:
            connection = writer.add_connection('/joint_states', 'sensor_msgs/msg/JointState', typestore=store)
            for k, time in enumerate(TIME):
                nanoseconds = 1_700_000_000_000_000_000 + round(time * 1e9)
                message = state(
                    header(stamp(nanoseconds // 10**9, nanoseconds % 10**9), ''), NAMES, Q[k], DQ[k], TAU[k]
                )
                writer.write(connection, nanoseconds, store.serialize_cdr(message, 'sensor_msgs/msg/JointState'))
        found[storage] = path, {item.name: item.read_bytes() for item in path.iterdir()}
        use(path)
    return found


@tools.CASES
@given(tools.EDITS)
@example([(0.5, 4, '1e308')])
@example([(0.01, 4, 'nan')])
@example([(0.3, 0, '9' * 400)])
@example([(0.0, 0, ',')])
def test_csv(tmp_path, edits):
    path = tmp_path / 'run.csv'
    path.write_bytes(tools.edited(CSV, edits).encode('utf-8', 'replace'))
    with one_error(path):
        use(path)


FLIPS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 7)), min_size=1, max_size=4)


@tools.CASES
@given(st.sampled_from(['MCAP', 'SQLITE3']), FLIPS, st.one_of(st.none(), st.floats(0, 1)), st.booleans())
def test_bags_with_flipped_bits(bags, storage, flips, cut, alone):
    path, contents = bags[storage]
    name = next(name for name in contents if not name.endswith('.yaml'))
    try:
        (path / name).write_bytes(tools.damaged(contents[name], flips, cut))
        with one_error(path):
            use(path / name if alone else path)
    finally:
        (path / name).write_bytes(contents[name])


@tools.CASES
@given(tools.CHANGES, tools.EDITS, st.booleans())
@example([(0.8125, 'replace', None)], [(0.0, 0, '')], True)
@example([(0.8125, 'replace', [1])], [(0.0, 0, '')], True)
@example([(0.85, 'replace', [])], [(0.0, 0, '')], True)
def test_bags_with_other_metadata(bags, changes, edits, structure):
    import yaml

    path, contents = bags['MCAP']
    before = contents['metadata.yaml'].decode()
    after = yaml.safe_dump(tools.changed(yaml.safe_load(before), changes)) if structure else tools.edited(before, edits)
    try:
        (path / 'metadata.yaml').write_bytes(after.encode('utf-8', 'replace'))
        with one_error(path):
            use(path)
    finally:
        (path / 'metadata.yaml').write_bytes(contents['metadata.yaml'])
