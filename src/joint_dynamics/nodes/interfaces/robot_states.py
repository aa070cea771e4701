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

"""The state of a robot before and while it is moved: position, rest, and the age of its joint states."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from sensor_msgs.msg import JointState

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.interfaces.messages import seconds

REST = 0.2  # s without motion after which a robot counts as resting
OTHER_CLOCK = 86400.0  # s, difference of a stamp from the own clock beyond which it is of another kind of clock
MAX_LISTENING_STEP = 0.04  # s of listening time between two ticks; a stopped process takes no messages


class Listening:
    """Time that goes on while the executor comes round.

    Attributes
    ----------
    time
        for which messages could be taken, s.
    """

    def __init__(self) -> None:
        self.time = 0.0
        self._ticked = time.monotonic()

    def tick(self) -> None:
        """Let it go on; to be called every 20 ms of the wall by the executor that takes the messages."""
        now = time.monotonic()
        self.time += min(now - self._ticked, MAX_LISTENING_STEP)
        self._ticked = now


class JointStateSample(NamedTuple):
    """One joint's state: time of the sample [s] by its stamp (of arrival where it has none), position rad, speed rad/s.

    NaN where the message lacks them.
    """

    time: float
    q: float
    dq: float
    stamped: bool
    heard: float


class RobotStates:
    """The recent states of the joints, by name, from messages in any order that hold any of them.

    Parameters
    ----------
    joint_names: (n,). clock: returns the node's time [s].

    Attributes
    ----------
    listening
        the time in which messages could be taken.
    """

    def __init__(self, joint_names: Sequence[str], clock: Callable[[], float]):
        self.joint_names = tuple(joint_names)
        self._clock = clock
        self.recent: dict[str, deque[JointStateSample]] = {name: deque() for name in joint_names}
        self.listening = Listening()

    def take(self, message: JointState) -> None:
        """Take the joints of one message that are the robot's and have a finite position."""
        stamp = seconds(message.header.stamp)
        at = stamp or self._clock()
        for k, name in enumerate(message.name):
            recent = self.recent.get(name)
            if recent is None or k >= len(message.position) or not math.isfinite(message.position[k]):
                continue
            if recent and at < recent[-1].time:
                recent.clear()
            dq = message.velocity[k] if k < len(message.velocity) else math.nan
            recent.append(JointStateSample(at, message.position[k], dq, bool(stamp), self.listening.time))
            while len(recent) > 2 and at - recent[1].time >= REST:
                recent.popleft()

    def forget(self) -> None:
        """Forget all states: time went back."""
        for recent in self.recent.values():
            recent.clear()

    def missing(self) -> list[str]:
        """Return the joints no state of which has come."""
        return [name for name, recent in self.recent.items() if not recent]

    def stale(self, timeout: float) -> list[str]:
        """Return the joints no state of which could be taken in the last `timeout` s of listening."""
        return [
            name
            for name, recent in self.recent.items()
            if not recent or self.listening.time - recent[-1].heard > timeout
        ]

    @property
    def time(self) -> float:
        """Time of the newest sample [s] of the node's clock."""
        return max((recent[-1].time for recent in self.recent.values() if recent), default=-math.inf)

    @property
    def stamped(self) -> bool:
        """Whether the samples carry stamps."""
        return all(recent and recent[-1].stamped for recent in self.recent.values())

    @property
    def q(self) -> FloatArray:
        """Newest positions (n,) [rad]; NaN where there is none."""
        return np.array([recent[-1].q if recent else math.nan for recent in self.recent.values()])

    @property
    def dq(self) -> FloatArray:
        """Newest speeds (n,) [rad/s]: as published, otherwise from the positions of the last 0.2 s.

        NaN without both.
        """
        return np.array([_speed(recent) for recent in self.recent.values()])

    def resting(self, timeout: float, standstill: float) -> FloatArray | None:
        """Return the posture (n,) [rad] of a robot that has been at rest for 0.2 s; None while that is undecided.

        Parameters
        ----------
        timeout
            largest age of a state, by its stamp and by its arrival [s].
        standstill
            speed [rad/s] below which a joint rests, by the published speed and by the distance in 0.2 s.

        Raises
        ------
        JointDynamicsError
            When not all joints are told of, the states are old, or the robot moves.
        """
        if missing := self.missing():
            raise JointDynamicsError(f'start: expected fresh joint states, found {", ".join(missing)} missing')
        if stale := self.stale(timeout):
            raise JointDynamicsError(
                f'start: expected joint states younger than {timeout:g} s, found older ones of {", ".join(stale)}'
            )
        self._check_stamps(timeout)
        for name, recent in self.recent.items():
            positions = [state.q for state in recent]
            moved = (max(positions) - min(positions)) / REST
            speed = max([moved, *(abs(state.dq) for state in recent if not math.isnan(state.dq))])
            if not speed <= standstill:
                raise JointDynamicsError(
                    f'start: expected the robot at rest for {REST:g} s, found it moving at {speed:.3g} rad/s ({name})'
                )
        if any(recent[-1].time - recent[0].time < REST for recent in self.recent.values()):
            return None
        return self.q

    def _check_stamps(self, timeout: float) -> None:
        now = self._clock()
        for name, recent in self.recent.items():
            age = now - recent[-1].time
            if not abs(age) <= timeout:
                remedy = 'is the driver alive, and are the clocks of the machines the same?'
                if abs(age) > OTHER_CLOCK:
                    remedy = 'set use_sim_time alike for this node and for the publisher of joint_states'
                raise JointDynamicsError(
                    f'start: expected joint states stamped within {timeout:g} s of now, found {name} stamped'
                    f' {abs(age):.3g} s {"ago" if age > 0 else "ahead"}: {remedy}'
                )


def _speed(recent: deque[JointStateSample]) -> float:
    if not recent:
        return math.nan
    first, newest = recent[0], recent[-1]
    if math.isfinite(newest.dq):
        return newest.dq
    return (newest.q - first.q) / (newest.time - first.time) if newest.time > first.time else math.nan
