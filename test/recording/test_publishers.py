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

"""Several publishers of one topic, and single ones that look like them."""

import itertools

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import RecordingBuilder

NAMES = ('a', 'b', 'c')
OTHERS = ('c', 'gripper', 'a', 'b')


def arm(time, phase=0.0):
    """Positions (N, 3) of a smooth motion [rad]."""
    return np.array([0.9, -1.2, 0.5]) * np.sin(np.outer(time, [1.1, 1.7, 2.3]) + phase) + [0.2, -0.8, 1.1]


def samples(rate, seconds, values, offset=0.0, names=NAMES, quantity='q'):
    """Return (time, quantity, names, values) of each message of one publisher."""
    time = np.arange(offset, seconds, 1 / rate)
    return [(t, quantity, names, row) for t, row in zip(time, values(time), strict=True)]


def recorded(*publishers, topic='/joint_states'):
    """Return the recording of the messages of some publishers, in the order in which they were sent."""
    builder = RecordingBuilder(NAMES)
    for t, quantity, names, values in sorted(itertools.chain(*publishers), key=lambda one: one[0]):
        builder.add(quantity, round((1 + t) * 1e9), names, values, topic)
    return builder.build('run')


def zeros(names):
    return lambda time: np.zeros((len(time), len(names)))


@pytest.mark.parametrize(
    'second',
    [
        samples(500, 4, zeros(NAMES)),
        samples(10, 4, zeros(NAMES), 0.0004),
        samples(500, 4, zeros(OTHERS), names=OTHERS),
        samples(100, 4, zeros(OTHERS), 0.0007, names=OTHERS),
        samples(500, 4, lambda time: arm(time, 0.4), 0.0009),
        samples(125, 4, lambda time: arm(time, 2.0), 0.0003),
    ],
    ids=['same stamps', 'slow', 'other joints', 'other joints and rate', 'second arm', 'second arm at another rate'],
)
def test_contradicting_positions_are_refused(second):
    with pytest.raises(JointDynamicsError, match=r'q of [abc] on /joint_states.*publishers'):
        recorded(samples(500, 4, arm), second)


@pytest.mark.parametrize('offset', [0.0, 0.0006])
def test_contradicting_torques_are_refused(offset):
    """Positions are relayed unchanged, torques as zeros."""
    torque = lambda time: 20 * arm(time) + np.random.default_rng(1).normal(size=(len(time), 3))  # noqa: E731
    messages = [samples(500, 4, arm), samples(500, 4, torque, quantity='tau')]
    with pytest.raises(JointDynamicsError, match=r'tau of [abc] on /joint_states.*publishers'):
        recorded(*messages, samples(500, 4, arm, offset), samples(500, 4, zeros(NAMES), offset, quantity='tau'))


def test_a_relay_of_the_same_samples_is_noted_only():
    """Joints of another order, with one that is not of the arm."""
    relayed = samples(500, 4, lambda time: arm(time)[:, [2, 0, 0, 1]], names=OTHERS)
    recording = recorded(samples(500, 4, arm), relayed)
    assert any(note.startswith('2000 duplicate stamps of q on /joint_states, 0 of') for note in recording.notes)


def test_coarse_stamps_keep_the_last_sample_and_count_the_others():
    fine = samples(2000, 4, arm)
    recording = recorded([(np.floor(500 * t) / 500, *rest) for t, *rest in fine])
    assert any('6000 of them with other values' in note for note in recording.notes)
    # within the motion of 2 ms
    np.testing.assert_allclose(recording.q[10:-10], arm(recording.time)[10:-10], atol=2e-3 * 3.0)


def test_stamps_of_a_clock_that_stands_still_are_one_publisher():
    """Simulated time reaches a busy machine late: some samples get the stamp of the one before."""
    rng = np.random.default_rng(3)

    def rough(time):
        return 20 * arm(time) + rng.normal(scale=2.0, size=(len(time), 3))

    held = rng.random(2000) < 0.2
    messages = []
    for quantity, values in (('q', arm), ('tau', rough)):
        stamp = 0.0
        for late, (t, *rest) in zip(held, samples(500, 4, values, quantity=quantity), strict=True):
            stamp = stamp if late else t
            messages.append((stamp, *rest))
    recording = recorded(messages)
    np.testing.assert_allclose(recording.q[10:-10], arm(recording.time)[10:-10], atol=2e-3 * 8 * 3.0)


@pytest.mark.parametrize('rate', [50, 100, 500, 4000])
def test_coarse_encoders_spikes_and_noise_are_one_publisher(rate):
    rng = np.random.default_rng(rate)

    def noisy(time):
        q = arm(time) + rng.normal(scale=1e-3, size=(len(time), 3))
        q[rng.random(len(time)) < 0.02, 1] += 0.005
        return np.round(q / 1.5e-3) * 1.5e-3

    def rough(time):
        return 5 * np.sign(np.sin(7 * time))[:, None] + rng.normal(scale=5, size=(len(time), 3))

    recording = recorded(samples(rate, 4, noisy), samples(rate, 4, rough, quantity='tau'))
    assert recording.samples >= 4 * rate - 1
