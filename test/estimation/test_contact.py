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

"""Contacts against the usual error: learnt per regime, armed when learnt, and no trap for the adaptation."""

import math

import numpy as np
import pytest

from joint_dynamics.estimation import ContactDetector
from joint_dynamics.estimation.contact import threshold

PERIOD = 8e-3
NONE = np.zeros(1)  # N·m
NOTHING = np.zeros((3, 1))  # N·m, no lost motion


COUNTED = {  # with and without a spring: the sides that count in slip, presliding, rest
    True: {'slip': ('motor',), 'presliding': ('change', 'spring'), 'rest': ('change', 'spring')},
    False: {'slip': ('motor',), 'presliding': ('motor',), 'rest': ('change',)},
}
SIDES = ('motor', 'change', 'spring')
REGIMES = ('slip', 'presliding', 'rest')


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
        by_motor = np.stack([felt, deviation[k : k + 1]])
        by_spring = np.stack([spring[k : k + 1] + extra if elastic else felt, NONE])
        masks = np.array([[elastic], [False]])
        found.append(
            bool(detector.update(by_motor, by_spring, NOTHING, *masks, omega[k : k + 1], np.array([adapted]))[0])
        )
    return np.array(found)


@pytest.fixture
def detector():
    return ContactDetector(1, PERIOD, floor=0.5)


@pytest.mark.parametrize('elastic', [True, False])
def test_free_motion_is_no_contact_and_pushes_are(detector, elastic):
    assert not run(detector, 45.0, seed=1, elastic=elastic).any()
    start = int(1.0 / PERIOD)
    found = run(detector, 3.0, push=lambda k: 6.0 if k >= start else 0.0, seed=2, elastic=elastic)
    assert found[start : start + 12].any()
    assert not found[:start].any()
    detector.reset_signals()
    rest = int(2.6 / PERIOD)
    found = run(detector, 3.0, push=lambda k: 30.0 if k >= rest else 0.0, seed=3, elastic=elastic)
    assert found[rest : rest + 6].any()


def test_the_spring_sees_what_friction_holds(detector):
    """At rest friction holds the push, and the motor side knows nothing of it: only a spring tells."""
    rest = int(2.6 / PERIOD)
    for elastic in (True, False):
        detector.reset()
        run(detector, 45.0, seed=1, elastic=elastic)
        found = run(detector, 3.0, push=lambda k: 3.0 if k >= rest else 0.0, seed=3, elastic=elastic, held=1.0)
        assert found[rest:].any() == elastic


def drive(detector, by_motor, by_spring, omega, deviation=0.0):
    """Feed torques of both sides and speeds, (samples,), to one joint with a spring; return where it has a contact.

    deviation: of the spring's torque.
    """
    yes, no = np.ones((1, 1), dtype=bool), np.zeros((1, 1), dtype=bool)
    sides = np.zeros((by_motor.size, 2, 2, 1))
    sides[:, 0, 0, 0], sides[:, 1, 0, 0], sides[:, 1, 1, 0] = by_motor, by_spring, deviation
    given = zip(sides, omega[:, None], strict=True)
    return np.array([detector.update(*side, NOTHING, *yes, *no, w, *yes)[0] for side, w in given])


def slide(detector):
    """Let it learn from 90 s of sliding for 2 s and resting for 1 s; return times, speeds and errors of both sides."""
    t = np.arange(int(90.0 / PERIOD)) * PERIOD
    omega = np.where(t % 3.0 < 2.0, 0.5, 0.0)
    errors = 0.1 * np.random.default_rng(0).normal(size=(2, t.size))
    drive(detector, *errors, omega)
    assert detector.armed.all()
    return t, omega, errors


@pytest.mark.parametrize(('motor', 'spring', 'felt'), [(6.0, 6.0, True), (6.0, 0.0, False), (0.0, 6.0, False)])
def test_a_joint_that_slides_feels_a_push_on_both_sides(detector, motor, spring, felt):
    """One side alone is an error of friction or of stiffness, while the joint slides and when it stops."""
    t, omega, errors = slide(detector)
    late = t >= 1.0
    found = drive(detector, errors[0] + motor * late * (omega > 0.0), errors[1] + spring * late, omega)
    assert found[: int(3.0 / PERIOD)].any() == felt
    assert found[: int(4.0 / PERIOD)].any() == felt


def test_an_old_spring_error_confirms_no_friction_jump(detector):
    t, omega, errors = slide(detector)
    found = drive(detector, errors[0] + 6.0 * (t >= 1.0), errors[1] + 6.0, omega)
    assert not found[int(0.9 / PERIOD) : int(2.0 / PERIOD)].any()


@pytest.mark.parametrize(('before', 'felt'), [(0.0, True), (6.0, False)])
def test_a_friction_jump_confirms_no_old_spring_error(before, felt):
    """Of a joint that creeps, which looks at its spring."""
    detector = ContactDetector(1, PERIOD, floor=0.5, learning=1.0)
    t = np.arange(int(45.0 / PERIOD)) * PERIOD
    errors, omega = 0.1 * np.random.default_rng(0).normal(size=(2, t.size)), np.full(t.size, 0.03)
    drive(detector, *errors, omega)
    late, off = t >= 1.0, t >= 0.5
    assert drive(detector, errors[0] + 6.0 * late, errors[1] + np.where(late, 6.0, before * off), omega).any() == felt


@pytest.mark.parametrize(('pushed', 'felt'), [(0.0, False), (8.0, True)])
def test_a_spring_error_of_sliding_is_no_push_at_a_stop(detector, pushed, felt):
    """Within its limit while it slides, by the uncertainty of its lost motion, and beyond it at rest."""
    t, omega, errors = slide(detector)
    off = 6.0 * np.minimum(t, 1.0) + pushed * (t >= 2.5)
    found = drive(detector, errors[0], errors[1] + off, omega, 2.0 * (t < 2.0))
    assert not found[: int(2.5 / PERIOD)].any()
    assert found[: int(3.0 / PERIOD)].any() == felt


def test_ordinary_errors_of_sliding_are_no_push_at_a_stop(detector):
    """An error of the links' torque that came slowly, as with a posture, and stays."""
    t, omega, errors = slide(detector)
    off = 4.0 * np.minimum(t, 1.9)
    assert not drive(detector, errors[0] + off, errors[1] + off, omega, 8.0)[: int(3.0 / PERIOD)].any()


@pytest.mark.parametrize(('motor', 'felt'), [(0.0, False), (1.0, True)])
def test_a_push_of_sliding_is_a_push_after_the_stop(detector, motor, felt):
    """A spring that breaks 60 ms before the stop, by no more than the uncertainty of its lost motion."""
    t, _, errors = slide(detector)
    off = 6.0 * (t >= 1.94)
    found = drive(detector, errors[0] + motor * off, errors[1] + off, np.where(t < 2.0, 0.3, 0.0), 8.0)
    assert found[int(2.0 / PERIOD) : int(2.5 / PERIOD)].any() == felt


@pytest.mark.parametrize(('motor', 'felt'), [(0.0, False), (1.0, True)])
def test_a_push_during_a_stop_needs_the_motor_side(detector, motor, felt):
    """A spring that breaks, smoothed over 40 ms, while the last 0.02 rad/s are braked."""
    t, _, errors = slide(detector)
    off = 6.0 * np.clip((t - 1.96) / 0.04, 0.0, 1.0)
    found = drive(detector, errors[0] + motor * off, errors[1] + off, np.clip((2.0 - t) / 3.0, 0.0, 0.3))
    assert found[: int(2.5 / PERIOD)].any() == felt


@pytest.mark.parametrize(('motor', 'felt'), [(0.0, False), (6.0, True)])
def test_a_joint_that_sets_off_feels_a_push_on_both_sides(detector, motor, felt):
    """Lost motion that it crosses shows in the spring alone, before the joint is in slip."""
    t, omega, errors = slide(detector)
    early = t <= 0.072
    omega = np.where(t < 0.5, 0.0, 0.03)
    drive(detector, errors[0][:62], errors[1][:62], omega[:62])
    off = early[:12] * 6.0
    found = drive(detector, errors[0][:12] + motor, errors[1][:12] + off, omega[62:74])
    assert found.any() == felt


def test_the_threshold_is_higher_of_few_visits(detector):
    """Rayleigh-distributed errors exceed it with a probability of e^(−d²), of however many visits it is learnt."""
    rng = np.random.default_rng(3)
    for count in (2, 10, 100):
        error, usual = rng.rayleigh(size=200_000), (rng.rayleigh(size=(count, 200_000)) ** 2).mean(axis=0)
        states = ContactDetector(1, PERIOD, floor=0.5, deviations=2.0).states
        states['visits'], states['squares'] = count, 1.0
        beyond = np.mean(error > threshold(states[0], 0, 0) * np.sqrt(usual))
        # e^(−4) of 200,000 within four deviations
        assert beyond == pytest.approx(np.exp(-4.0), abs=4.0 * np.sqrt(np.exp(-4.0) / 200_000))


def test_a_push_is_not_learnt_but_a_lasting_load_is(detector):
    run(detector, 45.0)
    before = detector.level[0, 0, 0]
    run(detector, 1.6, push=lambda k: 30.0)
    assert detector.level[0, 0, 0] < 1.5 * before
    found = run(detector, 60.0, push=lambda k: 30.0)
    assert detector.level[0, 0, 0] > 1.5 * before
    assert not found[-125:].all()


class Joint:
    """The docstrings of `contact`, for one joint."""

    def __init__(self, floor, noise, deviations, memory, learning, omega_min, settle, slip, confirm, patience):
        self.floor, self.noise, self.deviations, self.omega_min = floor, noise, deviations, omega_min
        self.memory, self.learning = memory, round(learning / PERIOD)
        self.settle, self.slip, self.patience = round(settle / PERIOD), round(slip / PERIOD), round(patience / PERIOD)
        self.confirm = math.ceil(confirm / PERIOD - 1e-6)
        self.square = {(side, regime): 0.0 for side in SIDES for regime in REGIMES}
        self.visits, self.seen = dict.fromkeys(REGIMES, 0), dict.fromkeys(REGIMES, 0)
        self.visit, self.regime = {side: [] for side in SIDES}, 'slip'
        self.still = self.fast = self.over = self.quiet = self.since = 0
        self.base, self.contact, self.armed, self.slid, self.ratio = None, False, False, 0.0, 0.0
        self.slow = self.confirm

    def threshold(self, side, regime):
        """Threshold that a Rayleigh-distributed error exceeds with a probability of e^(−d²), for N visits."""
        count = self.visits[regime]
        if count == 0:
            return math.inf
        return math.sqrt(count * (math.exp(self.deviations**2 / count) - 1.0) * self.square[side, regime])

    def update(
        self, motor, motor_deviation, spring, spring_deviation, lost, uncertainty, link, elastic, doubted, omega,
        adapted,
    ):  # fmt: skip
        speed = abs(omega)
        self.still = self.still + 1 if speed < 0.2 * self.omega_min else 0
        self.slow = 0 if speed >= self.omega_min else self.slow + 1
        slides = self.slow < self.confirm
        self.fast = self.fast + 1 if speed >= 5.0 * self.omega_min else 0
        regime = 'rest' if self.still >= self.settle else 'slip' if self.fast >= self.slip else 'presliding'
        if self.base is None:
            self.base = [spring, lost, link]
        if elastic and slides:
            self.slid = spring - np.clip(motor, min(spring, 0.0), max(spring, 0.0))
        elif elastic and self.slow == self.confirm and abs(spring - self.slid) < abs(spring - self.base[0]):
            self.base = [self.slid, lost, link]
        change, moved, loaded = (now - base for now, base in zip((spring, lost, link), self.base, strict=True))
        unit = {
            'motor': math.sqrt(motor_deviation**2 + self.noise**2),
            'change': math.sqrt((0.3 * moved) ** 2 + loaded**2 + uncertainty**2 + self.noise**2),
            'spring': math.sqrt(spring_deviation**2 + self.noise**2),
        }
        shown = {'motor': motor, 'change': change, 'spring': spring}
        error = {side: abs(shown[side]) / unit[side] for side in SIDES}
        if regime != self.regime or len(self.visit['motor']) >= 1.0 / PERIOD:
            self.learn()
            self.regime, self.visit = regime, {side: [] for side in SIDES}
        self.armed = self.seen[regime] >= self.learning
        limit = {side: max(self.threshold(side, regime), self.floor / unit[side]) for side in SIDES}
        others = {'motor': [], 'change': [], 'spring': [spring - self.slid]}
        if slides:
            others = {'motor': [spring if self.since > 0 else change], 'change': [motor]}
            others['spring'] = [motor, spring - self.base[0]]
        alone = {
            side
            for side in SIDES
            if elastic and any(other * shown[side] < 0.5 * shown[side] ** 2 for other in others[side])
        }
        ratios = {side: error[side] / limit[side] * self.armed for side in COUNTED[elastic][regime]}
        untrue = set(alone)
        self.discounted = not slides and 'spring' in alone and ratios.get('spring', 0.0) > 1.0
        if elastic and doubted:
            untrue |= {'change', 'spring'}
        self.ratio = max((ratio for side, ratio in ratios.items() if side not in untrue), default=0.0)
        distrusted = any(ratios[side] > 1.0 for side in untrue & set(ratios))
        if distrusted:
            self.base = [spring, lost, link]
        over = self.ratio > 1.0 if self.armed else self.contact
        self.over = self.over + 1 if over else 0
        self.contact = self.over >= self.confirm
        self.quiet = 0 if self.contact else self.quiet + 1
        lasts = self.contact or (self.since > 0 and self.quiet < 0.3 / PERIOD)
        self.since = self.since + 1 if lasts else 0
        if adapted and not distrusted:
            self.seen[regime] += 1
            for side in SIDES:
                self.visit[side].append(error[side])
        if not (over or distrusted) or self.since > self.patience:
            now = spring, lost, link
            self.base = [base + PERIOD / 0.2 * (at - base) for at, base in zip(now, self.base, strict=True)]

    def learn(self):
        if not self.visit['motor'] or (self.contact and not self.since > self.patience):
            return
        for side in SIDES:
            most = math.inf if self.since > self.patience else self.threshold(side, self.regime)
            largest, square = min(max(self.visit[side]), most), self.square[side, self.regime]
            share = 1.0 / min(self.visits[self.regime] + 1, self.memory)
            self.square[side, self.regime] += share * (largest**2 - square)
        self.visits[self.regime] = min(self.visits[self.regime] + 1, self.memory)


def speeds(rng, samples, omega_min):
    """Stretches of rest, of slow and of fast motion, and of speeds at the edges between them."""
    choices = np.array([0.0, 0.19, 0.21, 1.0, 4.9, 5.1, 50.0]) * omega_min
    lengths = rng.integers(1, 60, samples)
    one_way = rng.choice([-1.0, 1.0], samples)
    return np.repeat(one_way * rng.choice(choices, samples, p=[0.3, 0.05, 0.05, 0.15, 0.05, 0.1, 0.3]), lengths)[
        :samples
    ]


def pushes(rng, samples, n):
    """Torques (samples, n) of 120 brief and lasting pushes, each of one joint."""
    push = np.zeros((samples, n))
    for start in rng.integers(2000, samples, 120):
        push[start : start + int(rng.choice([2, 5, 12, 30, 300])), rng.integers(n)] += rng.choice([2.0, 3.5, 6.0, 30.0])
    return push


def inputs(rng, samples, n, omega_min):
    """Inputs of `Joint.update` at every sample, (n,) each: half of the joints with a spring, pushes at random."""
    speed = np.stack([speeds(rng, samples, omega_min) for _ in range(n)], axis=1)
    smooth = np.apply_along_axis(lambda x: np.convolve(x, np.ones(9) / 3.0, 'same'), 0, rng.normal(size=(samples, n)))
    push, elastic = pushes(rng, samples, n), np.array([True, False, True, False])
    held = rng.choice([0.0, 1.0], (samples // 100, n))
    for k in range(samples):
        # friction holds a push now and then; the first joint's spring is in doubt for a while
        motor = 0.5 * smooth[k] + push[k] * held[k // 100]
        doubted = np.array([3000 < k < 4000, False, False, False])
        spring = np.where(elastic, 0.2 * smooth[k - 1] + push[k], motor)
        lost, uncertainty = 0.3 * smooth[k - 2] * elastic, 0.05 * np.abs(smooth[k - 3]) * elastic
        deviation, wrong = 0.1 + 0.3 * (np.abs(speed[k]) > 0.05), 0.1 * elastic
        adapted, link = np.array([k % 3 > 0, True, True, k > 500]), 0.2 * smooth[k - 4] * elastic
        yield motor, deviation, spring, wrong, lost, uncertainty, link, elastic, doubted, speed[k], adapted


@pytest.mark.parametrize('options', [{}, {'deviations': 3.0, 'memory': 30.0, 'learning': 0.5, 'confirm': 0.03}])
def test_every_joint_is_judged_by_the_formulas(options):
    n, floor, noise = 4, np.array([0.5, 1.0, 0.8, 0.6]), np.array([0.1, 0.2, 0.1, 0.3])
    use = {'deviations': 4.0, 'memory': 100.0, 'learning': 2.0, 'omega_min': 0.02, 'settle': 0.1, 'slip': 0.05}
    use |= {'confirm': 0.024, 'patience': 1.0, **options}
    detector = ContactDetector(n, PERIOD, floor=floor, noise=noise, **use)
    joints = [Joint(floor[j], noise[j], **use) for j in range(n)]
    contacts, lasting, softened = 0, 0, 0
    for sample in inputs(np.random.default_rng(7), 6000, n, use['omega_min']):
        found = detector.update(*map(np.stack, (sample[:2], sample[2:4], sample[4:7])), *sample[7:])
        for joint, *given in zip(joints, *sample, strict=True):
            joint.update(*given)
        assert found.tolist() == detector.contact.tolist() == [joint.contact for joint in joints]
        assert detector.armed.tolist() == [joint.armed for joint in joints]
        assert detector.lasting.tolist() == [joint.since > joint.patience for joint in joints]
        # the same sums in another order: rounding alone, of a thousand steps and more
        np.testing.assert_allclose(detector.ratio, [joint.ratio for joint in joints], rtol=1e-9)
        contacts, lasting = contacts + found.sum(), lasting + detector.lasting.sum()
        softened += sum(joint.discounted for joint in joints)
    level = [[[joint.square[side, regime] for joint in joints] for regime in REGIMES] for side in SIDES]
    np.testing.assert_allclose(detector.level, np.sqrt(level), rtol=1e-9)
    assert contacts > 300 and lasting > 100 and softened > 50


def feed(detector, samples, push=0.0):
    """Noise and a push on the motor side of a sliding joint without a spring."""
    rng, none, one = np.random.default_rng(1), np.zeros(1), np.ones(1)
    for _ in range(samples):
        side = np.stack([rng.normal(size=1) * 0.1 + push, none])
        detector.update(side, side, NOTHING, none > 0, none > 0, one, one > 0)


def test_reset_forgets_levels_and_reset_signals_does_not():
    detector = ContactDetector(1, PERIOD, floor=1.0, learning=0.1, patience=0.1)
    feed(detector, 400)
    feed(detector, 50, push=50.0)
    assert detector.contact.all() and detector.lasting.all() and detector.armed.all()
    level = detector.level
    detector.reset_signals()
    assert not (detector.contact.any() or detector.lasting.any() or detector.armed.any() or detector.ratio.any())
    np.testing.assert_array_equal(detector.level, level)
    feed(detector, 1)
    # presliding until it has slipped for `slip` s again, and no regime but slip has been learnt
    assert not detector.armed.any()
    feed(detector, 12)
    assert detector.armed.all()
    detector.reset()
    assert not detector.level.any()
    feed(detector, 12)
    assert not detector.armed.any()
