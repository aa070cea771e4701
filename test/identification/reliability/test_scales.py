"""Torques whose scales do not go together."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from scipy.stats import chi2

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.identification.reliability.evidence import effective_samples, vuong_statistic
from joint_dynamics.identification.reliability.filtered_samples import samples_of
from joint_dynamics.identification.reliability.scales import estimate_scales
from joint_dynamics.identification.reliability.thresholds import RESOLVED
from joint_dynamics.recording import Recording
from joint_dynamics.recording.conversions import Corrections
from joint_dynamics.robot import RobotModel

PLAIN = IdentificationSettings(selection=False)


def scaled(recording, factor):
    return replace(recording, tau=recording.tau * np.asarray(factor))


def test_scales_are_found_within_their_deviations(model_and_robot, alternatives_of):
    model, robot = model_and_robot
    factor = np.array([0.5, 1.0, 1.0, 1.0, 2.0, 1.5])
    found = estimate_scales(alternatives_of(model, [scaled(robot.record(1, rate=100.0), factor)]))
    by, std = (np.array([entry[key] for entry in found.figures.values()]) for key in ('factor', 'std'))
    error = np.log(by) - np.log(factor / np.median(factor))
    assert chi2.sf(np.sum((error * by / std) ** 2), model.n - 1) > 1e-3
    assert found.clear and found.matters and found.code == 'drive_gain'
    assert found.mend == Corrections(torque_scale={model.joint_names[4]: 1 / by[4]})
    named = [name for name in model.joint_names if f'{name} ' in found.text]
    assert named == [model.joint_names[4]] and f'{named[0]} {by[4]:.3g} ± ' in found.text


def test_two_torques_off_are_corrected_one_after_the_other(model_and_robot, problem_of):
    """Four of six go together and say what the others' scales are; of six that all differ none does."""
    model, robot = model_and_robot
    recording = robot.record(1, rate=100.0)
    given = scaled(recording, [1.0, 1.0, 5.0, 0.2, 1.0, 1.0])
    mended = {}
    for reason in check_training(problem_of(model, [given]), [given]).reasons:
        assert reason.code == 'drive_gain'
        mended |= reason.mend['recording']['torque_scale']
    assert mended == pytest.approx({model.joint_names[2]: 0.2, model.joint_names[3]: 5.0}, rel=0.1)
    given = scaled(recording, [1.0, 0.5, 1.3, 2.0, 0.7, 3.0])
    (reason,) = check_training(problem_of(model, [given]), [given]).reasons
    assert reason.code == 'current' and not reason.mend


def test_a_drive_gain_that_is_off_is_named_or_noted(model_and_robot, problem_of):
    """Scales 1.6 apart were no reason, whatever the data said of them; those of data sheets are noted."""
    model, robot = model_and_robot
    recording = robot.record(1, duration=40.0, rate=100.0)
    for factor, codes, noted in ((1.6, ['drive_gain'], False), (1.35, [], True), (1.0, [], False)):
        given = scaled(recording, [1.0, factor, 1.0, 1.0, 1.0, 1.0])
        found = check_training(problem_of(model, [given]), [given])
        assert [reason.code for reason in found.reasons] == codes
        assert any('joint_2 1.3' in note and '--loaded' in note for note in found.notes) == noted


def test_a_torque_far_off_is_corrected_beside_others_within_a_data_sheet(model_and_robot, problem_of):
    """Those of 0.72 and 1.4 times the others' are not held against it, whose correction is written."""
    model, robot = model_and_robot
    given = scaled(robot.record(1, duration=40.0, rate=100.0), [1.0, 1.0, 1.0, 0.3, 0.72, 1.4])
    reason = check_training(problem_of(model, [given]), [given]).reasons[0]
    assert reason.code == 'drive_gain' and reason.joints == (model.joint_names[3],)
    assert reason.mend['recording']['torque_scale'][model.joint_names[3]] == pytest.approx(1 / 0.3, rel=0.15)


@pytest.mark.parametrize('joint', [1, 3, 4])
@pytest.mark.parametrize('factor', [3.0, 6.0])
def test_a_torque_far_off_is_named_with_joint_and_factor(model_and_robot, problem_of, joint, factor):
    """Between its factor and one, the torque fits neither the others' parameters nor a scale of its own."""
    model, robot = model_and_robot
    given = scaled(robot.record(1, rate=100.0), np.where(np.arange(model.n) == joint, factor, 1.0))
    (reason,) = check_training(problem_of(model, [given]), [given]).reasons
    assert reason.code == 'drive_gain' and reason.joints == (model.joint_names[joint],)
    assert 1 / reason.mend['recording']['torque_scale'][model.joint_names[joint]] == pytest.approx(factor, rel=0.1)


def test_one_factor_for_all_torques_changes_nothing_that_is_looked_at(model_and_robot):
    """W (k χ) = k Y: the same reasons, residuals, relative deviations, scales: no data tell it."""
    model, robot = model_and_robot
    recording = robot.record(1, rate=100.0)
    given, other = (identify(model, [scaled(recording, k)], settings=PLAIN) for k in (1.0, 0.08))
    assert not given.reasons and not other.reasons
    np.testing.assert_allclose(other.solution.chi, 0.08 * given.solution.chi, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.deviation, 0.08 * given.deviation, rtol=1e-6, atol=1e-9)
    for name, entry in given.summary()['torque_scales'].items():
        assert other.summary()['torque_scales'][name]['factor'] == pytest.approx(entry['factor'], rel=1e-6)


def test_a_joint_that_no_other_feels_has_no_scale(planar_arm, alternatives_of):
    """Crossed slides of a gantry share no inertia but that of the mass they carry; without it nothing is known."""
    model, recording = planar_arm
    found = estimate_scales(alternatives_of(model, [recording]))
    assert not found.clear and not found.matters
    assert all(entry['factor'] is None for entry in found.figures.values())


@pytest.fixture
def planar_arm():
    """Two slides at right angles, each with a drive of its own and weightless links."""
    joints = [
        {'alpha': -np.pi / 2, 'a': 0.0, 'd': 0.0, 'theta': 0.0, 'type': 'prismatic'},
        {'alpha': np.pi / 2, 'a': 0.0, 'd': 0.0, 'theta': 0.0, 'type': 'prismatic'},
    ]
    model = RobotModel.from_mdh({'joints': joints})
    rng = np.random.default_rng(5)
    t = np.arange(0, 20, 0.01)
    k = 2 * np.pi * 0.2 * np.arange(1, 5)
    a = rng.normal(size=(4, 2)) / k[:, None]
    q = np.sin(np.outer(t, k)) @ a
    dq, ddq = np.cos(np.outer(t, k)) @ (a * k[:, None]), -np.sin(np.outer(t, k)) @ (a * k[:, None] ** 2)
    tau = np.array([3.0, 0.5]) * ddq + 2.0 * dq + np.sign(dq) + 0.05 * rng.normal(size=q.shape)
    return model, Recording(model.joint_names, t, q, tau=tau, name='slides')


@pytest.mark.parametrize('factor', [(1.0, 1.0), (1.0, 3.0), (0.4, 1.0)])
def test_scales_are_the_likeliest(two_links, two_link_runs, factor):
    """The minimum of the profile likelihood with its prior, by a general optimiser; deviations by its curvature."""
    of, _ = two_link_runs
    good = samples_of(Problem(two_links, [of(1), of(2)]))
    alternatives = Alternatives(two_links, replace(good, tau=good.tau * np.array(factor)[:, None]))
    tau, normal, count = alternatives.samples.tau, alternatives.normal, alternatives.count

    def cost(beta):
        fit = normal.fit(tau * np.exp(-np.asarray(beta))[:, None])
        return 0.5 * count @ np.log(fit.unexplained + RESOLVED**2) + 0.5 * np.sum(np.square(beta)) / 9.0

    found = estimate_scales(alternatives)
    best = scipy.optimize.minimize(cost, np.log(factor), method='Nelder-Mead', options={'xatol': 1e-5, 'fatol': 1e-7})
    beta = best.x - np.median(best.x)
    assert tuple(found.figures) == tuple(two_links.joint_names)
    if all(entry['factor'] is not None for entry in found.figures.values()):
        by, std = (np.array([entry[key] for entry in found.figures.values()]) for key in ('factor', 'std'))
        np.testing.assert_allclose(np.log(by), beta, atol=0.05 * (std / by).max() + 0.01)
        apart = best.x[0] - best.x[1]
        truth = math.log(factor[0] / factor[1])
        assert abs(apart - truth) < 5 * float(np.hypot(*(std / by)))
        # by what they leave over, samples are worth more than as given; one ratio is known, and costs half a logarithm
        other = normal.fit(tau * np.exp(-best.x)[:, None])
        left = normal.residuals(tau * np.exp(-best.x)[:, None], other.chi)
        independent = np.maximum(count, effective_samples(left, normal.weight, alternatives.samples.part))
        lower = (alternatives.given.unexplained + RESOLVED**2) / (other.unexplained + RESOLVED**2)
        expected = 0.5 * independent @ np.log(lower) - 0.5 * math.log(count.sum())
        assert found.gain == pytest.approx(expected, abs=0.1 + 0.02 * abs(expected))
        steady = vuong_statistic(
            (alternatives.given, alternatives.residuals), (other, left), independent, alternatives.samples.weight,
            alternatives.blocks,
        )  # fmt: skip
        if factor != (1.0, 1.0):
            assert found.vuong_statistic == pytest.approx(steady, rel=0.05)
