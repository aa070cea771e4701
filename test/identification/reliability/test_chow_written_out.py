"""Chow's test, scales and payloads of their own, written out with dense matrices and a general optimiser."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from joint_dynamics.identification.drive_gains.payload_difference import payload_changes, payload_differences
from joint_dynamics.identification.drive_gains.payload_runs import payload_problem, split
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.chow import ChowTest, chow
from joint_dynamics.identification.reliability.differences import differences, recordings_or_halves
from joint_dynamics.identification.reliability.evidence import NormalEquations, effective_samples, gain, steadiness
from joint_dynamics.identification.reliability.filtered_samples import row_weights, samples_of
from joint_dynamics.identification.reliability.scales import estimate_scales
from joint_dynamics.identification.reliability.thresholds import RESOLVED

TRUTH = {
    'ZZ_1': 0.5, 'MX_1': 1.5, 'MY_1': 0.2, 'M_1': 5.0, 'ZZ_2': 0.25, 'MX_2': 0.5, 'MY_2': 0.1, 'M_2': 2.0, 'Ia_1': 0.5,
    'Ia_2': 0.1, 'Fv_1': 2.0, 'Fv_2': 1.0, 'Fc_1': 1.5, 'Fc_2': 0.6, 'off_1': 0.1,
}  # fmt: skip


def orthonormal(columns):
    """Basis of what columns of norm 1 span."""
    norms = np.linalg.norm(columns, axis=0)
    vectors, values, _ = np.linalg.svd(columns / np.where(norms > 0, norms, 1.0), full_matrices=False)
    return vectors[:, values > 1e-8 * max(1.0, values.max())]


def written_out(A, Z, y, labels):
    """Statistic, degrees of freedom, probability and effect by the formulas of the module."""
    scale = np.linalg.norm(Z, axis=0)
    Q1 = orthonormal(A)
    rest = Z / np.where(scale > 0, scale, 1.0)
    for _ in range(2):
        rest = rest - Q1 @ (Q1.T @ rest)
    vectors, values, _ = np.linalg.svd(rest, full_matrices=False)
    Q2 = vectors[:, values > 1e-8]
    q = Q2.shape[1]
    H = Q1 @ Q1.T + Q2 @ Q2.T
    left, gained = y - H @ y, float(np.sum((Q2.T @ y) ** 2))
    scores, seen = [], 0.0
    for g in np.unique(labels):
        own = labels == g
        leverage, V = np.linalg.eigh(H[np.ix_(own, own)])
        some = 1 - leverage > 1e-6
        B = V @ np.diag(np.where(some, 1 / np.sqrt(np.maximum(1 - leverage, 1e-6)), 0.0)) @ V.T
        scores.append(Q2[own].T @ B @ left[own])
        seen += np.trace(Q2[own].T @ V @ np.diag(some * 1.0) @ V.T @ Q2[own])
    products = np.array(scores) @ np.array(scores).T
    each, G = np.diag(products), len(scores)
    total = each.sum()
    apart = (np.sum(products**2) - np.sum(each**2)) * G / (G - 1)
    upper, lower = min(max(total**2 / apart, 1.0), q), 2 * total**2 / (G * each.var(ddof=1))
    total = total * q / seen
    F = gained / total
    effect = math.sqrt(max(gained - total, 0.0) / (y @ y))
    return ChowTest(F, (upper, lower), scipy.stats.f.sf(F, upper, lower), effect)


def made(seed, blocks=12, length=20, extra=0.0):
    rng = np.random.default_rng(seed)
    samples = blocks * length
    rows, added = rng.normal(size=(2, 4, samples)), rng.normal(size=(2, 2, samples))
    added[:, :, : samples // 2] = 0.0
    weight = np.where(rng.random((2, samples)) < 0.2, 0.3, 1.0)
    noise = np.array([[0.2], [3.0]]) * rng.normal(size=(2, samples))
    tau = np.einsum('jbs,b->js', rows, rng.normal(size=4)) + extra * added.sum(axis=1) + noise
    normal = NormalEquations(rows, weight)
    found = SimpleNamespace(
        samples=SimpleNamespace(tau=tau, weight=weight), given=normal.fit(tau), rows=rows,
        blocks=np.repeat(np.arange(blocks) + 5, length),
    )  # fmt: skip
    left = found.given.unexplained * ((tau * weight) ** 2).sum(axis=1) / (weight**2).sum(axis=1)
    factor = weight / np.sqrt(left)[:, None]

    def stacked(array):
        return np.concatenate([(array[j] * factor[j]).T for j in range(2)])

    y = np.concatenate([tau[j] * factor[j] for j in range(2)])
    return found, added, (stacked(rows), stacked(added), y, np.tile(found.blocks, 2))


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('extra', [0.0, 0.3])
def test_chows_test_by_its_formulas(seed, extra):
    found, added, dense = made(seed, extra=extra)
    expected, test = written_out(*dense), chow(found, added)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert test.freedom == pytest.approx(expected.freedom, rel=1e-6)
    assert test.probability == pytest.approx(expected.probability, rel=1e-5)
    assert test.effect == pytest.approx(expected.effect, rel=1e-5, abs=1e-7)
    assert (test.probability < 1e-3) == (extra > 0)
    # units and duplicates of the columns change nothing
    other = chow(found, np.concatenate([1e3 * added, added[:, :1] - found.rows[:, :1]], axis=1))
    assert other.statistic == pytest.approx(test.statistic, rel=1e-5)
    assert other.freedom == pytest.approx(test.freedom, rel=1e-5)


def test_what_chows_test_has_nothing_to_say_of():
    none = ChowTest(0.0, (0.0, 0.0), 1.0, 0.0)
    found, added, _ = made(1)
    assert chow(found, np.zeros_like(added)) == none
    assert chow(found, 2.0 * found.rows[:, :2]) == none
    assert chow(SimpleNamespace(**{**vars(found), 'blocks': np.repeat([0, 1], 120)}), added) == none
    # what one block alone decides shows no scatter
    alone = added * (found.blocks == found.blocks[-1]) * (np.arange(240) == 239)
    assert chow(found, alone) == none


def test_halves_of_one_recording_and_all_but_the_first_of_two():
    samples = SimpleNamespace(part=np.repeat([0, 1, 2], [4, 3, 2]))
    parts = list(recordings_or_halves(samples, ['a', 'b', 'c']))
    assert [name for name, _ in parts] == ['a', 'b', 'c']
    for index, (_, where) in enumerate(parts):
        np.testing.assert_array_equal(where, samples.part == index)
    ((name, where),) = recordings_or_halves(samples, ['a', 'b'])
    assert name == 'b' and where.tolist() == (samples.part == 1).tolist()
    ((name, where),) = recordings_or_halves(samples, ['a'])
    assert name == 'the second half of a' and where.tolist() == [False] * 4 + [True] * 5


@pytest.fixture(scope='module')
def runs(two_links, observed):
    """Two recordings of two links with 2 % noise, and what makes more of them."""
    rng = np.random.default_rng(0)
    standard = np.zeros(len(two_links.parameter_names))
    for name, value in TRUTH.items():
        standard[two_links.parameter_names.index(name)] = value
    chi = two_links.base_parameters().regroup(standard)

    def of(seed, samples=400, carried=0.0):
        run = observed(seed, samples, factor=4)
        more = standard.copy()
        for name, value in {'M_2': carried, 'MX_2': 0.3 * carried, 'ZZ_2': 0.1 * carried}.items():
            more[two_links.parameter_names.index(name)] += value
        own = two_links.base_parameters().regroup(more)
        tau = full_rate_torque(Problem(two_links, [run]), run, own)
        return replace(run, name=f'run {seed}', tau=tau + 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape))

    return of, chi


@pytest.mark.parametrize('factor', [(1.0, 1.0), (1.0, 3.0), (0.4, 1.0)])
def test_scales_are_the_likeliest(two_links, runs, factor):
    """The minimum of the profile likelihood with its prior, by a general optimiser; deviations by its curvature."""
    of, _ = runs
    good = samples_of(Problem(two_links, [of(1), of(2)]))
    alternatives = Alternatives(two_links, replace(good, tau=good.tau * np.array(factor)[:, None]))
    tau, normal, count = alternatives.samples.tau, alternatives.normal, alternatives.count

    def cost(beta):
        fit = normal.fit(tau * np.exp(-np.asarray(beta))[:, None])
        return 0.5 * count @ np.log(fit.unexplained + RESOLVED**2) + 0.5 * np.sum(np.square(beta)) / 9.0

    found = estimate_scales(alternatives)
    best = scipy.optimize.minimize(cost, np.log(factor), method='Nelder-Mead', options={'xatol': 1e-5, 'fatol': 1e-7})
    beta = best.x - np.median(best.x)
    np.testing.assert_allclose(np.log(found.factor), beta, atol=0.05 * found.deviation.max() + 0.01)
    assert found.names == two_links.joint_names and found.known.shape == (2,)
    if found.known.all():
        apart = best.x[0] - best.x[1]
        truth = math.log(factor[0] / factor[1])
        assert abs(apart - truth) < 5 * float(np.hypot(*found.deviation))
        # one ratio is known, and costs half a logarithm
        alike = scipy.optimize.minimize_scalar(lambda b: cost([b, b]), bounds=(-5, 5), method='bounded').fun
        expected = min(alike, cost([0.0, 0.0])) - best.fun - 0.5 * math.log(count.sum())
        assert found.gain == pytest.approx(expected, abs=0.1 + 0.02 * abs(expected))
        other = normal.fit(tau * np.exp(-best.x)[:, None])
        left = normal.residuals(tau * np.exp(-best.x)[:, None], other.chi)
        steady = steadiness(
            (alternatives.given, alternatives.residuals), (other, left), count, alternatives.samples.weight,
            alternatives.blocks,
        )  # fmt: skip
        if factor != (1.0, 1.0):
            assert found.steadiness == pytest.approx(steady, rel=0.05)


def test_payload_of_its_own_by_two_fits(two_links, runs):
    """One payload for all against another one for one recording: every figure of the sentence."""
    of, chi = runs
    problem = Problem(two_links, [of(1)])
    same = [of(3, carried=1.0), of(4, carried=1.0), of(5, carried=1.0)]
    assert payload_differences(problem, chi, same) == [] == payload_differences(problem, chi, same[:1])
    for loaded, other in (
        ([of(3, carried=1.0), of(4, carried=3.0), of(5, carried=1.0)], 1), ([same[0], of(6, carried=2.5)], 1),
    ):  # fmt: skip
        system = payload_problem(problem, loaded)
        rows, rest, tau, index, weight = [], [], [], [], []
        for block, W, W_L in split(system):
            rows.append(W_L)
            rest.append(block.tau - np.einsum('jbs,b->js', W, chi))
            tau.append(block.tau)
            index.append(np.full(block.tau.shape[1], block.observation))
        rows, rest, tau = (np.concatenate(x, axis=-1) for x in (rows, rest, tau))
        index = np.concatenate(index)
        weight = np.concatenate([row_weights(system, k) for k in range(len(loaded))], axis=1)
        given = NormalEquations(rows, weight).fit(rest)
        normal = NormalEquations(np.concatenate([rows, rows * (index == other)], axis=1), weight)
        fit = normal.fit(rest)
        value = gain(given, fit, effective_samples(normal.residuals(rest, fit.chi), weight, index))
        share = (rest**2).sum(axis=1) @ (given.unexplained - fit.unexplained) / (tau**2).sum()
        (reason,) = payload_differences(problem, chi, loaded)
        bodies = []
        for values in (fit.chi[:10] + fit.chi[10:], fit.chi[:10]):
            centre = ', '.join(f'{round(value / values[9], 3) + 0.0:g}' for value in values[6:9])
            bodies.append(f'{values[9]:.3g} kg at ({centre}) m')
        assert (reason.code, reason.text) == (
            'payload_mixed',
            f'the loaded recordings carry different payloads, or one held two ways: {loaded[other].name} about '
            f'{bodies[0]}, the others {bodies[1]}, which makes '
            f'{100 * math.sqrt(share):.3g} % of the torque (log-likelihood +{value:.0f}); identify one payload at a '
            'time',
        )


def test_what_a_payload_would_leave_over(two_links, runs):
    of, chi = runs
    run = of(3, carried=1.5)
    problem = Problem(two_links, [run])
    predicted = np.concatenate([np.einsum('jbs,b->js', block.rows, chi) for block in problem.blocks()], axis=1)
    measured = np.concatenate([block.tau for block in problem.blocks()], axis=1)
    fit = SimpleNamespace(residual=(measured - predicted).T)
    ((left, code, text),) = payload_changes(problem, [fit])
    rows = np.concatenate([W_L for _, _, W_L in split(payload_problem(problem, [run]))], axis=2)
    normal = NormalEquations(rows, np.ones_like(measured))
    best = normal.fit(measured - predicted)
    assert code == 'payload_mixed'
    assert left == pytest.approx(float(np.sum(normal.residuals(measured - predicted, best.chi) ** 2)))
    assert left < 0.05 * np.sum((measured - predicted) ** 2)
    assert text == f'the robot carries another payload than in training, mass {best.chi[9]:+.3g} kg'


def test_a_payload_in_one_of_two_recordings_is_looked_for_in_each(two_links, runs):
    of, chi = runs
    parts = [of(1), of(3, carried=1.5)]
    problem = Problem(two_links, parts)
    fits = [
        SimpleNamespace(name=name, residual=np.zeros((len(part.time), 2)))
        for name, part in zip(('light', 'heavy'), parts, strict=True)
    ]
    for block in problem.blocks():
        fits[block.observation].residual[block.kept] = (block.tau - np.einsum('jbs,b->js', block.rows, chi)).T
    both, light, heavy = payload_changes(problem, fits)
    whole = sum(float(np.sum(fit.residual**2)) for fit in fits)
    assert heavy[0] < 0.05 * whole < 0.9 * whole < light[0] <= whole and heavy[0] < both[0]
    assert heavy[2].startswith('the robot of heavy carries another payload than in training, mass +')


def test_differences_by_the_fit_with_columns_of_their_own(two_links, runs):
    of, _ = runs
    alternatives = Alternatives(two_links, samples_of(Problem(two_links, [of(1), of(2, carried=1.0)])))
    found = {one.kind: one for one in differences(alternatives, ['one', 'two'])}
    samples, rows = alternatives.samples, alternatives.rows
    where = samples.part == 1
    columns = np.zeros((2, 6, samples.q.shape[1]))
    for j in range(2):
        columns[j, 3 * j : 3 * j + 3] = samples.sign[j], samples.dtheta[j], np.ones(len(where))
    whole = np.concatenate([rows, columns * where], axis=1)
    base = alternatives.normal
    power = np.concatenate([base.power, np.zeros((2, 6))], axis=1)
    normal = NormalEquations(whole, samples.weight, base.friction, power, base.positive)
    fit = normal.fit(samples.tau)
    own = effective_samples(normal.residuals(samples.tau, fit.chi), samples.weight, samples.part)
    assert found['friction'].gain == pytest.approx(gain(alternatives.given, fit, np.maximum(alternatives.count, own)))
    size = ((samples.tau * samples.weight) ** 2).sum(axis=1)
    effect = size @ (alternatives.given.unexplained - fit.unexplained) / size.sum()
    assert found['friction'].effect == pytest.approx(math.sqrt(max(effect, 0.0)))
    assert {one.part for one in found.values()} == {'two'} and found['friction'].mass is None
    assert found['payload'].clear and found['payload'].mass is not None
    assert found['payload'].gain > 20 > found['sign of joint_1'].gain
    assert not found['sign of joint_1'].clear
