"""A delay of the torques against the motion."""

import math

import numpy as np
import pytest

from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.delay import Delay, estimate_delay
from joint_dynamics.identification.reliability.evidence import effective_samples, gain
from joint_dynamics.identification.reliability.filtered_samples import samples_of


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
