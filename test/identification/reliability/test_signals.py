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

"""Faults that a recording shows by itself: from which size each one counts, and its text."""

import re
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.reliability.signals import confirm_stamps, faults
from joint_dynamics.recording import Recording

RATE = 100.0
SAMPLES = 2000
JOINTS = ('a', 'b')


def smooth(seed=0, samples=SAMPLES):
    """Positions (samples, 2) that never stand still for long; speeds of about 1 rad/s."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / RATE
    k = 2 * np.pi * np.array([0.23, 0.37, 0.59])
    return np.sin(t[:, None] * k + rng.uniform(0, 6, 3)) @ (rng.uniform(0.6, 1.0, (3, 2)) / k[:, None])


def recording(q, **more):
    return Recording(JOINTS, np.arange(len(q)) / RATE, q, name='run', **more)


def said(made):
    return {reason.code: reason.text for reason in faults(made)}


@pytest.mark.parametrize('seed', range(4))
def test_a_smooth_motion_has_no_faults_and_noise_is_none(seed):
    rng = np.random.default_rng(seed)
    q = smooth(seed)
    assert said(recording(q)) == {}
    assert said(recording(q + 1e-3 * rng.normal(size=q.shape))) == {}
    # an encoder so coarse that most steps are of no or of one count
    assert said(recording(np.round(q / 0.02) * 0.02)) == {}


def without(q, pieces, length):
    """The positions without `pieces` pieces of `length` samples each, evenly spread."""
    gone = np.zeros(len(q), dtype=bool)
    for start in np.linspace(100, len(q) - 100 - length, pieces).astype(int):
        gone[start : start + length] = True
    return q[~gone]


@pytest.mark.parametrize('end', [False, True])
def test_a_sample_that_repeats_at_an_end_is_no_gap(end):
    """Clocks of driver and logger drift: a window of Gen3 that ended with a repeated sample was told to miss 2.2 %."""
    t = np.arange(1500)[:, None] / 1000
    q = [1.0, 0.7] * np.sin(2 * np.pi * t) + 1e-6 * np.random.default_rng(0).normal(size=(1500, 2))
    q[-1], q[-12] = q[-2], q[-13]
    assert said(Recording(JOINTS, t.ravel(), q if end else q[::-1], name='run')) == {}


def line(samples):
    """Both joints at constant speeds: the jumps hold exactly the missing samples."""
    return np.outer(np.arange(samples) / RATE, [1.0, -0.3])


@pytest.mark.parametrize(('pieces', 'length'), [(10, 12), (4, 60), (1, 200)])
def test_as_many_samples_are_missing_as_the_jumps_are_long(pieces, length):
    q = without(line(SAMPLES), pieces, length)
    text = said(recording(q))['missing_samples']
    counted, percent = re.search(r'jump (\d+) times, as if about (\S+) % of the samples were missing', text).groups()
    assert int(counted) == pieces
    # one count is allowed for as resolution: the jump of L missing samples holds (L + 1)/2 ordinary steps here
    expected = 100 * pieces * ((length + 1) / 2 - 1) / len(q)
    assert float(percent) == pytest.approx(expected, rel=0.06)


def test_a_joint_that_is_held_creeps_without_missing_samples():
    """Every 0.2 s by up to 0.1 mrad, which are long steps for one that hardly moves."""
    held = np.repeat(1e-4 * np.random.default_rng(0).random(SAMPLES // 20), 20)
    assert said(recording(np.column_stack([np.sin(np.arange(SAMPLES) / RATE), held]))) == {}


def test_an_encoder_that_jumps_is_not_missing_samples():
    """In 13 s of a slow arm, 0.25 rad of one joint were 2 % of all steps."""
    q = smooth(1)
    resting = np.concatenate([q[: SAMPLES // 2], np.tile(q[SAMPLES // 2], (100, 1)), q[SAMPLES // 2 :]])
    for moved, at in ((q, SAMPLES // 2), (resting, SAMPLES // 2 + 50)):
        moved[at:, 0] += 0.5
        assert 'missing_samples' not in said(recording(moved))


def test_samples_logged_again_are_neither_gaps_nor_jumps():
    """A logger ten times as fast as the messages."""
    q = smooth(1)
    held = np.repeat(q, 10, axis=0)
    assert said(Recording(JOINTS, np.arange(len(held)) / (10 * RATE), held, name='run')) == {}


def stuck(start, samples, *, ramp=0, joint=0, seed=2):
    """A motion in which one encoder stands still for some samples, as the joint slows down over `ramp` ones or not."""
    q = smooth(seed)
    speed = np.diff(q, axis=0)
    end = start + samples
    share = np.ones(len(speed))
    share[start:end] = 0.0
    if ramp:
        share[start - ramp : start] = np.linspace(1, 0, ramp + 1)[:-1]
        share[end : end + ramp] = np.linspace(0, 1, ramp + 1)[1:]
    speed[:, joint] *= share
    return np.concatenate([q[:1], q[0] + np.cumsum(speed, axis=0)])


@pytest.mark.parametrize('joint', [0, 1])
def test_encoder_that_stops_abruptly_is_stuck(joint):
    fastest = int(np.argmax(np.abs(np.diff(smooth(2)[:1500, joint]))))
    text = said(recording(stuck(fastest, 100, joint=joint)))['stuck']
    assert f'the position of {JOINTS[joint]} stands still' in text
    start, end = map(float, re.search(r' from (\S+) to (\S+) s and stops or starts there faster than a', text).groups())
    assert start == pytest.approx(fastest / RATE, abs=0.011 + 0.005 * start)
    assert end == pytest.approx((fastest + 100) / RATE, abs=0.011 + 0.005 * end)
    assert 'stuck' not in said(recording(stuck(fastest, 100, joint=joint, ramp=100)))


def sweep(rate, braking, quantum):
    """Constant speeds to and fro with a stay after each, as a friction test has; stops and starts with `braking`."""
    fine = 10_000
    speed = []
    for size in (0.05, 0.1, 0.3, 0.7, 1.1):
        ramp = size * (np.arange(round(size / braking * fine)) + 0.5) / max(round(size / braking * fine), 1)
        way = np.concatenate([ramp, np.full(round(0.6 / size * fine), size), ramp[::-1], np.zeros(3 * fine // 2)])
        speed += [way, -way]
    q = np.concatenate([[0.0], np.cumsum(np.concatenate(speed)) / fine])[:: fine // rate]
    q = np.round(q / quantum) * quantum if quantum else q
    return Recording(JOINTS, np.arange(len(q)) / rate, np.column_stack([q, 0.1 - 0.6 * q[::-1]]), name='run')


@pytest.mark.parametrize('rate', [50, 125, 500, 1000])
@pytest.mark.parametrize('quantum', [0.0, 1e-5, 5e-4])
def test_a_sweep_with_steps_of_speed_is_no_stuck_encoder(rate, quantum):
    """A joint needs few samples, or none, from a speed to rest; one that stops faster than any does did not stop."""
    for braking in (2.0, 20.0, 90.0):
        assert said(sweep(rate, braking, quantum)) == {}
    # at once, from 1.1 rad/s: within the 20 ms from sample to sample at 50 Hz a joint may well do that
    assert ('stuck' in said(sweep(rate, np.inf, quantum))) is (rate > 50)


@pytest.mark.parametrize(('slip', 'expected'), [(0.005, set()), (0.05, {'stuck'})])
def test_a_joint_that_is_held_creeps_and_sticks(slip, expected):
    """It slips within 5 ms as its controller pulls it out of its friction: by no more than is a matter of control."""
    t = np.arange(20 * SAMPLES) / 1000.0
    held = slip * np.clip((t - 9.9) / 0.005, 0, 1)
    made = Recording(JOINTS, t, np.column_stack([np.sin(t), held]), name='run')
    assert set(said(made)) == expected


def test_joint_that_breaks_loose_is_not_stuck():
    """At rest until its friction lets go, then at 0.024 rad/s at once, at 500 Hz; no faster than 0.12 rad/s later."""
    t = np.arange(2700) / 500.0
    speed = np.where(t < 0.876, 0.0, 0.024 + 0.02 * (t - 0.876))
    q = np.round(np.cumsum(speed) / 500.0 / 6e-6) * 6e-6
    assert said(Recording(JOINTS, t, np.column_stack([q, 0.5 * np.sin(t)]), name='run')) == {}
    # an encoder that begins to work again while its joint goes on at 0.5 rad/s
    q = np.cumsum(np.where(t < 0.876, 0.0, 0.5)) / 500.0
    assert 'stuck' in said(Recording(JOINTS, t, np.column_stack([q, 0.5 * np.sin(t)]), name='run'))


# Speeds.


@pytest.mark.parametrize(('factor', 'code'), [(0.004, 'time_scale'), (0.05, None), (30.0, None), (200.0, 'time_scale')])
def test_speeds_that_no_arm_has(factor, code):
    """Between 0.01 and 60 rad/s (rms) a recording may be right; this one has 0.7."""
    q = smooth(0)
    fast = Recording(JOINTS, np.arange(len(q)) / RATE / factor, q, name='run')
    rms = np.sqrt(np.mean(np.gradient(q, 1 / RATE / factor, axis=0) ** 2, axis=0))
    found = said(fast)
    assert set(found) == (set() if code is None else {code})
    if code:
        name = JOINTS[int(np.argmax(rms))]
        span = np.ptp(q, axis=0).max()
        said_slow = (
            rf'no joint moves faster than (\S+) rad/s \(rms, {name}\) or farther than {span:.2g} rad; '
            'expected a motion of more than 0.01 rad/s'
        )
        said_fast = rf'{name} moves at (\S+) rad/s \(rms\), .*time stamps'
        shown = re.search(said_slow if factor < 1 else said_fast, found[code]).group(1)
        assert float(shown) == pytest.approx(rms.max(), rel=0.1)


@pytest.mark.parametrize(('factor', 'code', 'text'), [
    ((1.0, 1.0), None, ''), ((1.2, 1.2), None, ''), ((1.3, 1.3), 'time_scale', 'change 1.3 times'),
    ((0.7, 0.7), 'time_scale', 'change 0.7 times as fast as measured: the recording lasted 14 s'),
    ((2.0, 2.0), 'time_scale', '2 times as fast as measured: the recording lasted 40 s, its stamps'),
    ((180 / np.pi, 180 / np.pi), 'degrees', 'positions are in degrees'),
    ((-1.0, -1.0), 'time_reversed', 'change -1 times as fast as measured: time runs backwards'),
    ((-1.0, 1.0), 'speed_mismatch', 'by these factors: a -1: check signs, units'),
    ((2.0, 1.0), 'speed_mismatch', ': a 2: '), ((-1.0, 3.0), 'speed_mismatch', ': a -1, b 3: '),
])  # fmt: skip
def test_measured_speeds_are_those_of_the_positions(factor, code, text):
    q = smooth(0)
    dq = np.gradient(q, 1 / RATE, axis=0)
    # noise of the speed sensor is averaged out
    for noise in (0.0, 0.3 * np.random.default_rng(1).normal(size=q.shape)):
        found = said(recording(q, dq=(dq + noise) / np.array(factor)))
        assert set(found) == (set() if code is None else {code})
    # the derivatives of the test and averages differ by less than what three digits show
    assert code is None or text in re.sub(r' ± [0-9.e-]+', '', said(recording(q, dq=dq / np.array(factor)))[code])


@pytest.mark.parametrize(('factor', 'confirmed'), [(1.0, True), (1.2, True), (1.3, False), (-1.0, False), (0.0, False)])
def test_speeds_confirm_the_stamps_that_they_agree_with(factor, confirmed):
    q = smooth(4)
    assert confirm_stamps(recording(q, dq=factor * np.gradient(q, 1 / RATE, axis=0))) is confirmed
    assert not confirm_stamps(recording(q))


def test_speeds_of_another_motion_or_none_are_named():
    q, other = smooth(0), np.gradient(smooth(5), 1 / RATE, axis=0)[:, ::-1]
    assert set(said(recording(q, dq=other))) == {'speed_mismatch'}
    dq = np.gradient(q, 1 / RATE, axis=0)
    found = said(recording(q, dq=np.column_stack([dq[:, 0], 1e-4 * dq[:, 1]])))
    assert set(found) == {'speed_mismatch'} and JOINTS[1] in found['speed_mismatch']


# Torques and currents.


def torque(q):
    return np.gradient(q, 1 / RATE, axis=0) * [3.0, 2.0] + np.sin(7 * q)


@pytest.mark.parametrize('quantity', ['tau', 'current'])
def test_a_torque_that_stays_while_the_joint_moves_is_stuck(quantity):
    q = smooth(0)
    values = torque(q)
    assert said(recording(q, **{quantity: values})) == {}
    values[900:1150, 1] = values[900, 1]
    text = said(recording(q, **{quantity: values}))['stuck']
    assert f'{quantity} of b keeps {values[900, 1]:.4g} from 9 to ' in text
    end = float(re.search(r'to (\S+) s', text).group(1))
    assert end == pytest.approx(11.49, abs=0.05)
    values = torque(q)
    values[900:1115, 1] = values[900, 1]
    text = said(recording(q, **{quantity: values}))['stuck']
    assert text.endswith(' s although the joint moves: leave that stretch out')
    # ten percent of the recording are needed, and a joint that moves
    values = torque(q)
    values[900:1050, 1] = values[900, 1]
    assert 'stuck' not in said(recording(q, **{quantity: values}))


@pytest.mark.parametrize('sides', [(True, True), (True, False), (False, True)])
def test_torques_cut_off_are_saturated_with_bounds_and_share(sides):
    q = smooth(0)
    values = torque(q)
    high, low = (np.quantile(values[:, 0], p) for p in (0.93, 0.07))
    cut = np.clip(values[:, 0], low if sides[1] else None, high if sides[0] else None)
    text = said(recording(q, tau=np.column_stack([cut, values[:, 1]])))['saturated']
    bounds = [f'{bound:.4g}' for bound, side in zip((high, low), sides, strict=True) if side]
    assert f'tau of a stays at {" and ".join(bounds)} for' in text
    speed = np.abs(np.gradient(q[:, 0], 1 / RATE))
    moving = speed > 0.1 * np.sqrt(np.mean(speed**2))
    at = sum(np.mean(cut[moving] == bound) for bound, side in zip((high, low), sides, strict=True) if side)
    assert text.endswith(f'for {100 * at:.2g} % of the moving samples: it is cut off there; record a gentler motion')
    assert 'saturated' not in said(recording(q, tau=values))
    # a coarse sensor has many samples at its largest value, and as many next to it
    assert 'saturated' not in said(recording(q, tau=np.round(values * 2) / 2))


def test_spikes_of_a_torque_are_counted():
    q = smooth(0)
    values = torque(q)
    places = np.arange(100, 1900, 90)
    spiky = values.copy()
    spiky[places, 0] += 40.0
    text = said(recording(q, tau=spiky))['spikes']
    found = re.search(rf'tau of a has {len(places)} outliers \(up to (\S+)\): use', text)
    assert float(found.group(1)) == pytest.approx(40.0, rel=0.02)
    # few and small ones leave hardly anything after the filters; too many are no spikes
    small = values.copy()
    small[places[:2], 0] += 1.0
    assert 'spikes' not in said(recording(q, tau=small))
    many = values.copy()
    many[::20, 0] += 40.0
    assert 'spikes' not in said(recording(q, tau=many))


def test_spikes_of_a_position_are_counted():
    q = smooth(0)
    places = np.arange(100, 1900, 150)
    spiky = q.copy()
    spiky[places, 1] -= 2.0
    text = said(recording(spiky))['spikes']
    found = re.fullmatch(
        rf'run: the position of b has {len(places)} outliers \(up to (\S+)\): '
        'clean the recording',
        text,
    )
    assert float(found.group(1)) == pytest.approx(2.0, rel=0.02)
    # a spike is ten times the way of the joint in three samples, and more than a milliradian
    spiky = q.copy()
    spiky[places, 1] -= 0.1
    assert 'spikes' not in said(recording(spiky))
    slow = recording(1e-3 * q + 0)
    tiny = slow.q.copy()
    tiny[places, 1] += 5e-4
    assert 'spikes' not in said(replace(slow, q=tiny))


def with_motor(samples=200, **signals):
    t = 0.01 * np.arange(samples)
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    return Recording(('a', 'b'), t, q, name='run', **{name: value(q) for name, value in signals.items()})


@pytest.mark.parametrize(
    ('ratio', 'what'),
    [(-1.05, 'turns the other way'), *((ratio, 'not reflected to the joint side') for ratio in (100.0, 0.85, -1.2))],
)
def test_a_motor_on_its_own_side_is_told_with_its_ratio(ratio, what):
    run = with_motor(theta=lambda q: q * [ratio, 1.09] + 3.0)
    (reason,) = (one for one in faults(run) if one.code == 'motor_side')
    assert reason.code == 'motor_side'
    for part in (f'motor of a turns {ratio:.4g} rad', what, 'recording.motor_states.gear_ratio'):
        assert part in reason.text
    assert all(one.code != 'motor_side' for one in faults(replace(run, q=run.q * 0.1 / np.ptp(run.q, axis=0))))
    assert all(one.code != 'motor_side' for one in faults(with_motor()))


@pytest.mark.parametrize(('share', 'expected'), [(0.9, {'dead_band'}), (0.5, set())])
def test_torque_of_one_value_in_most_moving_samples_is_named(share, expected):
    rng = np.random.default_rng(4)
    q = smooth(0)
    tau = np.cos(smooth(6)) + 0.01 * rng.normal(size=q.shape)
    tau[rng.random(len(q)) < share, 1] = 0.0
    made = [reason for reason in faults(recording(q, tau=tau)) if reason.code == 'dead_band']
    assert {reason.code for reason in made} == expected
    assert all(reason.joints == (JOINTS[1],) for reason in made)
