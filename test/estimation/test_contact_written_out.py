"""The contact detector joint by joint, written out with plain numbers: the same decisions and levels at each sample."""

import math

import numpy as np
import pytest

from joint_dynamics.estimation import ContactDetector
from joint_dynamics.estimation.contact import Evidence

PERIOD = 8e-3
COUNTED = {  # by whether there is a spring: what counts in slip, presliding, rest
    True: {'slip': ('motor',), 'presliding': ('change', 'spring'), 'rest': ('change', 'spring')},
    False: {'slip': ('motor',), 'presliding': ('motor',), 'rest': ('change',)},
}
SIDES, REGIMES = ('motor', 'change', 'spring'), ('slip', 'presliding', 'rest')


class Joint:
    """The docstrings of `contact`, for one joint."""

    def __init__(self, floor, noise, deviations, memory, learning, omega_min, settle, slip, confirm, patience):
        self.floor, self.noise, self.deviations, self.omega_min = floor, noise, deviations, omega_min
        self.memory, self.learning = round(memory / PERIOD), round(learning / PERIOD)
        self.settle, self.slip, self.patience = round(settle / PERIOD), round(slip / PERIOD), round(patience / PERIOD)
        self.confirm = math.ceil(confirm / PERIOD - 1e-6)
        self.square = {(side, regime): 0.0 for side in SIDES for regime in REGIMES}
        self.largest, self.seen = dict(self.square), dict.fromkeys(REGIMES, 0)
        self.still = self.fast = self.over = self.quiet = self.worst = self.since = 0
        self.raised, self.base, self.contact, self.armed, self.ratio = 1.0, None, False, False, 0.0

    def update(self, motor, motor_deviation, spring, spring_deviation, lost, uncertainty, elastic, speed, adapted):
        self.still = self.still + 1 if speed < 0.2 * self.omega_min else 0
        self.fast = self.fast + 1 if speed >= 5.0 * self.omega_min else 0
        regime = 'rest' if self.still >= self.settle else 'slip' if self.fast >= self.slip else 'presliding'
        if self.base is None:
            self.base = [spring, lost]
        change, moved = spring - self.base[0], lost - self.base[1]
        unit = {
            'motor': math.sqrt(motor_deviation**2 + self.noise**2),
            'change': math.sqrt((0.3 * moved) ** 2 + uncertainty**2 + self.noise**2),
            'spring': math.sqrt(spring_deviation**2 + self.noise**2),
        }
        error = {'motor': abs(motor), 'change': abs(change), 'spring': abs(spring)}
        error = {side: error[side] / unit[side] for side in SIDES}
        learning = self.seen[regime] < self.learning
        self.armed = not learning
        limit = {
            side: self.raised
            * max(
                self.deviations * math.sqrt(self.square[side, regime]),
                1.5 * self.largest[side, regime],
                self.floor / unit[side],
            )
            for side in SIDES
        }
        self.ratio = max((error[side] / limit[side] for side in COUNTED[elastic][regime]), default=0.0) * self.armed
        over = self.ratio > 1.0 if self.armed else self.contact
        self.over = self.over + 1 if over else 0
        self.contact = self.over >= self.confirm
        return regime, error, over, learning, (change, moved), adapted

    def count(self, any_contact):
        """How long contacts last; `any_contact`: whether any joint has one or had one lately."""
        self.raised -= PERIOD / 600.0 * (self.raised - 1.0)
        if not any_contact:
            return
        if self.contact:
            self.worst, self.quiet = max(self.worst, self.ratio), 0
        else:
            self.quiet += 1
        ended = self.since > 0 and self.quiet >= 0.3 / PERIOD
        if ended and self.since - self.quiet < 0.25 / PERIOD and self.worst < 1.5:
            self.raised = min(self.raised * 1.1 * self.worst, 2.0)
        if ended:
            self.worst = 0.0
        self.since = self.since + 1 if not ended and (self.contact or self.since > 0) else 0

    def learn(self, regime, error, over, learning, changes, adapted):
        known = not over or self.since > self.patience
        if known and adapted:
            for side in SIDES:
                square, largest = self.square[side, regime], self.largest[side, regime]
                new = error[side] ** 2 if learning else min(error[side] ** 2, 9.0 * square)
                self.square[side, regime] += (new - square) / min(self.seen[regime] + 1, self.memory)
                bounded = error[side] if learning else min(error[side], 10.0 * math.sqrt(square))
                self.largest[side, regime] = max(largest * (1.0 - PERIOD / 600.0), bounded)
            self.seen[regime] += 1
        if known:
            self.base = [base + PERIOD / 0.2 * moved for base, moved in zip(self.base, changes, strict=True)]


def speeds(rng, samples, omega_min):
    """Stretches of rest, of slow and of fast motion, and of speeds at the edges between them."""
    choices = np.array([0.0, 0.19, 0.21, 1.0, 4.9, 5.1, 50.0]) * omega_min
    lengths = rng.integers(1, 60, samples)
    return np.repeat(rng.choice(choices, samples, p=[0.3, 0.05, 0.05, 0.15, 0.05, 0.1, 0.3]), lengths)[:samples]


@pytest.mark.parametrize('options', [{}, {'deviations': 4.0, 'memory': 3.0, 'learning': 0.5, 'confirm': 0.03}])
def test_every_joint_is_judged_as_written_out(options):
    """Four joints, half of them with a spring, brief and lasting pushes at random; the first not always adapted."""
    rng = np.random.default_rng(7)
    n, samples = 4, 6000
    floor, noise = np.array([0.5, 1.0, 0.8, 0.6]), np.array([0.1, 0.2, 0.1, 0.3])
    use = {'deviations': 6.0, 'memory': 30.0, 'learning': 2.0, 'omega_min': 0.02, 'settle': 0.1, 'slip': 0.05}
    use |= {'confirm': 0.024, 'patience': 1.0, **options}
    detector = ContactDetector(n, PERIOD, floor=floor, noise=noise, **use)
    joints = [Joint(floor[j], noise[j], **use) for j in range(n)]
    speed = np.stack([speeds(rng, samples, use['omega_min']) for _ in range(n)], axis=1)
    smooth = np.apply_along_axis(lambda x: np.convolve(x, np.ones(9) / 3.0, 'same'), 0, rng.normal(size=(samples, n)))
    push = np.zeros((samples, n))
    for start in rng.integers(2000, samples, 60):
        push[start : start + int(rng.choice([2, 5, 12, 30, 300])), rng.integers(n)] += rng.choice([2.0, 3.5, 6.0, 30.0])
    elastic = np.array([True, False, True, False])
    contacts, lasting, raised = 0, 0, 1.0
    for k in range(samples):
        motor = 0.5 * smooth[k] + push[k]
        spring = np.where(elastic, 0.2 * smooth[k - 1] + push[k], motor)
        lost, uncertainty = 0.3 * smooth[k - 2] * elastic, 0.05 * np.abs(smooth[k - 3]) * elastic
        evidence = Evidence(motor, 0.1 + 0.3 * (speed[k] > 0.05), spring, 0.1 * elastic, lost, uncertainty, elastic)
        adapted = np.array([k % 3 > 0, True, True, k > 500])
        found = detector.update(evidence, (-1) ** k * speed[k], adapted)
        single = (motor, evidence.motor_deviation, spring, evidence.spring_deviation, lost, uncertainty)
        steps = [
            joint.update(*(float(value[j]) for value in single), bool(elastic[j]), speed[k, j], bool(adapted[j]))
            for j, joint in enumerate(joints)
        ]
        any_contact = any(joint.contact for joint in joints) or any(joint.since > 0 for joint in joints)
        for joint, step in zip(joints, steps, strict=True):
            joint.count(any_contact)
            joint.learn(*step)
        assert found.tolist() == detector.contact.tolist() == [joint.contact for joint in joints]
        assert detector.armed.tolist() == [joint.armed for joint in joints]
        assert detector.lasting.tolist() == [joint.since > joint.patience for joint in joints]
        # the same sums in another order: rounding alone, of a thousand steps and more
        np.testing.assert_allclose(detector.ratio, [joint.ratio for joint in joints], rtol=1e-9)
        contacts, lasting = contacts + found.sum(), lasting + detector.lasting.sum()
        raised = max(raised, *(joint.raised for joint in joints))
    level = [[[joint.square[side, regime] for joint in joints] for regime in REGIMES] for side in SIDES]
    np.testing.assert_allclose(detector.level, np.sqrt(level), rtol=1e-9)
    assert contacts > 300 and lasting > 100 and raised > 1.05


def test_what_is_not_given_follows_from_the_rest():
    """Noise is a sixth of the floor; times are counted in samples, at least one."""
    rng = np.random.default_rng(0)
    given, left = ContactDetector(2, PERIOD, floor=3.0, noise=0.5), ContactDetector(2, PERIOD, floor=3.0)
    none = np.zeros(2)
    for _ in range(800):
        motor = rng.normal(size=2)
        for detector in (given, left):
            detector.update(Evidence(motor, none, motor, none, none, none, none > 0), none + 1.0, none == 0)
    np.testing.assert_array_equal(given.level, left.level)
    assert left.level[0, 0].min() > 1.0
    coarse = ContactDetector(1, 1e3, floor=1.0, learning=1.0, confirm=0.0)
    one = np.ones(1)
    for k in range(3):
        coarse.update(Evidence(one * 9 ** (k > 1), 0 * one, one, 0 * one, 0 * one, 0 * one, one < 0), one, one > 0)
    assert coarse.armed.all() and coarse.contact.all()


def test_reset_forgets_levels_and_reset_signals_does_not():
    rng = np.random.default_rng(1)
    detector = ContactDetector(1, PERIOD, floor=1.0, learning=0.1, patience=0.1)
    none, one = np.zeros(1), np.ones(1)

    def feed(samples, push=0.0):
        for _ in range(samples):
            motor = rng.normal(size=1) * 0.1 + push
            detector.update(Evidence(motor, none, motor, none, none, none, none > 0), one, one > 0)

    feed(100)
    feed(50, push=50.0)
    assert detector.contact.all() and detector.lasting.all() and detector.armed.all()
    level = detector.level
    detector.reset_signals()
    assert not (detector.contact.any() or detector.lasting.any() or detector.armed.any() or detector.ratio.any())
    np.testing.assert_array_equal(detector.level, level)
    feed(1)
    # presliding until it has slipped for `slip` s again, and no regime but slip has been learnt
    assert not detector.armed.any()
    feed(12)
    assert detector.armed.all()
    detector.reset()
    assert not detector.level.any()
    feed(12)
    assert not detector.armed.any()
