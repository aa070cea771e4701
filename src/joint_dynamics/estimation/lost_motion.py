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
from joint_dynamics.estimation.learning import LAGS, PLAY, lost_motion_step
from joint_dynamics.estimation.recursive import per_joint, positive
from joint_dynamics.joint.constants import Field, filled
from joint_dynamics.joint.stiffness import loads_of

Array = FloatArray
# s: how long a spread of the load, and how long a movement of the play is remembered.
HELD, WINDOW = 0.2, 0.05
# The backlash may be so many of its deviations off.
DEVIATIONS = 2.0


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
