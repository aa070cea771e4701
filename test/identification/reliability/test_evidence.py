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

"""Fits of explanations, their effective samples and gains, with plain numbers and loops."""

import math
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.reliability.evidence import (
    PASSES,
    ExplanationFit,
    NormalEquations,
    effective_samples,
    gain,
    peak,
    regressor_columns,
)
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples, samples_of
from joint_dynamics.identification.reliability.thresholds import RESOLVED
from joint_dynamics.robot import RobotModel

N = 3
B = 5
SAMPLES = 400


@pytest.fixture(params=range(3))
def system(request):
    """Rows of three joints, weights, and a torque of known parameters with noise of its own size at every joint."""
    rng = np.random.default_rng(request.param)
    rows = rng.normal(size=(N, B, SAMPLES)) * 10.0 ** rng.uniform(-2, 2, B)[:, None]
    rows[0, 4] = 0.0
    weight = np.where(rng.random((N, SAMPLES)) < 0.2, rng.uniform(0.05, 0.5, (N, SAMPLES)), 1.0)
    chi = rng.normal(size=B) / np.linalg.norm(rows, axis=(0, 2)) * 30
    tau = np.einsum('jbs,b->js', rows, chi)
    return rows, weight, tau + np.array([[0.02], [0.3], [1.0]]) * tau.std() * rng.normal(size=tau.shape)


def fitted(rows, weight, tau, use):
    """Parameters and unexplained shares of the used columns: rows weighted by their residuals, three times."""
    columns = np.flatnonzero(use)
    size = ((tau * weight) ** 2).sum(axis=1)
    sigma = np.sqrt(size)
    for _ in range(PASSES):
        A = np.concatenate([(rows[j][columns] * weight[j]).T / sigma[j] for j in range(len(rows))])
        y = np.concatenate([tau[j] * weight[j] / sigma[j] for j in range(len(rows))])
        part = np.linalg.lstsq(A, y, rcond=None)[0]
        left = np.array([np.sum(((tau[j] - rows[j][columns].T @ part) * weight[j]) ** 2) for j in range(len(rows))])
        sigma = np.sqrt(left + RESOLVED**2 * size)
    chi = np.zeros(len(use))
    chi[columns] = part
    return chi, left / size


def check(found, expected, rank):
    chi, unexplained = expected
    np.testing.assert_allclose(found.chi, chi, rtol=1e-6, atol=1e-9 * np.abs(chi).max())
    np.testing.assert_allclose(found.unexplained, unexplained, rtol=1e-6, atol=1e-9)
    assert found.rank == rank


def test_a_fit_is_that_of_rows_weighted_by_their_residuals(system):
    rows, weight, tau = system
    normal = NormalEquations(rows, weight)
    everything = np.ones(B, dtype=bool)
    expected = fitted(rows, weight, tau, everything)
    check(normal.fit(tau), expected, B)
    check(normal.free(tau), expected, B)
    left = [[weight[j, k] * (tau[j, k] - rows[j, :, k] @ expected[0]) for k in range(SAMPLES)] for j in range(N)]
    np.testing.assert_allclose(normal.residuals(tau, expected[0]), left, rtol=1e-9, atol=1e-9 * np.abs(tau).max())


def test_a_torque_that_is_zero_has_parameters_zero(system):
    rows, weight, tau = system
    found = NormalEquations(rows, weight).fit(np.zeros_like(tau))
    np.testing.assert_array_equal(found.chi, np.zeros(B))
    assert np.isfinite(found.unexplained).all()


def test_driving_friction_and_negative_inertias_are_left_out(system):
    """Friction of a joint goes as a whole, by the sign of its power; the others are fitted anew."""
    rows, weight, tau = system
    chi = fitted(rows, weight, tau, np.ones(B, dtype=bool))[0]
    friction = [np.array([0, 1]), np.array([2]), np.array([], dtype=int)]
    for first, second in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        power = np.zeros((N, B))
        power[0, [0, 1]] = first * np.sign(chi[0]), 0.0
        power[1, 2] = second * np.sign(chi[2])
        normal = NormalEquations(rows, weight, friction, power)
        use = np.ones(B, dtype=bool)
        while True:
            at = fitted(rows, weight, tau, use)[0]
            wrong = [f for j, f in enumerate(friction) if len(f) and use[f].all() and power[j] @ at < 0]
            if not wrong:
                break
            use[np.concatenate(wrong)] = False
        check(normal.fit(tau), fitted(rows, weight, tau, use), int(use.sum()))
        assert first > 0 or not use[:2].any()
        check(normal.free(tau), fitted(rows, weight, tau, np.ones(B, dtype=bool)), B)
    use = np.ones(B, dtype=bool)
    while (wrong := use & (fitted(rows, weight, tau, use)[0] < 0) & (np.arange(B) < 4)).any():
        use &= ~wrong
    check(NormalEquations(rows, weight, positive=np.arange(4)).fit(tau), fitted(rows, weight, tau, use), int(use.sum()))


def test_equal_columns_share_and_unseen_ones_are_zero(system):
    rows, weight, tau = system
    twice = np.concatenate([rows, 2.0 * rows[:, :1], np.zeros((N, 1, SAMPLES))], axis=1)
    found = NormalEquations(twice, weight).fit(tau)
    chi, unexplained = fitted(rows, weight, tau, np.ones(B, dtype=bool))
    assert found.rank == B
    np.testing.assert_allclose(found.unexplained, unexplained, rtol=1e-6, atol=1e-8)
    # of least norm among columns of norm 1: both contribute alike
    shared = [0.5 * chi[0], *chi[1:], 0.25 * chi[0], 0.0]
    np.testing.assert_allclose(found.chi, shared, rtol=1e-4, atol=1e-6 * np.abs(chi).max())


def test_samples_count_as_many_as_are_independent():
    rng = np.random.default_rng(5)
    part = np.repeat([0, 1], [150, 90])
    smooth = np.cumsum(rng.normal(size=240))
    related = np.empty(240)
    related[0] = 0.0
    for k in range(1, 240):
        related[k] = 0.8 * related[k - 1] + rng.normal()
    residuals = np.array([rng.normal(size=240), related, smooth + 40.0, np.zeros(240), np.resize([1.0, -1.0], 240)])
    weight = rng.uniform(0.3, 1.0, residuals.shape)
    weight[4] = 1e-3
    expected = []
    for row, w in zip(residuals, weight, strict=True):
        power, length = sum(x * x for x in row), 1.0
        for lag in range(1, 60):
            products = [row[k] * row[k - lag] for k in range(lag, 240) if part[k] == part[k - lag]]
            if power == 0 or sum(products) <= 0:
                break
            length += 2 * sum(products) / power
        expected.append(max(sum(w**2) / length, 1.0))
    found = effective_samples(residuals, weight, part)
    np.testing.assert_allclose(found, expected)
    assert found[4] == 1.0 and found[3] == pytest.approx((weight[3] ** 2).sum())
    # a row of two samples has one lag
    assert effective_samples(np.array([[2.0, 1.0]]), np.full((1, 2), 2.0), np.zeros(2)) == pytest.approx(8 / 1.8)


def test_gain_is_log_ratio_less_the_cost_of_parameters():
    given = ExplanationFit(np.zeros(2), np.array([0.04, 0.0]), 7)
    other = ExplanationFit(np.zeros(2), np.array([0.01, 0.5]), 9)
    count = np.array([120.0, 3.0])
    floor = RESOLVED**2
    expected = 60.0 * math.log((0.04 + floor) / (0.01 + floor)) + 1.5 * math.log(floor / (0.5 + floor))
    assert gain(given, other, count) == pytest.approx(expected - math.log(123.0))
    assert gain(other, given, count) == pytest.approx(-expected + math.log(123.0))
    assert gain(given, replace(given, rank=8), np.array([0.4, 0.3])) == pytest.approx(-0.5 * math.log(2.0))


def torque_of_bodies_and_drives(robot, samples, standard):
    """Inverse dynamics (n, samples) + I_a θ̈ + F_v θ̇ + F_c sign + offset of each drive."""
    drives = dict(zip(robot.parameter_names, standard, strict=True))
    bodies = np.where([name[:2] in ('Ia', 'Fv', 'Fc', 'of') for name in robot.parameter_names], 0.0, standard)
    tau = robot.inverse_dynamics(samples.q.T, samples.dq.T, samples.ddq.T, bodies).T
    for j in range(2):
        for name, column in (('Ia', samples.ddtheta), ('Fv', samples.dtheta), ('Fc', samples.sign)):
            tau[j] += drives[f'{name}_{j + 1}'] * column[j]
        tau[j] += drives[f'off_{j + 1}']
    return tau


def test_columns_are_the_torque_of_bodies_drives_and_terms(resting_problem, two_links):
    """W χ of regrouped standard parameters is inverse dynamics and what each drive adds; a term acts at its joint."""
    samples = samples_of(resting_problem)
    rng = np.random.default_rng(9)
    base = two_links.base_parameters()
    standard = rng.normal(size=len(two_links.parameter_names))
    tau = torque_of_bodies_and_drives(two_links, samples, standard)
    further = np.array([0.7, -1.3])
    rows = regressor_columns(samples, two_links)
    assert rows.shape == (2, base.count + 2, samples.q.shape[1])
    plain = regressor_columns(replace(samples, extra=()), two_links)
    np.testing.assert_array_equal(plain, rows[:, : base.count])
    np.testing.assert_allclose(np.einsum('jbs,b->js', plain, base.regroup(standard)), tau, rtol=1e-8, atol=1e-8)
    every = regressor_columns(replace(samples, extra=()), two_links, independent=np.arange(len(standard)))
    np.testing.assert_allclose(np.einsum('jbs,b->js', every, standard), tau, rtol=1e-8, atol=1e-8)
    tau[1] += further @ [values for _, values in samples.extra]
    np.testing.assert_allclose(
        np.einsum('jbs,b->js', rows, [*base.regroup(standard), *further]), tau, rtol=1e-8, atol=1e-8
    )
    turned = replace(two_links.chain, gravity=np.array([-9.81, 0.0, 0.0]))
    other = regressor_columns(replace(samples, extra=()), two_links, turned, np.arange(len(standard)))
    weight = [name for name in two_links.parameter_names if name.startswith(('MX', 'MY', 'MZ', 'M_'))]
    differs = np.abs(other - every).max(axis=(0, 2)) > 1e-9
    assert {name for name, one in zip(two_links.parameter_names, differs, strict=True) if one} <= set(weight)
    assert differs.any()


def test_columns_of_coupled_drives_take_the_motors_speeds():
    """Joint torques of a motor's inertia and friction are those that the coupling turns to the joints."""
    rows = [{'alpha': np.pi / 2, 'a': 0.0, 'd': 0.1, 'theta': 0.0}, {'alpha': 0.0, 'a': 0.4, 'd': 0.0, 'theta': 0.3}]
    model = RobotModel.from_mdh({'joints': rows, 'position_coupling_R': [[2.0, 0.0], [1.0, 3.0]]})
    rng = np.random.default_rng(4)
    arrays = {name: rng.normal(size=(2, 30)) for name in ('q', 'dq', 'ddq', 'dtheta', 'ddtheta', 'sign', 'tau')}
    samples = FilteredSamples(**arrays, weight=np.ones((2, 30)), part=np.zeros(30, dtype=int))
    every = np.arange(len(model.parameter_names))
    found = regressor_columns(samples, model, independent=every)
    own = model.coupling.regressor_rows(samples.dtheta, samples.ddtheta)
    np.testing.assert_array_equal(found[:, -own.shape[1] :], own)
    assert found.shape == (2, len(every), 30) and np.abs(own).max() > 0


@pytest.mark.parametrize('top', [-0.4, -0.123, 0.0, 0.3007, 0.4])
def test_a_peak_is_the_highest_of_several_maxima(top):
    """Waves of a tenth, with the envelope of a parabola around the highest."""
    found = peak(lambda x: np.cos(2 * np.pi * (x - top) / 0.1) - 20 * (x - top) ** 2, 0.4, 40, 1e-5)
    assert found == pytest.approx(top, abs=1e-5)
