"""Settings of a control loop, its safety gate, and the hand-over from one source of commands to another.

The gate passes only commands that are finite and limited in torque and rate; on any fault it ramps to a safe command.

    u(k) = clip(clip(w u_law + (1 − w) u_safe, u(k−1) ± r T), ±u_max)

The weight w falls from 1 to 0 within the ramp time during a fault (u_law then stays at its last valid value) and rises
again afterwards, so that no fault, however short or frequent, causes a step. u_safe is gravity alone, or zero. A
failure (an exception in a law, a command that is not finite) is a fault that lasts until the gate is opened again, with
a u_safe of zero.

The ramp ends in time because the rate allows it: r t_ramp ≥ 2 u_max is required.

A change of source causes no step, because the difference fades out:

    u(t) = u_new(t) + (1 − t/T) (u_old − u_new(0)) for 0 ≤ t < T, and u_new(t) from then on.

The first u_old is the torque that holds the joints when the loop takes over from an unknown controller (`taken_over`).
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
    """Settings of a control loop and its gate."""

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

    Parameters
    ----------
    limit
        largest command (n,), > 0, finite, in the unit of the command.
    rate
        largest change per second (n,), > 0.
    ramp_time
        s, to the safe command.
    max_period
        s; a longer step counts as this long, so that a pause does not permit a jump.

    Attributes
    ----------
    constants
        `Gate`, settings and state.
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
            (n,) the command to begin with, finite, from which the rate is limited; None: zeros.
        taken_over
            whether to continue with it until a law commands, as if it were the last command of a law.
        """
        gate, state = self.constants, self.constants.state
        gate.last[:] = 0.0 if begin is None else self.bounded(begin)
        gate.law[:] = gate.last
        self._failure = ''
        state['failed'], state['open'], state['has_law'], state['weight'] = 0, 1, taken_over, float(taken_over)
        gate.limited[:] = False

    def fail(self, reason: str) -> None:
        """Ramp to zero and stay there until opened again."""
        self._failure = self.failure or reason
        self.constants.state['failed'] = 1

    def step(self, command: FloatArray | None, safe: FloatArray, period: float) -> FloatArray | None:
        """Return the next command (n,), or None when closed.

        Parameters
        ----------
        command
            of the law (n,), or None when there is none.
        safe
            the safe command (n,); entries that are not finite count as zero.
        period
            s since the last step; with 0, a negative value or NaN nothing changes.
        """
        if not self.is_open:
            return None
        gate = self.constants
        gate.safe[:] = safe
        if command is not None:
            gate.command[:] = command
        gate_step(gate, command is not None, float(period))
        return self.last

    def close(self, period: float) -> Iterator[FloatArray]:
        """Yield commands, one per `period` s, that reach exactly zero within the ramp time; then the gate is closed.

        Sent without waiting, they bring the command down fastest.
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
        """Close without a further command; the receiver continues with the last."""
        self.constants.state['open'], self.constants.state['weight'] = 0, 0.0

    def bounded(self, safe: FloatArray) -> FloatArray:
        """Return a safe command (n,) clipped to the limits; entries that are not finite count as zero."""
        return np.clip(np.where(np.isfinite(safe), safe, 0.0), -self.limit, self.limit)


REST = 1e-9
"""rad/s, of joints that are about to move: friction there is what holds them at rest at most."""


class Handover:
    """The command of n joints, continuous when its source changes; `loop_sample.blend` has the step.

    Attributes
    ----------
    constants
        (1,) of `loop_sample.HANDOVER`, settings and state.
    rest
        (n,) the difference that fades.
    """

    def __init__(self, joints: int, time: float = 0.0):
        self.constants, self.rest = np.zeros(1, HANDOVER), np.zeros(joints)
        self.time = time

    @property
    def time(self) -> float:
        """T [s]; 0: the new source applies at once. May be set."""
        return float(self.constants['time'][0])

    @time.setter
    def time(self, value: float) -> None:
        self.constants['time'] = value

    def clear(self, source: int = NO_SOURCE) -> None:
        """Drop any remaining difference; commands come from `source` (of `loop_sample`) from now on."""
        self.constants['source'], self.constants['share'] = source, 0.0


def taken_over(
    arm: Arm, q: FloatArray, measured: FloatArray, left: FloatArray, *, holds_gravity: bool = True
) -> FloatArray | None:
    """Return the torque (n,) N·m with which the previous controller holds the joints, None where it is unknown.

    It is the measured torque or, failing that, the last command on the interface, if that can hold the arm: a torque
    left there for another posture differs from gravity by more than friction. Zeros say nothing: a trajectory
    controller leaves them when it ends, and a driver that measures no torque may report them.

    Parameters
    ----------
    arm
        provides gravity and friction.
    q
        (n,) rad, its position.
    measured
        (n,) N·m, torque of the motors, gravity included; NaN: unknown.
    left
        (n,) N·m, the last command on the interface; NaN: unknown.
    holds_gravity
        whether commands include gravity; False: the robot adds it itself.
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
