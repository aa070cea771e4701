"""The test for changes: what it sees, what it does not, and how often it is wrong."""

import numpy as np
import pytest

from joint_dynamics.trend import ChangeTest, change_points
from joint_dynamics.trend.change import running_z, weights_of

TEST = ChangeTest.at_rate(0.001)


def noise(seed, count):
    return np.random.default_rng(seed).standard_normal(count)


def test_a_step_is_dated_and_seen_soon():
    values = noise(1, 40)
    values[25:] += 6.0
    (found,) = change_points(values, TEST)
    assert found.first == 25
    assert 26 <= found.alarm <= 28
    assert found.z > TEST.limit


def test_a_drift_is_seen_while_it_goes_on():
    ramp = np.maximum(np.arange(40) - 15, 0) * 0.4
    found = change_points(noise(2, 40) + ramp, TEST)
    assert found
    assert 15 <= found[0].alarm < 39
    assert found[0].z > 0


def test_an_alarm_stays_when_more_runs_come():
    values = noise(3, 60)
    values[30:] -= 5.0
    whole = change_points(values, TEST)
    for count in range(whole[0].alarm + 1, 61):
        assert change_points(values[:count], TEST)[0] == whole[0]
    assert not change_points(values[: whole[0].alarm], TEST)


def test_after_a_change_the_series_begins_anew():
    values = noise(4, 60)
    values[20:40] += 7.0
    assert [change.first for change in change_points(values, TEST)] == [20, 40]


def test_one_odd_run_is_no_change():
    for seed in range(20):
        values = noise(seed, 30)
        values[-1] += 50.0
        assert not change_points(values, TEST)


def test_few_runs_say_nothing():
    assert not change_points(np.array([0.0, 0, 0, 0, 9, 9]), TEST)
    assert not change_points([], TEST)


def test_equal_values_are_no_change_and_what_differs_from_them_is():
    assert not change_points(np.full(30, 3.7), TEST)
    assert change_points(np.r_[np.full(15, 3.7), np.full(5, 3.8)], TEST)[0].first == 15


@pytest.mark.parametrize(('rate', 'series'), [(0.2, 2000), (0.01, 4000)])
def test_false_alarms_come_at_the_rate_that_is_stated(rate, series):
    test = ChangeTest.at_rate(rate)
    values = np.random.default_rng(11).standard_normal((series, 100))
    count = sum(int((np.abs(running_z(part, test)[0]).max(axis=-1) > test.limit).sum()) for part in np.split(values, 4))
    # Binomial, with the limit itself from 10,000 series of which 2 % are counted: 7 % of the rate.
    expected = rate * series
    assert abs(count - expected) < 4 * np.sqrt(expected + (0.07 * expected) ** 2)


def test_rarer_alarms_ask_for_more():
    limits = [ChangeTest.at_rate(rate).limit for rate in (0.3, 0.05, 0.01, 1e-3, 1e-5)]
    assert np.all(np.diff(limits) > 0)


def test_the_statistic_is_that_of_two_samples():
    """At one split the square of t is (RSS of one mean − RSS of two)/(RSS of two/(n − 2)) [any textbook]."""
    from scipy import stats

    values = noise(6, 12)
    test = ChangeTest(5, 7, 7, np.inf)
    z, first = running_z(values, test)
    wanted = stats.ttest_ind(values[5:], values[:5])
    assert first[-1] == 5
    assert 2 * stats.norm.sf(abs(z[-1])) == pytest.approx(wanted.pvalue, rel=1e-9)
    assert np.sign(z[-1]) == np.sign(wanted.statistic)


def test_friction_that_goes_with_the_temperature_is_no_wear():
    rng = np.random.default_rng(8)
    season = np.r_[rng.uniform(20, 26, 20), rng.uniform(26, 34, 20)]
    values = -0.5 * season + 0.2 * rng.standard_normal(40)
    assert change_points(values, TEST)
    assert not change_points(values, TEST, temperatures=season)
    worn = values + np.where(np.arange(40) >= 30, 1.0, 0.0)
    assert change_points(worn, TEST, temperatures=season)[0].first == 30


def test_a_run_that_knows_little_counts_little():
    values = noise(9, 30)
    deviations = np.ones(30)
    values[20:23] += 25.0
    deviations[20:23] = 50.0
    assert change_points(values, TEST)
    assert not change_points(values, TEST, deviations)


def test_scatter_between_runs_is_found_whatever_they_state():
    rng = np.random.default_rng(10)
    values = 3.0 * rng.standard_normal(400)
    stated = np.where(np.arange(400) % 2, 0.01, 0.02)
    weights = weights_of(values, stated)
    # With 3 between the runs 0.01 and 0.02 are the same: by less than (0.02/3)² of each other.
    assert weights.max() / weights.min() - 1.0 < (0.02 / 3.0) ** 2 * 2.0


def test_a_change_too_small_to_matter_waits_until_it_does():
    rng = np.random.default_rng(12)
    values = 100.0 + 0.01 * rng.standard_normal(40)
    values[15:] += 0.5
    values[30:] += 1.5
    patient = ChangeTest.at_rate(0.001, least=0.01)
    assert change_points(values, TEST)[0].first == 15
    (found,) = change_points(values, patient)
    assert found.alarm >= 30
    assert found.first == 30
