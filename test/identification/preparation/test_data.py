"""What the recordings of one identification have to hold."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.preparation.data import PreparedRecordings


@pytest.fixture
def recording(true_robot):
    return true_robot.record(1, duration=2.0)


def prepared(true_robot, recording):
    return PreparedRecordings.of(true_robot.model, [recording], [], [])


def silenced(values, *joints):
    values = values.copy()
    values[:, joints] = 0.0
    return values


def test_a_joint_that_moves_without_any_torque_was_not_measured(true_robot, recording):
    names = recording.joint_names
    one = replace(recording, tau=silenced(recording.tau, 1), name='run1')
    with pytest.raises(JointDynamicsError, match=rf'^run1: torque of {names[1]}: expected .* found zero in all'):
        prepared(true_robot, one)
    nothing = replace(recording, tau=np.zeros_like(recording.tau), name='run1')
    with pytest.raises(JointDynamicsError, match=f'torque of {", ".join(names)}: expected'):
        prepared(true_robot, nothing)


def test_a_current_in_its_place_and_a_joint_that_stays_are_taken(true_robot, recording):
    silent = silenced(recording.tau, 1)
    assert prepared(true_robot, replace(recording, tau=silent, current=recording.tau)).training
    with pytest.raises(JointDynamicsError, match='found zero in all'):
        prepared(true_robot, replace(recording, tau=silent, current=silent))
    resting = recording.q.copy()
    resting[:, 1] = 0.3
    dq = None if recording.dq is None else silenced(recording.dq, 1)
    assert prepared(true_robot, replace(recording, q=resting, dq=dq, tau=silent)).training
    almost = silent.copy()
    almost[0, 1] = 1e-6
    assert prepared(true_robot, replace(recording, tau=almost)).training


def test_a_note_that_is_true_of_several_recordings_is_told_once(true_robot, recording):
    one, two, three = (replace(recording, name=name, notes=('warm', name)) for name in ('a', 'b', 'c'))
    data = PreparedRecordings.of(true_robot.model, [one, two], [three], [])
    assert data.notes == ['a, b, c: warm', 'a: a', 'b: b', 'c: c']
