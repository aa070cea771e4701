"""What a control loop has to say of itself, in the diagnostics of the node that runs it."""

from __future__ import annotations

import numpy as np

from joint_dynamics.control import ControlLoop
from joint_dynamics.nodes.diagnostics import ERROR, OK, WARN, Diagnostics


class LoopReport:
    """Tells whether a loop's law is followed, and in full.

    Parameters
    ----------
    law
        the name it was asked for by.
    """

    def __init__(self, diagnostics: Diagnostics, loop: ControlLoop, law: str):
        self._diagnostics, self._loop, self._law = diagnostics, loop, law

    def tell_law(self) -> None:
        """Tell which law it is, and what it lacks."""
        loop = self._loop
        self._diagnostics.set('law', WARN if loop.warning else OK, loop.warning or self._law)
        if loop.arm.validity is not None:
            self._diagnostics.beyond(loop.beyond)

    def tell_command(self) -> None:
        """Tell what the last command followed, and which limits it met."""
        loop, diagnostics = self._loop, self._diagnostics
        level = ERROR if loop.gate.failure else WARN if loop.fallback_reason else OK
        values: dict[str, float | str] = {'weight': loop.gate.weight}
        if level == OK:
            apart = loop.state['position'] - loop.reference['position']
            values['farthest off [rad]'] = float(np.abs(apart).max())
            values['joint farthest off'] = loop.arm.joint_names[int(np.abs(apart).argmax())]
        diagnostics.set('command', level, loop.fallback_reason or 'follows the law', **values)
        limited = [name for name, held in zip(loop.arm.joint_names, loop.gate.limited, strict=True) if held]
        diagnostics.set(
            'limits',
            WARN if limited else OK,
            f'limited in torque or rate: {", ".join(limited)}' if limited else 'not reached',
        )
