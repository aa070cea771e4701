"""Rest in the document of a description."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.describe import resting_document
from joint_dynamics.identification.resting import resting_of_description

NAMES = ('a', 'b')


def test_rest_of_a_description_that_is_none():
    arm = SimpleNamespace(joint_names=NAMES)
    start = 'provenance.resting: expected what `identify` writes there, found '
    good = {'residual_deviation': {'a': 1.0, 'b': 2.0}, 'first_breakaway_ratio': None, 'breakaway_ratio': 1.1}
    for key, value, what in (
        ('residual_deviation', {'a': 1.0}, "KeyError('b')"), ('breakaway_ratio', 'x', 'ValueError('),
        ('breakaway_ratio', None, 'TypeError('),
    ):  # fmt: skip
        with pytest.raises(JointDynamicsError, match=re.escape(f'{start}{what}')):
            resting_of_description(arm, {**good, key: value}, None, None)


def test_rest_as_a_description_has_it(made_result):
    solution = replace(made_result().solution, sigma=np.array([0.12345678, 2.0]))
    training = {'breakaway_ratio': 1.25, 'first_breakaway_ratio': None}
    assert resting_document(made_result(solution=solution, resting={'training': training}))['resting'] == {
        **training, 'residual_deviation': {'a': 0.123457, 'b': 2.0},
    }  # fmt: skip
    assert resting_document(made_result(resting={'training': {}}))['resting']['breakaway_ratio'] == 1.0
    assert resting_document(made_result()) == {}
