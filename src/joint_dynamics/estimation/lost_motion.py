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
from joint_dynamics.estimation.learning_kernels import lost_motion
from joint_dynamics.estimation.recursive import per_joint, positive
from joint_dynamics.joint.stiffness import loads_of

Array = FloatArray
# s: low-passes of the load; how long a spread of it, and how long a movement of the play is remembered.
LAGS, HELD, WINDOW = (0.1, 0.3), 0.2, 0.05
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
    motion
        g 𝓑 s (n,) rad, to be subtracted from the deformation.
    slack
        g 𝓑 (n,) rad, the largest possible `motion`.
    uncertainty
        (n,) rad, in addition to a share of `motion`: all of 𝓑 until θ has passed through it once; two deviations of 𝓑,
        reduced by the load; and the largest change in one of the last updates, because smoothed signals pass through
        the play differently from raw ones.

    """

    def __init__(
        self,
        joints: int,
        backlash: Callable[[Array], Array] | None,
        limit: ArrayLike,
        period: float,
        deviation: ArrayLike = 0.0,
    ) -> None:
        self.joints, self.backlash = int(joints), backlash
        self._unknown = np.full(self.joints, DEVIATIONS * np.asarray(deviation, dtype=float))
        self._per_load = 1.0 / loads_of(per_joint('limit', limit, self.joints)).T
        period = positive('period', period)
        self._follow = np.array([[min(period / lag, 1.0)] for lag in LAGS])
        self._keep, self._keep_step = max(1.0 - period / HELD, 0.0), max(1.0 - period / WINDOW, 0.0)
        self._rates = self._follow, self._keep, self._keep_step
        self.reset()

    def reset(self) -> None:
        """Discard the state of the play and the load."""
        self._place, self._spread = np.zeros((2, self.joints))
        self._theta: Array | None = None
        self._loads = np.zeros((len(LAGS), self.joints))
        self._known = np.zeros(self.joints, dtype=bool)
        self.motion, self.slack, self.uncertainty, self._step = np.zeros((4, self.joints))

    def update(self, theta: Array, load: Array) -> None:
        """Take θ (n,) rad without its kinematic error and the load (n,) N·m of the same instant."""
        if self.backlash is None:
            return
        if self._theta is None:
            self._theta, self._loads[:] = theta.copy(), load
        found = np.array([self.motion, self.slack, self.uncertainty])
        lost_motion(
            theta, load, self.backlash(theta), self._unknown, self._per_load, self._rates, self._theta, self._place,
            self._spread, self._loads, self._known, self._step, found,
        )  # fmt: skip
        self.motion, self.slack, self.uncertainty = found
