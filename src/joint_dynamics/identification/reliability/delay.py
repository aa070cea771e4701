"""The delay between torque and motion, by the likelihood of the torques moved in time [s]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification.preparation.observations import Observation
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import ExplanationFit, effective_samples, gain, highest
from joint_dynamics.identification.reliability.explanation import overdispersion
from joint_dynamics.identification.reliability.thresholds import (
    HELD,
    LATE,
    LOG_LIKELIHOOD_THRESHOLD,
    MAX_DELAY,
    MIN_EFFECT,
    MIN_EVIDENCE,
)
from joint_dynamics.identification.reliability.verdict import Reason

PRECISION = 1e-4
"""To which the delay is looked for [s]."""
STEP = 0.1
"""First steps, as a share of a period of the torque's bandwidth: fine enough not to miss the maximum."""


@dataclass(frozen=True)
class Delay:
    """Delay of the torques against the motion.

    Attributes
    ----------
    seconds
        the torques come so much after the motion they belong to; deviation [s].
    gain
        of moving them there [nats].
    cost
        share of the torque (rms) that the delay leaves unexplained.
    fitted
        without it.
    dispersion
        of that fit (see `overdispersion`).
    fall
        how much less likely the likelier end of the searched range is [nats]. A delay has a peak of likelihood; where
        any lateness is as good, as of a slow motion one way, whose columns make up for it, there is none.
    """

    seconds: float
    deviation: float
    gain: float
    cost: float
    fitted: ExplanationFit
    dispersion: float = 1.0
    fall: float = np.inf

    @property
    def clear(self) -> bool:
        """Whether moving the torques gains more than a model that is somewhat wrong gains by any freedom."""
        return self.gain > LOG_LIKELIHOOD_THRESHOLD and self.gain / self.dispersion > MIN_EVIDENCE

    @property
    def matters(self) -> bool:
        """Whether it counts: by what it costs, in which its deviation is as much as in itself, or by its length."""
        beyond = max(abs(self.seconds) - 2 * self.deviation, 0.0)
        cost = self.cost * beyond / abs(self.seconds) if self.seconds else 0.0
        return self.clear and (cost > MIN_EFFECT or (beyond > LATE and self.fall > LOG_LIKELIHOOD_THRESHOLD))

    @property
    def reason(self) -> Reason:
        """That torque and motion are apart in time."""
        side = 'after' if self.seconds > 0 else 'before'
        return Reason(
            'delay',
            f'the torques come {abs(1000 * self.seconds):.3g} ± {1000 * self.deviation:.2g} ms {side} the motion they '
            f'belong to, which leaves {100 * self.cost:.3g} % of the torque over: align the time stamps of efforts and '
            'positions',
            mend={'recording': {'torque_delay': self.seconds}},
        )

    def summary(self) -> dict[str, float | None]:
        """Return the entry `delay` of summary.json."""
        return {
            'seconds': self.seconds,
            'std': self.deviation if np.isfinite(self.deviation) else None,
            'cost_percent': 100 * self.cost,
        }


def estimate_delay(alternatives: Alternatives, observations: Sequence[Observation]) -> Delay:
    """Return the delay, one for all joints and recordings, to which the likelihood points.

    The torques are filtered once at the full rate and read at the kept samples plus the delay; ends are held.
    """
    smooth = [_smooth(observation) for observation in observations]
    normal = alternatives.normal
    bandwidth = min(_bandwidth(observation) for observation in observations)
    longest = longest_delay(observations)

    def target(seconds: float) -> FloatArray:
        return np.concatenate(
            [_read(observation, values, seconds) for observation, values in zip(observations, smooth, strict=True)],
            axis=1,
        )

    start = normal.fit(target(0.0))

    def better(seconds: float) -> float:
        return gain(start, normal.fit(target(seconds)), alternatives.count)

    half = max(2, int(np.ceil(longest * bandwidth / STEP)))
    grid = np.linspace(-longest, longest, 2 * half + 1)
    best = int(np.argmax([better(seconds) for seconds in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 2 * half)]
    seconds = highest(better, low, high, PRECISION)
    found = normal.fit(target(seconds))
    count = np.maximum(
        alternatives.count,
        effective_samples(normal.residuals(target(seconds), found.chi), normal.weight, alternatives.samples.part),
    )
    # the likelihood is a parabola near its maximum: its curvature is the information
    width = 0.02 / bandwidth
    curvature = (
        -(
            gain(start, normal.fit(target(seconds + width)), count)
            + gain(start, normal.fit(target(seconds - width)), count)
            - 2 * gain(start, found, count)
        )
        / width**2
    )
    deviation = 1 / np.sqrt(curvature) if curvature > 0 else np.inf
    gained = gain(start, found, count)
    fall = gained - max(gain(start, normal.fit(target(end)), count) for end in (-longest, longest))
    return Delay(
        seconds,
        float(deviation),
        gained,
        alternatives.share(start.unexplained - found.unexplained),
        replace(found, count=count),
        overdispersion(normal, target(seconds), found, count),
        fall,
    )


def longest_delay(observations: Sequence[Observation]) -> float:
    """Return up to which delay [s] is looked for: `MAX_DELAY`, less where held ends would be too much of the whole.

    A delay holds as much of every recording, however short that one is: what counts is the mean duration.
    """
    durations = [observation.time[-1] - observation.time[0] for observation in observations]
    return min(MAX_DELAY, HELD * float(np.mean(durations)))


def _bandwidth(observation: Observation) -> float:
    kept = observation.time[observation.kept]
    return 0.4 * (len(kept) - 1) / (kept[-1] - kept[0])


def _smooth(observation: Observation) -> FloatArray:
    if observation.decimator is None:
        return observation.tau
    kernel, half = observation.decimator.kernel, observation.decimator.half
    padded = np.pad(observation.tau, ((half, half), (0, 0)), mode='edge')
    size = 1 << (len(padded) - 1).bit_length()
    both = np.fft.rfft(padded, size, axis=0) * np.fft.rfft(kernel, size)[:, None]
    # what wraps around is in the first 2 half samples
    return np.fft.irfft(both, size, axis=0)[2 * half : len(padded)]


def _read(observation: Observation, smooth: FloatArray, seconds: float) -> FloatArray:
    at = observation.time[observation.kept] + seconds
    return np.array([np.interp(at, observation.time, column) for column in smooth.T])
