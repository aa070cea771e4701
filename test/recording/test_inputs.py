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

"""Every input form, through a bag and back: mapped by name, in its stated unit."""

import sqlite3

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording, RecordingBuilder, RecordingSettings, load_recording
from joint_dynamics.recording.recording_settings import JointStates

NAMES = ('shoulder', 'elbow', 'wrist')
ORDER = ('wrist', 'shoulder', 'elbow')
COLUMNS = [2, 0, 1]
TEMPERATURE = 'sensor_msgs/msg/Temperature'
ARRAY = 'std_msgs/msg/Float64MultiArray'


def refused(reason):
    """Expect the one error, for this reason."""
    return pytest.raises(JointDynamicsError, match=reason)


def merged(*rows):
    return sorted((row for part in rows for row in part), key=lambda row: row[2])


@pytest.fixture
def record(tmp_path, write_bag):
    """Write rows into a bag and load it with these settings."""

    def load(rows, config, names=NAMES, **keys):
        return load_recording(write_bag(tmp_path / 'run', rows, **keys), config, names)

    return load


def test_motor_side_joint_states(record, joint_state_rows, motion, messages):
    stamps = motion.stamps()
    ratio = {'shoulder': 100.0, 'elbow': -50.0, 'wrist': 80.0}
    r = np.array([ratio[name] for name in NAMES])

    def message(stamp):
        q, dq, tau = (motion.q(stamp) + 1e-3) * r, motion.dq(stamp) * r, motion.tau(stamp) / r
        return messages.joint_state(stamp, ORDER, q[COLUMNS], dq[COLUMNS], tau[COLUMNS])

    config = {
        'joint_states': {'effort': 'none'},
        'motor_states': {'effort': 'torque', 'gear_ratio': ratio, 'zero_offsets': [0.1, 0.0, 0.0]},
    }
    recording = record(merged(messages.rows('/motor_states', stamps, message), joint_state_rows()), config)
    np.testing.assert_allclose(recording.theta, np.add(motion.q(stamps) + 1e-3, [0.1, 0, 0]), atol=1e-12)
    np.testing.assert_allclose(recording.dtheta, motion.dq(stamps), atol=1e-12)
    np.testing.assert_allclose(recording.tau, motion.tau(stamps), atol=1e-12)
    np.testing.assert_array_equal(recording.q, motion.q(stamps))


def test_coupled_drives_without_a_link_side(record, motion, messages):
    stamps = motion.stamps()
    coupling = np.array([[32.0, 0, 0], [0, 45, 0], [0, 32, 32]])
    q, tau, back = motion.q(stamps), motion.tau(stamps), np.linalg.inv(coupling)
    rows = messages.rows(
        '/motor_states',
        stamps,
        lambda t: messages.joint_state(t, ['m1', 'm2', 'm3'], coupling @ motion.q(t), (), motion.tau(t) @ back),
    )
    config = {
        'joint_states': None,
        'names': {'m1': 'shoulder', 'm2': 'elbow', 'm3': 'wrist'},
        'motor_states': {'effort': 'torque', 'position_coupling': coupling.tolist(), 'zero_offsets': [1.0, 2.0, 3.0]},
    }
    recording = record(rows, config)
    np.testing.assert_allclose(recording.q, np.add(q, [1, 2, 3]), atol=1e-12)
    np.testing.assert_allclose(recording.tau, tau, atol=1e-11)
    assert 'no link-side positions: q is the reflected motor angle (rigid transmission)' in recording.notes
    config['motor_states']['torque_coupling'] = coupling.T.tolist()
    with refused('torque_coupling.*0.3.0'):
        RecordingBuilder(NAMES, config)


def test_second_encoders_replace_the_link_side_of_their_joints(record, joint_state_rows, motion, messages):
    stamps = motion.stamps()
    rows = messages.rows(
        '/link_states',
        stamps,
        lambda t: messages.joint_state(t, ['elbow'], motion.q(t)[1:2] + 0.01, motion.dq(t)[1:2] + 0.02),
    )
    config = {'link_states': '/link_states', 'motor_states': {'topic': '/joint_states', 'effort': 'none'}}
    recording = record(merged(joint_state_rows(), rows), config)
    np.testing.assert_allclose(recording.q, np.add(motion.q(stamps), [0, 0.01, 0]), atol=1e-12)
    np.testing.assert_allclose(recording.dq, np.add(motion.dq(stamps), [0, 0.02, 0]), atol=1e-12)
    np.testing.assert_array_equal(recording.theta, motion.q(stamps))


def test_motor_currents_and_torque_sensors(record, joint_state_rows, motion):
    config = {'motor_current': '/motor_current', 'load_torques': '/sensor'}
    recording = record(
        merged(
            joint_state_rows(), joint_state_rows(topic='/motor_current', names=ORDER), joint_state_rows(topic='/sensor')
        ),
        config,
    )
    for quantity in ('tau', 'current', 'load_torque'):
        np.testing.assert_array_equal(getattr(recording, quantity), motion.tau(motion.stamps()))


@pytest.mark.parametrize(
    ('config', 'topics', 'frames'),
    [
        ('{joint}/temperature', ['/shoulder/temperature', '/elbow/temperature', '/wrist/temperature'], ['', '', '']),
        ('/temp/{joint}', ['/temp/shoulder', '/temp/elbow', '/temp/wrist'], ['x', 'wrist', 'x']),
        (['/t1', '/t2', '/t3'], ['/t1', '/t2', '/t3'], list(NAMES)),
        (['/t1', '/t2', '/t3'], ['/t1', '/t2', '/t3'], ['shoulder_link', 'elbow', 'wrist']),
        (['/temperatures'], ['/temperatures'] * 3, list(NAMES)),
        (
            ['/shoulder/temperature', '/elbow/temperature', '/wrist/temperature'],
            ['/shoulder/temperature', '/elbow/temperature', '/wrist/temperature'],
            ['', 'base', ''],
        ),
    ],
)
def test_temperatures_by_topic_or_frame(record, joint_state_rows, motion, messages, config, topics, frames):
    slow = motion.stamps(10, 1.5) + 120_000_000
    rows = [
        (topic, TEMPERATURE, stamp, messages.temperature(stamp, frame, 30 + index + (stamp - motion.start) * 1e-9))
        for stamp in slow.tolist()
        for index, (topic, frame) in enumerate(zip(topics, frames, strict=True))
    ]
    recording = record(
        merged(joint_state_rows(), rows), {'temperatures': config, 'names': {'shoulder_link': 'shoulder'}}
    )
    held = np.clip(recording.time, 0.12, 1.62)
    np.testing.assert_allclose(recording.temperature, 30 + np.arange(3) + held[:, None], atol=1e-9)
    assert any('temperature 380 ms' in note for note in recording.notes)


def test_temperatures_too_far_away_or_incomplete_or_nameless(
    record, joint_state_rows, motion, messages, tmp_path, write_bag
):
    def rows(names, frame=''):
        return merged(
            joint_state_rows(),
            [
                (f'/{name}/temperature', TEMPERATURE, stamp, messages.temperature(stamp, frame, 30))
                for name in names
                for stamp in motion.stamps(10, 0.5).tolist()
            ],
        )

    path = write_bag(tmp_path / 'all', rows(NAMES))
    with refused(r'temperature of (\w+) on /\1/temperature: expected a sample within 1 s .* 1.5 s'):
        load_recording(path, {'temperatures': '{joint}/temperature', 'max_temperature_gap': 1.0}, NAMES)
    assert load_recording(path, {'temperatures': '{joint}/temperature'}).joint_names == NAMES
    with refused(r'expected temperature of every joint, found .* lacks wrist'):
        load_recording(write_bag(tmp_path / 'two', rows(NAMES[:2])), {'temperatures': '{joint}/temperature'}, NAMES)
    with refused(r'/other/temperature: expected the name of a joint as frame_id or in the topic .*found frame_id'):
        load_recording(write_bag(tmp_path / 'other', rows(['other'])), {'temperatures': ['/other/temperature']}, NAMES)


def test_arrays_without_header_in_their_stated_order(record, joint_state_rows, motion, messages):
    stamps = motion.stamps()
    rows = messages.rows(
        '/rtde/joint_temperatures', stamps[::20], lambda t: messages.array(30 + motion.tau(t)[COLUMNS])
    ) + messages.rows('/rtde/actual_current', stamps, lambda t: messages.array(motion.tau(t)[COLUMNS]))
    config = {
        'joint_states': {'effort': 'none'},
        'arrays': [
            {'topic': 'rtde/joint_temperatures', 'quantity': 'temperature', 'joints': list(ORDER)},
            {'topic': '/rtde/actual_current', 'quantity': 'current', 'joints': list(ORDER)},
        ],
    }
    recording = record(merged(joint_state_rows(late=0), rows), config)
    np.testing.assert_array_equal(recording.current, motion.tau(stamps))
    np.testing.assert_allclose(recording.temperature, 30 + motion.tau(stamps), atol=0.5)  # linear over 0.1 s


def test_an_array_of_another_length_is_refused(record, joint_state_rows, motion, messages):
    rows = messages.rows('/a', motion.stamps(), lambda t: messages.array([1.0, 2.0]))
    with refused(r'/a: expected 3 values \(wrist, shoulder, elbow\), found 2'):
        record(
            merged(joint_state_rows(), rows), {'arrays': [{'topic': 'a', 'quantity': 'current', 'joints': list(ORDER)}]}
        )


@pytest.mark.parametrize(('quantity', 'array'), [('position', 'q'), ('load', 'load_torque'), ('torque', 'tau')])
def test_arrays_may_have_names_of_a_configuration(record, motion, messages, quantity, array):
    rows = messages.rows('/q', motion.stamps(), lambda t: messages.array(motion.q(t)))
    rows += messages.rows('/x', motion.stamps(), lambda t: messages.array(motion.tau(t)))
    arrays = [{'topic': 'q', 'quantity': 'q', 'joints': NAMES}, {'topic': 'x', 'quantity': quantity, 'joints': NAMES}]
    recording = record(merged(rows), {'arrays': arrays[quantity == 'position' :]})
    np.testing.assert_array_equal(getattr(recording, array), motion.tau(motion.stamps()))


@pytest.fixture
def dynamic_rows(motion, messages):
    interfaces = [
        ['position', 'effort', 'temperature', 'mode'],
        ['effort', 'position', 'mode', 'temperature'],
        ['position', 'effort', 'mode', 'temperature'],
    ]

    def message(stamp):
        values = {'position': motion.q(stamp), 'effort': motion.tau(stamp)}
        values |= {'temperature': 30.0 + np.arange(3), 'mode': np.full(3, 7.0)}
        rows = [[values[name][joint] for name in row] for joint, row in zip(COLUMNS, interfaces, strict=True)]
        return messages.dynamic(stamp, ['gpio', *ORDER], [['in_1'], *interfaces], [[1.0], *rows])

    return lambda stamps: messages.rows('/dynamic_joint_states', stamps, message)


@pytest.mark.parametrize('definitions', [True, False])
def test_dynamic_joint_states(tmp_path, write_bag, dynamic_rows, motion, definitions):
    stamps = motion.stamps()
    path = write_bag(tmp_path / 'run', dynamic_rows(stamps), storage='SQLITE3')
    if not definitions:
        with sqlite3.connect(path / 'run.db3') as database:
            database.execute('DELETE FROM message_definitions')
    recording = load_recording(path, {'dynamic_joint_states': {'effort': 'current'}}, NAMES)
    np.testing.assert_array_equal(recording.q, motion.q(stamps))
    np.testing.assert_array_equal(recording.current, motion.tau(stamps))
    np.testing.assert_array_equal(recording.temperature[0], [30, 31, 32])


def test_dynamic_joint_states_for_what_joint_states_lack(record, joint_state_rows, dynamic_rows, motion):
    config = {'dynamic_joint_states': {'topic': 'dynamic_joint_states', 'interfaces': {'temperature': 'temperature'}}}
    recording = record(merged(joint_state_rows(), dynamic_rows(motion.stamps()[::10])), config)
    assert recording.temperature is not None
    np.testing.assert_array_equal(recording.tau, motion.tau(motion.stamps()))


def test_dynamic_joint_states_that_contradict_themselves(motion, messages):
    builder = RecordingBuilder(NAMES, {'dynamic_joint_states': {}})
    with refused('tau of elbow: .* torque, effort'):
        builder.add_message(
            '/dynamic_joint_states', messages.dynamic(1, ['elbow'], [['effort', 'torque']], [[1.0, 2.0]]), 1
        )
    with refused(r'/dynamic_joint_states: .* elbow'):
        builder.add_message(
            '/dynamic_joint_states', messages.dynamic(1, ['elbow'], [['effort', 'position']], [[1.0]]), 1
        )


@pytest.mark.parametrize('late', [False, True])
def test_state_interfaces(record, motion, messages, late):
    stamps = motion.stamps()
    keys = [f'{joint}/{name}' for name in ('position', 'torque') for joint in ORDER] + ['gpio/in_1', 'tool/frame/x']
    rows = messages.rows(
        '/state_interfaces_broadcaster/values',
        stamps,
        lambda t: messages.values(t, [*motion.q(t)[COLUMNS], *motion.tau(t)[COLUMNS], 1.0, 2.0]),
    )
    latched = motion.start + (500_000_000 if late else -1)
    rows.append(('/state_interfaces_broadcaster/names', 'control_msgs/msg/Keys', latched, messages.keys(latched, keys)))
    recording = record(merged(rows), {'state_interfaces': {}})
    np.testing.assert_array_equal(recording.q, motion.q(stamps))
    np.testing.assert_array_equal(recording.tau, motion.tau(stamps))


def test_state_interfaces_of_another_number_are_refused(motion, messages):
    builder = RecordingBuilder(NAMES, {'state_interfaces': {'values': 'v', 'names': 'n'}})
    builder.add_message('n', messages.keys(1, ['elbow/position']), 1)
    with refused('v: expected 1 values, as many as names on n, found 2'):
        builder.add_message('v', messages.values(2, [1.0, 2.0]), 2)


def test_topics_to_subscribe_to():
    config = {
        'motor_states': {},
        'temperatures': '{joint}/temperature',
        'state_interfaces': {'interfaces': {'temperature': 'temperature'}},
        'names': {'s1': 'shoulder'},
    }
    assert RecordingBuilder(('shoulder', 'wrist'), config).topics() == {
        'joint_states': 'sensor_msgs/msg/JointState',
        'motor_states': 'sensor_msgs/msg/JointState',
        'shoulder/temperature': TEMPERATURE,
        'wrist/temperature': TEMPERATURE,
        's1/temperature': TEMPERATURE,
        'state_interfaces_broadcaster/names': 'control_msgs/msg/Keys',
        'state_interfaces_broadcaster/values': 'control_msgs/msg/Float64Values',
    }
    with refused('expected the names of the joints'):
        RecordingBuilder(None, config).topics()


def test_joint_states_are_not_read_beside_other_positions():
    assert RecordingSettings.from_mapping(None).joint_states == JointStates('joint_states', 'torque')
    assert RecordingSettings.from_mapping({'dynamic_joint_states': {}}).joint_states is None
    assert RecordingSettings.from_mapping({'link_states': 'l'}).joint_states is not None
    both = RecordingSettings.from_mapping({'dynamic_joint_states': {}, 'joint_states': 'j'})
    assert both.joint_states == JointStates('j', 'torque')


@pytest.mark.parametrize(
    ('config', 'place'),
    [
        ({'joint_state': {}}, 'joint_state'),
        ({'joint_states': {'topik': 'a'}}, 'topik'),
        ({'joint_states': {'effort': 'amps'}}, 'recording.joint_states.effort'),
        ({'joint_states': 3}, 'recording.joint_states'),
        ({'joint_states': {'topic': ''}}, 'recording.joint_states.topic'),
        ({'motor_states': {'gear_ratio': [1, 2], 'position_coupling': [[1]]}}, 'recording.motor_states'),
        ({'motor_states': {'position_coupling': [[1, 2]]}}, 'position_coupling'),
        ({'temperatures': 3}, 'recording.temperatures'),
        ({'arrays': [{'topic': 'a', 'quantity': 'q'}]}, r'arrays\[0\]: .* joints'),
        ({'arrays': [{'topic': 'a', 'quantity': 'q', 'joints': ['a', 'a']}]}, r'arrays\[0\]\.joints'),
        ({'state_interfaces': {'interfaces': {'position': 'x'}}}, 'recording.state_interfaces.interfaces.position'),
    ],
)
def test_wrong_settings_are_named(config, place):
    with refused(place) as caught:
        RecordingSettings.from_mapping(config)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('side', 'place'),
    [
        ({'gear_ratio': [100, 0, 1]}, 'gear_ratio'),
        ({'gear_ratio': [100, 1]}, 'gear_ratio'),
        ({'gear_ratio': {'shoulder': 1}}, 'gear_ratio'),
        ({'position_coupling': [[1, 0], [0, 1]]}, 'position_coupling'),
        ({'position_coupling': [[1, 0, 0], [0, 1, 0], [0, 1, 0]]}, 'position_coupling'),
    ],
)
def test_motor_sides_of_another_robot_are_refused(feed, joint_state_rows, side, place):
    config = {'joint_states': None, 'motor_states': {'topic': 'joint_states', **side}}
    with refused(place):
        feed(RecordingBuilder(NAMES, config), joint_state_rows()).build()


def test_every_input_may_give_torque_without_gravity(tmp_path):
    """The kind reaches the recording whichever input states it; beside a current it is ambiguous."""
    kind = 'torque_without_gravity'
    for config in (
        {'joint_states': {'effort': kind}},
        {'motor_states': {'effort': kind}},
        {'state_interfaces': {'effort': kind}},
        {'dynamic_joint_states': {'interfaces': {'position': 'q', 'effort': kind}}},
        {'arrays': [{'topic': 'a', 'quantity': kind, 'joints': ['elbow']}]},
    ):
        assert RecordingSettings.from_mapping(config).without_gravity
    assert not RecordingSettings.from_mapping({'joint_states': {'effort': 'torque'}}).without_gravity
    csv = tmp_path / 'run.csv'
    time = np.arange(200) / 100
    columns = np.column_stack([time, np.sin(time), np.cos(time), np.sin(3 * time)])
    np.savetxt(csv, columns, delimiter=',', header='time,q1,tau1,cur1', comments='')
    with pytest.raises(JointDynamicsError, match='both'):
        Recording.load(csv, {'torque_without_gravity': True})
    np.savetxt(csv, columns[:, :3], delimiter=',', header='time,q1,tau1', comments='')
    assert Recording.load(csv, {'torque_without_gravity': True}).without_gravity
    assert not Recording.load(csv).without_gravity
