"""What a control loop and its gate allow: settings, the safety gate, and the hand-over from one source to another.

The gate between law and wire: finite, limited in torque and in rate, and on any fault a ramp to what is safe.

    u(k) = clip(clip(w u_law + (1 − w) u_safe, u(k−1) ± r T), ±u_max)

The weight w falls from 1 to 0 within the ramp time while there is a fault (u_law then stays at its last good value) and
rises again when it is over, so that no fault, however short or often, makes a step. u_safe is gravity alone, or zero. A
failure (an exception in a law, a command that is not finite) is a fault that stays until the gate is opened again, and
its u_safe is zero.

The ramp ends in time because the rate allows it: r t_ramp ≥ 2 u_max is required.

From one source of commands to another there is no step: what they differ by fades out.

    u(t) = u_new(t) + (1 − t/T) (u_old − u_new(0)) for 0 ≤ t < T, and u_new(t) from then on.

The first u_old is what the joints bear when the loop takes over from a controller that it knows nothing of
(`taken_over`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.control.loop_sample import BOUND, GATE, HANDOVER, NO_SOURCE, Gate, gate_step
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import PerJoint, Settings, setting


@dataclass(frozen=True)
class LoopSettings(Settings):
    """What the loop and its gate allow."""

    effort_limit: PerJoint | None = setting(
        None,
        'largest command of each joint',
        'N·m',
        above=0,
        infinite=True,
        none='the effort limit of the URDF, which it cannot exceed',
    )
    effort_rate: PerJoint | None = setting(
        None,
        'largest change of the command of each joint',
        'N·m/s',
        above=0,
        infinite=True,
        none='50 limits per second',
    )
    ramp_time: float = setting(0.5, 'time from a fault to the safe command', 's', lower=0.01, upper=10)
    safe: str = setting(
        'gravity',
        'what is commanded on a fault: gravity, that of the arm where it is (nothing where `gravity` is false); zero',
        choices=('gravity', 'zero'),
    )
    timeout: float = setting(0.05, 'largest age of joint states and set points', 's', lower=0.001, upper=5)
    slow_timeout: float = setting(
        10.0, 'largest age of temperatures and of the parameters of the estimator', 's', lower=0.1, upper=3600
    )
    max_period: float = setting(0.02, 'longest step that counts in full', 's', above=0)
    tracking: float = setting(
        0.5, 'largest distance of the link from the desired position', 'rad', lower=0.001, upper=10
    )
    velocity_margin: float = setting(
        1.2, 'largest speed, measured and desired, as a multiple of the limit in the URDF', lower=0.1, upper=10
    )
    position_margin: float = setting(
        0.05, 'how far beyond the limits in the URDF a desired position may be', 'rad', lower=0, upper=10
    )
    jump_margin: float = setting(
        0.01,
        'what a measured position may jump by between two samples beyond what the largest speed allows: resolution '
        'of the encoder, jitter of the stamps',
        'rad',
        lower=0,
        upper=10,
    )
    holds_gravity: bool = setting(True, "whether the command holds gravity, see the laws' parameter `gravity`")


class SafetyGate:
    """Gate of n joints; closed (no command at all) until opened. `loop_sample.gate_step` has the step.

    limit: largest command (n,) > 0, finite. rate: largest change per second (n,) > 0. ramp_time: s, of the way to the
    safe command.
    max_period: s, a longer step counts as this long, so that a pause does not buy a jump. Units of limit and rate are
    those of the command.

    Attributes
    ----------
    constants
        `Gate`, settings and state.
    limited
        (n,) joints that were limited in torque or rate in the last step.
    """

    def __init__(self, limit: ArrayLike, rate: ArrayLike, ramp_time: float, *, max_period: float = 0.02):
        self.limit = np.array(limit, dtype=float)
        self.rate = np.array(rate, dtype=float)
        n = self.limit.shape
        if (
            self.limit.ndim != 1
            or self.rate.shape != n
            or not np.all(np.isfinite(self.limit))
            or np.any(self.limit <= 0)
        ):
            raise JointDynamicsError(
                'gate: expected finite torque limits > 0 of every joint (effort in the URDF, or a parameter), found '
                f'{self.limit.tolist()}'
            )
        if not (np.isfinite(ramp_time) and ramp_time > 0 and np.isfinite(max_period) and max_period > 0):
            raise JointDynamicsError(
                f'gate: expected ramp_time and max_period > 0 s, found {ramp_time} and {max_period}'
            )
        if not np.all(self.rate * ramp_time >= 2 * self.limit * (1 - 1e-9)):
            raise JointDynamicsError(
                'gate: expected rate limits of at least 2 limit / ramp_time, so that the ramp ends in time: '
                f'{(2 * self.limit / ramp_time).tolist()}, found {self.rate.tolist()}'
            )
        self.ramp_time = float(ramp_time)
        self.max_period = float(max_period)
        state, bounds = np.zeros(1, GATE), np.zeros(n, BOUND)
        state['ramp_time'], state['max_period'] = self.ramp_time, self.max_period
        bounds['limit'], bounds['rate'] = self.limit, self.rate
        law, last, safe, command = np.zeros((4, *n))
        self.constants = Gate(state, bounds, law, last, safe, command, np.zeros(n, dtype=bool))
        self._failure = ''

    @property
    def limited(self) -> BoolArray:
        """Joints (n,) that were limited in torque or rate in the last step."""
        return self.constants.limited

    @property
    def is_open(self) -> bool:
        """Whether it gives commands."""
        return bool(self.constants.state['open'][0])

    @property
    def weight(self) -> float:
        """w: 1 law, 0 safe command."""
        return float(self.constants.state['weight'][0])

    @property
    def failure(self) -> str:
        """Why it has failed for good, '' when it has not."""
        if self.constants.state['failed'][0] == 2 and not self._failure:
            self._failure = f'the law gave a command that is not finite: {self.constants.command.tolist()}'
        return self._failure

    @property
    def last(self) -> FloatArray:
        """The last command (n,) that went out; zeros before the first."""
        return self.constants.last.copy()

    def open(self, begin: FloatArray | None = None, *, taken_over: bool = False) -> None:
        """Begin, without a failure, with the weight of the law rising.

        Parameters
        ----------
        begin
            (n,) what the joints bear at this moment, finite, from which on the rate counts; None: nothing.
        taken_over
            whether that is to be gone on with until a law commands: it counts as the last command of a law, in full.
        """
        gate, state = self.constants, self.constants.state
        gate.last[:] = 0.0 if begin is None else self.bounded(begin)
        gate.law[:] = gate.last
        self._failure = ''
        state['failed'], state['open'], state['has_law'], state['weight'] = 0, 1, taken_over, float(taken_over)
        gate.limited[:] = False

    def fail(self, reason: str) -> None:
        """Go to zero and stay there until opened again."""
        self._failure = self.failure or reason
        self.constants.state['failed'] = 1

    def step(
        self, command: FloatArray | None, safe: FloatArray, period: float, *, fallback: bool = False
    ) -> FloatArray | None:
        """Return the next command (n,), or None when closed.

        command: of the law, or None when there is none. safe: the safe command; what of it is not finite counts as
        zero.
        period: s since the last step; 0, negative or not a number: no time has passed, and nothing changes.
        """
        if not self.is_open:
            return None
        gate = self.constants
        gate.safe[:] = safe
        given = command is not None and not fallback
        if given:
            gate.command[:] = command
        gate_step(gate, given, True, float(period))
        return self.last

    def close(self, period: float) -> Iterator[FloatArray]:
        """Yield the commands that end at zero, one per `period` s, within the ramp time; then the gate is closed.

        Sent without waiting they are the fastest way down; the last is exactly zero.
        """
        if not self.is_open:
            return
        gate = self.constants
        reach = self.rate * min(period, self.max_period)
        steps = int(np.ceil(np.max(np.abs(gate.last) / reach, initial=0.0)))
        try:
            for _ in range(steps):
                gate.last[:] -= np.clip(gate.last, -reach, reach)
                yield self.last
            yield np.zeros_like(self.limit)
        finally:
            gate.last[:] = 0.0
            self.release()

    def release(self) -> None:
        """Close without a further command: whoever takes them goes on with the last."""
        self.constants.state['open'], self.constants.state['weight'] = 0, 0.0

    def bounded(self, safe: FloatArray) -> FloatArray:
        """Return a safe command (n,) within the limits; what of it is not finite counts as zero."""
        return np.clip(np.where(np.isfinite(safe), safe, 0.0), -self.limit, self.limit)


REST = 1e-9
"""rad/s, of joints that are about to move: friction there is what holds them at rest at most."""


class Handover:
    """The command of n joints, continuous when its source changes; `loop_sample.blend` has the step.

    Attributes
    ----------
    constants, rest
        (1,) of `loop_sample.HANDOVER`, settings and state; (n,) the difference that fades.
    """

    def __init__(self, joints: int, time: float = 0.0):
        self.constants, self.rest = np.zeros(1, HANDOVER), np.zeros(joints)
        self.time = time

    @property
    def time(self) -> float:
        """T [s]; 0: the new source counts at once. Settable."""
        return float(self.constants['time'][0])

    @time.setter
    def time(self, value: float) -> None:
        self.constants['time'] = value

    def clear(self, source: int = NO_SOURCE) -> None:
        """Forget where commands came from; they come from `source` (of `loop_sample`) now."""
        self.constants['source'], self.constants['share'] = source, 0.0


def taken_over(
    arm: Arm, q: FloatArray, measured: FloatArray, left: FloatArray, *, holds_gravity: bool = True
) -> FloatArray | None:
    """Return the torque (n,) N·m with which whoever had the joints before holds them, None where nothing tells.

    What is measured tells it; else what stands on the command interface, where it can be what holds the arm: a
    torque that was left there long ago, for another posture, is not within friction of gravity. Zeros tell nothing: a
    trajectory controller leaves them when it ends, and a driver that measures no torque may show them.

    Parameters
    ----------
    arm
        whose gravity and friction they are.
    q
        (n,) rad, where it is.
    measured, left
        (n,) N·m: of the motors, gravity in it; the last command that stands there. NaN: not known.
    holds_gravity
        whether a command holds gravity, or the robot adds that itself.
    """
    gravity = arm.rigid.gravity(q)
    added = np.zeros(arm.n) if holds_gravity else gravity
    if _tells(measured):
        return measured - added
    speed = np.outer([-REST, REST], np.ones(arm.n))
    low, high = gravity - added + arm.friction_torque(np.sign(speed), speed, np.tile(gravity, (2, 1)))
    return left if _tells(left) and np.all((low <= left) & (left <= high)) else None


def _tells(torque: FloatArray) -> bool:
    return bool(np.isfinite(torque).all() and torque.any())
