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

"""The delay between torque and motion, by the likelihood of the torques moved in time [s]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arm import slip_of
from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.reliability import thresholds
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.evidence import (
    Explanation,
    NormalEquations,
    effective_samples,
    gain,
    overdispersion,
    peak,
)
from joint_dynamics.identification.selection import STRIBECK_SPEED
from joint_dynamics.recording.conversions import Corrections
from joint_dynamics.robot import INERTIAL

PRECISION = 1e-4
"""To which the delay is looked for [s]."""
STEP = 0.1
"""First steps, as a share of a period of the torque's bandwidth: fine enough not to miss the maximum."""


def estimate_delay(
    alternatives: Alternatives, observations: Sequence[Observation], friction: FloatArray
) -> Explanation:
    """Return the delay, one for all joints and recordings, to which the likelihood points.

    The torques are filtered once at the full rate and read at the kept samples plus the delay; samples nearer to an end
    than the longest delay are left out. It has to gain over what friction does by itself (friction, `friction_rows`),
    whatever the clocks do. It matters by its length.
    """
    bandwidth = min(0.4 * (len(one.kept) - 1) / float(np.ptp(one.time[one.kept])) for one in observations)
    # as much is left out at the ends of every recording, however short: what counts is the mean duration
    duration = float(np.mean([one.time[-1] - one.time[0] for one in observations]))
    longest, width = min(thresholds.MAX_DELAY, thresholds.LEFT_OUT * duration), 0.02 / bandwidth
    torque = _torque(observations)
    spans = [(one.time[one.kept], one.time[0] + longest, one.time[-1] - longest) for one in observations]
    inside = np.concatenate([(at >= first) & (at <= last) for at, first, last in spans])
    rows = np.concatenate([alternatives.rows, friction], axis=1)
    normal = alternatives.normal.beside(rows).of_samples(inside)

    def target(seconds: float) -> FloatArray:
        return torque(seconds)[:, inside]

    start = normal.fit(target(0.0))
    steps = max(2, int(np.ceil(longest * bandwidth / STEP)))
    seconds = peak(lambda at: gain(start, normal.fit(target(at)), alternatives.count), longest, steps, PRECISION)
    fit = normal.fit(target(seconds))
    left = normal.residuals(target(seconds), fit.chi)
    count = np.maximum(alternatives.count, effective_samples(left, normal.weight, alternatives.samples.part[inside]))
    gained = gain(start, fit, count)
    deviation = _deviation(normal, target, seconds, width, count)
    # A delay has a peak of likelihood; where any lateness is as good, as of a slow motion one way, whose columns make
    # up for it, there is none.
    fall = gained - max(gain(start, normal.fit(target(end)), count) for end in (-longest, longest))
    peaked = fall > thresholds.LOG_LIKELIHOOD_THRESHOLD
    text = (
        f'the torques come {abs(1000 * seconds):.3g} ± {1000 * deviation:.2g} ms '
        f'{"after" if seconds > 0 else "before"} the motion they belong to'
    )
    return Explanation(
        'delay',
        text,
        alternatives.names,
        replace(start, count=alternatives.count),
        replace(fit, count=count),
        gained,
        dispersion=overdispersion(normal, target(seconds), fit, count),
        mend=Corrections(torque_delay=seconds),
        matters=peaked and abs(seconds) - deviation > thresholds.LATE,
        figures={'seconds': seconds, 'std': finite(deviation)},
    )


def friction_rows(alternatives: Alternatives, observations: Sequence[Observation]) -> FloatArray:
    """Return columns (joints, columns, samples) of friction beside the sign of the speed, of each joint.

    Presliding lasts some way at every reversal: one Maxwell-slip operator [M6 eq 12]. This friction is constant, in
    proportion to the load by the given explanation, or falls with the speed as Stribeck's law [M3 eq 14]. Like a delay,
    it is largest at other phases of the motion than Coulomb friction.
    """
    model, given = alternatives.model, alternatives.given
    links = np.isin(model.base_parameters().independent, model.columns(INERTIAL))
    inertial = np.where(links, given.chi[: len(links)], 0.0)
    load = np.abs(np.einsum('jbs,b->js', alternatives.rows[:, : len(links)], inertial, optimize=True))

    def slip(V_S: float = np.inf) -> FloatArray:
        slips = [slip_of(one.theta, thresholds.PRESLIDING) * np.exp(-np.abs(one.dtheta) / V_S) for one in observations]
        return np.concatenate([one.at_kept(each) for one, each in zip(observations, slips, strict=True)]).T

    presliding = slip()
    own = [presliding, load * presliding, slip(STRIBECK_SPEED)]
    return np.concatenate([np.eye(model.n)[:, :, None] * one for one in own], axis=1)


def _deviation(
    normal: NormalEquations, target: Callable[[float], FloatArray], seconds: float, width: float, count: FloatArray
) -> float:
    """Return the standard deviation [s] of a delay, by the likelihood at it and `width` to both sides.

    The likelihood is a parabola near its maximum, with the information of `count` independent samples of each joint as
    its curvature. A clock is late for all joints alike, friction at each by its own way: that scatter follows from the
    delays without one joint each [jackknife, Efron and Stein 1981]. The others know at least an equal share.
    """
    before, here, after = (
        -0.5 * count * np.log(normal.fit(target(at)).unexplained + thresholds.RESOLVED**2)
        for at in (seconds - width, seconds, seconds + width)
    )
    slope, bend = (after - before) / (2 * width), (2 * here - before - after) / width**2
    information, joints = bend.sum(), len(bend)
    if not information > 0:
        return np.inf
    without = -slope / np.maximum(information - bend, information / joints)
    return float(np.sqrt(1 / information + (joints - 1) * without.var()))


def _torque(observations: Sequence[Observation]) -> Callable[[float], FloatArray]:
    """Return a function: seconds -> torques (joints, samples) of observations, filtered, so much later than kept."""
    smooth = [(one.time, one.time[one.kept], _smooth(one, one.tau)) for one in observations]
    return lambda seconds: np.concatenate(
        [[np.interp(at + seconds, time, column) for column in values.T] for time, at, values in smooth], axis=1
    )


def _smooth(observation: Observation, signal: FloatArray) -> FloatArray:
    kernel, half = observation.decimator.kernel, observation.decimator.half
    padded = np.pad(signal, ((half, half), (0, 0)), mode='edge')
    size = 1 << (len(padded) - 1).bit_length()
    both = np.fft.rfft(padded, size, axis=0) * np.fft.rfft(kernel, size)[:, None]
    # what wraps around is in the first 2 half samples
    return np.fft.irfft(both, size, axis=0)[2 * half : len(padded)]
