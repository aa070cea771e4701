"""Transmissions of the joints that the data show."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification import transmissions


@pytest.mark.parametrize('share', [None, 0.05, {'b': 0.05}])
def test_transmissions_are_those_that_the_data_tell_and_the_rest_is_said(monkeypatch, ur, share):
    """Each joint by its own torque limit; a stiffness is as uncertain as the drive gain that its torque came from."""
    recordings = [SimpleNamespace(theta=np.zeros((2, 6))), SimpleNamespace(theta=np.zeros((2, 6)))]
    names, asked = ur.joint_names, []

    def identified(data, limit):
        joint = data[0][1]
        asked.append((joint, data, limit))
        if joint == names[2]:
            raise NotReliableError('transmission: hardly loaded')
        document = {'stiffness': {'coefficients': [2e4, 1e8], 'standard_deviations': [300.0, 4e6]}, 'backlash': joint}
        reasons = ['one', 'two'] if joint == names[3] else []
        return SimpleNamespace(document=document, reasons=reasons)

    tests = 'joint_dynamics.identification.joint_tests'
    monkeypatch.setattr(f'{tests}.data.joint_data', lambda recording, name, arm: (recording, name, arm.parameters[0]))
    monkeypatch.setattr(f'{tests}.transmission.identify_transmission', identified)
    shares = {names[1]: share['b']} if isinstance(share, dict) else share
    parameters = np.arange(84.0) * 1e-3 + 1.0
    found, notes = transmissions.identify_transmissions(Arm(ur, parameters), recordings, shares)
    assert [one[0] for one in asked] == list(names)
    for (joint, data, limit), stated in zip(asked, ur.limits.effort, strict=True):
        assert data == [(recording, joint, 1.0) for recording in recordings]
        assert limit == (stated if np.isfinite(stated) else None)
    assert notes == [
        'transmission: hardly loaded',
        *(f'transmission: {names[3]}: not described: {why}' for why in ('one', 'two')),
    ]
    assert list(found) == [name for k, name in enumerate(names) if k not in (2, 3)]
    for name, document in found.items():
        of_gain = 0.0 if share is None else 0.05 if not isinstance(share, dict) or name == names[1] else 0.0
        assert document['backlash'] == name and document['stiffness']['coefficients'] == [2e4, 1e8]
        assert document['stiffness']['standard_deviations'] == pytest.approx(
            [math.hypot(300.0, of_gain * 2e4), math.hypot(4e6, of_gain * 1e8)]
        )
    single = [*recordings, SimpleNamespace(theta=None)]
    assert transmissions.identify_transmissions(Arm(ur, parameters), single) == ({}, [])
