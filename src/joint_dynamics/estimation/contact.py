"""Detection of contacts from the external torque, against the usual model error, learnt per joint in free motion.

Which side shows a push depends on the state of the joint. In settled slip it is the motor side, whose friction is known
best there. Otherwise, between reversal and slip and at rest, friction may take any part of a push, but the spring
carries all of it: there the spring's torque is used, less its lost motion, and its change within a fifth of a second,
in which neither the model error nor the play changes much. A joint that slides, however slowly, feels a push on both
sides: what the spring shows and the motor side does not by half is an error of its stiffness. For a joint without a
spring torque, the motor side is used in slip and presliding, and its change at rest.

Every error is measured in units of its stated deviation, so that a level learnt under one load holds under another. The
threshold is a multiple of the usual error, and at least one and a half times the largest of the last ten minutes. An
error that exceeded it only slightly and briefly raises it for some minutes, because a task repeats its worst moments.
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
# Threshold over the largest error; s after which that is forgotten; errors beyond so many usual ones teach no more than
# that.
MARGIN, FORGET, BOUND = 1.5, 600.0, 10.0
# Share of a change of the lost motion that is not known.
CHANGE = 0.3


CONTACT = record(
    'floor noise deviations omega_min learning memory settle slip confirm patience brief calm forget follow '
    'still fast one_way over since quiet raised ratio worst', 'begun armed contact',
    base=(2,), seen=(3,), squares=(3, 3), largest=(3, 3),
)  # fmt: skip
"""Settings of one joint: N·m, (N·m)²; rad/s; times in samples; shares per sample by which largest errors are forgotten
and the base follows. Its state: samples at rest, in slip, one way (with its sign), over the threshold, of contact,
since it was felt last; factor of the threshold; error over threshold, now and at worst; torque of the spring and of its
lost motion, N·m; samples in each regime; mean squares and largest errors of each side in each regime, in stated
deviations."""


@compiled
def regime_of(s, omega):  # type: ignore[no-untyped-def]
    """Return the regime of a joint at ω, and whether it slides."""
    speed = abs(omega)
    s.still = s.still + 1.0 if speed < 0.2 * s.omega_min else 0.0
    way = 0.0 if speed < s.omega_min else np.sign(omega)
    s.one_way = s.one_way + way if way * s.one_way > 0.0 else way
    s.fast = 0.0 if speed < 5.0 * s.omega_min else s.fast + 1.0
    return REST if s.still >= s.settle else SLIP if s.fast >= s.slip else PRESLIDING, abs(s.one_way) >= s.slip


@compiled
def count_events(s):  # type: ignore[no-untyped-def]
    """Count how long a contact lasts; raise the threshold after what was brief and only just over it.

    A contact is over when there was none for 0.3 s: joints that reverse pass through regimes of another threshold.
    """
    s.raised -= s.forget * (s.raised - 1.0)
    if s.contact:
        s.worst, s.quiet = max(s.worst, s.ratio), 0.0
    else:
        s.quiet += 1.0
    ended = s.since > 0.0 and s.quiet >= s.calm
    if ended:
        if s.since - s.quiet < s.brief and s.worst < 1.5:
            s.raised = min(s.raised * 1.1 * s.worst, 2.0)
        s.worst = 0.0
    s.since = s.since + 1.0 if not ended and (s.contact or s.since > 0.0) else 0.0


@compiled
def learn_levels(s, regime, errors):  # type: ignore[no-untyped-def]
    """Learn mean and largest of the errors (3,) in a regime."""
    count = s.seen[regime]
    for side in range(3):
        error, square = errors[side], s.squares[side, regime]
        taken, peak = error * error, error
        # One sample adds a bounded amount, so that a push that just misses the threshold raises it little.
        if count >= s.learning:
            taken, peak = min(taken, 9.0 * square), min(error, BOUND * np.sqrt(square))
        s.squares[side, regime] = square + (taken - square) / min(count + 1.0, s.memory)
        s.largest[side, regime] = max(s.largest[side, regime] * (1.0 - s.forget), peak)
    s.seen[regime] = count + 1.0


@compiled
def contact_step(s, motor, spring, lost, elastic, doubted, omega, adapted):  # type: ignore[no-untyped-def]
    """`ContactDetector.update` of one joint: s of `CONTACT`.

    motor, spring: torque less the link model's and its deviation; lost: torque of the lost motion that was taken off,
    and how wrong it may be. N·m.
    """
    if not s.begun:
        s.base[0], s.base[1], s.begun = spring[0], lost[0], True
    regime, slides = regime_of(s, omega)
    change, change_lost = spring[0] - s.base[0], lost[0] - s.base[1]
    of_change = CHANGE * change_lost
    units = (
        np.sqrt(motor[1] * motor[1] + s.noise),
        np.sqrt(of_change * of_change + lost[1] * lost[1] + s.noise),
        np.sqrt(spring[1] * spring[1] + s.noise),
    )
    errors = abs(motor[0]) / units[0], abs(change) / units[1], abs(spring[0]) / units[2]
    learning, most, distrusted = s.seen[regime] < s.learning, 0.0, False
    for side in range(3):
        limit = max(s.deviations * np.sqrt(s.squares[side, regime]), MARGIN * s.largest[side, regime])
        limit = max(limit, s.floor / units[side]) * s.raised
        if learning or not COUNTS[1 if elastic else 0, side, regime]:
            continue
        # A joint that slides feels a push on both sides; one that rests or reverses may hold it by friction.
        value = change if side == 1 else spring[0]
        if elastic and regime > 0 and (doubted or (slides and motor[0] * value < 0.5 * value * value)):
            distrusted = distrusted or errors[side] > limit
        else:
            most = max(most, errors[side] / limit)
    if distrusted:
        s.base[0], s.base[1] = spring[0], lost[0]
    # What has begun goes on through a regime that cannot tell.
    over = s.contact if learning else most > 1.0
    s.over = s.over + 1.0 if over else 0.0
    s.ratio, s.armed, s.contact = most, not learning, s.over >= s.confirm
    count_events(s)
    if (over or distrusted) and not s.since > s.patience:
        return
    if adapted:
        learn_levels(s, regime, errors)
    s.base[0] += s.follow * change
    s.base[1] += s.follow * change_lost


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
        threshold, as a multiple of the root mean square of the error in free motion.
    memory
        s in a regime over which that is averaged.
    learning
        s in a regime before a joint is armed there.
    omega_min
        rad/s: a joint slower than a fifth of it for `settle` s is at rest; one faster than five times it for `slip` s
        is in slip; one that moves one way faster than it for as long slides.
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
        deviations: float = 6.0,
        memory: float = 30.0,
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
        names, times = ['memory', 'learning', 'settle', 'slip', 'patience'], (memory, learning, settle, slip, patience)
        self.states = filled(
            self.joints, CONTACT, floor=self.floor, raised=1.0, deviations=self.deviations, omega_min=self.omega_min,
            noise=(self.floor / 6.0 if noise is None else per_joint('noise', noise, self.joints)) ** 2,
            confirm=max(int(np.ceil(confirm / self.period - 1e-6)), 1), brief=0.25 / self.period,
            calm=0.3 / self.period, forget=min(self.period / FORGET, 1.0), follow=min(self.period / 0.2, 1.0),
            **{name: max(int(round(time / self.period)), 1) for name, time in zip(names, times, strict=True)},
        )  # fmt: skip
        self._start = self.states.copy()

    def reset(self) -> None:
        """Forget the learnt levels and the present state."""
        self.states[:] = self._start

    def reset_signals(self) -> None:
        """Forget the present state, not the levels."""
        kept = ['raised', 'seen', 'squares', 'largest']
        levels = self.states[kept].copy()
        self.states[:] = self._start
        self.states[kept] = levels

    @property
    def lasting(self) -> BoolArray:
        """Whether the contact lasts longer than the patience, (n,)."""
        return np.asarray(self.states['since'] > self.states['patience'])

    @property
    def level(self) -> Array:
        """Root mean square of the error of each side in each regime, (3, 3, n), in stated deviations."""
        return np.sqrt(self.states['squares'].transpose(1, 2, 0))

    def update(
        self, motor: Array, spring: Array, lost: Array, elastic: BoolArray, doubted: BoolArray, omega: Array,
        adapted: BoolArray,
    ) -> BoolArray:  # fmt: skip
        """Take one sample and return `contact`.

        Parameters
        ----------
        motor, spring, lost
            (2, n) N·m: torques less the link model's, and their deviations; the spring's with its lost motion taken
            off, and of that; the motor side's and 0 where there is no spring torque.
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
