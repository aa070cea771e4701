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

"""A delay of the torques against the motion."""

import math
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import slip_of
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.identification.reliability.delay import estimate_delay, friction_rows
from joint_dynamics.identification.reliability.evidence import effective_samples, gain
from joint_dynamics.identification.reliability.filtered_samples import samples_of
from joint_dynamics.identification.reliability.thresholds import LATE, LOG_LIKELIHOOD_THRESHOLD
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL, RobotModel

VALUES = {'ZZ_1': 0.5, 'ZZ_2': 0.3, 'M_2': 2.0, 'MX_2': 0.6, 'Fv_1': 2.0, 'Fv_2': 1.0}


def delay_of(alternatives, observations):
    return estimate_delay(alternatives, observations, friction_rows(alternatives, observations))


def late_runs(robot, observed, chi, late, factor):
    """Two observations of the torques of chi that belong to the motion so much earlier, with noise."""
    rng, runs = np.random.default_rng(12), []
    for seed, samples in ((1, 500), (2, 400)):
        plain = observed(seed, samples, factor=factor)
        tau = full_rate_torque(Problem(robot, [plain]), plain, chi)
        moved = np.stack([np.interp(plain.time - late, plain.time, column) for column in tau.T], axis=1)
        noise = 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
        runs.append(observed(seed, samples, factor=factor, tau=moved + noise))
    return runs


def torque_after(runs, seconds):
    """Filtered torques (n, samples) at the kept instants so much later, interpolated."""
    parts = []
    for run in runs:
        half = run.decimator.half
        padded = np.pad(run.tau, ((half, half), (0, 0)), mode='edge')
        smooth = np.stack([np.convolve(column, run.decimator.kernel, 'valid') for column in padded.T], axis=1)
        parts.append([np.interp(run.time[run.kept] + seconds, run.time, column) for column in smooth.T])
    return np.concatenate(parts, axis=1)


def friction_columns(robot, alternatives, runs):
    """Columns of slip, slip · |load| and slip · e^(−|ω|/0.4), one of each for a joint."""
    slip, stribeck = (
        np.concatenate([run.at_kept(slip_of(run.theta, 1e-3) * law(run.dtheta)).T for run in runs], axis=1)
        for law in (np.ones_like, lambda dtheta: np.exp(-np.abs(dtheta) / 0.4))
    )
    bodies = np.isin(robot.base_parameters().independent, robot.columns(INERTIAL))
    load = np.abs(np.einsum('jbs,b->js', alternatives.rows, np.where(bodies, alternatives.given.chi, 0.0)))
    return np.concatenate([np.eye(2)[:, :, None] * one for one in (slip, load * slip, stribeck)], axis=1)


def kept_inside(runs, longest):
    """(samples,): whether a kept sample lies so far from both ends of its recording."""
    times = [(run.time[run.kept], run.time[-1]) for run in runs]
    return np.concatenate([np.minimum(at, end - at) >= longest for at, end in times])


def deviation_of(log_likelihood, width):
    """Deviation of a delay: 1/√ of the curvature, and half of the two joints' difference without one another."""
    low, here, high = (log_likelihood(side * width) for side in (-1, 0, 1))
    slope, bend = (high - low) / (2 * width), (2 * here - low - high) / width**2
    shifts = [-slope[j] / max(bend.sum() - bend[j], bend.sum() / 2) for j in (0, 1)]
    return math.sqrt(1 / bend.sum() + (shifts[0] - shifts[1]) ** 2 / 4)


class WrittenFit:
    """Fit of the samples inside the longest delay, with the friction of the late motion, as a function of a delay."""

    def __init__(self, robot, alternatives, runs):
        self.runs, self.longest = runs, min(0.4, 0.1 * np.mean([run.time[-1] - run.time[0] for run in runs]))
        self.inside = kept_inside(runs, self.longest)
        rows = np.concatenate([alternatives.rows, friction_columns(robot, alternatives, runs)], axis=1)
        self.normal = alternatives.normal.beside(rows).of_samples(self.inside)

    def torque(self, seconds):
        return torque_after(self.runs, seconds)[:, self.inside]

    def __call__(self, seconds):
        return self.normal.fit(self.torque(seconds))


@pytest.mark.parametrize('factor', [None, 5])
@pytest.mark.parametrize('late', [0.0, 0.0437, -0.0213])
def test_a_delay_is_where_the_likelihood_is_highest(two_links, observed, base_parameters_of, late, factor):
    """Torques computed at the motion so much earlier; every figure by its formula at the delay that is found."""
    chi = base_parameters_of(two_links, VALUES)
    runs = late_runs(two_links, observed, chi, late, factor)
    alternatives = Alternatives(two_links, samples_of(Problem(two_links, runs)))
    found, fit, count = delay_of(alternatives, runs), WrittenFit(two_links, alternatives, runs), alternatives.count
    seconds = found.figures['seconds']
    start, best = fit(0.0), fit(seconds)
    np.testing.assert_allclose(found.fitted.unexplained, best.unexplained, rtol=1e-6)
    for away in (-0.3, -0.1, -0.02, -0.004, 0.004, 0.02, 0.1, 0.3):
        assert gain(start, fit(seconds + away), count) < gain(start, best, count)
    rest = fit.normal.residuals(fit.torque(seconds), best.chi)
    count = np.maximum(count, effective_samples(rest, fit.normal.weight, alternatives.samples.part[fit.inside]))
    assert found.gain == pytest.approx(gain(start, best, count), rel=1e-6, abs=1e-6)
    ends = [gain(start, fit(end), count) for end in (-fit.longest, fit.longest)]
    width = 0.02 / (0.4 * min((len(run.kept) - 1) / np.ptp(run.time[run.kept]) for run in runs))
    deviation = deviation_of(lambda away: -count / 2 * np.log(fit(seconds + away).unexplained + 0.005**2), width)
    assert found.figures['std'] == pytest.approx(deviation, rel=1e-3)
    assert found.matters == (abs(seconds) - deviation > LATE and found.gain - max(ends) > LOG_LIKELIHOOD_THRESHOLD)
    # a line between samples moves a torque of a hertz by less than 2 ms, and averages noise as no filter does
    assert abs(seconds - late) < (max(4 * deviation, 2e-3) if factor else 0.006)


def test_delay_is_at_most_a_tenth_of_the_mean_duration(two_links, observed, base_parameters_of):
    """Of torques that come 0.3 s late, recordings of 2 s show 0.2 s at most; recordings of 5 s show them."""
    chi = base_parameters_of(two_links, {'ZZ_2': 0.3, 'MX_2': 0.6})
    found = []
    for count in (201, 501):
        runs = []
        for seed in (1, 2):
            plain = observed(seed, count)
            tau = full_rate_torque(Problem(two_links, [plain]), plain, chi)
            late = np.stack([np.interp(plain.time - 0.3, plain.time, column) for column in tau.T], axis=1)
            runs.append(observed(seed, count, tau=late))
        alternatives = Alternatives(two_links, samples_of(Problem(two_links, runs)))
        found.append(delay_of(alternatives, runs).figures['seconds'])
    assert 0.19 < found[0] <= 0.2
    # the first torque is held for the 0.3 s before it, which no robot did
    assert abs(found[1] - 0.3) < 0.02


@pytest.fixture(scope='module')
def gen3(data):
    model = RobotModel.load(data / 'gen3' / 'gen3.urdf')
    return model, lambda run: Recording.load(data / 'gen3' / run).select(model.joint_names)


@pytest.fixture
def delay_named(problem_of):
    """Return whether a delay is a reason against a recording."""
    return lambda model, recording: (
        'delay' in {reason.code for reason in check_training(problem_of(model, [recording]), [recording]).reasons}
    )


def test_a_motion_one_way_tells_no_delay(gen3, delay_named, problem_of):
    """All joints go one way in 5 s: 175 samples for 69 parameters, which make up for any lateness up to 0.4 s.

    It was said to be 336 ms. A model identified from the other runs predicts the torques best 0 to 50 ms late.
    """
    model, load = gen3
    recording = load('RecordTrajectory_quadratic')
    problem = problem_of(model, [recording])
    found = delay_of(Alternatives(model, samples_of(problem)), problem.observations)
    seconds, deviation = found.figures.values()
    assert found.gain > 20 and seconds - 2 * deviation > 0.2
    assert not found.matters
    assert not delay_named(model, recording)


def moved(recording, late):
    """Return a recording whose torques come so much later; late: of all joints, or of each [s]."""
    late = np.broadcast_to(late, recording.n)
    tau = [
        np.interp(recording.time - one, recording.time, column)
        for one, column in zip(late, recording.tau.T, strict=True)
    ]
    return replace(recording, tau=np.array(tau).T)


def test_a_short_delay_is_no_reason(true_robot, problem_of):
    """12 ms are less than a period of a slow controller and drives' own filters may take."""
    recording = moved(true_robot.record(3, 30.0, rate=100.0, frequency=0.03), 0.012)
    found = check_training(problem_of(true_robot.model, [recording]), [recording])
    assert not found.reasons
    seconds, deviation = found.summary['delay'].values()
    assert abs(seconds - 0.012) < 2 * deviation


def slipping(q, way):
    """Return the direction (samples, joints) of friction that turns along a way [rad] by Dahl's law."""
    direction, state = [], np.zeros(q.shape[1])
    for step in np.diff(q, axis=0, prepend=q[:1]):
        left = np.exp(-np.abs(step) / way)
        state = left * state + (1 - left) * np.sign(step)
        direction.append(state)
    return np.array(direction)


@pytest.mark.parametrize('frequency', [0.03, 0.1])
def test_friction_that_comes_late_at_reversals_is_no_delay(true_robot, problem_of, delay_named, frequency, tmp_path):
    """Presliding of 2 mrad, by Dahl's law, takes a slow joint some 50 ms at a reversal; 40 ms of all torques show.

    Torques that come as much early are named as well: by the sign of the speed alone, data that took no part are
    predicted worse where friction and torque come late and early by as much, and the right setting was refused.
    """
    _, _, speed, _ = true_robot.motion(np.random.default_rng(3), 30.0, 100.0, frequency=frequency)
    plain = true_robot.record(3, 30.0, rate=100.0, frequency=frequency)
    presliding = true_robot.standard[:, 12] * (slipping(plain.q, 2e-3) - np.sign(speed))
    recording = replace(plain, tau=plain.tau + presliding)

    assert not delay_named(true_robot.model, recording)
    assert delay_named(true_robot.model, moved(recording, 0.04))
    early = moved(recording, -0.04)
    assert delay_named(true_robot.model, early)
    early.save_csv(tmp_path / 'run.csv')
    corrected = Recording.load(tmp_path / 'run.csv', {'torque_delay': -0.04}, true_robot.model.joint_names)
    assert not check_training(problem_of(true_robot.model, [corrected]), [corrected]).reasons


@pytest.mark.parametrize('frequency', [0.03, 0.06, 0.1])
def test_friction_of_load_and_low_speed_is_no_part_of_a_delay(true_robot, problem_of, frequency):
    """It rises by 8 % of the load, and by half below 50 mrad/s, without columns for it 5 to 9 of 40 ms are lost."""
    _, q, speed, acceleration = true_robot.motion(np.random.default_rng(3), 30.0, 100.0, frequency=frequency)
    plain = true_robot.record(3, 30.0, rate=100.0, frequency=frequency)
    Ia, Fv, Fc, offset = true_robot.standard[:, 10:].T
    own = Ia * acceleration + Fv * speed + Fc * np.sign(speed) + offset
    load = np.abs(true_robot.torque(q, speed, acceleration) - own)
    friction = (Fc * (1 + 0.5 * np.exp(-((speed / 0.05) ** 2))) + 0.08 * load) * slipping(plain.q, 1e-3)
    recording = moved(replace(plain, tau=plain.tau + friction - Fc * np.sign(speed)), 0.04)
    problem = problem_of(true_robot.model, [recording])
    found = delay_of(Alternatives(true_robot.model, samples_of(problem)), problem.observations)
    assert found.clear and found.matters
    assert abs(found.figures['seconds'] - 0.04) < 2 * found.figures['std'] < 0.005
