# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Parameters of laws and nodes come from the declarations of settings, whose null and tuples ROS does not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Parameter, PerJoint, Settings, setting
from joint_dynamics.settings.base import per_joint


def _rising(pair: Sequence[float]) -> str | None:
    return None if pair[0] < pair[1] else 'numbers that rise'


@dataclass(frozen=True)
class Example(Settings):
    window: float = setting(0.1, 'length of the smoother', 's', lower=0.01, upper=1)
    cutoff: float | None = setting(None, 'of the filter', 'Hz', above=0, upper=100, none='from the data')
    count: int | None = setting(None, 'every n-th', lower=1, none='all')
    frame: str | None = setting(None, 'name of the frame', none='the last one')
    warm: float | None = setting(None, 'temperature', '°C', lower=-273.15, none='of the model')
    limit: PerJoint | None = setting(None, 'of each joint', 'N·m', above=0, none='of the URDF')
    pair: tuple[float, ...] = setting((0.1, 0.2), 'two levels', length=2, check=_rising)
    kind: str = setting('a', 'one of two', choices=('a', 'b'))
    memory: float = setting(30.0, 'forgets after', 's', lower=1, infinite=True)


@pytest.mark.parametrize(
    ('name', 'default', 'description', 'rule'),
    [
        ('window', 0.1, 'length of the smoother', '0.01 … 1 s'),
        ('cutoff', 0.0, 'of the filter; 0: from the data', '0 … 100 Hz'),
        ('count', 0, 'every n-th; 0: all', '≥ 0'),
        ('frame', '', 'name of the frame; empty: the last one', ''),
        ('warm', 0.0, 'temperature; 0: of the model', '≥ -273.15 °C'),
        ('limit', 0.0, 'of each joint; 0: of the URDF', '≥ 0 N·m'),
        ('pair', [0.1, 0.2], 'two levels', ''),
        ('kind', 'a', 'one of two', 'one of a, b'),
        ('memory', 30.0, 'forgets after', '≥ 1 s or inf'),
    ],
)
def test_parameter_is_declared_as_its_setting(name, default, description, rule):
    row = Parameter.of(Example, name)
    assert (row.name, row.default, row.description, row.declared.rule) == (name, default, description, rule)
    assert type(row.default) is type(default)
    assert row.value(row.default) == row.default


def test_stand_in_for_null_can_be_chosen():
    row = Parameter.of(Example, 'warm', name='default_temperature', default=-273.15)
    assert (row.name, row.default) == ('default_temperature', -273.15)
    assert row.description == 'temperature; -273.15: of the model'


@pytest.mark.parametrize(
    ('name', 'value'),
    [('window', 2.0), ('pair', [0.2, 0.1]), ('pair', [0.2]), ('kind', 'c'), ('memory', math.nan), ('cutoff', -1.0)],
)
def test_wrong_values_are_refused_by_name(name, value):
    with pytest.raises(JointDynamicsError) as refused:
        Parameter.of(Example, name).value(value)
    assert str(refused.value).startswith(name)


def test_lists_stay_lists_and_numbers_get_the_declared_type():
    assert Parameter.of(Example, 'pair').value((0, 1)) == [0.0, 1.0]
    assert Parameter.of(Example, 'memory').value(math.inf) == math.inf
    assert type(Parameter.of(Example, 'window').value(1)) is float


@pytest.mark.parametrize('value', [2, [2, 2.0], {'a': 2.0, 'b': 2}, np.array([2.0, 2.0]), np.float64(2.0)])
def test_one_number_per_joint(value):
    found = per_joint(value, ('a', 'b'), 'limit')
    np.testing.assert_array_equal(found, [2.0, 2.0])
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    ('value', 'place'),
    [
        ([1.0], 'limit'),
        ({'a': 1.0}, 'limit'),
        ({'a': 1.0, 'b': 1.0, 'c': 1.0}, 'limit'),
        ({'a': 1.0, 'b': 'x'}, 'limit[b]'),
        ('x', 'limit'),
        ([1.0, math.nan], 'limit[b]'),
    ],
)
def test_wrong_numbers_per_joint_are_refused(value, place):
    with pytest.raises(JointDynamicsError) as refused:
        per_joint(value, ('a', 'b'), 'limit')
    assert str(refused.value).startswith(f'{place}: ')


def test_further_joints_are_allowed_on_request():
    np.testing.assert_array_equal(per_joint({'a': 1, 'b': 2, 'c': 3}, ('b', 'a'), 'gain', others=True), [2.0, 1.0])


def test_estimator_takes_its_parameters_from_the_settings():
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    from joint_dynamics.estimation import EstimationSettings
    from joint_dynamics.nodes.estimator.parameters import TUNING
    from joint_dynamics.settings import declarations

    assert [row.name for row in TUNING] == [name for name in declarations(EstimationSettings) if name != 'temperature']
    for row in TUNING:
        assert row.descriptor().additional_constraints == declarations(EstimationSettings)[row.name][1].rule
