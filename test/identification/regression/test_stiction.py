"""Torque of joints at rest: bounds that enclose what the physics allows, from any state at the first sample."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.physical.dissipation import REACH
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.stiction import resting_torque
from joint_dynamics.identification.resting import resting_summary
from joint_dynamics.identification.validate import judge_description
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.recording import Recording


def stops(t, q, phase):
    """Time runs, stops, runs: the same path with smooth stops. phase (N,): of the two seconds, the second one rests."""
    clock = 2.0 * np.floor(t / 2.0) + np.where(
        phase < 0.5, 2.0 * (2 * phase - np.sin(4 * np.pi * phase) / (2 * np.pi)), 2.0
    )
    q = np.array([np.interp(clock, t, column) for column in q.T]).T
    kernel = np.hanning(21) / np.hanning(21).sum()
    return np.apply_along_axis(lambda column: np.convolve(np.pad(column, 10, 'edge'), kernel, 'valid'), 0, q)


def stopping(true_robot, seed, ratio=1.0):
    """A motion that stands still for a second every other second; at rest friction is anything within `ratio` times
    Coulomb friction."""
    rng = np.random.default_rng(seed)
    t, q, _, _ = true_robot.motion(rng, 30.0, 200.0, frequency=0.1)
    q = stops(t, q, (t % 2.0) / 2.0)
    dq, ddq = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    rest = np.abs(dq) < 1e-3
    tau = true_robot.torque(q, dq, ddq)
    Fc = true_robot.standard[:, 12]
    held = ratio * rng.uniform(-1, 1, (16, q.shape[1]))[(t / 2.0).astype(int)]
    tau = np.where(rest, tau - Fc * np.sign(dq) + Fc * held, tau)
    tau += 0.01 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return Recording(true_robot.model.joint_names, t, q, tau=tau, name=f'stops {seed}')


@pytest.mark.parametrize('ratio', [1.0, 1.6])
def test_unseen_rest_is_within_its_interval(true_robot, ratio):
    """Stiction up to 1.6 times Coulomb friction: the training stays tell, and the interval of other recordings holds
    them."""
    result = identify(
        true_robot.model,
        [stopping(true_robot, seed, ratio) for seed in (1, 2)],
        [stopping(true_robot, seed, ratio) for seed in (3, 4)],
        IdentificationSettings(selection=False, f_dyn=4.0),
    )
    entry = result.summary()['resting']
    assert entry['validation']['samples'] > 500
    assert entry['validation']['within_percent']['overall'] >= 95
    assert entry['training']['breakaway_ratio'] == pytest.approx(ratio, abs=0.25)
    sigma = 0 * result.solution.sigma
    rest = resting_torque(result.problem, result.solution.chi, result.covariance, sigma, ratio=(0.3, 0.3))
    narrow = resting_summary(rest, true_robot.model.joint_names)
    assert narrow['within_percent']['overall'] < 60


def test_a_description_alone_states_the_same_intervals(true_robot):
    """`validate` has them from the description: as many samples, and the same share of them within."""
    recordings = [stopping(true_robot, seed) for seed in (1, 2, 3)]
    settings = IdentificationSettings(selection=False, f_dyn=4.0)
    result = identify(true_robot.model, recordings[:2], recordings[2:], settings)
    told = result.summary()['resting']['validation']
    found = judge_description(result.description, recordings[2:], settings).summary['resting']
    assert (found['samples'], found['unstated']) == (told['samples'], told['unstated'])
    assert found['within_percent']['overall'] == pytest.approx(told['within_percent']['overall'], abs=1.0)
    for name, width in told['half_width'].items():
        assert found['half_width'][name] == pytest.approx(width, rel=0.05)
    # torques that leave the interval are counted as such
    slack = [replace(recording, tau=recording.tau * 3.0) for recording in recordings[2:]]
    outside = judge_description(result.description, slack, settings).summary['resting']
    assert outside['within_percent']['overall'] < 60
    document = {**result.description.document}
    document['provenance'] = {**document['provenance'], 'resting': {'breakaway_ratio': 1.0}}
    with pytest.raises(JointDynamicsError, match=r'provenance\.resting: expected what `identify` writes'):
        judge_description(DynamicsDescription(document), recordings[2:], settings)


def test_where_the_friction_was_checked(true_robot):
    recording = true_robot.record(1, duration=8.0)
    entry = identify(true_robot.model, [recording], settings=IdentificationSettings(selection=False)).summary()[
        'validity'
    ]
    speed = np.abs(np.gradient(recording.q, recording.time, axis=0))[50:-50].max(axis=0)
    allowed = true_robot.model.pinocchio.velocityLimit
    checked = np.maximum(speed, np.minimum(allowed, REACH * speed))
    assert [entry[name]['speed'] for name in true_robot.model.joint_names] == pytest.approx(checked, rel=0.1)
    assert all(entry[name]['load'] > 0 for name in true_robot.model.joint_names[1:])


def test_rest_before_the_first_slip_has_a_level_of_its_own(true_robot):
    """Three times Coulomb friction held before the first motion: told where training begins so, else not stated."""

    def begun(seed):
        run = stopping(true_robot, seed)
        rest = np.arange(0, 1.0, 0.005)
        at_rest = run.tau[0] + 3.0 * true_robot.standard[:, 12] * np.where(np.arange(true_robot.model.n) % 2, 1.0, -1.0)
        held = at_rest + 0.02 * np.random.default_rng(seed).normal(size=(len(rest), true_robot.model.n))
        time = np.concatenate([rest, 1.0 + run.time])
        q = np.concatenate([np.repeat(run.q[:1], len(rest), axis=0), run.q])
        return Recording(run.joint_names, time, q, tau=np.concatenate([held, run.tau]), name=run.name)

    plain = IdentificationSettings(selection=False, f_dyn=4.0)
    later = [stopping(true_robot, seed).window(2.5, None) for seed in (1, 2)]
    known = identify(true_robot.model, [begun(1), begun(2)], [begun(3)], plain).summary()['resting']
    unknown = identify(true_robot.model, later, [begun(3)], plain).summary()['resting']
    assert known['training']['first_breakaway_ratio'] > 2 * known['training']['breakaway_ratio']
    assert known['validation']['unstated'] == 0
    assert unknown['training']['first_breakaway_ratio'] is None
    assert unknown['validation']['unstated'] > 0
    for entry in (known, unknown):
        assert entry['validation']['within_percent']['overall'] >= 95


CREEP = 3e-3
"""Presliding length of the simulated joints [rad]."""


def creeping(robot, seed, step, lawless=False):
    """A motion that stops for a second every other second and creeps within the presliding there, as recorded.

    Friction is the Maxwell-slip hysteresis of what the joints really did (lawless: anything at rest), positions are
    read in steps.
    """
    rng = np.random.default_rng(seed)
    t, q, _, _ = robot.motion(rng, 30.0, 200.0, frequency=0.1)
    phase = (t % 2.0) / 2.0
    q = stops(t, q, phase)
    still = np.clip(4 * (phase - 0.5), 0, 1) * np.clip(8 * (1 - phase), 0, 1)
    size = rng.uniform(0.3, 1.0, (21, q.shape[1]))[(t / 2.0).astype(int)] * rng.choice([-1, 1], q.shape[1])
    q = q + CREEP * size * (np.sin(np.pi * (phase - 0.5) * 4) * still)[:, None]
    dq = np.gradient(q, t, axis=0)
    tau = robot.torque(q, dq, np.gradient(dq, t, axis=0))
    hysteresis = MaxwellSlip(q.shape[1], CREEP, limits=[1.0], stiffness=[1.0]).run(q)
    if lawless:
        hysteresis = np.where(
            phase[:, None] < 0.5, hysteresis, rng.uniform(-1, 1, (21, q.shape[1]))[(t / 2).astype(int)]
        )
    tau = tau + robot.standard[:, 12] * (hysteresis - np.sign(dq))
    tau += 0.005 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    read = np.round(q / step) * step if step else q
    return Recording(robot.model.joint_names, t, read, tau=tau, name=f'creeps {seed}')


def resting_of(robot, step, lawless=False, **more):
    terms = terms_from_config({name: [{'hysteresis': CREEP}] for name in robot.model.joint_names})
    settings = IdentificationSettings(selection=False, f_dyn=4.0, terms=terms, period=more.pop('period', 0.0), **more)
    found = identify(
        robot.model, [creeping(robot, 1, step, lawless)], [creeping(robot, 3, step, lawless)], settings
    ).summary()
    return found['resting'], ' '.join(found['notes'])


def test_resolved_presliding_predicts_rest(true_robot):
    """The step shows in the readings: a hundred in the presliding length."""
    fine, said = resting_of(true_robot, CREEP / 100)
    blind, why = resting_of(true_robot, 0.0)
    for name in true_robot.model.joint_names:
        assert fine['presliding'][name]['encoder_step'] == pytest.approx(CREEP / 100)
        assert fine['presliding'][name]['used'] and not blind['presliding'][name]['used']
        # 1.96 σ of noise and twice a hundredth of the level remain of the level
        assert fine['validation']['half_width'][name] < 0.2 * blind['validation']['half_width'][name]
        assert fine['validation']['residual_percent'][name] < 0.2 * blind['validation']['residual_percent'][name]
        assert fine['validation']['within_percent'][name] >= 99
    assert 'narrows' in said and 'no step of their readings shows' in why


def test_presliding_that_is_not_resolved_is_not_used(true_robot):
    coarse, why = resting_of(true_robot, CREEP / 3)
    assert not any(found['used'] for found in coarse['presliding'].values())
    assert 'resolve 3 steps' in why
    assert coarse['validation']['within_percent']['overall'] >= 95
    stated, _ = resting_of(true_robot, 0.0, encoder_step=CREEP / 100)
    assert all(found['used'] for found in stated['presliding'].values())
    assert stated['validation']['within_percent']['overall'] >= 99


def test_stays_that_contradict_presliding_keep_the_whole_interval(true_robot):
    found, why = resting_of(true_robot, CREEP / 100, lawless=True)
    assert not any(joint['used'] for joint in found['presliding'].values())
    assert 'bear it out' in why
    assert found['validation']['within_percent']['overall'] >= 95


def test_the_mean_of_periods_has_no_presliding(true_robot):
    found, why = resting_of(true_robot, CREEP / 100, period=None)
    assert not any(joint['used'] for joint in found['presliding'].values())
    assert 'means of periods' in why


def test_a_problem_that_does_not_look_at_rest_has_no_resting_torque(two_links, observed):
    problem = Problem(two_links, [observed(1, 20)])
    zeros = np.zeros(problem.columns)
    with pytest.raises(
        JointDynamicsError, match=r'expected a problem that looks at rest \(rest_speed above 0\), found none'
    ):
        resting_torque(problem, zeros, np.diag(zeros), np.ones(2))
