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

"""Online state estimation: one delay for every signal, derivatives that belong to the smoothed value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.signals.state_estimator import StateEstimator, smoothing_kernel


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def feed(estimator, signals):
    """All outputs (N, 3, C)."""
    return np.array([estimator.update(row).copy() for row in signals])


@given(seed=st.integers(0, 2**31), taper=st.booleans(), rate=st.sampled_from([100.0, 500.0, 1000.0]))
@settings(max_examples=25, deadline=None)
def test_parabola_comes_out_exactly_one_delay_late(seed, taper, rate):
    a, b, c = np.random.default_rng(seed).normal(size=3)
    estimator = StateEstimator(2, 1.0 / rate, taper=taper)
    t = np.arange(estimator.samples + 20) / rate
    out = feed(estimator, np.stack([a + b * t + c * t**2, 3.0 * t], axis=1))[estimator.samples - 1 :]
    then = t[estimator.samples - 1 :] - estimator.delay
    assert out[:, 0, 0] == pytest.approx(a + b * then + c * then**2, abs=1e-9)
    assert out[:, 1, 0] == pytest.approx(b + 2 * c * then, abs=1e-7)
    assert out[:, 2, 0] == pytest.approx(np.full(then.size, 2 * c), abs=1e-4)
    assert out[:, 0, 1] == pytest.approx(3.0 * then, abs=1e-9)


def test_linear_equations_between_signals_survive(rng):
    """S commutes with differences: the smoothed torque of an inertia is the inertia times the second derivative."""
    estimator = StateEstimator(2, 1e-3)
    position = np.cumsum(np.cumsum(rng.normal(size=600))) * 1e-6
    torque = 2.5 * (np.append(position[1:], position[-1]) - 2 * position + np.append(position[0], position[:-1])) / 1e-6
    out = feed(estimator, np.stack([position, torque], axis=1))[200:500]
    assert out[:, 0, 1] == pytest.approx(2.5 * out[:, 2, 0], rel=1e-6, abs=1e-6)


def test_taper_saves_the_second_derivative_from_quantisation(rng):
    count = 2 * np.pi / 2**20
    t = np.arange(3000) * 1e-3
    truth = 0.5 * np.sin(2 * np.pi * 0.5 * t)
    noise = []
    for taper in (False, True):
        estimator = StateEstimator(1, 1e-3, taper=taper)
        exact = StateEstimator(1, 1e-3, taper=taper)
        quantised = feed(estimator, np.round(truth / count)[:, None] * count)[150:, 2, 0]
        noise.append(np.std(quantised - feed(exact, truth[:, None])[150:, 2, 0]))
    assert noise[1] < 0.1 * noise[0]


def test_broken_values_are_held(rng):
    estimator = StateEstimator(2, 1e-3, window=0.01)
    rows = rng.normal(size=(200, 2))
    rows[50, 0] = np.nan
    rows[60, 1] = np.inf
    ready = []
    for row in rows:
        assert np.isfinite(estimator.update(row)).all()
        ready.append(estimator.ready)
    assert ready.index(True) == estimator.samples - 1
    held = rows.copy()
    held[50, 0], held[60, 1] = rows[49, 0], rows[59, 1]
    window = slice(50, 62)
    assert feed(StateEstimator(2, 1e-3, window=0.01), rows)[window] == pytest.approx(
        feed(StateEstimator(2, 1e-3, window=0.01), held)[window]
    )


@pytest.mark.parametrize('samples', [0, -3, 4, 100])
def test_even_kernels_are_refused(samples):
    with pytest.raises(JointDynamicsError, match=f'expected an odd number of samples, found {samples}$'):
        smoothing_kernel(samples)


@pytest.mark.parametrize('taper', [True, False])
@pytest.mark.parametrize('degree', [0, 2, 4])
def test_the_kernel_is_a_weighted_least_squares_fit(taper, degree):
    """Held against numpy's polynomial fit with the square roots of Hann's weights, or of none."""
    half = 7
    weights = np.hanning(2 * half + 3)[1:-1] if taper else np.ones(2 * half + 1)
    x = np.arange(-half, half + 1)
    expected = [np.polyval(np.polyfit(x, unit, degree, w=np.sqrt(weights)), 0.0) for unit in np.eye(2 * half + 1)]
    np.testing.assert_allclose(smoothing_kernel(2 * half + 1, degree, taper), expected, atol=1e-12)


@pytest.mark.parametrize(('kwargs', 'word'), [
    ({'channels': 0, 'period': 1e-3}, 'channels'), ({'channels': 1, 'period': 0.0}, 'period'),
    ({'channels': 1, 'period': 1e-3, 'window': -1.0}, 'window'),
])  # fmt: skip
def test_bad_arguments_are_named(kwargs, word):
    with pytest.raises(JointDynamicsError, match=rf'expected channels >= 1, period > 0 s .*, found .*{kwargs[word]}'):
        StateEstimator(**kwargs)
