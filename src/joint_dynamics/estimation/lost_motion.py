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

"""Lost motion: the part of the deformation that is backlash, not elastic [M4 eq 30-32].

    s ← clip(s + Δθ/𝓑(θ), ±1);   φ_elastic = φ − g(τ) 𝓑(θ) s;   g = Σ share_i/(1 + (τ/τ_i)²);   T τ̇ + τ = τ_J.

𝓑(θ) is half the backlash, s the position within it. The reduction g by load is this package's (`joint.stiffness`);
`identify` fits the shares and the lag T. Where only the width is described, the shares are equal and T is 0.1 s.
Load and lag are known roughly, so the spread of g over loads of lag 0, T and 3 T counts as uncertainty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.recursive import per_joint, positive
from joint_dynamics.joint.stiffness import LOAD_LAG, LOAD_SHARES, LOADS, loads_of
from joint_dynamics.records import Field, KernelRecord

Array = FloatArray
LAGS = (1.0, 3.0)  # time constants of the low-passes of the load, in lags T
PARTS = len(LOADS)  # terms of g
FILTERS = len(LAGS)
SPREAD_TIME = 0.2  # s, memory of the spread of g
STEP_TIME = 0.05  # s, memory of the largest step: smoothed signals pass through the play differently from raw ones
DEVIATIONS = 2.0  # possible error of 𝓑, in its standard deviations
UNSEEN = 1.0  # rad, lost motion before the first sample: more than any joint has


class Play(KernelRecord):
    """Backlash of one joint: settings, then state."""

    unknown: float  # rad, two standard deviations of 𝓑
    keep: float  # share of the spread kept per update
    keep_step: float  # share of the step kept per update
    per_load: Annotated[FloatArray, PARTS]  # 1/(N·m), 1/τ_i
    shares: Annotated[FloatArray, PARTS]  # share of 𝓑 that the load τ_i halves
    follow: Annotated[FloatArray, FILTERS]  # share by which a low-pass follows per update
    theta: float  # rad, motor angle at the last update; NaN before the first
    position: float  # s, −1 … 1 between the stops
    spread: float  # difference of g over the lags
    step: float  # rad, largest recent step of the lost motion
    motion: float  # rad, g 𝓑 s
    slack: float  # rad, g 𝓑, the largest possible lost motion
    uncertainty: float  # rad, of the lost motion
    loads: Annotated[FloatArray, FILTERS]  # N·m, low-passed loads
    known: bool  # whether θ has passed through the whole play


@compiled
def lost_motion_step(s: Play, theta: float, load: float, width: float) -> None:
    """Take θ [rad] without its kinematic error, the load [N·m] and 𝓑(θ) [rad] of one joint."""
    if s.theta != s.theta:
        s.theta = theta
        for m in range(len(s.loads)):
            s.loads[m] = load
    if width > 0.0:
        s.position += (theta - s.theta) / width
    s.position = min(max(s.position, -1.0), 1.0)
    s.known = s.known or abs(s.position) >= 1.0 or width <= 0.0
    s.theta = theta
    lowest, highest, second = np.inf, -np.inf, 0.0
    for m in range(len(s.loads) + 1):
        if m > 0:
            s.loads[m - 1] += s.follow[m - 1] * (load - s.loads[m - 1])
        of_load, g = load if m == 0 else s.loads[m - 1], 0.0
        for i in range(PARTS):
            ratio = of_load * s.per_load[i]
            g += s.shares[i] / (1.0 + ratio * ratio)
        lowest, highest = min(lowest, g), max(highest, g)
        if m == 1:
            second = g
    s.spread = max(highest - lowest, s.keep * s.spread)
    before, s.slack = s.motion, second * width
    s.motion = s.slack * s.position
    s.step = max(abs(s.motion - before), s.keep_step * s.step)
    s.uncertainty = (s.spread if s.known else 1.0) * width + highest * s.unknown + s.step


class LostMotion:
    """Lost motion of n joints, sample by sample.

    Parameters
    ----------
    backlash
        function of θ (n,) rad: 𝓑(θ), rad, 0 where no backlash is described; None: described for no joint.
    limit
        N·m, number or (n,): torque limit, of which the loads τ_i are shares.
    period
        s.
    deviation
        rad, number or (n,): standard deviation of 𝓑.
    shares
        (2,) or (n, 2), of 𝓑 that the loads τ_i halve.
    lag
        s, number or (n,): T.

    Attributes
    ----------
    states
        (n,) of `Play`.
    motion
        g 𝓑 s (n,) rad, to be subtracted from the deformation.
    slack
        g 𝓑 (n,) rad, the largest possible `motion`.
    uncertainty
        (n,) rad: `UNSEEN` before the first sample; all of 𝓑 until θ has passed through the play; then two deviations of
        𝓑, reduced by the load, the spread of g and the largest recent step.

    """

    motion, slack, uncertainty = Field(), Field(), Field()

    def __init__(
        self,
        joints: int,
        backlash: Callable[[Array], Array] | None,
        limit: ArrayLike,
        period: float,
        deviation: ArrayLike = 0.0,
        shares: ArrayLike = LOAD_SHARES,
        lag: ArrayLike = LOAD_LAG,
    ) -> None:
        self.joints, self.backlash = int(joints), backlash
        period = positive('period', period)
        self.states = Play.filled(
            self.joints,
            unknown=DEVIATIONS * np.asarray(deviation, dtype=float),
            theta=np.nan,
            per_load=1.0 / loads_of(per_joint('limit', limit, self.joints)),
            follow=period / np.maximum(np.multiply.outer(np.asarray(lag, dtype=float), LAGS), period),
            shares=shares,
            keep=max(1.0 - period / SPREAD_TIME, 0.0),
            keep_step=max(1.0 - period / STEP_TIME, 0.0),
            uncertainty=0.0 if backlash is None else UNSEEN,
        )
        self._start = self.states.copy()

    def reset(self) -> None:
        """Discard the state of the play and the load."""
        self.states[:] = self._start

    def update(self, theta: Array, load: Array) -> None:
        """Take θ (n,) rad without its kinematic error and the load (n,) N·m of the same instant."""
        if self.backlash is not None:
            for joint in zip(self.states, theta, load, self.backlash(theta), strict=True):
                lost_motion_step(*joint)
