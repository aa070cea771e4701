"""What cannot be a recording of a moving robot is refused, what is odd is noted."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.aligned_signals import AlignedSignals
from joint_dynamics.recording.plausibility import WINDOW, beyond, bounds, contradicting

S = TypeVar('S', bound=AlignedSignals)
#: rad (m): a joint that moves by more than this needs a torque that changes.
MOVES = 0.01


def check_signals(recording: S, implausible: str = 'refuse') -> S:
    """Return the recording with a note on each joint that stands still or has a constant torque.

    Speeds that contradict the positions are left out, values that no arm has refused; with `implausible` 'note' both
    are only noted.

    Raises JointDynamicsError when no position ever changes, when all torques (currents) are constant, as the zeros of a
    simulator without effort, or when the torque of a joint is constant although the joint moves.
    """
    name, joints = recording.name, recording.joint_names
    notes = list(recording.notes)
    travel = np.ptp(recording.q, axis=0)
    motion = travel if recording.theta is None else np.maximum(travel, np.ptp(recording.theta, axis=0))
    if not motion.any():
        raise JointDynamicsError(
            f'{name}: expected a joint that moves, found every position constant for {recording.duration:.6g} s'
        )
    if not motion.all():
        notes.append(
            f'never moves: {", ".join(joint for joint, moved in zip(joints, motion, strict=True) if not moved)}'
        )
    for quantity, unit in (('tau', 'N·m'), ('current', 'A')):
        values = getattr(recording, quantity)
        if values is None:
            continue
        constant = np.ptp(values, axis=0) == 0
        if constant.all():
            found = ', '.join(f'{value:.6g}' for value in values[0])
            raise JointDynamicsError(
                f'{name}: expected {quantity} that changes, found it constant in all {recording.samples} samples '
                f'of all joints ({found} {unit}); '
                'if it is not measured, say effort: none'
            )
        for index in np.flatnonzero(constant):
            if not motion[index] <= MOVES:
                raise JointDynamicsError(
                    f'{name}: expected {quantity} of {joints[index]} that changes, found it constant '
                    f'({values[0, index]:.6g} {unit}) although the '
                    f'joint moves by {motion[index]:.3g} rad'
                )
            notes.append(f'{quantity} of {joints[index]} is constant: {values[0, index]:.6g} {unit}')
    dropped: dict[str, None] = {}
    notes += _implausible(recording, implausible)
    for quantity, position in (('dq', 'q'), ('dtheta', 'theta')):
        speed, angle = getattr(recording, quantity), getattr(recording, position)
        if speed is not None and angle is not None and np.ptp(angle, axis=0).max() > MOVES and not speed.any():
            dropped[quantity] = None
            notes.append(f'{quantity} is 0 throughout although {position} moves: left out')
        elif speed is not None and angle is not None:
            wrong = contradicting(recording.time, angle, speed)
            if wrong:
                shares = ', '.join(f'{joints[column]} by {share:.0%}' for column, share in wrong)
                found = (
                    f'{quantity} contradicts the changes of {position} within {WINDOW:g} s, {shares} '
                    '(unit, sign, order?)'
                )
                notes.append(f'{found}: left out' if implausible == 'refuse' else found)
                if implausible == 'refuse':
                    dropped[quantity] = None
    return replace(recording, notes=tuple(notes), **dropped)  # type: ignore[arg-type]


def _implausible(recording: AlignedSignals, implausible: str) -> list[str]:
    """Raise for what no arm has, or return notes of it.

    Here after reflection to the joint side, where a wrong gear ratio shows.
    """
    notes = []
    for quantity in recording.quantities:
        values = getattr(recording, quantity)
        odd = beyond(quantity, recording.time, values, bounds(quantity, recording.joint_names))
        if odd is not None:
            found = (
                f'{quantity} of {recording.joint_names[odd.column]} at {odd.time:.6g} s is not what a joint does:'
                f' {odd.found}'
            )
            if implausible == 'refuse':
                raise JointDynamicsError(
                    f'{recording.name}: expected what a joint does, found that {found} (recording.implausible: '
                    f'note lets it pass)'
                )
            notes.append(found)
    return notes
