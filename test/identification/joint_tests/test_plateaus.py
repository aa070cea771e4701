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


@pytest.fixture
def noisy(of_speed):
    """0.5 rad/s, then −0.25 rad/s, with a torque that grows along each, load and temperature."""
    omega = np.repeat([0.5, -0.25], 300)
    noise = np.random.default_rng(0).normal(size=(3, 600))
    slope = np.tile(np.linspace(0.0, 3.0, 300), 2)
    return of_speed(omega, tau=10 * omega + slope + noise[0], tau_J=2.0 + noise[1], temperature=30 + noise[2])


def test_plateaus_have_the_means_of_their_samples(noisy):
    parts = constant_stretches(noisy, PlateauSettings())
    for one, part, speed in zip(find_plateaus([noisy], PlateauSettings()), parts, (0.5, -0.25), strict=True):
        friction = (noisy.tau - noisy.tau_J)[part]
        assert one.speed == pytest.approx(speed, rel=1e-9)
        assert (one.torque, one.temperature, one.load) == pytest.approx(
            (friction.mean(), noisy.temperature[part].mean(), noisy.tau_J[part].mean()), rel=1e-9
        )
        x = np.linspace(-0.5, 0.5, friction.size)
        assert one.trend == pytest.approx(x @ (friction - friction.mean()) / (x @ x), rel=1e-9)
        # White noise of 300 samples: its effective number has a deviation of some 10 %.
        assert one.std == pytest.approx(np.std(friction - one.trend * x) / np.sqrt(friction.size), rel=0.3)
    bare = find_plateaus([replace(noisy, tau_J=None, temperature=None)], PlateauSettings())[0]
    assert bare.load is None and bare.temperature is None
    assert bare.torque == pytest.approx(noisy.tau[parts[0]].mean())


def test_rows_are_means_of_blocks_of_a_tenth_of_a_second(noisy):
    rows = steady_rows([noisy], PlateauSettings())
    parts = constant_stretches(noisy, PlateauSettings())
    cuts = [slice(k, k + 20) for part in parts for k in range(part.start, part.stop - 19, 20)]
    for name, signal in (('speed', noisy.omega), ('friction', noisy.tau - noisy.tau_J), ('load', noisy.tau_J),
                         ('temperature', noisy.temperature)):  # fmt: skip
        np.testing.assert_allclose(getattr(rows, name), [signal[cut].mean() for cut in cuts], rtol=1e-12)
    assert rows.both_directions
    slow, fast = sorted(rows.levels().values(), key=sum)
    np.testing.assert_array_equal(np.sort([slow, fast], axis=0), [rows.speed > 9, rows.speed < 9])
    assert {rows.speed[slow > 0].max() < 0, rows.speed[fast > 0].max() < 0} == {True, False}
    alone = steady_rows([replace(noisy, tau_J=None, temperature=None)], PlateauSettings())
    assert np.isnan(alone.load).all() and np.isnan(alone.temperature).all()


@pytest.mark.parametrize('read', [find_plateaus, steady_rows])
def test_a_recording_without_constant_speed_is_refused(of_speed, read):
    still = of_speed(np.zeros(600), tau=np.zeros(600))
    with pytest.raises(NotReliableError, match=r'run, run: j .* 0\.3 s .* 0\.002 rad/s'):
        read([still, still], PlateauSettings())


def test_like_speeds_have_one_label():
    speeds = np.array([1.0, -1.0, 1.04, 0.5, -0.96, 1.06, 0.51])
    assert group_speeds(speeds).tolist() == [2, 0, 2, 1, 0, 3, 1]
