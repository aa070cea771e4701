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

"""The core: messages of any form, order and timing become one Recording."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import RecordingBuilder


def refused(reason):
    """Expect the one error, for this reason."""
    return pytest.raises(JointDynamicsError, match=reason)


def build(feed, rows, config=None, names=('shoulder', 'elbow', 'wrist'), window=(None, None)):
    return feed(RecordingBuilder(names, config), rows).build('run', window)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_order_of_joints_in_each_message_does_not_matter(motion, messages, data):
    stamps = motion.stamps(100, 1)
    q, tau = motion.q(stamps), motion.tau(stamps)
    wanted = data.draw(st.permutations(motion.names))
    orders = data.draw(st.lists(st.permutations(range(3)), min_size=2, max_size=4))
    builder = RecordingBuilder(wanted)
    for k, stamp in enumerate(stamps.tolist()):
        order = list(orders[k % len(orders)])
        builder.add_message(
            '/joint_states',
            messages.joint_state(stamp, [motion.names[j] for j in order], q[k, order], (), tau[k, order]),
            stamp,
        )
    recording = builder.build()
    columns = [motion.names.index(name) for name in wanted]
    np.testing.assert_array_equal(recording.q, q[:, columns])
    np.testing.assert_array_equal(recording.tau, tau[:, columns])


def test_publishers_with_some_of_the_joints_each_share_a_topic(feed, joint_state_rows, motion, messages):
    stamps = motion.stamps()
    arm = joint_state_rows(stamps, names=('wrist', 'shoulder'))
    elbow = joint_state_rows(stamps[:-1] + 1_500_000, names=('elbow',))
    gripper = messages.rows('/joint_states', stamps[::50], lambda t: messages.joint_state(t, ['finger'], [0.0]))
    rows = sorted(arm + elbow + gripper, key=lambda row: row[2])
    recording = build(feed, rows)
    expected = motion.q(motion.start + np.rint(recording.time * 1e9).astype(np.int64) + 5_000_000)
    np.testing.assert_allclose(recording.q, expected, atol=1e-4)
    assert recording.joint_names == motion.names
    assert any('largest distance to a real sample: q 1.5 ms' in note for note in recording.notes)


def test_a_message_without_one_joint_leaves_a_bridged_hole(feed, joint_state_rows, motion):
    stamps = motion.stamps()
    rows = joint_state_rows(stamps)
    rows[100] = joint_state_rows(stamps[100:101], names=('wrist', 'shoulder'))[0]
    recording = build(feed, rows)
    np.testing.assert_array_equal(recording.q[:, [0, 2]], motion.q(stamps)[:, [0, 2]])
    np.testing.assert_allclose(recording.q[100, 1], motion.q(stamps)[100, 1], atol=2e-4)  # q'' T²/8 with T = 10 ms
    assert any('q 5 ms' in note for note in recording.notes)


def test_velocities_without_any_number_are_left_out_with_a_note(feed, joint_state_rows):
    rows = joint_state_rows()
    for *_, message in rows:
        message.velocity[:] = np.nan
    recording = build(feed, rows)
    assert recording.dq is None
    (note,) = recording.notes
    assert 'dq on /joint_states' in note


def test_without_a_stamp_in_the_header_reception_counts(feed, joint_state_rows, motion, messages):
    stamps = motion.stamps()
    late = stamps + 40_000_000
    for header in (True, False):
        rows = joint_state_rows(late=40_000_000)
        for *_, message in [] if header else rows:
            message.header.stamp.sec = message.header.stamp.nanosec = 0
        rows += messages.rows('/current', late, lambda t: messages.array(motion.tau(t)))
        rows.sort(key=lambda row: row[2])
        config = {
            'joint_states': {'effort': 'none'},
            'arrays': [{'topic': '/current', 'quantity': 'current', 'joints': list(motion.names)}],
        }
        recording = build(feed, rows, config)
        # By their headers the positions are 40 ms older than the currents that arrive with them.
        start = stamps[8] if header else stamps[0]
        np.testing.assert_allclose(recording.q[0], motion.q(start), atol=1e-12)
        np.testing.assert_allclose(recording.current[0], motion.tau(late[0]), atol=1e-12)


def test_jitter_is_resampled_on_a_uniform_grid(feed, joint_state_rows, motion):
    rng = np.random.default_rng(1)
    stamps = motion.stamps(500, 2)
    stamps = stamps + rng.integers(-600_000, 600_000, stamps.size)
    recording = build(feed, joint_state_rows(stamps))
    assert recording.rate == pytest.approx(500, rel=1e-3)
    true = motion.q(stamps[0] + np.rint(recording.time * 1e9).astype(np.int64))
    # Linear interpolation: at most q'' T²/8 with q'' <= 25 rad/s² and T <= 3.2 ms.
    assert np.abs(recording.q - true).max() < 25 * 0.0032**2 / 8
    assert recording.notes[0].startswith('resampled at ')
    assert 'q 0.' in recording.notes[0]


def test_a_slower_topic_is_interpolated_and_the_error_reported(feed, joint_state_rows, motion, messages):
    slow = messages.rows('/current', motion.stamps(40, 2), lambda t: messages.array(motion.tau(t)))
    rows = joint_state_rows() + slow
    config = {'arrays': [{'topic': 'current', 'quantity': 'current', 'joints': list(motion.names)}]}
    recording = build(feed, sorted(rows, key=lambda row: row[2]), config)
    np.testing.assert_allclose(recording.current, motion.tau(motion.stamps()), atol=0.1)
    assert any('current 10 ms' in note for note in recording.notes)


def test_a_topic_far_slower_than_the_positions_is_refused(feed, joint_state_rows, motion, messages):
    slow = messages.rows('/current', motion.stamps(10, 2), lambda t: messages.array(motion.tau(t)))
    rows = sorted(joint_state_rows() + slow, key=lambda row: row[2])
    config = {'arrays': [{'topic': 'current', 'quantity': 'current', 'joints': list(motion.names)}]}
    with refused(r'0.05 s \(recording.max_gap\).* 0.1 s in current on /current'):
        build(feed, rows, config)
    assert build(feed, rows, {**config, 'max_gap': 0.1}).current is not None
    with refused('max_gap'):
        build(feed, rows, {**config, 'max_alignment_error': 0.1})


def test_short_gaps_are_bridged_and_long_ones_refused(feed, joint_state_rows, motion):
    rows = joint_state_rows()
    short = build(feed, rows[:200] + rows[203:])
    assert short.samples == 401
    assert any('q 10 ms' in note for note in short.notes)
    with refused(r'run: expected no gap longer than 0.025 s .*, found a gap of 0.03 s in q .* at 0.995 s'):
        build(feed, rows[:200] + rows[205:])
    assert build(feed, rows[:200] + rows[205:], {'max_gap': 0.03}).samples == 401


def test_a_gap_outside_the_window_does_no_harm(feed, joint_state_rows, motion):
    rows = joint_state_rows()
    holed = rows[:100] + rows[140:]
    recording = build(feed, holed, window=(0.7, None))
    np.testing.assert_allclose(recording.q, motion.q(motion.stamps())[140:], atol=1e-12)
    early = build(feed, holed, window=(None, 0.5))
    np.testing.assert_allclose(early.q, motion.q(motion.stamps())[:100], atol=1e-12)
    with refused('gap'):
        build(feed, holed, window=(0.6, None))


def test_time_going_backwards_is_refused(feed, joint_state_rows):
    rows = joint_state_rows()
    with refused(
        r'run: /joint_states: expected increasing stamps, found time going back by 0.5 s at 1 s \(message 202 of'
    ):
        build(feed, rows[:201] + rows[100:])


def test_duplicate_stamps_are_noted_where_they_agree(feed, joint_state_rows, motion):
    rows = joint_state_rows()
    recording = build(feed, [*rows[:51], *rows[50:]])
    np.testing.assert_array_equal(recording.q, motion.q(motion.stamps()))
    assert any('1 duplicate stamps of q on /joint_states, 0 of them' in note for note in recording.notes)


def test_contradicting_duplicate_is_refused_inside_the_window(feed, joint_state_rows, motion, messages):
    rows = joint_state_rows()
    wrong = messages.joint_state(int(motion.stamps()[50]), motion.names, [9, 9, 9], [9, 9, 9], [9, 9, 9])
    builder = feed(RecordingBuilder(motion.names), [*rows[:50], (*rows[50][:3], wrong), *rows[50:]])
    with refused(r'q of \w+ on /joint_states.* at 0.25 s .*publishers'):
        builder.build('run')
    assert builder.build('run', (0.5, None)).samples == 301


def test_a_stamp_that_never_changes_is_named(feed, joint_state_rows, motion):
    rows = joint_state_rows(late=0)
    for *_, message in rows:
        message.header.stamp.sec, message.header.stamp.nanosec = 0, 5
    with refused(r'found the same one in all 401 messages.*recording.stamps: received'):
        build(feed, rows)
    np.testing.assert_array_equal(build(feed, rows, {'stamps': 'received'}).q, motion.q(motion.stamps()))


def test_nan_is_refused_or_interpolated_on_request(feed, joint_state_rows, motion):
    rows = joint_state_rows()
    for k in (80, 81, 300):
        rows[k][3].effort[1] = np.nan
    with refused(r'tau of elbow on /joint_states: .* 3 of 401 samples .* 0.4 s'):
        build(feed, rows)
    recording = build(feed, rows, {'nan': 'interpolate'})
    np.testing.assert_allclose(recording.tau, motion.tau(motion.stamps()), atol=0.2)
    assert any('3 samples of tau of elbow' in note for note in recording.notes)
    assert build(feed, rows, window=(0.5, 1.4)).samples == 180


def test_a_long_hole_of_nan_is_a_gap(feed, joint_state_rows):
    rows = joint_state_rows()
    for k in range(100, 120):
        rows[k][3].position[0] = np.nan
    with refused(r'gap of 0.105 s in q'):
        build(feed, rows, {'nan': 'interpolate'})


def test_constant_signals_are_refused_or_noted(feed, joint_state_rows, motion):
    still = joint_state_rows()
    for row in still:
        row[3].position[:] = motion.q(motion.start)
    with refused('expected a joint that moves, found every position constant for 2 s'):
        build(feed, still)
    silent = joint_state_rows()
    for row in silent:
        row[3].effort[:] = 0
    with refused(r'tau .* all 401 samples of shoulder \(0 N·m\), elbow \(0 N·m\), wrist'):
        build(feed, silent)
    assert build(feed, silent, {'joint_states': {'effort': 'none'}}).tau is None
    dead = joint_state_rows()
    for row in dead:
        row[3].effort[2] = 1.5
    with refused(r'tau .* all 401 samples of wrist \(1.5 N·m\) '):
        build(feed, dead)
    for row in dead:
        row[3].position[2] = 0.1
    moves, effort = build(feed, dead).notes
    assert 'wrist' in moves and 'tau is constant: wrist (1.5 N·m)' in effort


def test_angles_between_minus_pi_and_pi_are_continued(feed, joint_state_rows, motion):
    stamps = motion.stamps()
    far = np.add(motion.q(stamps), [3.0, -2.0, 0.0])
    rows = joint_state_rows(stamps)
    for row, q in zip(rows, (far + np.pi) % (2 * np.pi) - np.pi, strict=True):
        row[3].position[:] = q
    recording = build(feed, rows)
    np.testing.assert_allclose(recording.q - recording.q[0], far - far[0], atol=1e-12)
    assert [note for note in recording.notes if 'shoulder' in note] == [
        'q of shoulder on /joint_states jumps by 2π, 2 times: taken out'
    ]


def test_speeds_that_are_zero_while_joints_move_are_left_out(feed, joint_state_rows):
    rows = joint_state_rows()
    for row in rows:
        row[3].velocity[:] = 0
    recording = build(feed, rows)
    assert recording.dq is None
    assert recording.notes == ('dq is 0 throughout although q moves: left out',)


@pytest.mark.parametrize(
    ('count', 'config'), [(1, None), (30, None), (90, None), (150, {'min_duration': 1.0}), (150, {'min_samples': 200})]
)
def test_too_short_a_recording_is_refused(feed, joint_state_rows, count, config):
    with refused('too short'):
        build(feed, joint_state_rows()[:count], config)


def test_a_window_that_leaves_too_little_is_refused(feed, joint_state_rows):
    with refused(r'20 samples, 0.1 s of 2 s'):
        build(feed, joint_state_rows(), window=(0.2, 0.3))
    with refused(r'0 samples, 0 s of 2 s'):
        build(feed, joint_state_rows(), window=(7.0, None))


def test_joints_missing_or_named_differently(feed, joint_state_rows):
    with refused(
        r'expected joints joint_1, elbow, wrist; not found: joint_1; /joint_states has shoulder, '
        r'elbow, wrist \(named differently\? recording.names'
    ):
        build(feed, joint_state_rows(), names=('joint_1', 'elbow', 'wrist'))
    recording = build(feed, joint_state_rows(), {'names': {'shoulder': 'joint_1'}}, names=('joint_1', 'elbow', 'wrist'))
    np.testing.assert_array_equal(recording.q, build(feed, joint_state_rows()).q)


def test_nothing_received_names_what_was_expected():
    with refused('run: no position of any joint: expected on joint_states, found no message'):
        RecordingBuilder(['a']).build('run')


def test_malformed_messages_are_refused(motion, messages):
    builder = RecordingBuilder(motion.names)
    with refused('3 names and 2 values'):
        builder.add_message('/joint_states', messages.joint_state(1, motion.names, [1.0, 2.0]), 1)
    with refused('expected each joint once in a message'):
        builder.add_message('/joint_states', messages.joint_state(1, ['a', 'a'], [1.0, 2.0]), 1)
    with refused('expected 2 values of q'):
        builder.add('q', 1, ['a', 'b'], [1.0])
    with refused('quantity: expected one of q, dq'):
        builder.add('speed', 1, ['a'], [1.0])


def test_topics_of_different_clocks_have_no_time_in_common(feed, joint_state_rows, motion, messages):
    times = np.arange(400) * 5_000_000
    rows = joint_state_rows() + messages.rows('/current', times, lambda t: messages.array([1, 2, t]))
    config = {'arrays': [{'topic': '/current', 'quantity': 'current', 'joints': list(motion.names)}]}
    with refused(r'/joint_states .* /current 0 to 1.995 s'):
        build(feed, rows, config)


def test_two_inputs_of_the_same_quantity_are_in_conflict(feed, joint_state_rows, motion):
    rows = sorted(joint_state_rows() + joint_state_rows(topic='/motor'), key=lambda row: row[2])
    with refused(r'tau: expected one input.*effort: none'):
        build(feed, rows, {'motor_states': {'topic': '/motor', 'effort': 'torque'}})
    with refused(r'current of shoulder, elbow, wrist: expected one input, found /joint_states and /motor'):
        build(
            feed,
            rows,
            {'joint_states': {'effort': 'current'}, 'motor_states': {'topic': '/motor', 'effort': 'current'}},
        )


def test_a_quantity_that_some_joints_lack_is_refused(feed, joint_state_rows, motion):
    rows = sorted(joint_state_rows() + joint_state_rows(topic='/sensors', names=('wrist',)), key=lambda row: row[2])
    with refused('expected load_torque of every joint, found that /sensors lacks shoulder, elbow'):
        build(feed, rows, {'load_torques': '/sensors'})
    assert build(feed, rows, {'load_torques': '/sensors'}, names=('wrist',)).load_torque.shape == (401, 1)


def test_without_joint_names_those_found_are_taken(feed, joint_state_rows):
    names = ('wrist', 'elbow', 'shoulder')
    assert build(feed, joint_state_rows(names=names), names=None).joint_names == names


def test_a_recording_stays_as_it_is_while_the_builder_goes_on(feed, joint_state_rows, motion):
    rows = joint_state_rows()
    builder = feed(RecordingBuilder(motion.names), rows[:300])
    first = builder.build()
    before = dataclasses.replace(first, q=first.q.copy())
    assert feed(builder, rows[300:]).build().samples == 401
    np.testing.assert_array_equal(first.q, before.q)
    assert builder.counts == {'/joint_states': 401}


def test_samples_of_any_origin_one_by_one_or_in_blocks(feed, joint_state_rows, motion):
    stamps = motion.stamps()
    single, blocks = RecordingBuilder(motion.names), RecordingBuilder(motion.names)
    for stamp in stamps.tolist():
        single.add('q', stamp, motion.names, motion.q(stamp), source='link')
        single.add('q', stamp, motion.names[1:2], motion.q(stamp)[1:2] + 0.5, source='second encoder', replaces=True)
        single.add('tau', stamp, motion.names, list(motion.tau(stamp)))
    blocks.add_block('q', stamps, motion.names, motion.q(stamps))
    blocks.add_block('tau', stamps[:100], motion.names, motion.tau(stamps[:100]))
    blocks.add_block('tau', stamps[100:], motion.names[::-1], motion.tau(stamps[100:])[:, ::-1])
    one, other = single.build(), blocks.build()
    np.testing.assert_array_equal(one.tau, other.tau)
    np.testing.assert_array_equal(one.q[:, [0, 2]], other.q[:, [0, 2]])
    np.testing.assert_array_equal(one.q[:, 1], other.q[:, 1] + 0.5)


@pytest.mark.parametrize('copied', [copy.deepcopy, lambda builder: pickle.loads(pickle.dumps(builder))])
def test_a_builder_can_be_copied_and_sent_to_another_process(motion, messages, copied):
    config = {'state_interfaces': {}}
    keys = [f'{name}/{interface}' for interface in ('position', 'torque') for name in motion.names]
    first = RecordingBuilder(motion.names, config)
    first.add_message('state_interfaces_broadcaster/names', messages.keys(1, keys), 1)
    second = copied(first)
    for stamp in motion.stamps().tolist():
        second.add_message(
            'state_interfaces_broadcaster/values', messages.values(stamp, [*motion.q(stamp), *motion.tau(stamp)]), stamp
        )
    np.testing.assert_array_equal(copied(second).build().q, motion.q(motion.stamps()))
    assert first.counts == {'state_interfaces_broadcaster/names': 1}
