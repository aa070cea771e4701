"""From one source of commands to another without a step: what they differ by fades out.

u(t) = u_new(t) + (1 − t/T) (u_old − u_new(0)) for 0 ≤ t < T, and u_new(t) from then on.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import FloatArray


class Handover:
    """The command of n joints, continuous when its source changes.

    Attributes
    ----------
    time
        T [s]; 0: the new source counts at once.
    source
        the present one, '' where there is none.
    """

    def __init__(self, joints: int, time: float = 0.0):
        self.time = float(time)
        self.source = ''
        self._rest, self._share = np.zeros(joints), 0.0

    def clear(self) -> None:
        """Forget where commands came from."""
        self.source, self._share = '', 0.0

    def blended(
        self, source: str, command: FloatArray, last: FloatArray, limit: FloatArray, period: float
    ) -> FloatArray:
        """Return the command (n,) of `source`, with what is left of the difference to the source before.

        Parameters
        ----------
        source
            whose the command is.
        command, last
            (n,) of this source; of the step before, as it went out.
        limit
            (n,) largest command: more than that is no difference to fade.
        period
            s since the step before.
        """
        if source != self.source:
            if self.source and self.time > 0.0:
                self._rest, self._share = last - np.clip(command, -limit, limit), 1.0
            self.source = source
        elif self._share > 0.0:
            self._share = max(self._share - max(period, 0.0) / self.time, 0.0)
        return command + self._share * self._rest if self._share > 0.0 else command
