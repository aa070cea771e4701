"""The part of the deformation that is not elastic: lost motion within the backlash [M4 eq 30-32].

    s ← clip(s + Δθ/𝓑(θ), ±1),   φ_elastic = φ − g(τ) 𝓑(θ) s,   g = mean of 1/(1 + (τ/τ_i)²)

The play is the thesis's; its reduction by load, g, is our assumption, not a published law: the mixture of
`joint.lost_motion` in equal parts, since only the width of a described backlash is known.

Unloaded, φ differs by ±𝓑(θ) with the direction of the last motion; times the stiffness, this exceeds the torque of a
wrist. Load takes up the play, but how fast and how far differs from gear to gear, so the spread of g over the loads of
the last tenths of a second counts as uncertainty.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.records import Field, filled, record
from joint_dynamics.estimation.recursive import per_joint, positive
from joint_dynamics.joint.stiffness import LOADS, loads_of

Array = FloatArray
# s: low-passes of the load; how long a spread of it, and how long a movement of the play is remembered.
LAGS, HELD, WINDOW = (0.1, 0.3), 0.2, 0.05
# The backlash may be so many of its deviations off.
DEVIATIONS = 2.0
PARTS = len(LOADS)
PLAY = record(
    'unknown keep keep_step theta place spread step motion slack uncertainty', 'known',
    per_load=(PARTS,), follow=(len(LAGS),), loads=(len(LAGS),),
)  # fmt: skip
"""Settings of one joint: two deviations of 𝓑, rad; shares kept per update of the spread and of the step; 1/τ_i; shares
by which the low-passes follow. Its state: θ of the last update, rad (NaN: none yet); s; spread of g; rad; low-passed
loads, N·m; whether θ has passed through the play."""


@compiled
def lost_motion_step(s, theta, load, width):  # type: ignore[no-untyped-def]
    """`LostMotion.update` of one joint: s of `PLAY`, θ [rad], load [N·m] and 𝓑(θ) [rad]."""
    if s.theta != s.theta:
        s.theta = theta
        for m in range(len(s.loads)):
            s.loads[m] = load
    if width > 0.0:
        s.place += (theta - s.theta) / width
    s.place = min(max(s.place, -1.0), 1.0)
    s.known = s.known or abs(s.place) >= 1.0 or width <= 0.0
    s.theta = theta
    lowest, highest, second = np.inf, -np.inf, 0.0
    for m in range(len(s.loads) + 1):
        if m > 0:
            s.loads[m - 1] += s.follow[m - 1] * (load - s.loads[m - 1])
        of_load, left = load if m == 0 else s.loads[m - 1], 0.0
        for i in range(PARTS):
            ratio = of_load * s.per_load[i]
            left += 1.0 / (1.0 + ratio * ratio)
        left /= PARTS
        lowest, highest = min(lowest, left), max(highest, left)
        if m == 1:
            second = left
    s.spread = max(highest - lowest, s.keep * s.spread)
    before, s.slack = s.motion, second * width
    s.motion = s.slack * s.place
    s.step = max(abs(s.motion - before), s.keep_step * s.step)
    s.uncertainty = (s.spread if s.known else 1.0) * width + highest * s.unknown + s.step


class LostMotion:
    """Lost motion of n joints, sample by sample.

    Parameters
    ----------
    backlash
        function of θ (n,) rad: 𝓑(θ), half the backlash, rad, 0 where it is unknown and assumed absent; None: unknown
        for all joints.
    limit
        N·m, number or (n,): torque limit, of which the loads τ_i are shares.
    period
        s.
    deviation
        rad, number or (n,): standard deviation of 𝓑.

    Attributes
    ----------
    states
        (n,) of `PLAY`, which `lost_motion_step` takes.
    motion
        g 𝓑 s (n,) rad, to be subtracted from the deformation.
    slack
        g 𝓑 (n,) rad, the largest possible `motion`.
    uncertainty
        (n,) rad, in addition to a share of `motion`: all of 𝓑 until θ has passed through it once; two deviations of 𝓑,
        reduced by the load; and the largest change in one of the last updates, because smoothed signals pass through
        the play differently from raw ones.

    """

    motion, slack, uncertainty = Field(), Field(), Field()

    def __init__(
        self,
        joints: int,
        backlash: Callable[[Array], Array] | None,
        limit: ArrayLike,
        period: float,
        deviation: ArrayLike = 0.0,
    ) -> None:
        self.joints, self.backlash = int(joints), backlash
        period = positive('period', period)
        self.states = filled(
            self.joints, PLAY, unknown=DEVIATIONS * np.asarray(deviation, dtype=float), theta=np.nan,
            per_load=1.0 / loads_of(per_joint('limit', limit, self.joints)),
            follow=[min(period / lag, 1.0) for lag in LAGS],
            keep=max(1.0 - period / HELD, 0.0), keep_step=max(1.0 - period / WINDOW, 0.0),
        )  # fmt: skip
        self._start = self.states.copy()

    def reset(self) -> None:
        """Discard the state of the play and the load."""
        self.states[:] = self._start

    def update(self, theta: Array, load: Array) -> None:
        """Take θ (n,) rad without its kinematic error and the load (n,) N·m of the same instant."""
        if self.backlash is not None:
            for joint in zip(self.states, theta, load, self.backlash(theta), strict=True):
                lost_motion_step(*joint)
