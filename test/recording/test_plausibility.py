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

"""Values that no joint has are refused with topic, joint and time; no real recording is."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import BagWriter, load_recording
from joint_dynamics.recording.plausibility import check_signals, contradicting, jump
from joint_dynamics.robot.limits import JointLimits


def refused(reason):
    """Expect the one error, for this reason."""
    return pytest.raises(JointDynamicsError, match=reason)


@pytest.fixture
def written(tmp_path, write_bag, joint_state_rows):
    """written(k, field, joint, value) -> a bag whose k-th message has that value."""

    def write(*changes, name='run', **options):
        rows = joint_state_rows()
        for k, field, joint, value in changes:
            getattr(rows[k][3], field)[joint] = value
        return write_bag(tmp_path / name, rows, **options)

    return write


@pytest.mark.parametrize(
    ('field', 'quantity', 'value'),
    [
        ('position', 'q', 1e308),
        ('position', 'q', 1e5),
        ('position', 'q', 4.0),
        ('position', 'q', -1e300),
        ('position', 'q', 0.9),
        ('velocity', 'dq', 1e150),
        ('velocity', 'dq', 200.0),
        ('effort', 'tau', 1e300),
        ('effort', 'tau', 1e5),
        ('effort', 'tau', -5e3),
    ],
)
def test_one_wrong_value_is_refused_with_topic_joint_and_time(written, field, quantity, value):
    path = written((150, field, 1, value))
    with refused(rf'{quantity} of elbow at 0.75 s') as caught:
        load_recording(path)
    assert '\n' not in str(caught.value)
    noted = load_recording(path, {'implausible': 'note'})
    assert any(f'{quantity} of elbow at 0.75 s' in note for note in noted.notes)


def test_a_step_of_the_position_is_refused(written, motion):
    after = motion.q(motion.stamps())[:, 0] + 0.4
    path = written(*[(k, 'position', 0, after[k]) for k in range(200, 401)])
    with refused(r'q of shoulder at (0.995|1) s'):
        load_recording(path)


def test_limits_of_the_robot_bound_what_is_plausible(written, motion):
    path = written()
    wide = JointLimits(np.full(3, -3.0), np.full(3, 3.0), np.full(3, 3.0), np.full(3, 50.0))
    assert load_recording(path, None, motion.names, wide).samples == 401
    for name, quantity in (('velocity', 'dq'), ('effort', 'tau')):
        limits = JointLimits(wide.lower, wide.upper, wide.velocity.copy(), wide.effort.copy())
        getattr(limits, name)[2] = 1e-3
        with refused(rf'{quantity} of wrist at 0 s .* 0.1 in magnitude'):
            load_recording(path, None, motion.names, limits)


@pytest.mark.parametrize(('factor', 'share'), [(np.rad2deg(1), 56.3), (-1.0, 2.0), (0.0, 1.0), (2.0, 1.0)])
def test_speeds_that_contradict_the_positions_are_found(motion, factor, share):
    stamps = motion.stamps()
    dq = motion.dq(stamps)
    dq[:, 1] *= factor
    ((column, found),) = contradicting((stamps - stamps[0]) * 1e-9, motion.q(stamps), dq)
    assert (column, found) == (1, pytest.approx(share, rel=0.01))


def test_what_drivers_do_is_no_contradiction(motion):
    """Quantised encoders, repeated samples, filtered and late speeds, rests, reversals, saturated torques."""
    rng = np.random.default_rng(16)
    for rate in (50.0, 100.0, 250.0, 1000.0):
        stamps = motion.stamps(rate, 4.0)
        time = (stamps - stamps[0]) * 1e-9
        q = np.round(motion.q(stamps) / 5e-4) * 5e-4
        repeated = rng.random(len(time)) < 0.002
        repeated[0] = False
        q[repeated] = q[np.flatnonzero(repeated) - 1]
        late = motion.dq(stamps - 10_000_000) + rng.normal(scale=0.02, size=q.shape)
        assert jump('q', time, q) is None
        assert jump('dq', time, late) is None
        assert contradicting(time, motion.q(stamps), late) == []
        square = 20 * np.sign(np.sin(7 * time))[:, None] * np.ones(3) + rng.normal(scale=0.1, size=q.shape)
        assert jump('tau', time, square) is None
        burst = np.where((time > 2) & (time < 2 + max(0.02, 5 / rate)), 80.0, 0.1)[:, None] * np.ones(3)
        assert jump('tau', time, burst) is None
        trapezoid = np.interp(time, [0, 1.99, 2.0, 2.4, 2.41, 4], [0, 0, 0.003, 1.2, 1.203, 1.203])[:, None]
        assert jump('q', time, trapezoid) is None


TRAPEZES = [f'joint_{joint}_trapez' for joint in range(1, 5)]
REAL = [
    ('tx40/exciting_traj', {}),
    ('tx40/exciting_traj', {'joint_states': None, 'motor_states': {'topic': '/motor_states', 'effort': 'torque'}}),
    *[
        (f'kr300/{run}', {'motor_states': {'topic': '/joint_states', 'effort': 'none'}, 'link_states': '/link_states'})
        for run in ('FF_A', 'FF_B')
    ],
    *[
        (f'gen3/{run}', {'motor_current': '/motor_current', 'temperatures': '/{joint}/temperature'})
        for run in ('RecordTrajectory_quadratic', 'RunTrajectory1', *TRAPEZES, 'opti_traj_testing1')
    ],
]


@pytest.mark.parametrize(('path', 'config'), REAL, ids=[f'{path} {len(config)}' for path, config in REAL])
def test_no_real_recording_is_refused_or_questioned(data, path, config):
    recording = load_recording(data / path, {**config, 'implausible': 'refuse'})
    assert not any('implausible' in note for note in recording.notes)
    assert recording.dq is None or not contradicting(recording.time, recording.q, recording.dq)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_with_checksums_is_refused_or_harmless(
    tmp_path_factory, encoded, joint_state_rows, motion, place, bit
):
    folder = tmp_path_factory.mktemp('flip') / 'run'
    folder.mkdir()
    writer = BagWriter(folder)
    for row in encoded(joint_state_rows(motion.stamps(100, 1))):
        writer.write(*row)
    writer.close()
    content = bytearray(writer.file.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    writer.file.write_bytes(bytes(content))
    try:
        recording = load_recording(folder, {'min_duration': 0.1})
    except JointDynamicsError:
        return
    np.testing.assert_array_equal(recording.q, motion.q(motion.stamps(100, 1)))
    np.testing.assert_array_equal(recording.tau, motion.tau(motion.stamps(100, 1)))


@pytest.mark.parametrize('storage', ['MCAP', 'SQLITE3'])
@pytest.mark.parametrize(('quantity', 'allowed'), [('q', 0.1 + 2.5 * 0.05), ('dq', 33.2), ('tau', 242.0)])
def test_a_flipped_bit_without_checksums_is_bounded(
    tmp_path, write_bag, joint_state_rows, motion, storage, quantity, allowed
):
    """Every bit of a number in turn: refused, or as near to the truth as its neighbours allow.

    Neighbours 10 ms apart bound a position to 0.1 rad, ½ · 2000 rad/s² · (10 ms)², and its motion. A speed (3.0 rad/s)
    and a torque (22 N·m) are bounded by ten times their ordinary size.
    """
    stamps = motion.stamps(100, 1)
    path = write_bag(tmp_path / 'run', joint_state_rows(stamps), storage)
    file = next(item for item in path.iterdir() if item.suffix in ('.mcap', '.db3'))
    content, truth = file.read_bytes(), getattr(motion, quantity)(stamps)
    at, refused = content.index(struct.pack('<d', truth[40, 1])), []
    for bit in range(64):
        damaged = bytearray(content)
        damaged[at + bit // 8] ^= 1 << bit % 8
        file.write_bytes(bytes(damaged))
        try:
            recording = load_recording(path, {'min_duration': 0.1})
        except JointDynamicsError as error:
            refused.append(str(error))
        else:
            assert np.abs(getattr(recording, quantity) - truth).max() < allowed, bit
    assert refused and all(f'{quantity} of elbow' in line for line in refused)


def test_a_stamp_far_away_asks_for_no_memory(tmp_path, write_bag, joint_state_rows):
    rows = joint_state_rows()
    rows[-1][3].header.stamp.sec = 2_147_000_000
    path = write_bag(tmp_path / 'run', rows)
    with refused(r'gap of 4.47e\+08 s in q on /joint_states at 1.995 s'):
        load_recording(path)
    assert load_recording(f'{path}@0:1.5').samples == 300


@pytest.mark.parametrize('scale', [0.0, 1e-308, 1e-9])
def test_torque_below_any_sensor_is_constant(motion, scale):
    stamps = motion.stamps()
    time = (stamps - stamps[0]) * 1e-9
    for offset in (0.0, 1e6 * scale):
        arrays = {'q': motion.q(stamps), 'tau': offset + scale * motion.tau(stamps)}
        with refused('tau'):
            check_signals('run', motion.names, time, arrays)
