"""A loop for a host that is no Python program: values in shared arrays, one call for each step.

The controller plugin of ros2_control embeds the interpreter, builds a `HostedLoop` from the texts and parameters that
the `feedforward` node has too, and writes into its arrays without a copy. Law and gate are the node's own: the loop is
that of `build_loop`.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.control.applied import refuse_run_away
from joint_dynamics.control.hosted_parameters import REFERENCE_QUANTITIES, parameters_of
from joint_dynamics.control.interface import STATES
from joint_dynamics.control.loop import SLOW, ControlLoop
from joint_dynamics.control.loop_parameters import GivenValues, build_loop
from joint_dynamics.control.loop_sample import CLOSED, FAILED, LAW, SAFE
from joint_dynamics.control.step_entry import Host, entry_for, give_command, take_inputs
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.conversions import MotorSide
from joint_dynamics.robot import RobotModel

WARM_UP = 20
"""Steps when it is built: what is compiled or loaded at the first call must not be late in the loop."""


class Outcome(IntEnum):
    """The outcome of a step.

    CLOSED: not active. LAW: the command follows the law. SAFE: on the way to or from the safe command, see `reason`.
    FAILED: the law raised an exception or its command is not finite; only `safe` may be used from here on, not
    `command`.
    """

    CLOSED = CLOSED
    LAW = LAW
    SAFE = SAFE
    FAILED = FAILED


class HostedLoop:
    """A control loop between arrays that a host has mapped.

    Parameters
    ----------
    robot
        text of the URDF.
    description
        text of the dynamics description (YAML); empty where `use_description` is false.
    given
        parameters by name (`parameters_of`), per joint as `<name>.<joint>`; unknown ones are ignored.

    Attributes
    ----------
    clock
        (2,) s: time of the step, and since the last. Written by the host, as are the next five.
    state, state_time
        (9, n) in the order of `STATES` and their units, the motor's as its drive gives them; (9,) s, when each was
        measured, NaN: never.
    reference, reference_time
        (4, n) desired position, velocity, acceleration and effort [rad, rad/s, rad/s², N·m], effort NaN where there
        is none; (2,) s, stamps of the motion and of the effort. The effort is added to the law's torque; where the
        motion has ended it is passed on alone, while the law's torque fades within `handover_time`.
    left
        (n,) N·m or A, the command on the interface before `activate`; NaN: unknown. The host writes it together with
        the states of that moment; both are discarded afterwards.
    command
        (n,) N·m or A, of the last step.
    safe
        (n,) N·m or A, the safe command at the last known position of the arm.
    code
        (5,) outcome, fault, row and joint of the last step, and optional values that are missing; `reason` and
        `warning` change only when it does.
    remarks
        messages to be shown once.
    entry, table
        addresses of the compiled step and of its table of arrays, for calling `step` without the interpreter; 0 where
        the law is not one of the shipped ones.

    Raises
    ------
    JointDynamicsError
        When robot, description and law do not fit together, or a parameter has a value that is not allowed.
    """

    def __init__(self, robot: str, description: str, given: Mapping[str, Any]):
        joints = given.get('joints') or None
        law = str(given.get('law', ''))
        names = RobotModel.load(robot, joints=joints).joint_names
        values = GivenValues(parameters_of(law), given, names)
        model = RobotModel.load(robot, joints=joints, mounting=values['mounting'] or None)
        described = None
        if values['use_description']:
            described = DynamicsDescription.from_yaml(description)
            described.check_robot(model)
        scratch = build_loop(values, model, described)
        self._check_references(law, scratch)
        _warm_up(scratch)
        # Anew: the law is to know nothing of that.
        self.loop = loop = build_loop(values, model, described)
        loop.handover.time = values['handover_time']
        if values['check_compensation'] and described is not None:
            refuse_run_away(loop.controller)
        self.remarks = (
            *loop.remarks,
            *(() if described is None else described.doubtful_joints(loop.arm.joint_names)),
            *(f'parameter {name} is not known; meant {near}?' for name, near in values.misspelt.items()),
        )
        n = loop.arm.n
        self.left: FloatArray = np.full(n, np.nan)
        motor = MotorSide(tuple(values.per_joint('gear_ratio')), zero_offsets=tuple(values.per_joint('zero_offset')))
        names, factor, shift = loop.arm.joint_names, np.ones((len(STATES), n)), np.zeros((len(STATES), n))
        for row, quantity in enumerate(STATES):
            if quantity in ('motor_position', 'motor_velocity'):
                factor[row] = motor.velocity(np.ones((1, n)), names)[0]
        shift[list(STATES).index('motor_position')] = motor.position(np.zeros((1, n)), names)[0]
        self._host = host = Host(
            clock=np.zeros(2),
            state=np.full((len(STATES), n), np.nan),
            state_time=np.full(len(STATES), np.nan),
            reference=np.full((len(REFERENCE_QUANTITIES), n), np.nan),
            reference_time=np.full(2, np.nan),
            command=np.zeros(n),
            safe=np.zeros(n),
            written=np.full(len(STATES), np.nan),
            known=np.array([quantity in loop.state for quantity in STATES], dtype=np.int64),
            slow=np.array([quantity in SLOW for quantity in STATES], dtype=np.int64),
            factor=factor,
            shift=shift,
            timeout=np.array([loop.settings.timeout]),
            values=np.zeros(n),
            given=np.zeros(n, dtype=bool),
            code=np.zeros(5, dtype=np.int64),
        )
        self.clock, self.state, self.state_time = host.clock, host.state, host.state_time
        self.reference, self.reference_time = host.reference, host.reference_time
        self.command, self.safe, self.code = host.command, host.safe, host.code
        self._entry = entry_for(loop.sample, host) if loop.is_compiled else None
        self.entry, self.table = (0, 0) if self._entry is None else (self._entry.address, self._entry.table)
        if self._entry is None:
            # Compiled or loaded here, while the gate is closed, so that the first step is not late.
            self._step_in_python()
        gc.collect()
        gc.freeze()
        if self._entry is None:
            # In the middle of a step in Python nothing is searched for cycles.
            gc.disable()

    @staticmethod
    def _check_references(law: str, loop: ControlLoop) -> None:
        missing = [quantity for quantity in loop.references if quantity not in REFERENCE_QUANTITIES]
        if missing:
            raise JointDynamicsError(
                f'law: expected one that needs {", ".join(REFERENCE_QUANTITIES[:3])} at most, as ros2_control has them,'
                f' found {law}, which needs {" and ".join(missing)} (the feedforward node has them in its trajectories)'
            )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the order of the arrays."""
        return self.loop.arm.joint_names

    @property
    def warning(self) -> str:
        """Which slow inputs are missing or old, '' if none."""
        return self.loop.warning

    @property
    def reason(self) -> str:
        """Why the command does not follow the law, '' when it does."""
        return self.loop.fallback_reason

    def activate(self) -> None:
        """Open the gate with the present `state` and `left`; discard earlier measurements and references.

        Writes the first `command`. Raises JointDynamicsError when the law refuses.
        """
        loop, rows = self.loop, {quantity: k for k, quantity in enumerate(STATES)}
        try:
            loop.activate(self.state[rows['position']], self.state[rows['effort']], self.left)
        finally:
            self._forget()
        self.command[:] = loop.gate.last
        self.safe[:] = loop.safe_command

    def _forget(self) -> None:
        for values in (self.state, self.state_time, self.reference, self.reference_time, self._host.written, self.left):
            values.fill(np.nan)

    def deactivate(self) -> None:
        """Close the gate: no further commands."""
        if self.loop.gate.is_open:
            try:
                self.loop.controller.on_deactivate()
            finally:
                self.loop.gate.release()
        self._forget()

    def step(self) -> int:
        """Read the host's arrays, write `command` and `safe`; return the `Outcome`."""
        if self._entry is not None:
            return self._entry.call()
        try:
            return self._step_in_python()
        except BaseException as error:  # SystemExit, too: there is no program here that it could end
            self.loop.gate.fail(f'the law raised {type(error).__name__}: {error}')
            return self._step_in_python()

    def _step_in_python(self) -> int:
        take_inputs(self._host, self.loop.sample)
        outcome = self.loop.advance(*self.clock.tolist())
        give_command(self._host, self.loop.sample, outcome)
        return outcome


def _warm_up(loop: ControlLoop) -> None:
    limits = loop.arm.robot.limits
    q = np.clip(np.zeros(loop.arm.n), limits.lower, limits.upper)
    loop.activate(q)
    for k in range(WARM_UP):
        for interfaces in (loop.state, loop.reference):
            for quantity in interfaces.quantities:
                interfaces.write(quantity, q if quantity.endswith('position') else np.zeros_like(q), 1e-3 * k)
        loop.step(1e-3 * k, 1e-3)
    if loop.gate.failure:
        raise JointDynamicsError(f'law: expected one that gives a torque at rest, found that {loop.gate.failure}')
    loop.gate.release()
