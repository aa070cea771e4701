"""Reasons, the line that comes first, faults of single recordings, the band that is the same for all."""

import math
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.regression.residuals import Fit, FullRate, relative
from joint_dynamics.identification.reliability.signals import faults
from joint_dynamics.identification.reliability.verdict import Reason, headline, summary_of, without_duplicates
from joint_dynamics.recording import Recording

NAMES = ('a', 'b', 'c')


def fit_of(tau, predicted, name='folder/run.csv'):
    time = 0.01 * np.arange(len(tau))
    full = FullRate(time, tau, predicted, np.ones_like(tau))
    return Fit(name, NAMES, time, tau, predicted, full.dq, 0.02, relative(tau - predicted, tau), full, 20.0)


@pytest.fixture
def torques():
    """Smooth torques of three joints, and a prediction that is 2 % off."""
    t = 0.01 * np.arange(2000)
    tau = np.stack([10 * np.sin(t) + 3, 6 * np.sin(2.3 * t + 1), 2 * np.cos(3.1 * t)], axis=1)
    return tau, tau + 0.02 * np.random.default_rng(1).normal(size=tau.shape) * tau.std(axis=0)


def test_a_reason_has_a_known_code_and_reads_as_its_text():
    assert str(Reason('delay', 'late')) == 'late'
    with pytest.raises(ValueError, match=r"expected one of excitation, .*, found 'lateness'"):
        Reason('lateness', 'late')
    late, still, other = Reason('delay', 'late'), Reason('stuck', 'still'), Reason('delay', 'early')
    assert without_duplicates(iter([late, still, late, other, still])) == [late, still, other]


def test_the_line_says_reliable_within_or_why_not():
    assert headline([], 5.7) == 'reliable within 5.7 % of the torque'
    assert headline([], 5.7, 'below 10.3 Hz') == 'reliable within 5.7 % of the torque below 10.3 Hz'
    assert headline([]) == headline([], math.nan) == 'reliable'
    reasons = [Reason('delay', 'late'), Reason('stuck', 'still')]
    assert headline(reasons, 5.7) == 'not reliable, because late (and 1 more)'
    assert headline(reasons[:1]) == 'not reliable, because late'
    entry = summary_of(reasons, 'line')
    assert (entry['verdict'], entry['verdict_line'], entry['believable']) == ('not reliable', 'line', False)
    assert entry['reasons'] == [{'code': 'delay', 'text': 'late'}, {'code': 'stuck', 'text': 'still'}]
    assert summary_of([], 'line') == {
        'verdict': 'reliable', 'verdict_line': 'line', 'believable': True, 'reasons': [],
    }  # fmt: skip


def test_the_fixed_band_keeps_what_is_below_and_drops_what_is_above(torques):
    """A residual at 3 Hz counts in full, one at 35 Hz does not; the band is less where the sampling forbids."""
    tau, _ = torques
    time = 0.01 * np.arange(len(tau))
    slow, fast = (np.sin(2 * np.pi * f * time)[:, None] * np.ones(3) for f in (3.0, 35.0))
    entry = fit_of(tau, tau - slow - fast).fixed_band
    assert entry['band_hz'] == 10.0
    assert list(entry['rmse'].values()) == pytest.approx([1 / np.sqrt(2)] * 3, rel=0.02)
    summary = fit_of(tau, tau - slow).summary()
    assert summary['band_hz'] == 20.0 and summary['recording'] == 'folder/run.csv'
    coarse = FullRate(0.1 * np.arange(200), tau[:200], tau[:200], tau[:200])
    assert coarse.band == pytest.approx(4.0)


def test_tables_show_the_last_component_of_the_path(torques):
    tau, predicted = torques
    assert fit_of(tau, predicted, '/long/path/of/a/run@0:3').short_name == 'run@0:3'


@pytest.fixture
def recording():
    t = 0.005 * np.arange(3000)
    rng = np.random.default_rng(4)
    q = np.stack([np.sin(t), 0.7 * np.sin(1.7 * t + 1), 0.5 * np.cos(2.3 * t)], axis=1)
    dq = np.stack([np.cos(t), 1.19 * np.cos(1.7 * t + 1), -1.15 * np.sin(2.3 * t)], axis=1)
    q = np.round(q * 1e5) / 1e5
    return Recording(NAMES, t, q, dq=dq, tau=5 * q + 3 * np.sign(dq) + 0.05 * rng.normal(size=q.shape), name='run')


def test_a_good_recording_has_no_faults(recording):
    assert faults(recording) == []


@pytest.mark.parametrize(
    ('change', 'code'),
    [
        (lambda r: replace(r, time=r.time * 2), 'time_scale'),
        (lambda r: replace(r, q=r.q * 180 / np.pi), 'degrees'),
        (lambda r: replace(r, q=r.q[::-1], dq=r.dq[::-1]), 'time_reversed'),
        (lambda r: replace(r, dq=r.dq * [-1, 1, 1]), 'speed_mismatch'),
        (lambda r: replace(r, tau=np.clip(r.tau, -4, 4)), 'saturated'),
        (lambda r: replace(r, time=r.time * 1e4, dq=None), 'time_scale'),
    ],
)
def test_faults_of_one_recording_are_named(recording, change, code):
    assert code in {reason.code for reason in faults(change(recording))}


def test_rest_and_coarse_torques_are_no_faults(recording):
    """A joint that rests with a constant torque, and a torque in coarse steps, are what recordings look like."""
    still = recording.q.copy()
    still[1000:2000, 1] = still[1000, 1]
    start = np.cumsum(np.sin(np.pi * np.clip((recording.time - 5) / 5, 0, 1)))
    still[:, 1] = 0.3 * start / start[-1]
    dq = recording.dq.copy()
    dq[:, 1] = np.gradient(still[:, 1], recording.time)
    assert faults(replace(recording, q=still, dq=dq, tau=np.round(recording.tau * 4) / 4)) == []


def test_a_motion_of_one_joint_names_those_that_never_move(true_robot):
    """Not reliable, with the joints' names: the excitation is judged by the columns that are told apart."""
    recording = true_robot.record(1, duration=6.0, rate=100.0, frequency=0.3)
    q = np.where(np.arange(true_robot.model.n) == 1, recording.q, recording.q[0])
    names = [name for j, name in enumerate(true_robot.model.joint_names) if j != 1]
    plain = IdentificationSettings(selection=False)
    result = identify(true_robot.model, [replace(recording, q=q)], settings=plain)
    assert any(f'{", ".join(names)} never move' in str(reason) for reason in result.reasons)
