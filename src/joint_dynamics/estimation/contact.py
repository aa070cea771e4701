"""Detection of contacts from the external torque, against the usual model error, learnt per joint in free motion.

Which side shows a push depends on the state of the joint. In settled slip it is the motor side, whose friction is known
best there. Otherwise, between reversal and slip and at rest, friction may take any part of a push, but the spring
carries all of it: there the spring's torque is used, less its lost motion, and its change within a fifth of a second,
in which the play changes little, and the model error by a share of the load's change. A joint that slides, or did a
moment ago, feels a push on both sides: what the motor side shows is an error of friction unless the spring changes by
half as much when it begins, what the spring shows one of stiffness unless the motor side shows half of it, and half of
it has just come. What the spring alone showed when the joint slid last is such an error still when it stops: half of
what it shows there must have come since, and its change counts from there. For a joint without a spring torque, the
motor side is used in slip and presliding, and its change at rest.

Every error is measured in units of its stated deviation, so that a level learnt under one load holds under another. A
visit is a stay in one regime, for a second at most; what counts of it is its largest error, which is taken to have a
Rayleigh distribution. With m the mean square of N visits, the next one exceeds √(N (e^{d²/N} − 1) m) with a probability
of e^{−d²}: the ratio of its square to m has an F-distribution of 2 and 2 N degrees of freedom. A visit teaches when it
is over, or a push would be measured against its own beginning; not if it ends in a contact, and no more than the
threshold, unless the contact lasts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.recursive import per_joint, positive
from joint_dynamics.joint.constants import Field, filled, record

Array = FloatArray
SLIP, PRESLIDING, REST = range(3)
# Which of motor side, change of the spring, spring counts in slip, presliding, rest; for joints without and with a
# spring torque.
COUNTS = np.array([[[1, 1, 0], [0, 0, 1], [0, 0, 0]], [[1, 0, 0], [0, 1, 1], [0, 1, 1]]], dtype=bool)
# s of a stay that are one visit.
VISIT = 1.0
# Share of a change of the lost motion that is not known.
CHANGE = 0.3


CONTACT = record(
    'floor noise deviations omega_min learning memory settle slip confirm patience calm visit follow '
    'still slow fast over since quiet ratio regime stay slid', 'begun armed contact',
    base=(3,), largest=(3,), seen=(3,), visits=(3,), squares=(3, 3),
)  # fmt: skip
"""Settings of one joint: N·m, (N·m)²; rad/s; visits; times in samples; share per sample by which the base follows. Its
state: samples at rest, since it slid, in slip, over the threshold, of contact, since it was felt last; error over
threshold; of the present visit its regime, its samples, and its largest error of each side; what the spring, and not
the motor side, showed when the joint slid last, N·m; a fifth of a second ago the spring's error, what is not known of
its lost motion, and of the link model, N·m; samples in each regime and visits to it, and the mean squares of their
largest errors of each side, in stated deviations."""


@compiled
def regime_of(s, omega):  # type: ignore[no-untyped-def]
    """Return the regime of a joint at ω, and whether it slides."""
    speed = abs(omega)
    s.still = s.still + 1.0 if speed < 0.2 * s.omega_min else 0.0
    s.slow = 0.0 if speed >= s.omega_min else s.slow + 1.0
    s.fast = 0.0 if speed < 5.0 * s.omega_min else s.fast + 1.0
    return REST if s.still >= s.settle else SLIP if s.fast >= s.slip else PRESLIDING, s.slow < s.confirm


@compiled
def count_contact(s):  # type: ignore[no-untyped-def]
    """Count how long a contact lasts.

    It is over when there was none for 0.3 s: joints that reverse pass through regimes of another threshold.
    """
    s.quiet = 0.0 if s.contact else s.quiet + 1.0
    s.since = s.since + 1.0 if s.contact or (s.since > 0.0 and s.quiet < s.calm) else 0.0


@compiled
def threshold(s, side, regime):  # type: ignore[no-untyped-def]
    """Return the largest error that is usual, in stated deviations."""
    N = s.visits[regime]
    return np.sqrt(N * np.expm1(s.deviations * s.deviations / N) * s.squares[side, regime]) if N > 0.0 else np.inf


@compiled
def begin_visit(s, regime):  # type: ignore[no-untyped-def]
    """Learn from the visit that ends, unless it ends in a contact that does not last; begin one to `regime`."""
    lasts = s.since > s.patience
    if s.stay > 0.0 and (lasts or not s.contact):
        last = int(s.regime)
        for side in range(3):
            most, square = np.inf if lasts else threshold(s, side, last), s.squares[side, last]
            error = most if s.largest[side] > most else s.largest[side]
            s.squares[side, last] = square + (error * error - square) / min(s.visits[last] + 1.0, s.memory)
        s.visits[last] = min(s.visits[last] + 1.0, s.memory)
    s.regime, s.stay, s.largest[:] = regime, 0.0, 0.0


@compiled
def contact_step(s, motor, spring, lost, elastic, doubted, omega, adapted):  # type: ignore[no-untyped-def]
    """`ContactDetector.update` of one joint: s of `CONTACT`.

    motor, spring: torque less the link model's and its deviation; lost: torque of the lost motion that was taken off,
    how wrong it may be, and the deviation of the link model's torque, with its sign. N·m.
    """
    now = spring[0], CHANGE * lost[0], lost[2]
    if not s.begun:
        s.base[:], s.begun = now, True
    regime, slides = regime_of(s, omega)
    if elastic and slides:
        s.slid = spring[0] - min(max(motor[0], min(spring[0], 0.0)), max(spring[0], 0.0))
    elif elastic and s.slow == s.confirm and abs(spring[0] - s.slid) < abs(spring[0] - s.base[0]):
        s.base[:] = s.slid, now[1], now[2]
    change, of_lost, of_link = now[0] - s.base[0], now[1] - s.base[1], now[2] - s.base[2]
    units = (
        np.sqrt(motor[1] * motor[1] + s.noise),
        np.sqrt(of_lost * of_lost + of_link * of_link + lost[1] * lost[1] + s.noise),
        np.sqrt(spring[1] * spring[1] + s.noise),
    )
    errors = abs(motor[0]) / units[0], abs(change) / units[1], abs(spring[0]) / units[2]
    if regime != s.regime or s.stay >= s.visit:
        begin_visit(s, regime)
    s.armed, s.ratio, distrusted = s.seen[regime] >= s.learning, 0.0, False
    for side in range(2, -1, -1):
        limit = max(threshold(s, side, regime), s.floor / units[side])
        # A joint that slides feels a push on both sides; one that rests or reverses may hold it by friction. What the
        # spring showed before, alone, is no push.
        if side == 0:
            value, other = motor[0], spring[0] if s.since > 0.0 else change
        else:
            value, other = change if side == 1 else spring[0], motor[0]
        confirmed = other * value if slides else np.inf
        if side == 2:
            confirmed = min(confirmed, (value - (s.base[0] if slides else s.slid)) * value)
        alone = elastic and confirmed < 0.5 * value * value
        if not s.armed or not COUNTS[1 if elastic else 0, side, regime]:
            continue
        if alone or (elastic and side > 0 and doubted):
            distrusted = distrusted or errors[side] > limit
        else:
            s.ratio = max(s.ratio, errors[side] / limit)
    if distrusted:
        s.base[:] = now
    # What has begun goes on through a regime that cannot tell.
    over = s.ratio > 1.0 if s.armed else s.contact
    s.over = s.over + 1.0 if over else 0.0
    s.contact = s.over >= s.confirm
    count_contact(s)
    if adapted and not distrusted:
        s.stay += 1.0
        s.seen[regime] += 1.0
        for side in range(3):
            s.largest[side] = s.largest[side] if errors[side] <= s.largest[side] else errors[side]
    if not (over or distrusted) or s.since > s.patience:
        for i in range(3):
            s.base[i] += s.follow * (now[i] - s.base[i])


class ContactDetector:
    """Contact per joint from the external torque.

    Parameters
    ----------
    joints
        n.
    period
        s per sample.
    floor
        (n,) N·m, smallest external torque that counts.
    noise
        (n,) N·m, deviation of any torque; None: a sixth of `floor`.
    deviations
        threshold, as a multiple of the root mean square of the largest errors of visits in free motion, where these
        are many; d above.
    memory
        visits to a regime over which that is averaged.
    learning
        s in a regime before a joint is armed there.
    omega_min
        rad/s: a joint slower than a fifth of it for `settle` s is at rest; one faster than five times it for `slip` s
        is in slip; one that was faster than it within `confirm` s slides.
    confirm
        s for which a contact must last to be reported.
    patience
        s; a contact that lasts longer is an unknown load, and is learnt.

    Attributes
    ----------
    contact
        (n,) bool.
    armed
        (n,) bool, in the present regime.
    ratio
        (n,), error over threshold; a contact beyond 1.
    states
        (n,) of `CONTACT`, which `contact_step` takes.
    """

    contact, armed, ratio = Field(), Field(), Field()

    def __init__(
        self,
        joints: int,
        period: float,
        *,
        floor: ArrayLike,
        noise: ArrayLike | None = None,
        deviations: float = 4.0,
        memory: float = 100.0,
        learning: float = 5.0,
        omega_min: float = 0.01,
        settle: float = 0.15,
        slip: float = 0.08,
        confirm: float = 0.024,
        patience: float = 5.0,
    ) -> None:
        self.joints, self.period = int(joints), positive('period', period)
        self.floor = per_joint('floor', floor, self.joints)
        self.deviations, self.omega_min = positive('deviations', deviations), positive('omega_min', omega_min)
        names, times = ['learning', 'settle', 'slip', 'patience'], (learning, settle, slip, patience)
        self.states = filled(
            self.joints, CONTACT, floor=self.floor, deviations=self.deviations, omega_min=self.omega_min,
            noise=(self.floor / 6.0 if noise is None else per_joint('noise', noise, self.joints)) ** 2,
            memory=positive('memory', memory), confirm=max(int(np.ceil(confirm / self.period - 1e-6)), 1),
            calm=0.3 / self.period, visit=VISIT / self.period, follow=min(self.period / 0.2, 1.0),
            **{name: max(int(round(time / self.period)), 1) for name, time in zip(names, times, strict=True)},
        )  # fmt: skip
        self.states['slow'] = self.states['confirm']
        self._start = self.states.copy()

    def reset(self) -> None:
        """Forget the learnt levels and the present state."""
        self.states[:] = self._start

    def reset_signals(self) -> None:
        """Forget the present state, not the levels."""
        kept = ['seen', 'visits', 'squares']
        levels = self.states[kept].copy()
        self.states[:] = self._start
        self.states[kept] = levels

    @property
    def lasting(self) -> BoolArray:
        """Whether the contact lasts longer than the patience, (n,)."""
        return np.asarray(self.states['since'] > self.states['patience'])

    @property
    def level(self) -> Array:
        """Root mean square of what visits showed of each side in each regime, (3, 3, n), in stated deviations."""
        return np.sqrt(self.states['squares'].transpose(1, 2, 0))

    def update(
        self, motor: Array, spring: Array, lost: Array, elastic: BoolArray, doubted: BoolArray, omega: Array,
        adapted: BoolArray,
    ) -> BoolArray:  # fmt: skip
        """Take one sample and return `contact`.

        Parameters
        ----------
        motor, spring
            (2, n) N·m: torques less the link model's, and their deviations; of the spring with its lost motion taken
            off, of the motor side where there is no spring torque.
        lost
            (3, n) N·m: torque of the lost motion that was taken off, how wrong it may be, and the deviation of the link
            model's torque, with the sign of that torque; 0 where there is no spring torque.
        elastic, doubted
            (n,) bool: whether there is a spring torque, and whether its stiffness is in doubt.
        omega
            (n,) rad/s.
        adapted
            (n,) bool: only joints whose parameters have settled teach the levels.
        """
        for joint in zip(self.states, motor.T, spring.T, lost.T, elastic, doubted, omega, adapted, strict=True):
            contact_step(*joint)
        return self.contact
