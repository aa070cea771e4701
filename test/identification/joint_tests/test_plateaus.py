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

"""Stretches of constant speed, their means and the deviations of these, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.plateaus import (
    PlateauSettings,
    constant_stretches,
    find_plateaus,
    group_speeds,
    mean_deviation,
    steady_rows,
)

RATE = 200.0


def test_constant_speed_is_found_where_it_is(of_speed):
    """Three plateaus: one too short, one whose start is spent on the settling, one long; and none in a ramp."""
    pieces = [(0.5, 200), (0.0, 100), (-1.0, 40), (0.0, 100), (0.02, 300)]
    omega = np.concatenate([np.full(samples, speed) for speed, samples in pieces])
    settings = PlateauSettings(min_duration=0.4, min_speed=0.01, tolerance=0.05, settle=0.00605)
    found = constant_stretches(of_speed(omega), settings)
    assert [(part.start < 200, part.start >= 440) for part in found] == [(True, False), (False, True)]
    # half a window of 40 samples is taken off at the ends, 6.05 mrad at 0.5 rad/s are 3 samples and at 0.02 are 61
    half = 40
    assert found[0].start == half - half // 2 + 3
    # of the window after it, 5 % may be of another speed: 2 samples
    assert 0 <= found[0].stop - (200 - half // 2) <= 2
    assert abs(found[1].start - (440 + half // 2 + 61)) <= 1
    assert found[1].stop == 740 - half + half // 2
    for changed, count in (
        ({'min_speed': 0.03}, 1), ({'min_speed': 0.6}, 0), ({'min_duration': 0.1}, 3), ({'settle': 0.06}, 1),
    ):  # fmt: skip
        assert len(constant_stretches(of_speed(omega), replace(settings, **changed))) == count
    t = np.arange(400) / RATE
    assert constant_stretches(of_speed(1.0 + t), settings) == []
    assert len(constant_stretches(of_speed(1.0 + t), replace(settings, tolerance=0.5))) == 1
    assert constant_stretches(of_speed(omega[:80]), settings) == []


def test_plateaus_have_means_of_their_rows(of_speed, rows):
    rng = np.random.default_rng(0)
    omega = np.repeat([0.5, -0.25], 300)
    noise = rng.normal(size=(4, 600))
    slope = np.tile(np.linspace(0.0, 3.0, 300), 2)
    data = of_speed(omega, tau=10 * omega + slope + noise[0], tau_J=2.0 + noise[1], temperature=30 + noise[2])
    settings = PlateauSettings()
    found = find_plateaus([data], settings)
    assert [part.recording for part in found] == ['run', 'run']
    parts = constant_stretches(data, settings)
    for one, part, speed in zip(found, parts, (0.5, -0.25), strict=True):
        friction = (data.tau - data.tau_J)[part]
        assert one.speed == pytest.approx(speed, rel=1e-9)
        assert (one.torque, one.temperature, one.load) == pytest.approx(
            (friction.mean(), data.temperature[part].mean(), data.tau_J[part].mean()), rel=1e-12
        )
        x = np.linspace(-0.5, 0.5, friction.size)
        assert one.trend == pytest.approx(x @ (friction - friction.mean()) / (x @ x), rel=1e-9)
        assert one.std == mean_deviation(friction)
    bare = find_plateaus([replace(data, tau_J=None, temperature=None)], settings)[0]
    assert bare.load is None and bare.temperature is None
    assert bare.torque == pytest.approx(data.tau[parts[0]].mean())
    with pytest.raises(NotReliableError, match=r'run, run: j .* 0\.3 s .* 0\.002 rad/s'):
        find_plateaus([of_speed(0 * omega, tau=omega)] * 2)
    rows = steady_rows([data], settings, block=0.1)
    cuts = [slice(k, k + 20) for part in parts for k in range(part.start, part.stop - 19, 20)]
    for name, signal in (('speed', data.omega), ('friction', data.tau - data.tau_J), ('load', data.tau_J),
                         ('temperature', data.temperature)):  # fmt: skip
        np.testing.assert_allclose(getattr(rows, name), [signal[cut].mean() for cut in cuts], rtol=1e-12)
    assert rows.both_directions
    assert not steady_rows([of_speed(omega[:300], tau=omega[:300])], settings).both_directions
    alone = steady_rows([replace(data, tau_J=None, temperature=None)], settings)
    assert np.isnan(alone.load).all() and np.isnan(alone.temperature).all()
    with pytest.raises(NotReliableError, match='run: j'):
        steady_rows([of_speed(0 * omega, tau=omega)], settings)


def test_the_deviation_of_a_mean_is_the_largest_over_batches():
    rng = np.random.default_rng(1)
    for size in (31, 32, 64, 127, 128, 1000):
        x = np.convolve(rng.normal(size=size + 20), np.ones(21), 'valid')
        expected = [x.std(ddof=1) / np.sqrt(size)]
        for batches in (8, 16, 32):
            if size >= 4 * batches:
                means = [part.mean() for part in np.array_split(x, batches)]
                expected.append(np.std(means, ddof=1) / np.sqrt(batches))
        assert len(expected) == 1 + (size >= 32) + (size >= 64) + (size >= 128)
        assert mean_deviation(x) == pytest.approx(max(expected), rel=1e-12)


def test_like_speeds_have_one_label():
    speeds = np.array([1.0, -1.0, 1.04, 0.5, -0.96, 1.06, 0.51])
    assert group_speeds(speeds).tolist() == [2, 0, 2, 1, 0, 3, 1]
    assert group_speeds(speeds, 0.2).tolist() == [2, 0, 2, 1, 0, 2, 1]
