r"""H of joints from an unknown state: bounds and expectation where the encoder resolves the presliding.

H is the Maxwell-slip hysteresis [M6 eq 12-18], a monotone map of its initial state: run from full slip one way and the
other, it encloses what any state at the first sample would give, and both ends meet once a joint has slipped by its
presliding length, which corrects the state at every slip.

Of the friction identified with a robot, the share a_j builds up over the presliding length w_j; over which the rest
turns was not identified. So H of joint j lies in a_j [H_low, H_high] + (1 − a_j) [−1, 1].

A reading that is off by up to e/2 widens the bounds by e/w at either end, and what it leaves of H unknown has an rms
of e/(√6 w) (difference of two readings); friction at rest that may be anything has one of 1/√3. `MIN_STEPS` = w/e = 10
therefore narrows the interval to a tenth and leaves 7 % of the rms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.observations import REST_SPEED, Observation
from joint_dynamics.identification.regression.columns import FrictionState, spans
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.recording import Recording, encoder_step
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings.base import per_joint

MIN_STEPS = 10.0
"""Steps of the encoder in a presliding length from which on it is resolved, see above."""
SLIPPED = 0.01
"""Distance [rad] after which a joint has slipped for sure: several times the widest presliding that is looked for."""
NOISE_LEVEL = 0.999


@dataclass(frozen=True)
class Presliding:
    """H of joints that start from an unknown state: low, high (N, n) enclose it, expected (N, n) is the best guess."""

    low: FloatArray
    high: FloatArray
    expected: FloatArray


def presliding(
    theta: ArrayLike, slip: MaxwellSlip, resolution: ArrayLike = 0.0, first: ArrayLike | None = None
) -> Presliding:
    """Drive the hysteresis by a recorded motion from a state that is estimated, not assumed.

    theta: (N, n) [rad], motor side; slip: hysteresis of the n joints, left as it is; resolution: step of the encoder
    [rad], a number or (n,); first: H (n,) measured at the first sample, friction over its level, None: not known, the
    expected path is the middle of the bounds.

    A reading is wrong by up to half a step, a deformation (since some slip) by a step, which moves operator i by at
    most k_i/𝓑 times that and no further than from one end to the other. Raises JointDynamicsError for other shapes.
    """
    theta = np.asarray(theta, dtype=float)
    if theta.ndim != 2 or theta.shape[1] != slip.joints or not len(theta):
        raise JointDynamicsError(f'presliding: expected theta of shape (N, {slip.joints}), found {theta.shape}')
    step = np.broadcast_to(np.asarray(resolution, dtype=float), (slip.joints,))
    if not np.isfinite(step).all() or (step < 0).any():
        raise JointDynamicsError(f'presliding: expected a resolution of 0 rad or more, found {resolution!r}')

    def path(direction: ArrayLike) -> FloatArray:
        twin = slip.copy()
        # a deformation of every operator by the same share of its limit has that share as H
        twin.reset(theta[0], direction)
        return twin.run(theta)

    share = slip.stiffness * slip.limits
    slack = np.minimum(share * (step / slip.presliding(theta))[..., None] / slip.limits, 2.0 * share).sum(axis=-1)
    below, above = path(-1.0), path(1.0)
    low, high = np.clip(below - slack, -1.0, 1.0), np.clip(above + slack, -1.0, 1.0)
    expected = 0.5 * (below + above) if first is None else path(np.clip(np.asarray(first, dtype=float), -1.0, 1.0))
    return Presliding(low, high, np.clip(expected, low, high))


@dataclass(frozen=True)
class Encoder:
    """How finely positions were read.

    step (n,) of the readings of all joints [rad], NaN: not known; averaged: names of recordings that are means of
    periods, whose path no joint went.
    """

    step: FloatArray
    averaged: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        model: RobotModel,
        measured: Sequence[Recording],
        used: Sequence[Recording],
        stated: float | Mapping[str, float] | None,
    ) -> Encoder:
        """Return the stated step, or the one that shows in the measured recordings; used: those learnt from.

        Joints in the robot's order. Raises JointDynamicsError where a joint is missing among those stated.
        """
        step = (
            encoder_step([recording.q if recording.theta is None else recording.theta for recording in measured])
            if stated is None
            else per_joint(stated, model.joint_names, 'encoder_step', others=True)
        )
        known = {recording.name for recording in measured}
        return cls(step, frozenset(recording.name for recording in used if recording.name not in known))

    def resolution(self, observation: Observation) -> FloatArray:
        """Return twice how far a reading may be off (n,) [rad]: the step, or the noise of joints at rest beyond it.

        Infinite where no step is known.
        """
        if observation.reading is None or observation.name in self.averaged:
            return np.full(self.step.shape, np.inf)
        still = np.abs(observation.dtheta) < REST_SPEED
        off = np.abs(observation.reading - observation.theta)
        noise = [
            np.quantile(column[rest], NOISE_LEVEL) if rest.any() else 0.0
            for column, rest in zip(off.T, still.T, strict=True)
        ]
        return np.where(np.isnan(self.step), np.inf, np.maximum(self.step, 2.0 * np.array(noise)))


@dataclass(frozen=True)
class HysteresisAtRest:
    """H of all joints at the kept samples of one observation, as far as its motion tells.

    Attributes
    ----------
    low, high, expected
        (n, K) ends and best guess of H: −1, 1 and 0 but where `narrow` holds.
    first
        (n, K) bool: the joint has not slipped yet.
    resolution
        (n,) [rad], see `Encoder.resolution`.
    resolved
        (n,) bool: the presliding of the joint is resolved.
    """

    low: FloatArray
    high: FloatArray
    expected: FloatArray
    first: BoolArray
    resolution: FloatArray
    resolved: BoolArray

    @property
    def narrow(self) -> BoolArray:
        """Where H is that of the recorded motion, (n, K) bool: behind the first slip of joints that are resolved."""
        return self.resolved[:, None] & ~self.first

    def only(self, joints: BoolArray) -> HysteresisAtRest:
        """Return the same with the presliding of these joints (n,) bool alone."""
        low, high, expected = (
            np.where(joints[:, None], values, wide)
            for values, wide in ((self.low, -1.0), (self.high, 1.0), (self.expected, 0.0))
        )
        return replace(self, low=low, high=high, expected=expected, resolved=self.resolved & joints)


def hysteresis_at_rest(
    observation: Observation, state: FrictionState, encoder: Encoder | None = None
) -> HysteresisAtRest:
    """Return H of the joints whose presliding the readings resolve, of none without an encoder.

    Filtered as the torque was: with a kernel that is negative in places, ends are sums of the middle and of half the
    width times its absolute value.
    """
    first = not_slipped(observation)
    low, high, expected = -np.ones(first.shape), np.ones(first.shape), np.zeros(first.shape)
    resolution = np.full(len(first), np.inf) if encoder is None else encoder.resolution(observation)
    resolved = steps_per_length(state, resolution) >= MIN_STEPS
    use = np.flatnonzero(resolved)
    if len(use) and state.width is not None and state.share is not None and observation.reading is not None:
        share = state.share[use]
        slip = MaxwellSlip(len(use), state.width[use], limits=[1.0], stiffness=[1.0])
        deflection = presliding(observation.reading[:, use], slip, resolution[use])
        middle = share * 0.5 * (deflection.low + deflection.high)
        half = share * 0.5 * (deflection.high - deflection.low) + 1.0 - share
        best = share * deflection.expected
        if observation.decimator is None:
            low[use], high[use], expected[use] = (middle - half).T, (middle + half).T, best.T
        else:
            for part, begin, end, weights in spans(observation):
                centre, reach = middle[begin:end].T @ weights, half[begin:end].T @ np.abs(weights)
                low[use, part], high[use, part] = centre - reach, centre + reach
                expected[use, part] = best[begin:end].T @ weights
    low, high, expected = np.where(first, -1.0, low), np.where(first, 1.0, high), np.where(first, 0.0, expected)
    return HysteresisAtRest(low, high, expected, first, resolution, resolved)


def not_slipped(observation: Observation) -> BoolArray:
    """Return at which kept samples a joint has not yet moved by `SLIPPED` since its recording began, (n, K) bool."""
    moved = np.abs(observation.theta - observation.theta[0]) > SLIPPED
    return np.asarray(~np.maximum.accumulate(moved, axis=0)[observation.kept].T)


def steps_per_length(state: FrictionState, resolution: FloatArray) -> FloatArray:
    """Return how many steps (n,) the presliding length of each joint has; NaN without hysteresis, 0 of unknown ones."""
    if state.width is None or state.share is None:
        return np.full(resolution.shape, np.nan)
    steps = np.divide(state.width, resolution, out=np.full(resolution.shape, np.inf), where=resolution > 0)
    return np.where((state.share > 0) & (state.width > 0), steps, np.nan)
