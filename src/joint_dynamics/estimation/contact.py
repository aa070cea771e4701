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

"""Detection of contacts: the external torque against the error level of each joint in free motion.

A joint is in one of three regimes: slip, presliding (between reversal and slip) or rest. In slip the motor side counts,
whose friction is known best there. Otherwise friction may hold any part of a push; then the torque of the spring, which
carries all of it, and its change within 0.2 s count. A sliding joint shows a push on both sides, so each side has to
confirm the other by half. A joint without a spring torque uses the motor side in slip and presliding, and its change at
rest.

Errors are in units of their stated deviations. A visit is a stay in one regime, at most 1 s; its largest error is
assumed to have a Rayleigh distribution. With the mean square m of N visits, the next one exceeds
√(N (e^{d²/N} − 1) m) with probability e^{−d²}: its square over m has an F distribution of 2 and 2 N degrees of freedom.
A visit teaches after its end, unless it ends in a contact, and at most the threshold.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.estimation_settings import per_joint, positive
from joint_dynamics.records import Field, KernelRecord

Array = FloatArray
SLIP, PRESLIDING, REST = range(3)
"""Regimes."""
MOTOR, CHANGE, SPRING = range(3)
"""Sides: the motor side, the change of the spring's torque, the spring's torque."""
COUNTS = np.array([[[1, 1, 0], [0, 0, 1], [0, 0, 0]], [[1, 0, 0], [0, 1, 1], [0, 1, 1]]], dtype=bool)
"""Whether a side counts in a regime, (without and with a spring torque, side, regime)."""

VISIT = 1.0  # s, longest visit
LOST_MOTION_ERROR = 0.3  # error of a change of the lost motion, relative
CONFIRMED = 0.5  # share of a push that the other side of a sliding joint has to show
CALM = 0.3  # s without detection after which a contact ends; reversals cross regimes in less
FOLLOW = 0.2  # s, time constant of the base that a change of the spring is measured from
RESTING = 0.2  # speed of a joint at rest, in omega_min
SLIPPING = 5.0  # speed of a joint in slip, in omega_min


class Contact(KernelRecord):
    """Contact detection of one joint: settings, state, then the learnt error levels."""

    floor: float  # N·m, smallest external torque that counts
    noise: float  # (N·m)², variance of any torque
    deviations: float  # d
    omega_min: float  # rad/s
    learning: float  # samples in a regime before the joint is armed there
    memory: float  # visits over which levels are averaged
    settle: float  # samples at rest before the regime is rest
    slip: float  # samples of slip before the regime is slip
    confirm: float  # samples over the threshold before a contact is reported
    patience: float  # samples after which a contact is an unknown load
    calm: float  # samples without detection after which a contact ends
    visit: float  # samples of the longest visit
    follow: float  # share per sample by which the base follows
    still: float  # samples at rest
    slow: float  # samples since the joint slid
    fast: float  # samples in slip
    over: float  # samples over the threshold
    since: float  # samples since the contact began, 0 without
    quiet: float  # samples since the last detection
    ratio: float  # error over threshold
    regime: float  # of the present visit
    stay: float  # samples of the present visit
    slid: float  # N·m, error of the spring that the motor side did not show when the joint slid last
    begun: bool  # whether there was a sample
    armed: bool  # whether the levels of the present regime are learnt
    contact: bool
    base: Annotated[FloatArray, 3]  # N·m, recent spring error, lost motion error and link model error
    largest: Annotated[FloatArray, 3]  # largest error of each side in the present visit, in deviations
    seen: Annotated[FloatArray, 3]  # samples in each regime
    visits: Annotated[FloatArray, 3]  # visits to each regime
    squares: Annotated[FloatArray, 3, 3]  # mean square of the largest errors, (side, regime)


@compiled
def regime_of(s: Contact, omega: float) -> tuple[int, bool]:
    """Return the regime of a joint at ω, and whether it slides."""
    speed = abs(omega)
    s.still = s.still + 1.0 if speed < RESTING * s.omega_min else 0.0
    s.slow = 0.0 if speed >= s.omega_min else s.slow + 1.0
    s.fast = 0.0 if speed < SLIPPING * s.omega_min else s.fast + 1.0
    return REST if s.still >= s.settle else SLIP if s.fast >= s.slip else PRESLIDING, s.slow < s.confirm


@compiled
def count_contact(s: Contact) -> None:
    """Count the samples since a contact began; it ends after `CALM` without detection."""
    s.quiet = 0.0 if s.contact else s.quiet + 1.0
    s.since = s.since + 1.0 if s.contact or (s.since > 0.0 and s.quiet < s.calm) else 0.0


@compiled
def threshold(s: Contact, side: int, regime: int) -> float:
    """Return the largest error expected in free motion, in stated deviations."""
    N = s.visits[regime]
    return np.sqrt(N * np.expm1(s.deviations * s.deviations / N) * s.squares[side, regime]) if N > 0.0 else np.inf


@compiled
def begin_visit(s: Contact, regime: int) -> None:
    """Learn from the visit that ends, unless in a contact that does not last; begin a visit to `regime`."""
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
def contact_step(
    s: Contact,
    motor: tuple[float, float],
    spring: tuple[float, float],
    lost: tuple[float, float, float],
    elastic: bool,
    doubted: bool,
    omega: float,
    adapted: bool,
) -> None:
    """Take one sample of one joint; arguments as of `ContactDetector.update`."""
    now = spring[0], LOST_MOTION_ERROR * lost[0], lost[2]
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
        # A sliding joint shows a push on both sides; at rest or reversal friction may hold it. An error that the spring
        # alone showed before is no push.
        if side == MOTOR:
            value, other = motor[0], spring[0] if s.since > 0.0 else change
        else:
            value, other = change if side == CHANGE else spring[0], motor[0]
        confirmed = other * value if slides else np.inf
        if side == SPRING:
            confirmed = min(confirmed, (value - (s.base[0] if slides else s.slid)) * value)
        alone = elastic and confirmed < CONFIRMED * value * value
        if not s.armed or not COUNTS[1 if elastic else 0, side, regime]:
            continue
        if alone or (elastic and side > MOTOR and doubted):
            distrusted = distrusted or errors[side] > limit
        else:
            s.ratio = max(s.ratio, errors[side] / limit)
    if distrusted:
        s.base[:] = now
    # A contact continues through a regime that is not armed.
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
        d: threshold for many visits, in root mean squares of their largest errors.
    memory
        visits to a regime over which the mean square is averaged.
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
        (n,) of `Contact`.
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

        def samples(time: float) -> int:
            return max(int(round(time / self.period)), 1)

        self.states = Contact.filled(
            self.joints,
            floor=self.floor,
            noise=(self.floor / 6.0 if noise is None else per_joint('noise', noise, self.joints)) ** 2,
            deviations=self.deviations,
            omega_min=self.omega_min,
            learning=samples(learning),
            memory=positive('memory', memory),
            settle=samples(settle),
            slip=samples(slip),
            confirm=max(int(np.ceil(confirm / self.period - 1e-6)), 1),
            patience=samples(patience),
            calm=CALM / self.period,
            visit=VISIT / self.period,
            follow=min(self.period / FOLLOW, 1.0),
        )
        self.states['slow'] = self.states['confirm']
        self._start = self.states.copy()

    def reset(self) -> None:
        """Forget the learnt levels and the present state."""
        self.states[:] = self._start

    def reset_signals(self) -> None:
        """Forget the present state and keep the levels."""
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
        """Root mean square of the largest errors of visits, (side, regime, joint), in stated deviations."""
        return np.sqrt(self.states['squares'].transpose(1, 2, 0))

    def update(
        self, motor: Array, spring: Array, lost: Array, elastic: BoolArray, doubted: BoolArray, omega: Array,
        adapted: BoolArray,
    ) -> BoolArray:  # fmt: skip
        """Take one sample and return `contact`.

        Parameters
        ----------
        motor, spring
            (2, n) N·m: torques less that of the link model, and their deviations. `spring` is without its lost motion;
            it is the motor side where there is no spring torque.
        lost
            (3, n) N·m: torque of the lost motion, its uncertainty, and the deviation of the link model with the sign of
            its torque; 0 where there is no spring torque.
        elastic, doubted
            (n,) bool: whether there is a spring torque, and whether its stiffness is in doubt.
        omega
            (n,) rad/s.
        adapted
            (n,) bool: whether the parameters of a joint have settled; only then it teaches the levels.
        """
        for joint in zip(self.states, motor.T, spring.T, lost.T, elastic, doubted, omega, adapted, strict=True):
            contact_step(*joint)
        return self.contact
