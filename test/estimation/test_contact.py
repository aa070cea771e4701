"""Contacts against the usual error: learnt per regime, armed when learnt, and no trap for the adaptation."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import ContactDetector
from joint_dynamics.estimation.contact import Evidence

PERIOD = 8e-3
NONE = np.zeros(1)


def signals(seconds, seed=0, error=(0.3, 2.0)):
    """A joint that moves for 2 s and rests for 1 s: (motor, deviation, spring, ω) per sample.

    Motor's error in slip and in presliding, N·m.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds / PERIOD)) * PERIOD
    phase = t % 3.0
    omega = np.where(phase < 2.0, np.sin(np.pi * phase / 2.0), 0.0)
    smooth = np.convolve(rng.normal(size=t.size + 12), np.ones(13) / 13.0**0.5, 'valid')
    motor = smooth * np.where(np.abs(omega) > 0.2, *error)
    return motor, np.where(np.abs(omega) > 0.2, 0.5, 2.0), smooth * 0.1, omega


def run(detector, seconds, push=lambda k: 0.0, adapted=True, seed=0, elastic=True, held=0.0):
    """Feed the signals; a push (N·m at sample k) is felt by the spring.

    By the motor less the share `held` by friction below 0.2 rad/s.
    """
    motor, deviation, spring, omega = signals(seconds, seed)
    found = []
    for k in range(motor.size):
        extra = push(k)
        felt = motor[k : k + 1] + extra * (1.0 - held * (abs(omega[k]) < 0.2))
        evidence = Evidence(
            felt,
            deviation[k : k + 1],
            spring[k : k + 1] + extra if elastic else felt,
            NONE,
            NONE,
            NONE,
            np.array([elastic]),
        )
        found.append(bool(detector.update(evidence, omega[k : k + 1], np.array([adapted]))[0]))
    return np.array(found)


@pytest.fixture
def detector():
    return ContactDetector(1, PERIOD, floor=0.5)


def test_no_contact_before_it_has_learnt(detector):
    assert not run(detector, 4.0, push=lambda k: 50.0).any()
    assert not detector.armed.any()


@pytest.mark.parametrize('elastic', [True, False])
def test_free_motion_is_no_contact_and_pushes_are(detector, elastic):
    assert not run(detector, 45.0, seed=1, elastic=elastic).any()
    start = int(1.0 / PERIOD)
    found = run(detector, 3.0, push=lambda k: 6.0 if k >= start else 0.0, seed=2, elastic=elastic)
    assert found[start : start + 12].any()
    assert not found[:start].any()
    detector.reset_signals()
    rest = int(2.6 / PERIOD)
    found = run(detector, 3.0, push=lambda k: 20.0 if k >= rest else 0.0, seed=3, elastic=elastic)
    assert found[rest : rest + 6].any()


def test_the_spring_sees_what_friction_holds(detector):
    """At rest friction holds the push, and the motor side knows nothing of it: only a spring tells."""
    rest = int(2.6 / PERIOD)
    for elastic in (True, False):
        detector.reset()
        run(detector, 45.0, seed=1, elastic=elastic)
        found = run(detector, 3.0, push=lambda k: 3.0 if k >= rest else 0.0, seed=3, elastic=elastic, held=1.0)
        assert found[rest:].any() == elastic


def test_lost_motion_is_not_taken_for_a_push():
    """A change of the spring that goes with the play it was corrected for counts against what is not known of that."""
    rest = int(2.6 / PERIOD)
    for uncertainty in (0.0, 3.0):
        held = ContactDetector(1, PERIOD, floor=0.5)
        run(held, 45.0)
        motor, deviation, spring, omega = signals(3.0, 3)
        found = False
        for k in range(motor.size):
            extra = 3.0 * (k >= rest)
            evidence = Evidence(
                motor[k : k + 1],
                deviation[k : k + 1],
                spring[k : k + 1] + extra,
                np.array([uncertainty * (k >= rest)]),
                NONE,
                np.array([uncertainty * (k >= rest)]),
                np.array([True]),
            )
            found |= bool(held.update(evidence, omega[k : k + 1], np.array([True]))[0])
        assert found == (uncertainty == 0.0)


def test_levels_are_of_the_regimes(detector):
    run(detector, 45.0, elastic=False)
    slip, presliding, _ = detector.level[0, :, 0]
    assert slip == pytest.approx(0.3 / 0.5, rel=0.3)
    assert presliding == pytest.approx(2.0 / 2.0, rel=0.5)


def test_nothing_is_learnt_while_parameters_still_settle(detector):
    run(detector, 30.0, adapted=False)
    assert detector.level.max() == 0


def test_one_bad_sample_is_no_contact(detector):
    run(detector, 120.0, seed=1)
    assert not run(detector, 30.0, push=lambda k: 50.0 * (k % 100 == 50), seed=2).any()


def test_a_push_is_not_learnt_but_a_lasting_load_is(detector):
    run(detector, 45.0)
    before = detector.level[0, 0, 0]
    run(detector, 1.6, push=lambda k: 30.0)
    assert detector.level[0, 0, 0] < 1.5 * before
    found = run(detector, 60.0, push=lambda k: 30.0)
    assert detector.level[0, 0, 0] > 1.5 * before
    assert not found[-125:].all()


def test_errors_below_the_floor_are_no_contacts():
    detector = ContactDetector(1, PERIOD, floor=3.0)
    run(detector, 60.0)
    assert not run(detector, 30.0, push=lambda k: 1.5, seed=1).any()
    assert run(detector, 30.0, push=lambda k: 9.0, seed=1).any()


def test_bad_settings_are_refused():
    with pytest.raises(JointDynamicsError, match='floor'):
        ContactDetector(2, PERIOD, floor=[1.0, -1.0])
