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
from joint_dynamics.control.hosted_parameters import REFERENCE_QUANTITIES, parameters_of
from joint_dynamics.control.inputs import AgedInterfaces
from joint_dynamics.control.interface import STATES
from joint_dynamics.control.loop import SLOW, ControlLoop
from joint_dynamics.control.loop_parameters import GivenValues, build_loop
from joint_dynamics.control.preflight import refuse_run_away
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.motor_side import MotorSide
from joint_dynamics.robot import RobotModel

WARM_UP = 20
"""Steps when it is built: what is compiled or loaded at the first call must not be late in the loop."""


class Outcome(IntEnum):
    """What a step has come to.

    CLOSED: not active. LAW: the command follows the law. SAFE: on the way to or from the safe command, see `reason`.
    FAILED: the law raised or gave something that is not finite; `command` must not be used any more, `safe` may.
    """

    CLOSED = 0
    LAW = 1
    SAFE = 2
    FAILED = 3


class HostedLoop:
    """A control loop between arrays that a host has mapped.

    Parameters
    ----------
    robot
        text of the URDF.
    description
        text of the dynamics description (YAML); empty where `use_description` is false.
    given
        parameters by name (`parameters_of`), per joint as `<name>.<joint>`; others are passed over.

    Attributes
    ----------
    clock
        (2,) s: time of the step, and since the last. Written by the host, as are the next five.
    state, state_time
        (9, n) in the order of `STATES` and their units, the motor's as its drive gives them; (9,) s, when each was
        measured, NaN: never.
    reference, reference_time
        (4, n) position, velocity, acceleration and effort desired [rad, rad/s, rad/s², N·m]; effort that is not a
        number is none. (2,) s, when the motion was desired, and when the effort was. Effort is added to the law's;
        where there is no motion any more it is passed on alone, and the law's torque fades within `handover_time`.
    left
        (n,) N·m or A, the command that stands there before `activate`; NaN: not known. With it the host writes the
        states of that moment; both are forgotten afterwards.
    command
        (n,) N·m or A, of the last step. safe: (n,) N·m or A, the safe command where the arm was last known to be.
    reason
        why the command does not follow the law, '' when it does. remarks: what is worth saying once.

    Raises
    ------
    JointDynamicsError
        When one part does not fit the other, or a parameter is not allowed.
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
            *(f'parameter {name} is not known; meant {near}?' for name, near in values.misspelt.items()),
        )
        n = loop.arm.n
        self.clock: FloatArray = np.zeros(2)
        self.state: FloatArray = np.full((len(STATES), n), np.nan)
        self.state_time: FloatArray = np.full(len(STATES), np.nan)
        self.reference: FloatArray = np.full((len(REFERENCE_QUANTITIES), n), np.nan)
        self.reference_time: FloatArray = np.full(2, np.nan)
        self.left: FloatArray = np.full(n, np.nan)
        self.command: FloatArray = np.zeros(n)
        self.safe: FloatArray = np.zeros(n)
        self.reason = ''
        motor = MotorSide(tuple(values.per_joint('gear_ratio')), zero_offsets=tuple(values.per_joint('zero_offset')))
        self._reflect = {'motor_position': motor.position, 'motor_velocity': motor.velocity}
        self._rows = [(k, quantity) for k, quantity in enumerate(STATES) if quantity in loop.state]
        self._written = np.full(len(STATES), np.nan)
        # What has been built stays; from here on nothing is searched for cycles in the middle of a step.
        gc.collect()
        gc.freeze()
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
        """What slow input is missing or old, '' when none is."""
        return self.loop.warning

    def activate(self) -> None:
        """Open the gate, with `state` and `left` as they are; forget what was measured and desired before.

        `command` is what to begin with. Raises JointDynamicsError: the law refuses.
        """
        loop, rows = self.loop, {quantity: k for k, quantity in enumerate(STATES)}
        try:
            loop.activate(self.state[rows['position']], self.state[rows['effort']], self.left)
        finally:
            self._forget()
        self.command[:] = loop.gate.last
        self.safe[:] = loop.safe_command
        self.reason = loop.fallback_reason

    def _forget(self) -> None:
        for values in (self.state, self.state_time, self.reference, self.reference_time, self._written, self.left):
            values.fill(np.nan)

    def deactivate(self) -> None:
        """Close the gate; whoever holds the arm now gets no more commands from here."""
        if self.loop.gate.is_open:
            try:
                self.loop.controller.on_deactivate()
            finally:
                self.loop.gate.release()
        self._forget()
        self.reason = 'not active'

    def step(self) -> int:
        """Take what the host has written, write `command` and `safe`; return the `Outcome`."""
        try:
            return self._step(*self.clock.tolist())
        except BaseException as error:  # SystemExit, too: there is no program here that it could end
            self.loop.gate.fail(f'the law raised {type(error).__name__}: {error}')
            return self._step(*self.clock.tolist())

    def _step(self, time: float, period: float) -> int:
        loop = self.loop
        self._take_state(loop.state)
        when, effort_when = self.reference_time.tolist()
        if when == when:
            loop.reference.write_rows(self.reference[:3], when)
        np.copyto(loop.added, self.reference[3])
        given = np.isfinite(loop.added)
        if not time - effort_when <= loop.settings.timeout:
            given[:] = False
        loop.added[~given] = 0.0
        loop.alone = bool(given.all())
        out = loop.step(time, period)
        self.reason = loop.fallback_reason
        if out is None:
            return int(Outcome.CLOSED)
        self.safe[:] = loop.safe_command
        if loop.gate.failure:
            return int(Outcome.FAILED)
        self.command[:] = out
        return int(Outcome.SAFE if self.reason else Outcome.LAW)

    def _take_state(self, state: AgedInterfaces) -> None:
        times, before = self.state_time.tolist(), self._written.tolist()
        for k, quantity in self._rows:
            when = times[k]
            if when != when or when == before[k]:
                continue
            self._written[k] = when
            values = self.state[k]
            if quantity in self._reflect:
                values = self._reflect[quantity](values[None], self.joint_names)[0]
            if quantity in SLOW and not np.isfinite(values).all():
                # Some joints have told theirs, others not yet.
                there = np.isfinite(values)
                names = [name for name, given in zip(self.joint_names, there, strict=True) if given]
                state.write(quantity, values[there], when, names)
            else:
                state.write(quantity, values, when)


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
