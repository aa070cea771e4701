"""What is said of torques, predictions and delays, with every figure computed here from plain numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import kurtosis, skew, spearmanr

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import Fit, full_rate_torque, relative
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.coverage import Coverage, Training, judge_coverage, predicted_deviation
from joint_dynamics.identification.reliability.delay import Delay, estimate_delay
from joint_dynamics.identification.reliability.diagnostics import diagnose, rank_correlation
from joint_dynamics.identification.reliability.evidence import NormalEquations, columns_of, effective_samples, gain
from joint_dynamics.identification.reliability.excitation import (
    excitation_reasons,
    poorly_determined_parameters,
    relative_deviation_percent,
)
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples, samples_of
from joint_dynamics.identification.reliability.prediction import judge_prediction
from joint_dynamics.identification.reliability.residual_reasons import residual_reasons
from joint_dynamics.identification.reliability.units import check_units
from joint_dynamics.identification.reliability.verdict import Reason, headline, summary_of, without_duplicates

NAMES = ('a', 'b', 'c')
UNKNOWN = np.full(2, np.nan)


def told(reasons):
    return [(reason.code, reason.text) for reason in reasons]


# ---- excitation


def test_a_poor_excitation_is_said_with_what_is_not_determined_and_what_never_moves():
    solution = SimpleNamespace(condition_number=1234.5, inflation=np.array([31.0, 1.0, 400.0, 30.0]))
    names = ['p', 'q', 'r', 's']
    assert poorly_determined_parameters(names, solution) == ['r', 'p']
    assert poorly_determined_parameters(names, solution, 10.0) == ['r', 'p', 's']
    start = 'the recordings do not excite the robot enough: condition number '
    end = '; record a motion planned with `joint-dynamics excite`'
    for still, unmoved in (((), ''), (('a',), '; a never moves'), (('a', 'b'), '; a, b never move')):
        assert told(excitation_reasons(names, solution, 300.0, still)) == [
            ('excitation', f'{start}1.23e+03, expected at most 300{unmoved}; not well determined: r, p{end}')
        ]
    solution.inflation = np.ones(4)
    for number, said in ((np.inf, 'infinite'), (np.nan, 'infinite'), (300.5, '300')):
        solution.condition_number = number
        assert told(excitation_reasons(names, solution, 300.0)) == [
            ('excitation', f'{start}{said}, expected at most 300{end}')
        ]
    solution.condition_number = 300.0
    assert excitation_reasons(names, solution, 300.0, ('a',)) == []


def test_deviations_in_percent_of_the_parameters():
    found = relative_deviation_percent(np.array([2.0, -4.0, 0.0]), np.array([0.5, 0.5, 0.0]))
    np.testing.assert_array_equal(found, [25.0, 12.5, np.inf])


def test_the_verdict_in_one_line_and_in_the_summary():
    late, still = Reason('delay', 'late'), Reason('stuck', 'still')
    assert headline([late]) == 'not reliable, because late'
    assert headline([late, still, still], 3.0) == 'not reliable, because late (and 2 more)'
    assert headline([], math.nan) == 'reliable'
    assert summary_of([], 'line') == {
        'verdict': 'reliable', 'verdict_line': 'line', 'believable': True, 'reasons': [],
    }  # fmt: skip
    assert summary_of([late], 'no')['verdict_line'] == 'no'
    other = Reason('delay', 'early')
    assert without_duplicates(iter([late, still, late, other, still])) == [late, still, other]
    with pytest.raises(ValueError, match=r"^reason: expected one of excitation, .*, found 'lateness'$"):
        Reason('lateness', 'late')


# ---- residuals of the given explanation


@pytest.mark.parametrize('seed', range(3))
def test_diagnostics_are_those_of_the_moving_samples(seed):
    """Rank correlations, kurtosis and skewness as scipy has them; the autocorrelation of residuals, 0 at rest."""
    rng = np.random.default_rng(seed)
    fits, parts = [], []
    for length in (300, 200):
        time = 0.01 * np.arange(length)
        predicted = np.round(rng.normal(size=(length, 3)) * 4.0, 1)
        tau = predicted + rng.standard_t(4 + 2 * seed, size=(length, 3)) * [1.0, 0.3, 2.0]
        tau[1:, 1] += 0.25 * seed * (tau - predicted)[:-1, 1]
        dq = rng.normal(size=(length, 3))
        dq[:, 2] *= 0.001
        fits.append(Fit('run', NAMES, time, tau, predicted, dq, 0.02, relative(tau, tau), None))
        parts.append((tau - predicted, predicted, np.abs(dq) > 0.02))
    problem = SimpleNamespace(observations=[], blocks=list, model=SimpleNamespace(joint_names=NAMES))
    found = diagnose(problem, None, fits)
    assert found['leverage'] == {} and list(found['residuals']) == list(NAMES)
    for j, name in enumerate(NAMES):
        own = found['residuals'][name]
        residual = np.concatenate([r[m[:, j], j] for r, _, m in parts])
        fitted = np.concatenate([p[m[:, j], j] for _, p, m in parts])
        if name == 'c':
            assert own == {'samples': len(residual)}
            continue
        series = np.concatenate([np.where(m[:, j], r[:, j], 0.0) for r, _, m in parts])
        series = series - series.mean()
        largest = max(abs(series[k:] @ series[:-k]) / (series @ series) for k in range(1, 41))
        expected = {
            'mean': residual.mean(),
            'trend': spearmanr(fitted, residual).statistic,
            'largest_autocorrelation': largest,
            'spread': spearmanr(np.abs(fitted), np.abs(residual)).statistic,
            'skewness': skew(residual),
            'excess_kurtosis': kurtosis(residual),
        }
        assert {key: own[key] for key in expected} == {key: pytest.approx(value) for key, value in expected.items()}
        assert own['samples'] == len(residual)
        assert own['linear'] == (abs(expected['trend']) < 0.2)
        assert own['independent'] == (largest < 0.15)
        assert own['constant_variance'] == (abs(expected['spread']) < 0.2)
        assert own['normal'] == (abs(expected['excess_kurtosis']) < 3 and abs(expected['skewness']) < 1)
        assert set(own) == {'samples', *expected, 'linear', 'independent', 'constant_variance', 'normal'}


def test_ranks_of_equal_values_are_shared():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 5, 60), rng.integers(0, 4, 60)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(a, -3.0 * a) == pytest.approx(-1.0)


def hand_made(seed, torque):
    """Alternatives of three joints whose rows are made by hand: one parameter of load, Fv and Fc, one rotor each."""
    rng = np.random.default_rng(seed)
    samples, b = 800, 10
    rows = np.zeros((3, b, samples))
    speed = rng.normal(size=(3, samples))
    for j in range(3):
        rows[j, 0] = rng.normal(size=samples)
        rows[j, 1 + 3 * j : 4 + 3 * j] = speed[j], np.sign(speed[j]), rng.normal(size=samples)
    weight = np.where(rng.random((3, samples)) < 0.2, 0.3, 1.0)
    friction = [np.array([1 + 3 * j, 2 + 3 * j]) for j in range(3)]
    power = np.zeros((3, b))
    for j in range(3):
        power[j, friction[j]] = (rows[j, friction[j]] * speed[j] * weight[j] ** 2).sum(axis=1)
    normal = NormalEquations(rows, weight, friction, power, np.array([3, 6, 9]))
    tau = torque(rng, rows)
    given = normal.fit(tau)
    part = np.zeros(samples, dtype=int)
    left = normal.residuals(tau, given.chi)
    count = effective_samples(left, weight, part)
    found = SimpleNamespace(
        given=given, normal=normal, samples=SimpleNamespace(tau=tau, weight=weight, part=part), names=NAMES, count=count
    )
    w = weight**2
    mean = (tau * w).sum(axis=1) / w.sum(axis=1)
    variation = [math.sqrt(sum(((tau[j] - mean[j]) * weight[j]) ** 2)) for j in range(3)]
    return found, np.sqrt((left**2).sum(axis=1)), variation


def plain(rng, rows):
    chi = np.array([5.0, *np.tile([2.0, 1.0, 0.5], 3)])
    tau = np.einsum('jbs,b->js', rows, chi) + 3.0
    return tau + 0.1 * rng.normal(size=tau.shape) - 3.0


def test_sound_residuals_say_nothing():
    found, _, _ = hand_made(0, plain)
    assert residual_reasons(found, None) == []
    assert residual_reasons(found, found.given) == []


def test_torque_that_has_nothing_to_do_with_the_motion_is_said_in_percent_of_its_variation():
    def torque(rng, rows):
        tau = plain(rng, rows)
        tau[1] = 4.0 * rng.normal(size=tau.shape[1]) + 20.0
        tau[2] = 0.0
        return tau

    found, residual, variation = hand_made(1, torque)
    text = (
        f'the torque has little to do with the motion (left over of its variation: '
        f'b {100 * residual[1] / variation[1]:.0f} %): look whether effort was measured, and whether robot and joints '
        'are the right ones'
    )
    assert ('torque_unrelated', text) in told(residual_reasons(found, None))
    # a better explanation that leaves little of it over takes it back; one that leaves as much does not
    share = found.given.unexplained * np.array([1.0, 0.01, 1.0])
    assert residual_reasons(found, SimpleNamespace(unexplained=share)) == []
    assert told(residual_reasons(found, found.given)) == [('torque_unrelated', text)]


def test_a_joint_that_never_moves_may_hold_anything():
    def torque(rng, rows):
        tau = plain(rng, rows)
        tau[1] = 4.0 * rng.normal(size=tau.shape[1]) + 20.0
        return tau

    found, _, _ = hand_made(1, torque)
    assert 'variation: b ' in dict(told(residual_reasons(found, None)))['torque_unrelated']
    found.samples.weight[1] = 0.3
    assert told(residual_reasons(found, None)) == []


def test_more_left_over_than_friction_makes_is_said():
    """Half of the variation left over: more than a third of the friction, less than what counts as unrelated."""

    def torque(rng, rows):
        chi = np.array([0.5, *np.tile([0.05, 0.05, 0.5], 3)])
        tau = np.einsum('jbs,b->js', rows, chi)
        tau[0] += 4.0 * rows[0, 3]
        tau[0] += 3.0 * rng.normal(size=tau.shape[1])
        tau[1:] += 0.2 * rng.normal(size=tau[1:].shape)
        return tau

    found, residual, variation = hand_made(2, torque)
    share = residual[0] / variation[0]
    assert 0.3 < share < 0.7
    expected = [
        (
            'residual',
            f'more torque is left over than details of friction make (a {100 * share:.0f} % of its variation): look '
            'whether robot, joints, units and mounting are the right ones',
        )
    ]
    assert told(residual_reasons(found, None)) == expected
    assert residual_reasons(found, found.given) == []

    def rubbing(rng, rows):
        tau = torque(rng, rows)
        tau[0] += 9.2 * rows[0, 2] - 4.0 * rows[0, 3]
        return tau

    found, residual, variation = hand_made(2, rubbing)
    assert 0.3 < residual[0] / variation[0] < 1 / math.sqrt(1 + 3**2)
    assert residual_reasons(found, None) == []


@pytest.mark.parametrize(('both_ways', 'expected'), [(False, []), (True, ['residual'])])
def test_friction_that_nothing_but_rest_tells_from_an_offset_may_be_larger_than_it_was_found(both_ways, expected):
    """One joint, 1 N·m left over. Where it moves one way only, an offset takes 3 of its 4 N·m of friction.

    Some rows at rest say so, where friction may be anything. That is less than a third of what friction may be, and
    more than a third of the 1 N·m that is found of it; moving both ways, 1 N·m is known to be all there is.
    """
    rng = np.random.default_rng(6)
    samples = 400
    resting = np.arange(samples) % 100 == 0
    speed = np.where(resting, 0.0, 1.0 + 0.1 * rng.random(samples))
    if both_ways:
        speed *= np.where(np.arange(samples) % 2, 1.0, -1.0)
    rows = np.stack([rng.normal(size=samples), speed, np.sign(speed), np.ones(samples)])[None]
    weight = np.where(resting, 0.05, 1.0)[None]
    power = np.zeros((1, 4))
    power[0, 1:3] = (rows[0, 1:3] * speed * weight[0] ** 2).sum(axis=1)
    tau = (3.0 + np.sign(speed) + 1.3 * rows[0, 0] + rng.normal(size=samples))[None]
    normal = NormalEquations(rows, weight, [np.array([1, 2])], power, np.zeros(0, dtype=int))
    given = normal.fit(tau)
    left = normal.residuals(tau, given.chi)
    found = SimpleNamespace(
        given=given,
        normal=normal,
        samples=SimpleNamespace(tau=tau, weight=weight, part=np.zeros(tau.shape[1], dtype=int)),
        names=('a',),
        count=effective_samples(left, weight, np.zeros(samples, dtype=int)),
    )
    size = np.linalg.norm((given.chi[1:3] @ rows[0, 1:3]) * weight[0])
    assert size / 3 < np.linalg.norm(left) < np.linalg.norm(4.0 * weight) / 3
    assert [code for code, _ in told(residual_reasons(found, None))] == expected


@pytest.mark.parametrize(('column', 'code', 'what'), [
    (4, 'friction_sign', 'friction that drives (b)'), (6, 'negative_inertia', 'rotor inertias below zero'),
])  # fmt: skip
def test_friction_that_drives_and_inertias_below_zero_are_said_with_their_gain(column, code, what):
    def torque(rng, rows):
        chi = np.array([5.0, *np.tile([2.0, 1.0, 0.5], 3)])
        chi[column] = -0.6
        if column == 4:
            chi[5] = -0.2
        tau = np.einsum('jbs,b->js', rows, chi)
        return tau + 0.1 * rng.normal(size=tau.shape)

    found, _, _ = hand_made(3, torque)
    lost = gain(found.given, found.normal.free(found.samples.tau), found.count)
    assert lost > 20
    assert told(residual_reasons(found, None)) == [
        (
            code,
            f'{what} would explain the torques clearly better (log-likelihood +{lost:.0f}), which no robot has: look '
            'at the signs of efforts and positions, and at the time',
        )
    ]
    assert residual_reasons(found, found.given) == []


# ---- units


@pytest.fixture
def seen(two_links):
    """Samples of two links; `of(torque, parameters)` are alternatives with these."""
    rng = np.random.default_rng(6)
    arrays = {name: rng.normal(size=(2, 900)) for name in ('q', 'dq', 'ddq')}
    weight = np.where(rng.random((2, 900)) < 0.3, 0.4, 1.0)
    arrays |= {'dtheta': arrays['dq'], 'ddtheta': arrays['ddq'], 'sign': np.sign(arrays['dq'])}
    names = two_links.parameter_names
    parameters = np.zeros(len(names))
    for name, value in {'ZZ_1': 0.5, 'MX_1': 1.5, 'M_1': 5.0, 'ZZ_2': 0.25, 'MX_2': 0.9, 'M_2': 2.0}.items():
        parameters[names.index(name)] = value
    bare = FilteredSamples(**arrays, tau=np.zeros((2, 900)), weight=weight, part=np.zeros(900, dtype=int))
    every = np.arange(len(names))
    stated = np.einsum('jps,p->js', columns_of(bare, two_links, independent=every), parameters)

    def of(factor, parameters=parameters, noise=0.2, count=500.0):
        own = stated * np.reshape(factor, (2, 1)) + 3.0 * arrays['sign'] + 2.0 * arrays['dq'] - 4.0
        tau = own + noise * np.random.default_rng(7).normal(size=own.shape)
        model = SimpleNamespace(
            n=2, chain=two_links.chain, coupling=None, parameters=parameters, parameter_names=names,
            pinocchio=two_links.pinocchio, columns=two_links.columns, base_parameters=two_links.base_parameters,
        )  # fmt: skip
        samples = FilteredSamples(**arrays, tau=tau, weight=weight, part=np.zeros(900, dtype=int))
        found = SimpleNamespace(model=model, samples=samples, names=two_links.joint_names, count=np.full(2, count))
        factors = []
        for j in range(2):
            A = np.stack([stated[j], arrays['ddq'][j], arrays['dq'][j], arrays['sign'][j], np.ones(900)], axis=1)
            factors.append(np.linalg.lstsq(A * weight[j][:, None], tau[j] * weight[j], rcond=None)[0][0])
        return found, factors

    return of


def test_efforts_far_below_the_robots_inertials_are_currents(seen, two_links):
    """The factor is that of a regression on the file's torque, rotor inertia, friction and offset."""
    found, factors = seen([0.1, 0.2])
    listed = ', '.join(f'{name} {value:.3g}' for name, value in zip(two_links.joint_names, factors, strict=True))
    assert told(check_units(found, UNKNOWN)) == [
        (
            'current',
            f'the efforts are these many times what the inertials of the robot file let expect: {listed}; look '
            'whether they are currents (then give drive gains), or in another unit than N·m',
        )
    ]
    # the median of 0.2 and 0.45 is below a third, that of 0.2 and 0.5 is not
    assert check_units(seen([0.2, 0.45])[0], UNKNOWN) and not check_units(seen([0.2, 0.5])[0], UNKNOWN)
    for factor in (1.0, 5.0, -0.1, [0.1, -0.1], [0.1, 0.0]):
        assert check_units(seen(np.broadcast_to(factor, 2))[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], None)[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], np.zeros(28))[0], UNKNOWN) == []
    # of few samples, and where most of the torque is something else, nothing is said
    assert check_units(seen([0.1, 0.1], count=5.0)[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], noise=3.0)[0], UNKNOWN) == []


def test_efforts_far_below_their_limits_are_currents(seen):
    found, _ = seen([1.0, 1.0])
    largest = np.quantile(np.abs(found.samples.tau), 0.99, axis=1)
    assert told(check_units(found, largest / [0.0299, 0.01])) == [
        (
            'current',
            'no effort reaches 3 % of its limit in the robot file (largest: 3 %): look whether it is a current (then '
            'give drive gains), or in another unit than N·m',
        )
    ]
    for rated in (largest / [0.0301, 0.01], [np.nan, 1e6]):
        assert check_units(found, np.asarray(rated)) == []


def test_no_arm_of_that_reach_weighs_so_much(seen):
    """Torques in mN·m: the joints would carry more than a tenth of a block of steel as large as the arm's reach."""
    found, _ = seen([1.0, 1.0], None)
    largest = np.quantile(np.abs(found.samples.tau), 0.99, axis=1).max()
    bound = 785.0 * 0.4**4 * 9.81
    assert largest < bound and check_units(found, UNKNOWN) == []
    found.samples.tau[:] *= 1.01 * bound / largest
    ((code, text),) = told(check_units(found, UNKNOWN))
    assert code == 'current' and 'mN·m' in text


# ---- predictions


def fit_of(tau, predicted, dq=None, name='run'):
    time = 0.01 * np.arange(len(tau))
    dq = np.ones_like(tau) if dq is None else dq
    return Fit(name, NAMES, time, tau, predicted, dq, 0.02, relative(tau - predicted, tau), None)


@pytest.fixture
def motion():
    """Predicted torques of two recordings, and the torque with noise; where the joints move."""
    rng = np.random.default_rng(2)
    found = []
    for length in (900, 600):
        t = 0.01 * np.arange(length)[:, None]
        predicted = np.array([10.0, 6.0, 2.0]) * np.sin(np.array([1.0, 2.3, 3.1]) * t + [0.0, 1.0, 2.0]) + [3.0, 0, 0]
        dq = np.where(t % 3 < 0.5, 0.0, 1.0) * np.ones(3)
        noise = 0.05 * rng.normal(size=predicted.shape) * [8.0, 4.0, 1.5]
        found.append((predicted, dq, np.where(dq > 0, noise, 30.0)))
    return found


@pytest.mark.parametrize(
    ('change', 'code', 'text'),
    [
        (lambda tau: -tau, 'torque_sign', 'the torques of all joints have the opposite sign'),
        (lambda tau: tau * [1, -1, 1], 'torque_sign', 'the torque of b has the opposite sign'),
        (lambda tau: tau[:, [0, 2, 1]], 'torque_order', 'the torques of b and c are swapped'),
        (lambda tau: tau[:, [1, 0, 2]], 'torque_order', 'the torques of a and b are swapped'),
        (lambda tau: tau * [3.0, 1, 1], 'drive_gain', 'the torque of a is {a:.3g} times the predicted one'),
        (lambda tau: tau * [1, 1 / 3, 1], 'drive_gain', 'the torque of b is {b:.3g} times the predicted one'),
        (
            lambda tau: tau * [0.1, 0.2, 0.3],
            'current',
            'the torques are these many times the predicted ones: a {a:.3g}, b {b:.3g}, c {c:.3g}: currents in A, or '
            'another unit than N·m',
        ),
    ],
    ids=['all', 'one', 'swap', 'swap others', 'scale', 'less', 'currents'],
)
def test_what_would_explain_a_prediction_is_said_with_what_it_leaves_over(motion, change, code, text):
    """Samples at rest are off by 30 N·m, and take no part."""
    fits = [fit_of(np.where(dq > 0, change(p + noise), p + noise), p, dq) for p, dq, noise in motion]
    predicted = np.concatenate([np.where(fit.dq > 0, fit.predicted, 0.0) for fit in fits])
    tau = np.concatenate([np.where(fit.dq > 0, fit.tau, 0.0) for fit in fits])
    factor = dict(zip(NAMES, (tau * predicted).sum(axis=0) / (predicted**2).sum(axis=0), strict=True))
    if code == 'drive_gain' or code == 'current':
        best = tau - predicted * [factor[name] if code == 'current' or f'of {name} ' in text else 1.0 for name in NAMES]
    else:
        undone = {'all': -tau, 'b has': tau * [1, -1, 1], 'b and c': tau[:, [0, 2, 1]], 'a and b': tau[:, [1, 0, 2]]}
        best = next(value for key, value in undone.items() if key in text) - predicted
    share = 100 * math.sqrt(np.sum(best**2) / np.sum(tau**2))
    overall = 100 * math.sqrt(np.sum((tau - predicted) ** 2) / np.sum(tau**2))
    found = told(judge_prediction(fits, 4.0))
    assert found[0] == (
        code,
        f'{text.format(**factor)}: so corrected, {share:.3g} % of the torque is left over instead of {overall:.3g} %; '
        'correct the recording, or take the description that belongs to it',
    )
    assert found[1:] == [
        (
            'validation',
            f'{overall:.3g} % of the torque in motion is left over, 4 % in training: look whether robot, payload, '
            'mounting and units are those of the training, or train on motions more like this one',
        )
    ]
    (_, (_, without)) = told(judge_prediction(fits))
    assert f'{overall:.3g} % of the torque in motion is left over: look' in without


def test_torques_in_reverse_order_and_other_changes_that_are_given(motion):
    fits = [fit_of(p[:, ::-1] + np.where(dq > 0, noise, 0.0), p, dq) for p, dq, noise in motion]
    # of three joints, the reverse is the first and the last swapped, which is found before it
    assert told(judge_prediction(fits))[0][1].startswith('the torques of a and c are swapped: so corrected, ')
    fits = [fit_of(p + np.where(dq > 0, 20 * noise, 0.0), p, dq) for p, dq, noise in motion]
    tau = np.concatenate([np.where(fit.dq > 0, fit.tau, 0.0) for fit in fits])
    small = (1e-4 * float(np.sum(tau**2)), 'payload_mixed', 'the robot carries something')
    first = told(judge_prediction(fits, 4.0, [small]))[0]
    assert first[0] == 'payload_mixed'
    assert first[1].startswith('the robot carries something: so corrected, 1 % of the torque is left over instead of ')
    codes = [reason.code for reason in judge_prediction(fits, 4.0, [small], 90.0)]
    assert codes == ['validation']


def test_as_good_as_the_training_needs_no_explanation(motion):
    """Up to 5 %, or one and a half times the training; 15 %, or three times, without anything better to say."""
    for share, training, expected in (
        (4.9, None, []), (4.9, 0.1, []), (14.5, 10.0, []), (14.5, None, []), (14.5, 1.0, []),
        (15.5, None, ['validation']), (15.5, 6.0, []), (15.5, 5.0, ['validation']), (49.0, 40.0, []),
        (51.0, 40.0, ['validation']),
    ):  # fmt: skip
        fits = []
        for p, dq, _ in motion:
            rng = np.random.default_rng(5)
            noise = rng.normal(size=p.shape)
            noise *= 1.0 / math.sqrt(np.mean(noise**2))
            fits.append((p, dq, noise))
        size = math.sqrt(np.mean(np.concatenate([p**2 for p, _, _ in fits])))
        # residual over measured: share = k/√(1 + k²) of independent noise, scaled alike at all joints
        k = share / 100 / math.sqrt(1 - (share / 100) ** 2)
        made = [fit_of(p + k * size * noise, p, np.ones_like(p)) for p, _, noise in fits]
        codes = [reason.code for reason in judge_prediction(made, training) if reason.code != 'torque_unrelated']
        assert codes == expected, (share, training)


def test_a_torque_that_has_nothing_to_do_with_its_prediction_is_named(motion):
    rng = np.random.default_rng(3)
    fits = []
    for p, dq, _ in motion:
        tau = p.copy()
        tau[:, 0] = 9.0 * rng.normal(size=len(p))
        fits.append(fit_of(tau, p, dq))
    text = (
        'the torque of a has nothing to do with its prediction: look whether it was measured, and whether robot, joints'
        ' and mounting are those of the description'
    )
    assert told(judge_prediction(fits, 2.0))[0] == ('torque_unrelated', text)
    # what the deviations of the parameters let expect is no evidence of that
    assert [reason.code for reason in judge_prediction(fits, 2.0, (), 99.0)] == ['validation']
    few = [fit_of(fit.tau, fit.predicted, (np.arange(len(fit.tau))[:, None] < 9) * np.ones(3)) for fit in fits]
    assert 'torque_unrelated' not in [reason.code for reason in judge_prediction(few, 2.0)]


@pytest.mark.parametrize('late', [0.12, -0.2])
def test_a_delay_of_the_torques_is_said_in_milliseconds(motion, late):
    fits = []
    for p, dq, _ in motion:
        time = 0.01 * np.arange(len(p))
        tau = np.stack([np.interp(time - late, time, column) for column in p.T], axis=1)
        fits.append(fit_of(tau, p, np.ones_like(dq)))
    left = size = 0.0
    for fit in fits:
        moved = np.stack([np.interp(fit.time + late, fit.time, column) for column in fit.tau.T], axis=1)
        left, size = left + np.sum((moved - fit.predicted) ** 2), size + np.sum(fit.tau**2)
    overall = 100 * math.sqrt(sum(np.sum((fit.tau - fit.predicted) ** 2) for fit in fits) / size)
    code, text = told(judge_prediction(fits, 2.0))[0]
    assert code == 'delay'
    assert text == (
        f'the torques come {1000 * late:.3g} ms after the motion they belong to: so corrected, '
        f'{100 * math.sqrt(left / size):.3g} % of the torque is left over instead of {overall:.3g} %; correct the '
        'recording, or take the description that belongs to it'
    )


# ---- coverage


def coverage_of(own, other, percent, of_training, monkeypatch, left=()):
    from joint_dynamics.identification.reliability import coverage

    monkeypatch.setattr(coverage, 'predicted_deviation', lambda problem, covariance: other)
    monkeypatch.setattr(coverage, 'leaves', lambda training, unseen: list(left))
    none = np.zeros(1)
    return judge_coverage(Training(none, own, of_training, none, none, none), None, percent)


@pytest.mark.parametrize('left', [(), ('speed of a', 'position of b')])
def test_a_training_too_poor_for_the_other_motion_is_said(monkeypatch, left):
    where = ' (speed of a; position of b)' if left else ''
    summary = {
        'coverage': {
            'training_deviation_percent': 3.0, 'validation_deviation_percent': 12.3, 'beyond_training': list(left),
        }
    }  # fmt: skip
    found = coverage_of(3.0, 12.3, 20.0, 4.0, monkeypatch, left)
    assert (found.notes, found.summary) == ((), summary)
    assert told(found.reasons) == [
        (
            'coverage',
            f'the training motion is too poor for the validation motion{where}: the deviations of the parameters alone '
            'make 12.3 % of its torque (training: 3 %), left over are 20 %; train on motions more like it',
        )
    ]
    within = f'and it leaves the training{where}' if left else 'and it lies within the training'
    note = (
        'the validation motion is predicted worse than the training motion (20 against 8 % of the torque); deviations '
        f'of the parameters make 12 % of it (training: 3 %), {within}: the smaller figure does not hold for motions '
        'like this one'
    )
    assert coverage_of(3.0, 12.3, 20.0, 8.0, monkeypatch, left) == Coverage((), [note], summary)


def test_from_where_on_a_training_is_too_poor(monkeypatch):
    """Left over above 15 % and three times the training; deviations above twice the own, and half of what is left."""
    for own, other, percent, of_training, expected in (
        (3.0, 12.3, 14.9, 1.0, 'note'), (3.0, 12.3, 15.1, 1.0, 'reason'), (3.0, 12.3, 20.0, 6.6, 'reason'),
        (3.0, 12.3, 20.0, 6.7, 'note'), (6.2, 12.3, 20.0, 1.0, 'note'), (6.1, 12.3, 20.0, 1.0, 'reason'),
        (3.0, 9.9, 20.0, 1.0, 'note'), (3.0, 10.1, 20.0, 1.0, 'reason'), (3.0, 9.0, 4.9, 1.0, ''),
        (3.0, 9.0, 5.1, 1.0, 'note'), (3.0, 9.0, 5.9, 4.0, ''), (3.0, 9.0, 6.1, 4.0, 'note'),
    ):  # fmt: skip
        found = coverage_of(own, other, percent, of_training, monkeypatch)
        assert (len(found.reasons), len(found.notes)) == (expected == 'reason', expected == 'note')


def test_the_training_goes_through_its_document():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    given = Training(root @ root.T, 1.23456789, 4.0, rng.normal(size=(2, 2)), rng.random(2), rng.random(2))
    document = given.document(('a', 'b'))
    assert document['deviation_percent'] == 1.23457 and [len(row) for row in document['covariance']] == [1, 2, 3]
    found = Training.from_document(document, 5.0, ('b', 'a'))
    assert (found.deviation, found.percent) == (1.23457, 5.0)
    np.testing.assert_allclose(found.covariance, given.covariance, rtol=1e-5)
    np.testing.assert_array_equal(found.covariance, found.covariance.T)
    for key in ('position', 'speed', 'acceleration'):
        np.testing.assert_allclose(getattr(found, key), getattr(given, key)[::-1], rtol=1e-5)
    for wrong, what in (
        ({**document, 'speed': {'a': 1.0}}, "KeyError('b')"),
        ({**document, 'covariance': 1}, 'TypeError('),
        ({**document, 'deviation_percent': 'x'}, 'ValueError('),
    ):
        with pytest.raises(JointDynamicsError) as told_so:
            Training.from_document(wrong, 5.0, ('a', 'b'))
        start = 'dynamics description: provenance.coverage: expected what `identify` writes there, found '
        assert str(told_so.value).startswith(start + what)


def test_deviation_of_a_prediction_is_that_of_the_samples_in_motion():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(3, 3))
    C = root @ root.T
    blocks, spread, size = [], 0.0, 0.0
    for resting in (None, rng.random((2, 7)) < 0.5):
        rows, tau = rng.normal(size=(2, 4, 7)), rng.normal(size=(2, 7))
        blocks.append(SimpleNamespace(rows=rows, tau=tau, resting=resting))
        for j in range(2):
            for k in range(7):
                if resting is None or not resting[j, k]:
                    spread += rows[j, :3, k] @ C @ rows[j, :3, k]
                    size += tau[j, k] ** 2
    problem = SimpleNamespace(blocks=lambda: iter(blocks))
    assert predicted_deviation(problem, C) == pytest.approx(100 * math.sqrt(spread / size))
    for block in blocks:
        block.tau *= 1e-3  # a finger's torques
    assert predicted_deviation(problem, C) == pytest.approx(1e5 * math.sqrt(spread / size))
    assert math.isnan(predicted_deviation(SimpleNamespace(blocks=lambda: iter(())), C))


# ---- delay


@pytest.mark.parametrize('factor', [None, 5])
@pytest.mark.parametrize('late', [0.0, 0.0437, -0.0213])
def test_a_delay_is_where_the_likelihood_is_highest(two_links, observed, late, factor):
    """Torques computed at the motion so much earlier; every figure by its formula at the delay that is found."""
    rng = np.random.default_rng(12)
    standard = np.zeros(len(two_links.parameter_names))
    for name, value in {'ZZ_1': 0.5, 'ZZ_2': 0.3, 'M_2': 2.0, 'MX_2': 0.6, 'Fv_1': 2.0, 'Fv_2': 1.0}.items():
        standard[two_links.parameter_names.index(name)] = value
    chi = two_links.base_parameters().regroup(standard)
    runs = []
    for seed, samples in ((1, 500), (2, 400)):
        plain = observed(seed, samples, factor=factor)
        tau = full_rate_torque(Problem(two_links, [plain]), plain, chi)
        moved = np.stack([np.interp(plain.time - late, plain.time, column) for column in tau.T], axis=1)
        noise = 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
        runs.append(observed(seed, samples, factor=factor, tau=moved + noise))
    alternatives = Alternatives(two_links, samples_of(Problem(two_links, runs)))
    found = estimate_delay(alternatives, runs)

    def target(seconds):
        parts = []
        for run in runs:
            smooth = run.tau
            if run.decimator is not None:
                half = run.decimator.half
                padded = np.pad(run.tau, ((half, half), (0, 0)), mode='edge')
                smooth = np.stack([np.convolve(column, run.decimator.kernel, 'valid') for column in padded.T], axis=1)
            parts.append([np.interp(run.time[run.kept] + seconds, run.time, column) for column in smooth.T])
        return np.concatenate(parts, axis=1)

    normal, samples = alternatives.normal, alternatives.samples
    start, best = normal.fit(target(0.0)), normal.fit(target(found.seconds))
    np.testing.assert_allclose(found.fitted.unexplained, best.unexplained, rtol=1e-6)
    value = gain(start, best, alternatives.count)
    for away in (-0.3, -0.1, -0.02, -0.004, 0.004, 0.02, 0.1, 0.3):
        assert gain(start, normal.fit(target(found.seconds + away)), alternatives.count) < value
    left = effective_samples(normal.residuals(target(found.seconds), best.chi), normal.weight, samples.part)
    count = np.maximum(alternatives.count, left)
    assert found.gain == pytest.approx(gain(start, best, count), rel=1e-6, abs=1e-6)
    longest = min(0.4, 0.1 * np.mean([run.time[-1] - run.time[0] for run in runs]))
    ends = [gain(start, normal.fit(target(end)), count) for end in (-longest, longest)]
    assert found.fall == pytest.approx(found.gain - max(ends), rel=1e-6, abs=1e-6)
    size = ((samples.tau * samples.weight) ** 2).sum(axis=1)
    cost = sum(size * (start.unexplained - best.unexplained)) / sum(size)
    assert found.cost == pytest.approx(math.sqrt(max(cost, 0.0)), rel=1e-6, abs=1e-9)
    spans = [(len(run.kept) - 1) / (run.time[run.kept][-1] - run.time[run.kept][0]) for run in runs]
    width = 0.02 / (0.4 * min(spans))
    bend = sum(gain(start, normal.fit(target(found.seconds + side * width)), count) for side in (-1, 1))
    curvature = (2 * gain(start, best, count) - bend) / width**2
    assert found.deviation == pytest.approx(1 / math.sqrt(curvature), rel=1e-3)
    # a straight line between samples moves a torque of a hertz by less than 2 ms; halfway between samples it averages
    # noise that no filter has, which draws the delay there
    assert abs(found.seconds - late) < (max(4 * found.deviation, 2e-3) if factor else 0.006)


def test_a_delay_is_not_looked_for_beyond_a_tenth_of_the_mean_duration(two_links, observed):
    """Of torques that come 0.3 s late, recordings of 2 s show 0.2 s at most; recordings of 5 s show them."""
    standard = np.zeros(len(two_links.parameter_names))
    standard[two_links.parameter_names.index('ZZ_2')] = 0.3
    standard[two_links.parameter_names.index('MX_2')] = 0.6
    chi = two_links.base_parameters().regroup(standard)
    found = []
    for samples in (201, 501):
        runs = []
        for seed, count in ((1, samples), (2, samples)):
            plain = observed(seed, count)
            tau = full_rate_torque(Problem(two_links, [plain]), plain, chi)
            late = np.stack([np.interp(plain.time - 0.3, plain.time, column) for column in tau.T], axis=1)
            runs.append(observed(seed, count, tau=late))
        found.append(estimate_delay(Alternatives(two_links, samples_of(Problem(two_links, runs))), runs).seconds)
    assert 0.19 < found[0] <= 0.2
    # the first torque is held for the 0.3 s before it, which no robot did
    assert abs(found[1] - 0.3) < 0.02


def test_a_delay_in_the_summary():
    given = Delay(0.01, 0.002, 33.0, 0.07, None)
    assert given.summary() == {'seconds': 0.01, 'std': 0.002, 'cost_percent': pytest.approx(7.0)}
    assert Delay(0.0, np.inf, 0.0, 0.0, None).summary()['std'] is None
