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

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.learning_kernels import contact_levels, contact_ratio
from joint_dynamics.estimation.recursive import per_joint, positive

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


class Evidence(NamedTuple):
    """One sample of the evidence of contacts, (n,) each, in N·m.

    Torques less the link model's, and their deviations.
    """

    motor: Array
    motor_deviation: Array
    # The spring's torque, its lost motion taken off; motor side's, where there is none.
    spring: Array
    spring_deviation: Array
    # Torque of the lost motion that was taken off, and how wrong it may be.
    lost: Array
    lost_uncertainty: Array
    # (n,) bool: whether there is a spring's torque, and whether its stiffness is in doubt.
    elastic: BoolArray
    doubted: BoolArray


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
    """

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
        self._noise = (self.floor / 6.0 if noise is None else per_joint('noise', noise, self.joints)) ** 2
        self.deviations, self.omega_min = positive('deviations', deviations), positive('omega_min', omega_min)
        self._memory, self._learning, self._settle, self._slip, self._patience = (
            max(int(round(time / self.period)), 1) for time in (memory, learning, settle, slip, patience)
        )
        self._confirm = max(int(np.ceil(confirm / self.period - 1e-6)), 1)
        self._forget = min(self.period / FORGET, 1.0)
        self._brief, self._calm = 0.25 / self.period, 0.3 / self.period
        self._follow = min(self.period / 0.2, 1.0)
        self._rows = np.arange(self.joints)
        self._fixed = np.array([self.floor, self._noise])
        times = self._learning, self._settle, self._slip, self._confirm
        self._ratio_numbers = tuple(
            float(number) for number in (self.deviations, self.omega_min, *times, MARGIN, CHANGE)
        )
        self._level_numbers = tuple(
            float(number)
            for number in (self._learning, self._memory, self._patience, self._forget, self._follow, BOUND)
        )
        self.reset()

    def reset(self) -> None:
        """Forget the learnt levels and the present state."""
        self._levels = np.zeros((2, 3, 3, self.joints))
        self._raised = np.ones(self.joints)
        self._seen = np.zeros((3, self.joints))
        self.reset_signals()

    def reset_signals(self) -> None:
        """Forget the present state, not the levels."""
        self._still, self._fast, self._one_way, self._since, self._quiet, self._worst, self._over, self.ratio = (
            np.zeros((8, self.joints))
        )
        self._base: Array | None = None
        self.contact, self.armed = np.zeros((2, self.joints), dtype=bool)

    @property
    def lasting(self) -> BoolArray:
        """Whether the contact lasts longer than the patience, (n,)."""
        return self._since > self._patience

    @property
    def level(self) -> Array:
        """Root mean square of the error of each side in each regime, (3, 3, n), in stated deviations."""
        return np.sqrt(self._levels[0])

    def update(self, evidence: Evidence, omega: Array, adapted: BoolArray) -> BoolArray:
        """Take one sample and return `contact`; omega rad/s, (n,).

        Adapted (n,) bool: only joints whose parameters have settled teach the levels.
        """
        if self._base is None:
            self._base = np.stack([evidence.spring, evidence.lost])
        scratch = np.empty((7, self.joints))
        counters = np.array([self._still, self._fast, self._one_way, self._over, self._raised, self.ratio, self.armed])
        self.contact = self.contact.copy()
        contact_ratio(
            np.array(evidence[:-2]), evidence.elastic, evidence.doubted, omega, COUNTS, self._ratio_numbers,
            self._fixed, self._levels, self._seen, counters, self._base, self.contact, scratch,
        )  # fmt: skip
        self._still, self._fast, self._one_way, self._over, _, self.ratio, armed = counters
        self.armed = armed != 0.0
        self._events()
        contact_levels(adapted, self._since, self._level_numbers, self._levels, self._seen, self._base, scratch)
        return self.contact

    def _events(self) -> None:
        """Count how long contacts last; raise the threshold of a joint after what was brief and only just over it.

        A contact is over when there was none for 0.3 s: joints that reverse pass through regimes of another threshold.
        """
        self._raised -= self._forget * (self._raised - 1.0)
        if not (self.contact.any() or self._since.any()):
            return
        self._worst = np.where(self.contact, np.maximum(self._worst, self.ratio), self._worst)
        self._quiet = np.where(self.contact, 0.0, self._quiet + 1.0)
        ended = (self._since > 0) & (self._quiet >= self._calm)
        over = ended & (self._since - self._quiet < self._brief) & (self._worst < 1.5)
        self._raised[over] = np.minimum(self._raised[over] * 1.1 * self._worst[over], 2.0)
        self._worst[ended] = 0.0
        self._since = np.where(~ended & (self.contact | (self._since > 0)), self._since + 1.0, 0.0)
