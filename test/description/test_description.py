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

"""The dynamics description: a round trip loses nothing; an invalid field is refused with its path."""

import copy
import json
import re

import numpy as np
import pytest
import yaml

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription, export_urdf, pseudo_inertia, write_result
from joint_dynamics.errors import JointDynamicsError

URDF = """<robot name="two"><link name="base"/><link name="l1"/><link name="l2"/><link name="tool"><inertial>
  <mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" velocity="3" effort="4"/></joint>
<joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="0.3 0 0" rpy="1.5708 0 0"/>
  <axis xyz="0 0 1"/>
<limit lower="-3" upper="3" velocity="3" effort="4"/></joint>
<joint name="flange" type="fixed"><parent link="l2"/><child link="tool"/></joint></robot>"""


def document():
    link = {
        'XX': 0.3, 'XY': 0.01, 'XZ': 0.0, 'YY': 0.4, 'YZ': 0.02, 'ZZ': 0.5, 'MX': 0.2, 'MY': 0.1, 'MZ': 0.3, 'M': 2.0,
    }  # fmt: skip
    friction = {'parameters': {'F_C0': 3.0, 'F_V1': 4.0, 'offset': 0.1}, 'standard_deviations': {'F_C0': 0.05}}
    joint = {
        'drive_gain': {'value': 9.1, 'std': 0.1}, 'rotor_inertia': {'value': 0.4, 'std': None}, 'friction': friction,
        'stiffness': {'coefficients': [1e4, 1e9]}, 'damping': {'value': 10.0},
    }  # fmt: skip
    return {
        'robot': {'joint_names': ['j1', 'j2'], 'urdf': URDF},
        'inertial': {'standard': {'j1': dict(link), 'j2': dict(link)}},
        'joints': {'j1': copy.deepcopy(joint), 'j2': copy.deepcopy(joint)},
        'provenance': {'method': 'by hand', 'recordings': ['a']},
    }


def test_round_trip_keeps_every_number(tmp_path):
    values = document()
    values['inertial']['standard']['j1']['XX'] = 1 / 3
    description = DynamicsDescription(values)
    description.save(tmp_path / 'dynamics.yaml')
    assert DynamicsDescription.load(tmp_path / 'dynamics.yaml').document == description.document
    assert sorted(path.name for path in tmp_path.iterdir()) == ['dynamics.yaml']


@pytest.mark.parametrize(('path', 'value', 'message'), [
    ('version', 3, 'version: expected 2, found 3'),
    ('format', 'urdf', "format: expected 'joint_dynamics'"),
    ('colour', 'red', 'colour: expected one of'),
    ('robot.joint_names', ['j1', 'j1'], 'robot.joint_names: expected at least one joint, each once'),
    ('robot.joint_names', ['j1', 'j2', 'j3'], 'joints.j3: expected this joint'),
    ('robot.joint_names', ['j1'], 'joints.j2: expected a joint of robot.joint_names'),
    ('joints.j1.drive_gain.value', float('nan'), 'joints.j1.drive_gain.value: expected a finite number, found nan'),
    ('joints.j1.drive_gain.value', '9', "joints.j1.drive_gain.value: expected a finite number, found '9'"),
    ('joints.j2.friction.parameters.F_X', 1.0, 'joints.j2.friction: expected a friction document .*F_X'),
    ('joints.j2.friction.parameters.F_C0', float('inf'), r'joints.j2.friction.parameters.F_C0: expected a finite'),
    ('joints.j2.stiffness.coefficients', [], 'joints.j2.stiffness.coefficients'),
    ('joints.j2.backlash', {'type': 'table'}, 'joints.j2.backlash: expected a periodic map'),
    ('joints.j2.backlash', {'values': [1], 'load_shares': [0.5]}, 'joints.j2.backlash.load_shares: expected .*2'),
    ('joints.j2.backlash', {'values': [1], 'load_shares': None}, 'joints.j2.backlash.load_shares: expected'),
    ('joints.j2.backlash', {'values': [1], 'load_lag': None}, 'joints.j2.backlash.load_lag: expected'),
    ('joints.j2.backlash', {'values': [1], 'load_shares': [0.5, 0.6]}, 'load_shares: expected shares whose sum is 1'),
    ('joints.j2.backlash', {'values': [1], 'load_shares': [1.5, -0.5]}, r'load_shares\[1\]: expected a number'),
    ('joints.j2.backlash', {'values': [1], 'load_lag': float('nan')}, 'load_lag: expected a finite number, found nan'),
    ('inertial.standard.j1.XX', None, 'inertial.standard.j1.XX: expected a finite number'),
    ('provenance.residual', float('inf'), 'provenance.residual: expected a finite number'),
])  # fmt: skip
def test_what_is_wrong_is_refused_with_its_path(path, value, message):
    values = {'format': 'joint_dynamics', 'version': 2, **document()}
    part, (*keys, last) = values, path.split('.')
    for key in keys:
        part = part[key]
    part[last] = value
    with pytest.raises(JointDynamicsError, match=message):
        DynamicsDescription(values)


def test_text_that_is_no_description():
    mapping = 'expected a mapping'
    for text, message in (
        ('[1, 2]', mapping), ('', mapping), ('{a: ', 'expected YAML'), ('robot: {}', 'format: expected this field'),
    ):  # fmt: skip
        with pytest.raises(JointDynamicsError, match=message):
            DynamicsDescription.from_yaml(text)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    description = DynamicsDescription(document())
    description.save(tmp_path / 'dynamics.yaml')
    before = (tmp_path / 'dynamics.yaml').read_text()
    description.document['joints']['j1']['damping']['value'] = float('nan')
    with pytest.raises(JointDynamicsError, match='damping'):
        description.save(tmp_path / 'dynamics.yaml')
    assert (tmp_path / 'dynamics.yaml').read_text() == before
    (tmp_path / 'file').write_text('')
    description.document['joints']['j1']['damping']['value'] = 1.0
    with pytest.raises(JointDynamicsError, match='can be written'):
        description.save(tmp_path / 'file' / 'dynamics.yaml')


def test_arrays_come_by_joint_name():
    description = DynamicsDescription(document())
    description.document['joints']['j2']['drive_gain']['value'] = 5.0
    assert description.values('drive_gain', ['j2', 'j1']).tolist() == [5.0, 9.1]
    assert description.scale().tolist() == [[1, 0], [1, 0]]
    with pytest.raises(JointDynamicsError, match=r'joints.j1.gear_ratio: expected this field'):
        description.values('gear_ratio')
    with pytest.raises(JointDynamicsError, match="found 'j9'"):
        description.joint('j9')


def test_standard_parameters_follow_the_models_order():
    description = DynamicsDescription(document())
    model = description.robot_model()
    values = dict(zip(model.parameter_names, description.standard_parameters(model), strict=True))
    assert (values['ZZ_2'], values['Ia_1']) == (0.5, 0.4)
    # Friction is the friction model's.
    assert [values[f'{name}_{k}'] for name in ('Fv', 'Fc', 'off') for k in (1, 2)] == [0.0] * 6


def test_a_link_that_is_no_body_is_named(tmp_path):
    values = document()
    values['inertial']['standard']['j2']['ZZ'] = 5.0
    (tmp_path / 'in.urdf').write_text(URDF)
    assert export_urdf(DynamicsDescription(values), tmp_path / 'in.urdf', tmp_path / 'out.urdf') == ['j2']
    assert np.linalg.eigvalsh(pseudo_inertia(values['inertial']['standard']['j2']))[0] < 0


def test_yaml_has_nothing_but_plain_data():
    plain = yaml.safe_load(DynamicsDescription(document()).to_yaml())
    assert plain['joints']['j1']['rotor_inertia'] == {'value': 0.4, 'std': None}


@pytest.mark.parametrize(('slip', 'stays'), [
    ({'operators': 2, 'limits': [1e-4, 1.0], 'stiffness': [5e3, 0.5]}, False),
    ({'operators': 4, 'r_Delta': 4.0, 'r_k': 2.0}, True),
])  # fmt: skip
def test_a_document_of_version_1_is_brought_up_to_date(slip, stays):
    """Its Maxwell-slip parts had their length in `backlash`.

    What identification of a robot put there is no backlash.
    """
    old = copy.deepcopy(document())
    old['version'] = 1
    for part in old['joints'].values():
        part['friction'] = {'parameters': {'F_C0': 2.0}, 'maxwell_slip': slip}
        part['backlash'] = {'type': 'table', 'period': 6.283185307179586, 'values': [2e-3]}
    new = DynamicsDescription.from_yaml(DynamicsDescription({**old, 'format': 'joint_dynamics'}).to_yaml())
    assert new.document['version'] == 2
    assert Arm.of_joints(new).friction.maxwell_slip.presliding.minimum == 2e-3
    assert all(('backlash' in part) == stays for part in new.document['joints'].values())
    del old['joints']['j1']['backlash']
    with pytest.raises(JointDynamicsError, match=r'joints\.j1\.backlash: expected this field beside a Maxwell-slip'):
        DynamicsDescription(old)


class Page:
    def __init__(self):
        self.text = ''

    def add_text(self, text, kind=''):
        self.text += text

    def to_html(self):
        return self.text


def test_what_is_not_reliable_never_takes_the_place_of_what_is(tmp_path):
    def write(value, reliable):
        description = DynamicsDescription(
            {'robot': {'joint_names': ['a']}, 'joints': {'a': {'damping': {'value': value}}}}
        )
        return write_result(tmp_path, description, {'value': value}, Page(), reliable)

    def found(name):
        return DynamicsDescription.load(tmp_path / name).joint('a')['damping']['value']

    for value, reliable, suffix in ((1.0, False, '.not_reliable'), (2.0, True, '')):
        names = [f'dynamics{suffix}.yaml', f'summary{suffix}.json', f'report{suffix}.html']
        assert write(value, reliable) == names
        assert sorted(item.name for item in tmp_path.iterdir()) == sorted(names)
    write(3.0, False)
    assert (found('dynamics.yaml'), found('dynamics.not_reliable.yaml')) == (2.0, 3.0)
    assert json.loads((tmp_path / 'summary.json').read_text())['value'] == 2.0
    runs = set()
    for part in ('', '.not_reliable'):
        run = json.loads((tmp_path / f'summary{part}.json').read_text())['run']
        assert DynamicsDescription.load(tmp_path / f'dynamics{part}.yaml').document['provenance']['run'] == run
        assert re.search(run, (tmp_path / f'report{part}.html').read_text())
        runs.add(run)
    assert len(runs) == 2
