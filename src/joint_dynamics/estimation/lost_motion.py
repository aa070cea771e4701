"""The share of the deformation that is not elastic: lost motion within the backlash [M4 eq 30-32].

    s ← clip(s + Δθ/𝓑(θ), ±1),   φ_elastic = φ − g(τ) 𝓑(θ) s,   g = 1/(1 + (τ/τ_half)²)

The play is the thesis's; that load takes it up by g is our assumption, not a published law: an exponent and a half load of another gear differ.

Unloaded, φ differs by ±𝓑(θ) with the direction of the last motion: times the stiffness that is more than a wrist carries. Load takes the play
up; how fast and how far differs from gear to gear, so that the spread of g over the loads of the last tenths of a second counts as not known.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.estimation.recursive import per_joint, positive

Array = NDArray[np.float64]
# s: low-passes of the load; how long a spread of it, and how long a movement of the play is remembered.
LAGS, HELD, WINDOW = (0.1, 0.3), 0.2, 0.05


class LostMotion:
    """Lost motion of n joints, sample by sample.

    backlash   function of θ (n,) rad: 𝓑(θ), half the backlash, rad; None: not known, taken as none.
    half       N·m, number or (n,): load that halves the lost motion.
    period     s.

    After an update, (n,) each: `motion` g 𝓑 s rad, to be taken off the deformation; `slack` g 𝓑 rad, as much as it can be; `unsure` rad, how
    wrong it may be beyond a share of itself: all of 𝓑 until θ has once been through it, and as much as it went with one of the last updates,
    for smoothed signals pass through the play in another way than sharp ones.
    """

    def __init__(self, joints: int, backlash: Callable[[Array], Array] | None, half: ArrayLike, period: float) -> None:
        self.joints, self._backlash = int(joints), backlash
        self._per_half = 1.0 / per_joint('half', half, self.joints)
        period = positive('period', period)
        self._follow = np.array([[min(period / lag, 1.0)] for lag in LAGS])
        self._keep, self._keep_step = max(1.0 - period / HELD, 0.0), max(1.0 - period / WINDOW, 0.0)
        self.reset()

    def reset(self) -> None:
        """Forget where the play stands and what the load was."""
        self._place, self._spread = np.zeros((2, self.joints))
        self._theta: Array | None = None
        self._loads = np.zeros((len(LAGS), self.joints))
        self._known = np.zeros(self.joints, dtype=bool)
        self.motion, self.slack, self.unsure, self._step = np.zeros((4, self.joints))

    def update(self, theta: Array, load: Array) -> None:
        """Take θ (n,) rad without its kinematic error and the load (n,) N·m of the same instant."""
        if self._backlash is None:
            return
        width = self._backlash(theta)
        if self._theta is None:
            self._loads[:] = load
        else:
            # The limits belong to the new angle; the play comes along with them as a share.
            self._place = np.clip(self._place + (theta - self._theta) / width, -1.0, 1.0)
        self._known |= np.abs(self._place) >= 1.0
        self._theta = theta.copy()
        self._loads += self._follow * (load - self._loads)
        ratio = np.vstack([load, self._loads]) * self._per_half
        left = 1.0 / (1.0 + ratio * ratio)
        self._spread = np.maximum(left.max(axis=0) - left.min(axis=0), self._keep * self._spread)
        self.slack = left[1] * width
        motion = self.slack * self._place
        self._step = np.maximum(np.abs(motion - self.motion), self._keep_step * self._step)
        self.motion = motion
        self.unsure = np.where(self._known, self._spread, 1.0) * width + self._step
