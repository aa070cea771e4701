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

"""Mutated documents: a reader returns what can be used, or raises one JointDynamicsError of one line."""

import contextlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from joint_dynamics.arm import Arm
from joint_dynamics.cli.common import load_config, load_robot
from joint_dynamics.cli.main import main
from joint_dynamics.description import DynamicsDescription, identity_of
from joint_dynamics.description.schema import VERSION
from joint_dynamics.documents import parse_json, parse_xml, parse_yaml
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import (
    FourierBasis,
    FourierTrajectory,
    PlanSettings,
    load_trajectory,
    to_joint_trajectory,
)
from joint_dynamics.excitation.files import coefficients
from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.joint_tests.identify_joint import JointSettings
from joint_dynamics.joint import PeriodicMap
from joint_dynamics.recording import RecordingSettings
from joint_dynamics.robot import INERTIAL, RobotModel

_spec = importlib.util.spec_from_file_location('fuzz_tools', Path(__file__).with_name('conftest.py'))
tools = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tools)
pytestmark = pytest.mark.fuzz

URDF = """<robot name="two"><link name="base"/>
<link name="l1"><inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="4"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="l2"><collision><geometry><sphere radius="0.1"/></geometry></collision></link><link name="tool"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" velocity="3" effort="4"/></joint>
<joint name="j2" type="continuous"><parent link="l1"/><child link="l2"/><origin xyz="0.3 0 0" rpy="1.5708 0 0"/>
  <axis xyz="0 0 1"/></joint>
<joint name="flange" type="fixed"><parent link="l2"/><child link="tool"/></joint></robot>"""
LINK = {'XX': 0.3, 'XY': 0.01, 'XZ': 0.0, 'YY': 0.4, 'YZ': 0.02, 'ZZ': 0.5, 'MX': 0.2, 'MY': 0.1, 'MZ': 0.3, 'M': 2.0}
MAP = PeriodicMap.constant(1e-3).to_dict()
JOINT = {
    'drive_gain': {'value': 9.1, 'std': 0.1},
    'rotor_inertia': {'value': 0.4, 'std': None},
    'stiffness': {'coefficients': [1e4, 1e9]},
    'damping': {'value': 10.0},
    'friction': {
        'parameters': {'F_C0': 3.0, 'F_V1': 4.0, 'offset': 0.1, 'F_S': 4.0, 'V_S': 0.1, 'mu': 1.0},
        'standard_deviations': {'F_C0': 0.05},
        'scale': [1.0, 0.0],
        'maxwell_slip': {'limits': [1e-4, 1.0], 'stiffness': [5e3, 0.5], 'operators': 2},
    },
    'backlash': MAP,
    'kinematic_error': MAP,
    'terms': [{'document': {'spring': [1]}, 'values': [1.0], 'std': [0.1]}],
    'temperature_range': [20.0, 30.0],
}
MODEL = RobotModel.from_urdf(URDF)
FIRST = {
    'format': 'joint_dynamics',
    'version': 1,
    'robot': {'joint_names': ['j1', 'j2'], 'urdf': URDF, 'name': 'two', 'locked': {}, 'identity': identity_of(MODEL)},
    'inertial': {
        'standard': {'j1': LINK, 'j2': dict(LINK)},
        'base': [{'name': 'a', 'expression': 'a + b', 'value': 1.0, 'std': 0.1}],
    },
    'joints': {'j1': JOINT, 'j2': json.loads(json.dumps(JOINT))},
    'mounting': [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    'provenance': {'recordings': ['a']},
}
NOW = {
    **JOINT,
    'friction': {
        **JOINT['friction'],
        'maxwell_slip': {**JOINT['friction']['maxwell_slip'], 'presliding': 1e-3},
        'directions': {'positive': {'F_C': 3.0, 'F_V1': 4.0, 'offset': 0.1}, 'negative': {'F_C': 3.0, 'F_V1': 4.0}},
        'quadrants': {'dq_s': 0.1},
        'range': {'speed': [0.1, 2.0]},
        'method': 'wls',
    },
    'gear_ratio': {'value': 101.0},
    'validity': {'speed': 2.0, 'load': 10.0, 'temperature': [20.0, 40.0]},
}
DESCRIPTION = {
    **FIRST,
    'version': VERSION,
    'joints': {'j1': NOW, 'j2': json.loads(json.dumps(NOW))},
    'payload': {'mass': {'value': 1.0}, 'first_moments': [0.1, 0.0, 0.0], 'inertia': [1.0] * 6, 'attached': True},
}
VERSIONS = {1: FIRST, VERSION: DESCRIPTION}
MDH = {
    'joints': [
        {'name': 'a', 'alpha': 0.0, 'a': 0.0, 'd': 0.3, 'theta': 0.0},
        {'alpha': -1.5, 'a': 0.1, 'd': 0.0, 'theta': 0.2, 'type': 'prismatic'},
    ],
    'velocity_limit_rad_s': [1.0, 2.0],
    'position_coupling_R': [[1.0, 0.0], [0.5, 1.0]],
}
SERIES = FourierTrajectory(
    ['first', 'on'], FourierBasis(3.0, 2, 2, 0.5, True), np.random.default_rng(0).standard_normal((2, 5))
)
CONFIG = {
    'robot': {'joints': ['j1', 'j2'], 'locked': {}, 'mounting': [0.0, 0.0, 0.0], 'coupling': [[1, 0], [0.5, 1]]},
    'recording': {
        'joint_states': {'topic': 'a', 'effort': 'current'},
        'motor_states': {'topic': 'b', 'gear_ratio': [1.0, 2.0], 'zero_offsets': 0.0},
        'temperatures': ['/{joint}/t'],
        'arrays': [{'topic': 'c', 'quantity': 'tau', 'joints': ['j1']}],
        'names': {'x': 'j1'},
        'max_gap': 0.1,
        'dynamic_joint_states': {'topic': 'd', 'interfaces': {'position': 'q'}},
        'state_interfaces': {'values': 'v', 'names': 'n'},
    },
    'identification': {
        'method': 'wls',
        'f_dyn': 5.0,
        'drive_gains': {'j1': 1.0},
        'terms': {'j1': [{'fourier': 2}, {'spring': 2}]},
        'payload': {'mass': 1.0},
        'selection': False,
    },
    'excitation': {
        'profile': 'fourier',
        'fourier': {'period': 5.0, 'harmonics': 3},
        'limits': {'clearance': None, 'velocity': 0.5},
        'posture': [0.0, 0.0],
    },
    'joint': {
        'cutoff': 10.0,
        'drive_gains': {'j1': 1.0},
        'friction': {'model': 'viscous', 'plateaus': {'min_speed': 0.02}},
        'load': {'form': 'quadratic'},
    },
}


@contextlib.contextmanager
def one_error():
    """Let one JointDynamicsError of one line pass, and nothing else."""
    try:
        yield
    except JointDynamicsError as error:
        assert str(error)
        assert '\n' not in str(error), str(error)
        assert len(str(error)) < 3000


def use_robot(model):
    state = [np.full(model.n, value) for value in (0.3, 0.2, 0.1)]
    assert np.isfinite(model.regressor(*state)).all()
    assert not (model.limits.lower > model.limits.upper).any()
    identity_of(model)


def use_description(description):
    for use in (
        description.robot_model,
        lambda: Arm.of_joints(description),
        description.kinematic_error,
        description.scale,
        lambda: description.values('drive_gain'),
        lambda: description.standard_parameters(MODEL),
    ):
        with one_error():
            use()
    assert DynamicsDescription.from_yaml(description.to_yaml()).document == description.document


@tools.CASES
@given(st.text(max_size=200))
@example('!!int ""')
@example('2026-13-40: 1')
@example('&a [*a]')
@example('{[a]: 1}')
@example('"\\uD800": 1')
def test_any_text_as_any_document(text):
    for parse in (parse_yaml, parse_json, parse_xml):
        with one_error():
            parse(text, 'thing')


@tools.CASES
@given(st.sampled_from(sorted(VERSIONS)), tools.CHANGES)
@example(1, [(0.99, 'replace', 10**400)])
@example(1, [(0.5, 'add', {True: 1})])
@example(1, [(0.515625, 'replace', [])])
@example(1, [(0.53125, 'replace', [])])
@example(1, [(0.8359375, 'replace', False)])
@example(1, [(0.0, 'replace', {'\n': None})])
@example(2, [(0.5234375, 'replace', None)])
def test_descriptions_with_other_values(version, changes):
    document = tools.changed(VERSIONS[version], changes)
    with one_error():
        use_description(DynamicsDescription(document))
    with one_error():
        DynamicsDescription.from_yaml(yaml.safe_dump(document))


@tools.CASES
@given(st.sampled_from(sorted(VERSIONS)), tools.EDITS)
def test_descriptions_with_other_text(version, edits):
    with one_error():
        use_description(DynamicsDescription.from_yaml(tools.edited(yaml.safe_dump(VERSIONS[version]), edits)))


@tools.CASES
@given(tools.EDITS)
@example([(0.0, 1, '')])
def test_urdfs(edits):
    with one_error():
        use_robot(RobotModel.from_urdf(tools.edited(URDF, edits)))


@tools.CASES
@given(tools.CHANGES)
def test_mdh_tables(changes):
    document = tools.changed(MDH, changes)
    with one_error():
        use_robot(RobotModel.from_mdh(document if isinstance(document, dict) else {'joints': document}))


@tools.CASES
@given(tools.CHANGES)
@example([(0.2, 'replace', [['a']])])
@example([(0.078125, 'replace', {'': None, 0: None})])
def test_configurations(tmp_path, changes):
    document = tools.changed(CONFIG, changes)
    path = tmp_path / 'config.yaml'
    path.write_text(yaml.safe_dump(document, allow_unicode=False), encoding='utf-8')
    config = {}
    with one_error():
        config = load_config(str(path))
    with one_error():
        use_robot(load_robot(URDF, config))
    with one_error():
        RecordingSettings.from_mapping(config.get('recording', {})).inputs(('j1', 'j2'))
    with one_error():
        IdentificationSettings.from_config(config.get('identification', {}))
    with one_error():
        PlanSettings.from_config(config.get('excitation', {}), None)
    with one_error():
        JointSettings.from_mapping(config.get('joint', {}))


@tools.CASES
@given(tools.CHANGES)
@example([(0.125, 'replace', 1e308)])
def test_trajectories_with_other_values(tmp_path, changes):
    for name, document in (
        ('summary.json', {'trajectory': coefficients(SERIES)}),
        ('trajectory.yaml', yaml.safe_load(to_joint_trajectory(SERIES, SERIES.sample(2.0)))),
    ):
        path = tmp_path / name
        document = tools.changed(document, changes)
        path.write_text(
            yaml.safe_dump(document) if name.endswith('yaml') else json.dumps(document, default=str), encoding='utf-8'
        )
        with one_error():
            trajectory = load_trajectory(path)
            assert np.isfinite(trajectory.position(np.array([0.0]))).all()
            assert all(isinstance(name, str) for name in trajectory.joint_names)


APPLIED = {
    'joints': {
        'j1': {
            'parameters': {'F_C0': 2.5, 'F_V1': 3.0},
            'directions': {'positive': {'F_C': 2.5, 'F_V1': 3.0}, 'negative': {'F_C': 2.5, 'F_V1': 3.0}},
            'smoothing': 0.01,
            'speed_limit': 2.0,
            'spring': 60.0,
            'inertia': 1.3,
            'temperatures': [20, 45],
        }
    }
}


@tools.CASES
@given(tools.CHANGES)
@example([(0.0625, 'replace', {'': None, 0: None})])
@example([(0.5, 'replace', None)])
@example([(1.0, 'replace', 10**400)])
@example([(0.35, 'replace', [])])
def test_applied_compensations(tmp_path, capsys, changes):
    (tmp_path / 'applied.yaml').write_text(yaml.safe_dump(tools.changed(APPLIED, changes)), encoding='utf-8')
    if not (tmp_path / 'dynamics.yaml').exists():
        DynamicsDescription(DESCRIPTION).save(tmp_path / 'dynamics.yaml')
    assert main(
        ['check-compensation', str(tmp_path / 'dynamics.yaml'), '--applied', str(tmp_path / 'applied.yaml')]
    ) in (0, 1, 2)


def test_the_documents_themselves_are_right():
    """Else every mutation would be refused for the same reason."""
    for document in VERSIONS.values():
        description = DynamicsDescription(document)
        use_description(description)
        assert description.robot_model().n == 2
        arm = Arm.of_joints(description)
        assert arm.friction is not None and arm.stiffness is not None
    use_robot(RobotModel.from_mdh(MDH))
    RecordingSettings.from_mapping(CONFIG['recording'])
    IdentificationSettings.from_config(CONFIG['identification'])
    PlanSettings.from_config(CONFIG['excitation'], None)
    JointSettings.from_mapping(CONFIG['joint'])
    assert set(LINK) == set(INERTIAL)
