"""The delay between torque and motion, by the likelihood of the torques moved in time [s]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import gain, peak
from joint_dynamics.identification.reliability.explanation import Explanation, overdispersion
from joint_dynamics.recording.conversions import Corrections

PRECISION = 1e-4
"""To which the delay is looked for [s]."""
STEP = 0.1
"""First steps, as a share of a period of the torque's bandwidth: fine enough not to miss the maximum."""


def estimate_delay(alternatives: Alternatives, observations: Sequence[Observation]) -> Explanation:
    """Return the delay, one for all joints and recordings, to which the likelihood points.

    The torques are filtered once at the full rate and read at the kept samples plus the delay; ends are held. It
    matters by what it costs [share of the torque, rms], or by its length.
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

    steps = max(2, int(np.ceil(longest * bandwidth / STEP)))
    seconds = peak(better, longest, steps, PRECISION)
    fit = normal.fit(target(seconds))
    count = alternatives.counted(normal, target(seconds), fit)
    gained, width = gain(start, fit, count), 0.02 / bandwidth
    # the likelihood is a parabola near its maximum: its curvature is the information
    beside = [gain(start, normal.fit(target(at)), count) for at in (seconds - width, seconds + width)]
    curvature = (2 * gained - sum(beside)) / width**2
    deviation = 1 / np.sqrt(curvature) if curvature > 0 else np.inf
    # A delay has a peak of likelihood; where any lateness is as good, as of a slow motion one way, whose columns make
    # up for it, there is none.
    fall = gained - max(gain(start, normal.fit(target(end)), count) for end in (-longest, longest))
    cost = alternatives.share(start.unexplained - fit.unexplained)
    # its deviation is as much in what it costs as in itself
    beyond = max(abs(seconds) - 2 * deviation, 0.0)
    costs = cost * beyond > thresholds.MIN_EFFECT * abs(seconds)
    return Explanation(
        'delay',
        f'the torques come {abs(1000 * seconds):.3g} ± {1000 * deviation:.2g} ms '
        f'{"after" if seconds > 0 else "before"} the motion they belong to',
        alternatives.names,
        alternatives.given,
        replace(fit, count=count),
        gained,
        dispersion=overdispersion(normal, target(seconds), fit, count),
        mend=Corrections(torque_delay=seconds),
        matters=costs or (beyond > thresholds.LATE and fall > thresholds.LOG_LIKELIHOOD_THRESHOLD),
        figures={'seconds': seconds, 'std': finite(deviation), 'cost_percent': 100 * cost},
    )


def longest_delay(observations: Sequence[Observation]) -> float:
    """Return up to which delay [s] is looked for: `MAX_DELAY`, less where held ends would be too much of the whole.

    A delay holds as much of every recording, however short that one is: what counts is the mean duration.
    """
    durations = [observation.time[-1] - observation.time[0] for observation in observations]
    return min(thresholds.MAX_DELAY, thresholds.HELD * float(np.mean(durations)))


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
