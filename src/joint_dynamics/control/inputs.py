"""What a law is given: values with their age, plausible or not, joint by joint."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from joint_dynamics.control.interface import Interfaces


class AgedInterfaces(Interfaces):
    """Interfaces that remember when each joint's value was written; times are s of one steady clock.

    limits: s, largest age per quantity; a quantity without a limit never gets old.
    """

    def __init__(self, joint_names: Sequence[str], limits: Mapping[str, float]):
        super().__init__(joint_names, limits)
        self._limits = dict(limits)
        self._written = {quantity: np.full(len(self.joint_names), -np.inf) for quantity in limits}
        self._oldest = dict.fromkeys(limits, -np.inf)
        self._index = {name: k for k, name in enumerate(self.joint_names)}

    def write(self, quantity: str, values: ArrayLike, time: float, joints: Sequence[str] | None = None) -> None:
        """Write values of all joints (n,), or of the `joints` named (unknown ones are passed over), at `time` s."""
        if quantity not in self:
            return
        if joints is None:
            self[quantity] = values
            self._written[quantity].fill(time)
            self._oldest[quantity] = time
            return
        target, written = self[quantity], self._written[quantity]
        for name, value in zip(joints, np.asarray(values, dtype=float), strict=True):
            k = self._index.get(name)
            if k is not None:
                target[k], written[k] = value, time
        self._oldest[quantity] = float(written.min())

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        for written in self._written.values():
            written.fill(-np.inf)
        self._oldest = dict.fromkeys(self._oldest, -np.inf)

    def ages(self, quantity: str, time: float) -> NDArray:
        """Return the age (n,) s of a quantity, infinite where it never came, never below 0."""
        return np.maximum(time - self._written[quantity], 0.0)

    def fresh(self, quantity: str, time: float) -> bool:
        """Return whether every joint's value is young enough (not whether it is a number)."""
        return time - self._oldest[quantity] <= self._limits[quantity]

    def doubt(self, quantities: Sequence[str], time: float, what: str) -> str:
        """Return why these quantities cannot be used now, '' when they can: not there, too old, or not finite."""
        for quantity in quantities:
            oldest = self._oldest[quantity]
            limit = self._limits[quantity]
            if not time - oldest <= limit:
                joint = self.joint_names[int(np.argmin(self._written[quantity]))]
                if np.isinf(oldest):
                    return f'{what} {quantity} of {joint} has not come yet'
                return f'{what} {quantity} of {joint} is {time - oldest:.3f} s old, allowed are {limit:g} s'
            values = self[quantity]
            if not np.isfinite(values).all():
                return f'{what} {quantity} of {self.joint_names[int(np.argmin(np.isfinite(values)))]} is not a finite number'
        return ''


def beyond(joint_names: Sequence[str], values: NDArray, low: NDArray, high: NDArray, what: str) -> str:
    """Return which joint's value is outside [low, high], '' when none is."""
    outside = ~((values >= low) & (values <= high))
    if not outside.any():
        return ''
    k = int(np.argmax(outside))
    return f'{what} of {joint_names[k]} is {values[k]:.6g}, allowed are {low[k]:.6g} … {high[k]:.6g}'
