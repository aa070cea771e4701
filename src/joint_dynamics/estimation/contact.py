"""When an external torque is a contact: against what the model's error usually is, learnt per joint in free motion.

The error depends on what the joint does, and so each of three regimes has a level of its own: settled slip, where the friction model is best;
presliding, where friction depends on movements below one encoder count; and rest, where neither friction nor lost motion changes, so that a
change of the spring's torque within a fifth of a second is watched instead of the torque itself. Errors count in units of the deviation
that the fusion states, so that a level learnt under one load holds under another. What was only just over the threshold, and briefly, raises
it for some minutes: a task has the same worst moments again and again.
"""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.estimation.recursive import per_joint, positive

Array = NDArray[np.float64]
SLIP, PRESLIDING, REST = range(3)


class ContactDetector:
    """Contact per joint from the external torque.

    joints n; period s; floor N·m, (n,): smallest external torque that counts.
    deviations  threshold over the root mean square of the error in free motion.
    memory      s in a regime over which that is taken; learning s: as long a joint is not armed in a regime.
    omega_min   rad/s: a joint slower than a fifth of it for `settle` s is at rest, one faster than five times it for `slip` s is in slip.
    patience    s: a contact that lasts longer is a load that the model does not know, and is learnt.

    `contact` (n,) bool; `armed` (n,) bool, in the present regime; `lasting` (n,) bool, longer than `patience`; `threshold` (n,) N·m;
    `level` (3, n), the errors' root mean square in slip, presliding and rest, in stated deviations.
    """

    def __init__(self, joints: int, period: float, *, floor: ArrayLike, deviations: float = 6.0, memory: float = 30.0, learning: float = 5.0,
                 omega_min: float = 0.01, settle: float = 0.3, slip: float = 0.06, patience: float = 5.0) -> None:
        self.joints, self.period = int(joints), positive('period', period)
        self.floor = per_joint('floor', floor, self.joints)
        self.deviations, self.omega_min = positive('deviations', deviations), positive('omega_min', omega_min)
        self._memory, self._learning, self._settle, self._slip, self._patience = (
            max(int(round(time / self.period)), 1) for time in (memory, learning, settle, slip, patience))
        self._forget = min(self.period / 600.0, 1.0)
        self._brief = 0.25 / self.period
        self._follow = min(self.period / 0.2, 1.0)
        self._rows = np.arange(self.joints)
        self.reset()

    def reset(self) -> None:
        """Forget what was learnt."""
        self._square = np.zeros((3, self.joints))
        self._raised = np.ones(self.joints)
        self._seen = np.zeros((3, self.joints))
        self.reset_signals()

    def reset_signals(self) -> None:
        """Forget the present state, not the levels."""
        self._still, self._fast, self._since, self._baseline, self._worst = np.zeros((5, self.joints))
        self.contact = np.zeros(self.joints, dtype=bool)
        self.threshold = np.full(self.joints, np.inf)

    @property
    def armed(self) -> NDArray[np.bool_]:
        """Whether there is a threshold in the present regime, (n,)."""
        return np.isfinite(self.threshold)

    @property
    def lasting(self) -> NDArray[np.bool_]:
        """Whether the contact lasts longer than the patience, (n,)."""
        return self._since > self._patience

    @property
    def level(self) -> Array:
        """Root mean square of the error in slip, presliding and at rest, (3, n), in stated deviations."""
        return np.sqrt(self._square)

    def update(self, external: Array, deviation: Array, spring: Array, spring_deviation: Array, omega: Array,
               adapted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Take one sample, (n,) each, and return `contact`.

        external, deviation         external torque and its stated deviation, N·m
        spring, spring_deviation    spring's torque less the link model's, N·m (motor side's, where there is no spring), and its deviation
        omega                       rad/s
        adapted                     joints whose parameters have settled: only these teach the levels
        """
        speed = np.abs(omega)
        self._still += 1.0
        self._still[speed >= 0.2 * self.omega_min] = 0.0
        self._fast += 1.0
        self._fast[speed < 5.0 * self.omega_min] = 0.0
        rest = self._still >= self._settle
        regime = np.where(rest, REST, np.where(self._fast >= self._slip, SLIP, PRESLIDING))
        where = (regime, self._rows)
        change = spring - self._baseline
        unit = np.where(rest, spring_deviation, deviation)
        value = np.abs(np.where(rest, change, external))
        square, seen = self._square[where], self._seen[where]
        limit = np.maximum(self.deviations * np.sqrt(square) * unit, self.floor) * self._raised
        limit[seen < self._learning] = np.inf
        self.threshold = limit
        self.contact = value > limit
        self._events(value, limit)
        known = ~self.contact | (self._since > self._patience)
        learn = known & adapted
        # One sample adds a bounded amount, so that a push that just misses the threshold does not raise it much.
        bounded = np.minimum((value / unit) ** 2, np.where(seen < self._learning, np.inf, 9.0 * square))
        self._square[where] = square + learn * (bounded - square) / np.minimum(seen + 1.0, self._memory)
        self._seen[where] = seen + learn
        self._baseline += np.where(self._still < self._settle, 1.0, self._follow * known) * change
        return self.contact

    def _events(self, value: Array, limit: Array) -> None:
        """Count how long contacts last; raise the threshold of a joint after what was brief and only just over it."""
        self._raised -= self._forget * (self._raised - 1.0)
        if not (self.contact.any() or self._since.any()):
            return
        over = ~self.contact & (self._since > 0) & (self._since < self._brief) & (self._worst < 1.5)
        self._raised[over] = np.minimum(self._raised[over] * 1.1 * self._worst[over], 2.0)
        self._worst = np.where(self.contact, np.maximum(self._worst, value / limit), 0.0)
        self._since = np.where(self.contact, self._since + 1.0, 0.0)
