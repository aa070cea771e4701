"""A motion that a trajectory controller was sent, and whether the controller's reference goes along it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.nodes.interfaces.start import MOVED

FAR = 10 * MOVED
"""Way [rad] of the motion within which the reference of a controller that plays it must have begun to move."""


class SentMotion:
    """A motion as it was sent.

    Parameters
    ----------
    position
        returns the positions (n,) [rad] at a time of the motion [s].
    duration
        s.
    began
        its beginning, s of the node's clock.
    before
        the controller's reference when it was sent (n,) [rad]; None where it was not known.
    late
        by how much the controller may begin later than that, s.

    Attributes
    ----------
    began, duration
        as given.
    """

    def __init__(
        self,
        position: Callable[[float], FloatArray],
        duration: float,
        began: float,
        before: FloatArray | None = None,
        late: float = 0.0,
    ):
        self.began, self.duration = began, duration
        self._position, self._before, self._late = position, before, late
        self._taken = False

    def not_taken(self, reference: tuple[float, FloatArray] | None) -> bool:
        """Whether the controller's reference has not left the place it had before, while the motion has gone on.

        Parameters
        ----------
        reference
            time [s] and positions (n,) [rad] of that reference, None where it is not known.
        """
        if reference is None or self._before is None or self._taken:
            return False
        # For good: a motion may come back to where it began, and a reference that is late is there while it is not.
        self._taken = bool(np.abs(reference[1] - self._before).max() > MOVED)
        at = min(max(reference[0] - self.began - self._late, 0.0), self.duration)
        way = self._position(at) - self._position(0.0)
        return not self._taken and bool(np.abs(way).max() > FAR)
