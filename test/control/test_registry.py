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

"""Laws are found by name, those of other packages too."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from joint_dynamics.control import ComputedTorque, available, create, interface, load
from joint_dynamics.errors import JointDynamicsError

PACKAGE = Path(__file__).parent / 'third_party_package'


def test_the_shipped_laws_are_installed(arm):
    assert {'computed_torque', 'adaptive_friction', 'flexible_joint'} <= set(available())
    assert load('computed_torque') is ComputedTorque
    assert type(create('computed_torque', arm)) is ComputedTorque


def test_an_unknown_name_names_the_known_ones():
    with pytest.raises(JointDynamicsError, match=r'computed_torque.*computed_talk'):
        load('computed_talk')


def test_a_law_that_is_gone_names_its_replacement():
    with pytest.raises(JointDynamicsError, match=r'0\.3\.0.*controller_plugin\.md'):
        load('joint_torque_feedback')


@pytest.mark.parametrize(
    ('values', 'named'),
    [
        (['no.such.module:Law'], 'ModuleNotFoundError'),
        (['math:pi'], 'math:pi'),
        (['pathlib:Path'], 'pathlib:Path'),
        (['a:A', 'b:B'], 'a:A and b:B'),
        (['joint_dynamics.control.interface:Law'], 'TypeError'),
    ],
)
def test_an_unusable_law_is_refused_with_the_reason(monkeypatch, arm, values, named):
    points = [EntryPoint('law', value, interface.GROUP) for value in values]
    monkeypatch.setattr(interface, 'entry_points', lambda group: points)
    with pytest.raises(JointDynamicsError, match=named):
        create('law', arm)


PROGRAM = """
import numpy as np
from joint_dynamics.arm import Arm
from joint_dynamics.control import Path, available, create, fill_effort
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf
assert available()['gravity'] == 'third_party_law:Gravity', available()
arm = Arm(RobotModel.from_urdf(ur5e_urdf()))
path = Path([0.0, 1.0], [np.zeros(6), np.full(6, 0.1)])
filled = fill_effort(create('gravity', arm, share=0.5), path)
np.testing.assert_allclose(filled.effort[-1], 0.5 * arm.rigid.gravity(np.full(6, 0.1)), atol=1e-9)
print('filled')
"""


def test_another_installed_package_adds_a_law(tmp_path):
    """Built and installed as any package, into a folder of its own."""
    site = tmp_path / 'site'
    source = tmp_path / 'source'
    source.mkdir()
    for path in PACKAGE.iterdir():
        if path.is_file():
            (source / path.name).write_bytes(path.read_bytes())
    pytest.importorskip('setuptools')
    options = ['--quiet', '--no-index', '--no-deps', '--no-build-isolation', '--no-compile', '--target', str(site)]
    subprocess.run([sys.executable, '-m', 'pip', 'install', *options, str(source)], check=True, timeout=600)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get('PYTHONPATH')])])
    result = subprocess.run(
        [sys.executable, '-c', PROGRAM],
        env={**os.environ, 'PYTHONPATH': path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.stdout.strip() == 'filled', result.stderr


@pytest.mark.parametrize(
    ('values', 'named'),
    [
        ({'friction_gain': {'elbow_joint': 1.0}}, 'shoulder_pan_joint'),
        ({'friction_gain': [1.0, 1.0]}, 'friction_gain'),
        ({'friction_smoothing': 1.5}, '1.5'),
        ({'friction_gian': 1.0}, 'friction_gain'),
    ],
)
def test_invalid_parameter_of_a_law_is_named(arm, values, named):
    with pytest.raises(JointDynamicsError, match=named):
        create('computed_torque', arm, **values)
