"""The pace of simulated time: at most the requested rate, never too far ahead of its followers, and without gaps."""

from __future__ import annotations

import math

from joint_dynamics.errors import JointDynamicsError

#: A backlog of this much wall time is given up: simulated time runs slower then, it does not jump.
BACKLOG = 0.1


class Pace:
    """Gives the number of ticks to run now.

    Parameters
    ----------
    period
        of a tick, s.
    factor
        simulated seconds per second of wall time; 0: as fast as possible.
    batch
        largest number of ticks at once.
    max_lead
        largest lead of simulated time over the slowest follower, s.

    Attributes
    ----------
    followers
        simulated time up to which each follower has finished, s.
    waiting_for
        the slowest follower, while the simulation waits for it.
    """

    def __init__(self, period: float, *, factor: float = 1.0, batch: int = 10, max_lead: float = 0.1):
        self._period, self._batch, self.max_lead = period, batch, max_lead
        self.followers: dict[str, float] = {}
        self._anchor: tuple[float, int] | None = None
        self._window: tuple[float, int] | None = None
        self.factor = factor
        self.achieved = math.nan
        self.waiting_for = ''

    @property
    def factor(self) -> float:
        """Simulated seconds per second of wall time; 0: as fast as possible."""
        return self._factor

    @factor.setter
    def factor(self, value: float) -> None:
        if not 0.0 <= value < math.inf:
            raise JointDynamicsError(f'pace: expected a real time factor >= 0, found {value}')
        self._factor = value
        self._anchor = None

    def followed(self, name: str, time: float) -> None:
        """Note that follower `name` has finished everything up to simulated `time` [s]."""
        self.followers[name] = max(time, self.followers.get(name, -math.inf))

    def forget(self, name: str) -> None:
        """No longer wait for follower `name`."""
        self.followers.pop(name, None)

    def restart(self) -> None:
        """Restart the count of wall time, as after a pause."""
        self._anchor = self._window = None

    def due(self, wall: float, ticks: int) -> int:
        """Return how many ticks to run at wall time `wall` [s] after `ticks` done, at most a batch."""
        self._measure(wall, ticks)
        if self._factor == 0.0:
            due = self._batch
        else:
            if self._anchor is None:
                self._anchor = wall, ticks
            start, first = self._anchor
            # A tick is due when its time has begun; the small number keeps 0.002 / 0.001 at 2.
            due = math.floor((wall - start) * self._factor / self._period + 1e-6) + 1 + first - ticks
            if due * self._period > BACKLOG * self._factor + self._batch * self._period:
                self._anchor = wall, ticks
                due = self._batch
        due = min(due, self._batch)
        self.waiting_for = ''
        if self.followers:
            slowest = min(self.followers, key=lambda name: self.followers[name])
            allowed = math.floor((self.followers[slowest] + self.max_lead) / self._period + 1e-6) - ticks
            if allowed < due:
                due, self.waiting_for = allowed, slowest
                if allowed <= 0:
                    self._anchor = None
        return max(due, 0)

    def _measure(self, wall: float, ticks: int) -> None:
        if self._window is None:
            self._window = wall, ticks
        start, first = self._window
        if wall - start >= 1.0:
            self.achieved = (ticks - first) * self._period / (wall - start)
            self._window = wall, ticks
