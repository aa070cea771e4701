"""Fits of a torque at many delays in one pass are those of the torque read at each of them."""

import numpy as np
import pytest

from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability import delay
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.delay import STEP, estimate_delay
from joint_dynamics.identification.reliability.evidence import NormalEquations
from joint_dynamics.identification.reliability.filtered_samples import samples_of
from joint_dynamics.identification.reliability.thresholds import MAX_BANDWIDTH, MAX_DELAY


def two_runs(two_links, observed, factor, rate=100.0, samples=(500, 400)):
    """Torques of two runs without any model: noise of which every delay takes something else."""
    rng = np.random.default_rng(3)
    runs = [
        observed(seed, count, factor=factor, rate=rate, tau=rng.normal(size=(count, 2)).cumsum(axis=0))
        for seed, count in zip((1, 2), samples, strict=True)
    ]
    return Alternatives(two_links, samples_of(Problem(two_links, runs))), runs


@pytest.mark.parametrize('factor', [None, 5])
def test_every_delay_of_a_grid_is_fitted_as_by_itself(two_links, observed, factor, monkeypatch):
    """Between samples, on samples, beyond the ends (held), and more of them than are taken together."""
    alternatives, runs = two_runs(two_links, observed, factor)
    delays = np.concatenate([np.linspace(-0.3, 0.3, 71), [0.0, 0.01, -0.02, 0.005]])
    smooth = [run.tau for run in runs]
    start = alternatives.given
    found = []
    fit_products = NormalEquations.fit_products

    def kept(self, *arguments):
        found.append(fit_products(self, *arguments))
        return found[-1]

    monkeypatch.setattr(NormalEquations, 'fit_products', kept)
    best = delay.best_delay(delays, alternatives, runs, smooth, start)
    monkeypatch.undo()
    gains = []
    for seconds, one in zip(delays, found, strict=True):
        target = np.concatenate(
            [[np.interp(run.time[run.kept] + seconds, run.time, column) for column in run.tau.T] for run in runs],
            axis=1,
        )
        expected = alternatives.normal.fit(target)
        np.testing.assert_allclose(one.unexplained, expected.unexplained, rtol=1e-9)
        np.testing.assert_allclose(one.chi, expected.chi, rtol=1e-6, atol=1e-9)
        gains.append(delay.gain(start, expected, alternatives.count))
    assert best == int(np.argmax(gains))


def test_what_raises_the_bandwidth_does_not_raise_the_work(two_links, observed, monkeypatch):
    """Every sample of 2 kHz is kept, as where spikes make the motion look that fast: 3200 delays at its bandwidth."""
    alternatives, runs = two_runs(two_links, observed, None, rate=2000.0, samples=(9000, 8500))
    asked = []
    fit_products = NormalEquations.fit_products
    monkeypatch.setattr(
        NormalEquations, 'fit_products', lambda self, *given: (asked.append(1), fit_products(self, *given))[1]
    )
    found = estimate_delay(alternatives, runs)
    assert len(asked) < 2 * MAX_DELAY * MAX_BANDWIDTH / STEP + 50
    assert abs(found.seconds) <= MAX_DELAY
