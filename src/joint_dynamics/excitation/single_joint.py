"""Test motions of one joint, the others at rest: constant speeds, trapezoids, slow reversals, load sweep."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.checks import check_integer, check_number
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.piecewise import JointPieces, PiecewiseTrajectory, at_rest
from joint_dynamics.robot import RobotModel


def single_joint(model: RobotModel, joint: str, posture: NDArray, pieces: JointPieces) -> PiecewiseTrajectory:
    """Return the motion of one joint with the others at rest at `posture` (n,)."""
    return PiecewiseTrajectory(model.joint_names, list({**at_rest(model.joint_names, posture), joint: pieces}.values()))


def _range(limits: MotionLimits, index: int, start: float | None, stop: float | None, span: float | None, where: str) -> tuple[float, float]:
    """Return start and stop: those given, or `span` about the middle of the allowed range, or all of it."""
    middle, half = limits.middle[index], limits.half_range[index]
    if span is not None:
        half = min(half, span / 2)
    low = middle - half if start is None else check_number(start, f'{where}.start')
    high = middle + half if stop is None else check_number(stop, f'{where}.stop')
    if low == high:
        raise JointDynamicsError(f'{where}: expected start ≠ stop, found {low:.6g} rad for both')
    return low, high


@dataclass(frozen=True)
class ConstantSpeed:
    """Sweeps to and fro at constant speeds [M4 4.2.1], from which friction is read against speed, temperature or load.

    joint: its name. start, stop [rad]: ends of every sweep; None: 90 degrees about the middle of the allowed range.
    speeds [rad/s]: one sweep + and one − each; None: eight from 2 % of the allowed speed up to what leaves half of the way at constant
    speed. acceleration [rad/s²]: None: the allowed one. rest [s]: at every end. cycles: how often the whole is done.
    """

    joint: str
    start: float | None = None
    stop: float | None = None
    speeds: Sequence[float] | None = None
    acceleration: float | None = None
    rest: float = 0.5
    cycles: int = 1

    def build(self, model: RobotModel, limits: MotionLimits, posture: NDArray) -> PiecewiseTrajectory:
        """Return the motion."""
        index, where = joint_index(model, self.joint), 'constant_speed'
        low, high = _range(limits, index, self.start, self.stop, np.pi / 2, where)
        acceleration = _or_limit(self.acceleration, limits.acceleration[index], f'{where}.acceleration')
        fastest = min(limits.velocity[index], np.sqrt(acceleration * abs(high - low) / 2))
        speeds = np.geomspace(0.02 * limits.velocity[index], fastest, 8) if self.speeds is None else _speeds(self.speeds, f'{where}.speeds')
        pieces = JointPieces(low)
        for _ in range(check_integer(self.cycles, f'{where}.cycles', 1)):
            for speed in speeds:
                if speed ** 2 >= acceleration * abs(high - low):
                    raise JointDynamicsError(f'{where}.speeds: expected speeds reached within {abs(high - low):.4g} rad at '
                                             f'{acceleration:.4g} rad/s², found {speed:.4g} rad/s')
                for target in (high, low):
                    pieces.move_to(target, speed, acceleration)
                    pieces.wait(check_number(self.rest, f'{where}.rest', least=0))
        return single_joint(model, self.joint, posture, pieces)


@dataclass(frozen=True)
class Trapezoids:
    """Trapezoids of speed, + and − in turn [A §5.3]: plateaus of equal length at rising speeds, their mean torque is the friction.

    joint: its name. speeds [rad/s]: None: six up to what fits. plateau [s]: time at constant speed. acceleration [rad/s²]: None: the allowed
    one. rest [s]: between. start [rad]: where every trapezoid begins; None: so that the longest is centred in the allowed range.
    """

    joint: str
    speeds: Sequence[float] | None = None
    plateau: float = 1.0
    acceleration: float | None = None
    rest: float = 0.5
    start: float | None = None

    def build(self, model: RobotModel, limits: MotionLimits, posture: NDArray) -> PiecewiseTrajectory:
        """Return the motion."""
        index, where = joint_index(model, self.joint), 'trapezoids'
        plateau = check_number(self.plateau, f'{where}.plateau', above=0)
        acceleration = _or_limit(self.acceleration, limits.acceleration[index], f'{where}.acceleration')
        room = 2 * limits.half_range[index] if self.start is None else limits.upper[index] - self.start
        # v²/a + v · plateau = room
        fastest = min(limits.velocity[index], acceleration * (np.sqrt(plateau ** 2 + 4 * max(room, 0) / acceleration) - plateau) / 2)
        speeds = np.linspace(fastest / 6, fastest, 6) if self.speeds is None else _speeds(self.speeds, f'{where}.speeds')
        longest = max(speed ** 2 / acceleration + speed * plateau for speed in speeds)
        start = limits.middle[index] - longest / 2 if self.start is None else check_number(self.start, f'{where}.start')
        pieces = JointPieces(start)
        for speed in speeds:
            for target in (start + speed ** 2 / acceleration + speed * plateau, start):
                pieces.move_to(target, speed, acceleration)
                pieces.wait(check_number(self.rest, f'{where}.rest', least=0))
        return single_joint(model, self.joint, posture, pieces)


@dataclass(frozen=True)
class SlowReversals:
    """Very slow to-and-fro over a turn, at rest at every reversal [M4 4.3, M6 5.2]: kinematic error, backlash and presliding.

    Every cycle goes forth and back under ± acceleration a, four phases +a −a −a +a (unequal ±a, as printed in [M6 eq 21], never comes
    to rest), and gains `net`: a (t_1² − t_2²) = net, 2 (t_1 + t_2) = cycle. With 3° net a turn has 120 cycles, 240 reversals, and takes
    17 minutes in cycles of 8.5 s.

    joint: its name. acceleration [rad/s²]; net [rad] per cycle; cycle [s]. start [rad]: None: so that the turn is centred in the allowed
    range. span [rad]: what is covered, a turn by default.
    """

    joint: str
    acceleration: float = 0.05
    net: float = float(np.deg2rad(3.0))
    cycle: float = 8.5
    start: float | None = None
    span: float = 2 * float(np.pi)

    def build(self, model: RobotModel, limits: MotionLimits, posture: NDArray) -> PiecewiseTrajectory:
        """Return the motion."""
        index, where = joint_index(model, self.joint), 'slow_reversals'
        acceleration = check_number(self.acceleration, f'{where}.acceleration', above=0)
        net, half = check_number(self.net, f'{where}.net', above=0), check_number(self.cycle, f'{where}.cycle', above=0) / 2
        span = check_number(self.span, f'{where}.span', least=net)
        difference = net / (acceleration * half)
        forth, back = (half + difference) / 2, (half - difference) / 2
        if back <= 0:
            raise JointDynamicsError(f'{where}.cycle: expected time to reverse, more than {2 * np.sqrt(net / acceleration):.4g} s, '
                                     f'found {self.cycle!r}')
        beyond = acceleration * back ** 2
        if self.start is None and span + beyond > 2 * limits.half_range[index]:
            raise JointDynamicsError(f'{where}.span: expected at most {2 * limits.half_range[index] - beyond:.4g} rad within the limits of '
                                     f'{self.joint}, found {span:.4g}')
        start = limits.middle[index] - (span + beyond) / 2 if self.start is None else check_number(self.start, f'{where}.start')
        pieces = JointPieces(start)
        for _ in range(round(span / net)):
            for sign, phase in ((1, forth), (-1, forth), (-1, back), (1, back)):
                pieces.accelerate(sign * acceleration, phase)
        return single_joint(model, self.joint, posture, pieces)


@dataclass(frozen=True)
class LoadSweep:
    """Slow sweep of one joint from no load to the greatest gravity torque and back [M6 5.1], optionally reversing on the way [M6 5.3].

    joint: its name; its axis must not be vertical. start, stop [rad]: no load (arm vertical) and greatest load (horizontal); None: where
    the gravity torque of the model, payload included, vanishes and peaks. speed [rad/s]: 0.05 in the paper. acceleration [rad/s²]: None:
    the allowed one. reversals: on the way to the load, every one goes back half of the way gained. sweeps: how often to and fro. rest [s]:
    at both ends.
    """

    joint: str
    start: float | None = None
    stop: float | None = None
    speed: float = 0.05
    acceleration: float | None = None
    reversals: int = 0
    sweeps: int = 1
    rest: float = 1.0

    def build(self, model: RobotModel, limits: MotionLimits, posture: NDArray, parameters: NDArray | None = None) -> PiecewiseTrajectory:
        """Return the motion; `parameters`: the standard parameters gravity is computed with."""
        index, where = joint_index(model, self.joint), 'load_sweep'
        start, stop = self.start, self.stop
        if start is None or stop is None:
            unloaded, loaded = _load_ends(model, limits, index, posture, parameters, where)
            start, stop = unloaded if start is None else start, loaded if stop is None else stop
        start, stop = _range(limits, index, start, stop, None, where)
        speed = check_number(self.speed, f'{where}.speed', above=0)
        acceleration = _or_limit(self.acceleration, limits.acceleration[index], f'{where}.acceleration')
        rest = check_number(self.rest, f'{where}.rest', least=0)
        steps = check_integer(self.reversals, f'{where}.reversals', 0) + 1
        # every reversal goes back half of a step, so that steps − (steps − 1)/2 steps make the way
        step = (stop - start) / (steps - (steps - 1) / 2)
        pieces = JointPieces(start)
        for _ in range(check_integer(self.sweeps, f'{where}.sweeps', 1)):
            for number in range(steps):
                begin = start + number * step / 2
                pieces.move_to(begin + step, speed, acceleration)
                if number < steps - 1:
                    pieces.move_to(begin + step / 2, speed, acceleration)
            pieces.wait(rest)
            pieces.move_to(start, speed, acceleration)
            pieces.wait(rest)
        return single_joint(model, self.joint, posture, pieces)


def _load_ends(model: RobotModel, limits: MotionLimits, index: int, posture: NDArray, parameters: NDArray | None, where: str,
               ) -> tuple[float, float]:
    """Return the angles without gravity torque and with the greatest, the nearest such pair in the allowed range."""
    if parameters is None:
        raise JointDynamicsError(f'{where}: expected start and stop, or a model with inertials to find them, found neither')
    q = np.repeat(posture[None], 721, axis=0)
    q[:, index] = np.linspace(limits.lower[index], limits.upper[index], len(q))
    gravity = model.gravity(q, parameters)[:, index]
    peak = int(np.argmax(np.abs(gravity)))
    zeros = np.flatnonzero(np.diff(np.signbit(gravity)))
    if len(zeros) == 0 or abs(gravity[peak]) < 1e-6:
        raise JointDynamicsError(f'{where}.joint: expected a joint that gravity loads and unloads within its limits, found '
                                 f'{gravity.min():.3g} … {gravity.max():.3g} N·m for {model.joint_names[index]}: '
                                 'give another posture, mounting, or start and stop')
    zero = zeros[np.argmin(np.abs(zeros - peak))]
    share = gravity[zero] / (gravity[zero] - gravity[zero + 1])
    return float(q[zero, index] + share * (q[zero + 1, index] - q[zero, index])), float(q[peak, index])


def joint_index(model: RobotModel, joint: str) -> int:
    """Return the place of a joint in the model; raise JointDynamicsError if it has none."""
    if joint not in model.joint_names:
        raise JointDynamicsError(f'joint: expected one of {", ".join(model.joint_names)}, found {joint!r}')
    return model.joint_names.index(joint)


def _or_limit(value: float | None, limit: float, where: str) -> float:
    return float(limit) if value is None else check_number(value, where, above=0)


def _speeds(values: Sequence[float], where: str) -> list[float]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise JointDynamicsError(f'{where}: expected a list of speeds in rad/s, found {values!r}')
    return [check_number(value, where, above=0) for value in values]
