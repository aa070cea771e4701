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

"""Test motions of one joint, the others at rest: constant speeds, trapezoids, slow reversals, load sweep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.trajectory import JointPieces, PiecewiseTrajectory, at_rest
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import Settings, refusal, setting


def single_joint(model: RobotModel, joint: str, posture: FloatArray, pieces: JointPieces) -> PiecewiseTrajectory:
    """Return the motion of one joint with the others at rest at `posture` (n,)."""
    return PiecewiseTrajectory(model.joint_names, list({**at_rest(model.joint_names, posture), joint: pieces}.values()))


def _range(
    limits: MotionLimits, index: int, start: float | None, stop: float | None, span: float | None, where: str
) -> tuple[float, float]:
    """Return start and stop: those given, or `span` about the middle of the allowed range, or all of it."""
    middle, half = limits.middle[index], limits.half_range[index]
    if span is not None:
        half = min(half, span / 2)
    low = middle - half if start is None else float(start)
    high = middle + half if stop is None else float(stop)
    if low == high:
        raise JointDynamicsError(f'{where}: expected start ≠ stop, found {low:.6g} rad for both')
    return low, high


def _some(speeds: Sequence[float]) -> str | None:
    return None if speeds else 'at least one speed'


@dataclass(frozen=True)
class ConstantSpeed(Settings):
    """Sweeps to and fro at constant speeds [M4 4.2.1], for friction against speed, temperature or load."""

    SECTION = 'constant_speed'

    joint: str = setting(..., 'name of the joint that moves')
    start: float | None = setting(
        None, 'one end of every sweep', 'rad', none='45° below the middle of the allowed range'
    )
    stop: float | None = setting(None, 'its other end', 'rad', none='45° above that middle')
    speeds: Sequence[float] | None = setting(
        None,
        'speeds of the sweeps, each in both directions',
        'rad/s',
        above=0,
        none='eight, from 2 % of the allowed speed to the fastest with half of the way at constant speed',
        check=_some,
    )
    acceleration: float | None = setting(None, 'acceleration at the ends', 'rad/s²', above=0, none='the allowed one')
    rest: float = setting(0.5, 'stop at every end', 's', lower=0, upper=3600)
    cycles: int = setting(1, 'repetitions of the whole motion', lower=1, upper=1000)

    def build(self, model: RobotModel, limits: MotionLimits, posture: FloatArray) -> PiecewiseTrajectory:
        """Return the motion."""
        index, where = joint_index(model, self.joint), 'constant_speed'
        low, high = _range(limits, index, self.start, self.stop, np.pi / 2, where)
        acceleration = _or_limit(self.acceleration, limits.acceleration[index])
        fastest = min(limits.velocity[index], np.sqrt(acceleration * abs(high - low) / 2))
        speeds = np.geomspace(0.02 * limits.velocity[index], fastest, 8) if self.speeds is None else self.speeds
        pieces = JointPieces(low)
        for _ in range(self.cycles):
            for speed in speeds:
                if not speed**2 < acceleration * abs(high - low):
                    raise JointDynamicsError(
                        f'{where}.speeds: expected speeds reached within {abs(high - low):.4g} rad at '
                        f'{acceleration:.4g} rad/s², found {speed:.4g} rad/s'
                    )
                for target in (high, low):
                    pieces.move_to(target, speed, acceleration)
                    pieces.wait(self.rest)
        return single_joint(model, self.joint, posture, pieces)


@dataclass(frozen=True)
class Trapezoids(Settings):
    """Trapezoids of speed in alternating directions [A §5.3].

    Plateaus of equal length at rising speeds; friction is their mean torque.
    """

    SECTION = 'trapezoids'

    joint: str = setting(..., 'name of the joint that moves')
    speeds: Sequence[float] | None = setting(
        None, 'speeds of the plateaus', 'rad/s', above=0, none='six, up to the fastest that fits', check=_some
    )
    plateau: float = setting(1.0, 'time at constant speed', 's', above=0, upper=3600)
    acceleration: float | None = setting(
        None, 'acceleration between the plateaus', 'rad/s²', above=0, none='the allowed one'
    )
    rest: float = setting(0.5, 'stop between the trapezoids', 's', lower=0, upper=3600)
    start: float | None = setting(
        None, 'start of every trapezoid', 'rad', none='centred, for the longest, in the allowed range'
    )

    def build(self, model: RobotModel, limits: MotionLimits, posture: FloatArray) -> PiecewiseTrajectory:
        """Return the motion."""
        index = joint_index(model, self.joint)
        plateau = self.plateau
        acceleration = _or_limit(self.acceleration, limits.acceleration[index])
        room = 2 * limits.half_range[index] if self.start is None else limits.upper[index] - self.start
        # v²/a + v · plateau = room
        fastest = min(
            limits.velocity[index], acceleration * (np.sqrt(plateau**2 + 4 * max(room, 0) / acceleration) - plateau) / 2
        )
        speeds = np.linspace(fastest / 6, fastest, 6) if self.speeds is None else self.speeds
        longest = max(speed**2 / acceleration + speed * plateau for speed in speeds)
        start = limits.middle[index] - longest / 2 if self.start is None else self.start
        pieces = JointPieces(start)
        for speed in speeds:
            for target in (start + speed**2 / acceleration + speed * plateau, start):
                pieces.move_to(target, speed, acceleration)
                pieces.wait(self.rest)
        return single_joint(model, self.joint, posture, pieces)


@dataclass(frozen=True)
class SlowReversals(Settings):
    """Very slow reversals over one turn, for kinematic error, backlash and presliding [M4 4.3, M6 5.2].

    Every cycle moves forward and back with accelerations ±a in four phases +a −a −a +a, at rest at every reversal.
    (Unequal ±a, as printed in [M6 eq 21], never comes to rest.) It advances by `net`: a (t_1² − t_2²) = net,
    2 (t_1 + t_2) = cycle. With a net advance of 3°, a turn has 120 cycles with 240 reversals, and takes 17 minutes in
    cycles of 8.5 s.
    """

    SECTION = 'slow_reversals'

    joint: str = setting(..., 'name of the joint that moves')
    acceleration: float = setting(0.05, 'acceleration of every phase', 'rad/s²', above=0)
    net: float = setting(math.radians(3.0), 'net advance of a cycle', 'rad', above=0)
    cycle: float = setting(8.5, 'length of a cycle', 's', above=0, upper=3600)
    start: float | None = setting(None, 'start of the turn', 'rad', none='centred in the allowed range')
    span: float = setting(2 * math.pi, 'range covered', 'rad', above=0)

    def check(self) -> None:
        """Check that a cycle fits into the span."""
        if not self.span >= self.net:
            raise refusal('slow_reversals.span', f'at least net, {self.net:.6g} rad', self.span)

    def build(self, model: RobotModel, limits: MotionLimits, posture: FloatArray) -> PiecewiseTrajectory:
        """Return the motion."""
        index, where = joint_index(model, self.joint), 'slow_reversals'
        acceleration, net, span, half = self.acceleration, self.net, self.span, self.cycle / 2
        difference = net / (acceleration * half)
        forth, back = (half + difference) / 2, (half - difference) / 2
        if not back > 0:
            raise JointDynamicsError(
                f'{where}.cycle: expected time to reverse, more than {2 * np.sqrt(net / acceleration):.4g} s, '
                f'found {self.cycle!r}'
            )
        beyond = acceleration * back**2
        if self.start is None and not span + beyond <= 2 * limits.half_range[index]:
            raise JointDynamicsError(
                f'{where}.span: expected at most {2 * limits.half_range[index] - beyond:.4g} rad within the limits of '
                f'{self.joint}, found {span:.4g}'
            )
        start = limits.middle[index] - (span + beyond) / 2 if self.start is None else self.start
        pieces = JointPieces(start)
        for _ in range(round(span / net)):
            for sign, phase in ((1, forth), (-1, forth), (-1, back), (1, back)):
                pieces.accelerate(sign * acceleration, phase)
        return single_joint(model, self.joint, posture, pieces)


@dataclass(frozen=True)
class LoadSweep(Settings):
    """Slow sweep of one joint from no load to the largest gravity torque and back [M6 5.1, 5.3].

    The axis of the joint must not be vertical. start, stop: no load (arm vertical) and largest load (horizontal).
    """

    SECTION = 'load_sweep'

    joint: str = setting(..., 'name of the joint that moves')
    start: float | None = setting(
        None, 'angle without load', 'rad', none='zero of the gravity torque of the model, payload included'
    )
    stop: float | None = setting(None, 'angle of greatest load', 'rad', none='maximum of the gravity torque')
    speed: float = setting(0.05, 'speed of the sweep; default of the paper', 'rad/s', above=0)
    acceleration: float | None = setting(None, 'acceleration at the ends', 'rad/s²', above=0, none='the allowed one')
    reversals: int = setting(
        0, 'reversals on the way to the load; each goes back half of the way gained', lower=0, upper=1000
    )
    sweeps: int = setting(1, 'sweeps to and fro', lower=1, upper=1000)
    rest: float = setting(1.0, 'stop at both ends', 's', lower=0, upper=3600)

    def build(
        self, model: RobotModel, limits: MotionLimits, posture: FloatArray, parameters: FloatArray | None = None
    ) -> PiecewiseTrajectory:
        """Return the motion; `parameters`: standard parameters for computing gravity."""
        index, where = joint_index(model, self.joint), 'load_sweep'
        start, stop = self.start, self.stop
        if start is None or stop is None:
            unloaded, loaded = _load_ends(model, limits, index, posture, parameters, where)
            start, stop = unloaded if start is None else start, loaded if stop is None else stop
        start, stop = _range(limits, index, start, stop, None, where)
        speed = self.speed
        acceleration = _or_limit(self.acceleration, limits.acceleration[index])
        rest = self.rest
        steps = self.reversals + 1
        # every reversal goes back half of a step, so that steps − (steps − 1)/2 steps make the way
        step = (stop - start) / (steps - (steps - 1) / 2)
        pieces = JointPieces(start)
        for _ in range(self.sweeps):
            for number in range(steps):
                begin = start + number * step / 2
                pieces.move_to(begin + step, speed, acceleration)
                if number < steps - 1:
                    pieces.move_to(begin + step / 2, speed, acceleration)
            pieces.wait(rest)
            pieces.move_to(start, speed, acceleration)
            pieces.wait(rest)
        return single_joint(model, self.joint, posture, pieces)


def _load_ends(
    model: RobotModel, limits: MotionLimits, index: int, posture: FloatArray, parameters: FloatArray | None, where: str
) -> tuple[float, float]:
    """Return the angles without gravity torque and with the greatest, the nearest such pair in the allowed range."""
    if parameters is None:
        raise JointDynamicsError(
            f'{where}: expected start and stop, or a model with inertials to find them, found neither'
        )
    q = np.repeat(posture[None], 721, axis=0)
    q[:, index] = np.linspace(limits.lower[index], limits.upper[index], len(q))
    gravity = model.gravity(q, parameters)[:, index]
    peak = int(np.argmax(np.abs(gravity)))
    zeros = np.flatnonzero(np.diff(np.signbit(gravity)))
    if len(zeros) == 0 or not abs(gravity[peak]) >= 1e-6:
        raise JointDynamicsError(
            f'{where}.joint: expected a joint that gravity loads and unloads within its limits, found '
            f'{gravity.min():.3g} … {gravity.max():.3g} N·m for {model.joint_names[index]}: '
            'give another posture, mounting, or start and stop'
        )
    zero = zeros[np.argmin(np.abs(zeros - peak))]
    share = gravity[zero] / (gravity[zero] - gravity[zero + 1])
    return float(q[zero, index] + share * (q[zero + 1, index] - q[zero, index])), float(q[peak, index])


def joint_index(model: RobotModel, joint: str) -> int:
    """Return the index of a joint in the model; raise JointDynamicsError if there is none of that name."""
    if joint not in model.joint_names:
        raise JointDynamicsError(f'joint: expected one of {", ".join(model.joint_names)}, found {joint!r}')
    return model.joint_names.index(joint)


def _or_limit(value: float | None, limit: float) -> float:
    return float(limit) if value is None else value
