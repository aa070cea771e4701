"""What a control loop has to say of itself, in the diagnostics of the node that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics.control import ControlLoop
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.nodes.framework.diagnostics import ERROR, OK, WARN, Diagnostics

if TYPE_CHECKING:
    from joint_dynamics.nodes.framework.lifecycle import DynamicsNode


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
            self._diagnostics.beyond(loop.validity_violations)

    def tell_command(self) -> None:
        """Tell what the last command followed, and which limits it met."""
        loop, diagnostics = self._loop, self._diagnostics
        level = ERROR if loop.gate.failure else WARN if loop.fallback_reason else OK
        values: dict[str, float | str] = {'weight': loop.gate.weight}
        if level == OK:
            values['delay of the loop [s]'] = loop.delay
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


class Refusals(dict[str, str]):
    """Reasons by the name of what takes the messages; a good message takes the reason of the one before away."""

    def __init__(self, node: DynamicsNode):
        super().__init__()
        self._node = node

    def guarded(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback that gives messages to `take` while the node is active, and notes what it refuses."""

        def guarded(message: Any) -> None:
            if not self._node.is_active:
                return
            try:
                take(message)
                self.pop(take.__name__, None)
            except JointDynamicsError as error:
                self.note(take.__name__, error)

        return guarded

    def note(self, what: str, error: JointDynamicsError) -> None:
        """Note and log why `what` was refused."""
        self[what] = one_line(error)
        self._node.get_logger().error(self[what])
