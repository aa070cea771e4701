"""Whether what was measured and what is desired may be followed now: there, young enough, finite and within bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.inputs import AgedInterfaces, beyond
from joint_dynamics.control.interface import REFERENCES
from joint_dynamics.control.packed_friction import compiled_kernels

COMPARED = ('desired position', 'distance from the desired position', 'desired speed', 'speed')


class InputChecks:
    """Checks of the inputs of one loop.

    Parameters
    ----------
    state, reference
        what is looked at. required, references: quantities of them that the law needs.
    position, speed
        lower and upper bounds (n,) of desired positions, rad; largest speed (n,) rad/s, measured and desired.
    tracking
        rad, largest distance from the desired position.

    Attributes
    ----------
    compiled
        whether a kernel looks first; False: only the array form, which it is compared with, and which says what is
        wrong.
    """

    def __init__(
        self,
        state: AgedInterfaces,
        reference: AgedInterfaces,
        required: Sequence[str],
        references: Sequence[str],
        position: tuple[FloatArray, FloatArray],
        speed: FloatArray,
        tracking: float,
    ):
        self._state, self._reference, self._references = state, reference, tuple(references)
        n = len(state.joint_names)
        lower, upper = position
        if 'position' not in references:
            lower, upper = -np.full(n, np.inf), np.full(n, np.inf)
        near = np.full(n, tracking)
        self._low = np.concatenate([lower, -near, -speed, -speed])
        self._high = np.concatenate([upper, near, speed, speed])
        self._still = np.zeros(n)
        self._required = tuple(dict.fromkeys(('position', *required)))
        # As the kernel takes them.
        rows, known = list(state.quantities), list(REFERENCES)
        self._bounds = np.concatenate([self._low, self._high]).reshape(8, n)
        self._needed = np.array([rows.index(quantity) for quantity in self._required], dtype=np.int64)
        self._desired = np.array([known.index(quantity) for quantity in self._references], dtype=np.int64)
        wanted = [known.index(each) if each in references else -1 for each in ('position', 'velocity')]
        position_row, speed_row = rows.index('position'), rows.index('velocity')
        self._with_speed = np.array([position_row, speed_row, *wanted], dtype=np.int64)
        self._without_speed = np.array([position_row, -1, *wanted], dtype=np.int64)
        self.compiled = True
        self._fine(True)

    def why_not(self, time: float) -> str:
        """Return why the law cannot be followed at `time` s, '' when it can."""
        state = self._state
        if (
            self.compiled
            and state.in_time(self._required, time)
            and self._reference.in_time(self._references, time)
            and self._fine(state.fresh('velocity', time))
        ):
            return ''
        return self._by_arrays(time)

    def lacks_only_references(self, time: float) -> bool:
        """Whether at `time` s the state is there and within its bounds, and the references are not there or old."""
        state, n = self._state, len(self._still)
        if state.why_invalid(self._required, time, 'state'):
            return False
        if not self._reference.why_invalid(self._references, time, 'reference'):
            return False
        speed = state['velocity'] if state.fresh('velocity', time) else self._still
        return not beyond(state.joint_names, speed, self._low[-n:], self._high[-n:], COMPARED[-1])

    def _fine(self, with_speed: bool) -> bool:
        """Whether all numbers are finite and within their bounds, however old they are."""
        places = self._with_speed if with_speed else self._without_speed
        found: bool = compiled_kernels().plausible(
            self._state.rows, self._reference.rows, self._needed, self._desired, places, self._bounds
        )
        return found

    def _by_arrays(self, time: float) -> str:
        state, desired = self._state, self._reference
        reason = state.why_invalid(self._required, time, 'state') or desired.why_invalid(
            self._references, time, 'reference'
        )
        if reason:
            return reason
        looked_at = [self._still, self._still]
        if 'position' in self._references:
            looked_at = [desired['position'], state['position'] - desired['position']]
        looked_at.append(desired['velocity'] if 'velocity' in self._references else self._still)
        looked_at.append(state['velocity'] if state.fresh('velocity', time) else self._still)
        for k, (what, values) in enumerate(zip(COMPARED, looked_at, strict=True)):
            part = slice(k * len(values), (k + 1) * len(values))
            reason = beyond(state.joint_names, values, self._low[part], self._high[part], what)
            if reason:
                return reason
        return ''
