"""Contacts against the usual error: learnt per regime, armed when learnt, and no trap for the adaptation."""
import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import ContactDetector

PERIOD = 4e-3


def signals(seconds, seed=0, error=(0.3, 2.0)):
    """A joint that moves for 2 s and rests for 1 s: (external, deviation, spring, ω) per sample; error in slip and in presliding, N·m."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds / PERIOD)) * PERIOD
    phase = t % 3.0
    omega = np.where(phase < 2.0, np.sin(np.pi * phase / 2.0), 0.0)
    smooth = np.convolve(rng.normal(size=t.size + 24), np.ones(25) / 5.0, 'valid')
    external = smooth * np.where(np.abs(omega) > 0.2, *error)
    return external, np.where(np.abs(omega) > 0.2, 0.5, 2.0), smooth * 0.1, omega


def run(detector, seconds, push=lambda k: 0.0, adapted=True, seed=0):
    external, deviation, spring, omega = signals(seconds, seed)
    found = []
    for k in range(external.size):
        extra = push(k)
        found.append(bool(detector.update(external[k:k + 1] + extra, deviation[k:k + 1], spring[k:k + 1] + extra, deviation[k:k + 1], omega[k:k + 1],
                                          np.array([adapted]))[0]))
    return np.array(found)


@pytest.fixture
def detector():
    return ContactDetector(1, PERIOD, floor=0.5)


def test_no_contact_before_it_has_learnt(detector):
    assert not run(detector, 4.0, push=lambda k: 50.0).any()
    assert not detector.armed.all() or detector.level.max() == 0


def test_free_motion_is_no_contact_and_pushes_are(detector):
    assert not run(detector, 120.0, seed=1).any()
    # In slip a small push is enough, in presliding it is not; at rest a change is.
    start = int(1.0 / PERIOD)
    found = run(detector, 3.0, push=lambda k: 4.0 if k >= start else 0.0, seed=2)
    assert found[start:start + 25].any()
    assert not found[:start].any()
    detector.reset_signals()
    rest = int(2.6 / PERIOD)
    found = run(detector, 3.0, push=lambda k: 4.0 if k >= rest else 0.0, seed=3)
    assert found[rest:rest + 10].any()


def test_levels_are_of_the_regimes(detector):
    run(detector, 120.0)
    slip, presliding, rest = detector.level[:, 0]
    assert slip == pytest.approx(0.3 / 0.5, rel=0.3)
    assert presliding == pytest.approx(2.0 / 2.0, rel=0.5)
    assert rest < presliding


def test_nothing_is_learnt_while_parameters_still_settle(detector):
    run(detector, 30.0, adapted=False)
    assert detector.level.max() == 0


def test_a_push_is_not_learnt_but_a_lasting_load_is(detector):
    run(detector, 120.0)
    before = detector.level[0, 0]
    run(detector, 1.6, push=lambda k: 30.0)
    assert detector.level[0, 0] < 1.5 * before
    found = run(detector, 60.0, push=lambda k: 30.0)
    assert detector.level[0, 0] > 3 * before or not found[-100:].all()
    assert not found[-250:].all()


def test_thresholds_never_fall_below_the_floor():
    detector = ContactDetector(2, PERIOD, floor=[1.0, 2.0])
    zero = np.zeros(2)
    for k in range(5000):
        detector.update(zero, np.ones(2), zero, np.ones(2), np.full(2, np.sin(k * 0.01)), np.ones(2, dtype=bool))
    assert np.all(detector.threshold >= [1.0, 2.0])


def test_bad_settings_are_refused():
    with pytest.raises(JointDynamicsError, match='floor'):
        ContactDetector(2, PERIOD, floor=[1.0, -1.0])
