"""The range of validity goes into the description, and a motion beyond it is predicted with the friction at its limit.

This is said.
"""

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.validate import judge_description, validate_description


@pytest.fixture(scope='module')
def trained(true_robot):
    slow = true_robot.record(1, duration=8.0)
    return slow, identify(true_robot.model, [slow], settings=IdentificationSettings(selection=False))


def narrowed(description, share):
    """The same, checked up to a share of the speed only."""
    document = {
        **description.document,
        'joints': {name: dict(part) for name, part in description.document['joints'].items()},
    }
    for part in document['joints'].values():
        part['validity'] = {**part['validity'], 'speed': share * part['validity']['speed']}
    return DynamicsDescription(document)


def test_the_description_states_what_the_summary_does(trained):
    _, result = trained
    document = result.description.document
    assert {name: part['validity'] for name, part in document['joints'].items()} == result.summary()['validity']


def test_the_training_is_within_its_own_range(trained):
    slow, result = trained
    assert not any('.validity.' in note for note in judge_description(result.description, [slow]).notes)


def test_a_motion_beyond_is_held_and_said_with_its_extent(trained):
    slow, result = trained
    description = result.description
    held = narrowed(description, 0.1)
    (within,), judged = validate_description(description, [slow]), judge_description(held, [slow])
    (beyond,), notes = judged.fits, [note for note in judged.notes if '.validity.' in note]
    names = description.joint_names
    assert [note.partition(': joints.')[2].partition(':')[0] for note in notes] == [
        f'{name}.validity.speed' for name in names
    ]
    assert all('the motion goes to' in note and 'times)' in note for note in notes)
    viscous = [description.joint(name)['friction']['parameters']['F_V1'] for name in names]
    limit = np.array([held.joint(name)['validity']['speed'] for name in names])
    # What the prediction loses is the viscous friction beyond the limit, through the same filter.
    lost = within.full.predicted - beyond.full.predicted
    dq = within.full.dq
    expected = np.array(viscous) * (dq - np.clip(dq, -limit, limit))
    np.testing.assert_allclose(lost, expected, rtol=0, atol=1e-9)
