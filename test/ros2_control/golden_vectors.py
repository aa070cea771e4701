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

"""Write the golden vectors that the tests of `ros2_control/src/dynamics_model` read: `golden_vectors.py FOLDER`.

`FOLDER/NAME.json`: torques of every field of the schema at a large value (the rules of `test/arm/test_contract.py`), of
six robots, of every option. `FOLDER/refused/NAME.json`: descriptions that this package refuses, because a field is
unknown, missing, not finite or of another kind.
"""

import copy
import json
import os
import sys
from pathlib import Path

import numpy as np
import pinocchio
import yaml

from joint_dynamics.arm.reading import DOCUMENTATION
from joint_dynamics.description.identity import identity_of
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / 'arm'), str(TESTS / 'oracle'), str(TESTS / 'ros2_control')]

from conftest import chain_urdf, described  # noqa: E402
from golden import GoldenOptions, arm_of, golden_case  # noqa: E402
from test_contract import BESIDE, RULES  # noqa: E402
from test_palletiser import PARALLELOGRAMS  # noqa: E402
from test_palletiser import urdf as palletiser_urdf  # noqa: E402

DATA = Path(os.environ.get('JOINT_DYNAMICS_DATA') or TESTS.parents[1] / 'shared' / 'data')
SAMPLES = 80
PERIOD = 0.04  # s between samples
FINE = 50  # first sample of the fine motion
# Khalil's table of a Stäubli TX40: alpha rad, a m, d m, theta rad; its motor 6 turns with joint 5 as well
TX40 = ((0, 0, 0, 0), (-1, 0, 0, 0), (0, 0.225, 0.035, 0), (1, 0, 0.225, 0), (-1, 0, 0, 0), (1, 0, 0, 2))
# of backlash and encoders: only the estimator reads them; of the other two C++ checks the form
CHECKED = {'joints.gear_ratio', 'joints.friction.directions'}
UNREAD = (
    'joints.backlash.load_shares',
    'joints.backlash.load_lag',
    'joints.temperature_range',
    'robot.identity.joints.coupling',
)
# refused by name
NOT_IN_CPP = ('inertial.without_torque', 'joints.terms.document.hysteresis')
FULL = {
    'friction': {
        'parameters': {'F_C0': 3.0, 'F_Cl': 0.1, 'F_T1': 0.2, 'F_V1': 4.0, 'tau_max': 50.0, 'T_0': 30.0},
        'standard_deviations': {'F_C0': 0.1}, 'range': {'speed': [0.0, 1.0]}, 'method': 'wls', 'scale': [1.1, 0.02],
        'maxwell_slip': {'limits': [0.1, 0.3, 0.6, 1.0], 'stiffness': [4.0, 1.0, 0.25, 0.15], 'presliding': 5e-4},
        'directions': {'positive': {'F_C': 3.0, 'F_V1': 4.0}, 'negative': {'F_C': 3.0, 'F_V1': 4.0}},
        'quadrants': {'a_m': 1.1, 'dq_s': 0.05, 'c_m': 3.0},
    },
    'stiffness': {
        'coefficients': [2e4, 1e8], 'standard_deviations': [1.0], 'range': [-1e-3, 1e-3], 'method': 'wls',
    },
    'kinematic_error': {'type': 'fourier', 'mean': 0.0, 'cosine': [1e-4], 'sine': [2e-4], 'period': 6.0},
    'backlash': {'values': [1e-4, 2e-4], 'load_shares': [0.5, 0.5], 'load_lag': 0.1},
    'drive_gain': {'value': 9.0, 'std': 0.1, 'prior': 9.0, 'unit': 'N·m/A', 'method': 'tls'},
    'rotor_inertia': {'value': 0.4, 'identifiable': False},
    'damping': {'value': 3.0},
    'gear_ratio': {'value': 101.0},
    'temperature_range': [10.0, 40.0],
    'validity': {'speed': 1.0, 'load': 30.0, 'temperature': [20.0, 35.0]},
    'terms': [
        {'document': {'fourier': [1, 3]}, 'values': [1.0, -2.0, 0.3, 0.2], 'std': [0.1, None, 0.1, 0.1]},
        {'document': {'friction': 'F_T2', 'T_0': 25.0}, 'values': [900.0]},
        {'document': {'friction': 'load_sign', 'tau_max': 20.0}, 'values': [0.2]},
        {'document': {'stribeck': {'V_S': 0.3, 'mu': 1.2}}, 'values': [0.7]},
        {'document': {'spring': [1, 3]}, 'values': [2.0, -0.5]},
        {'document': {'power': 0.7}, 'values': [0.4]},
    ],
}  # fmt: skip


def motion_of(n, rng, reach=0.8):
    """q, q̇, q̈ (3, N, n) of three sines per joint [rad, s], and the first joint at rest for a while."""
    t = PERIOD * np.arange(SAMPLES)[:, None, None]
    size, phase = rng.uniform(0.2, 1.0, (2, n, 3))
    omega = np.array([1.0, 2.3, 5.1]) * np.ones((n, 1))
    size = reach * size / omega
    angle = omega * t + 6.0 * phase
    motion = np.array([size * np.sin(angle), size * omega * np.cos(angle), -size * omega**2 * np.sin(angle)]).sum(
        axis=3
    )
    motion[0, 20:30, 0], motion[1:, 20:30, 0] = motion[0, 20, 0], 0.0
    # then fine steps, of some µrad: within the presliding length
    motion[0, FINE:] = motion[0, FINE] + 1e-3 * (motion[0, FINE:] - motion[0, FINE])
    motion[1:, FINE:] *= 1e-3
    return motion


def tx40_urdf():
    parts = ['<robot name="tx40"><link name="base"/>']
    for k, (alpha, a, d, theta) in enumerate(TX40):
        alpha, theta, mass = alpha * np.pi / 2, theta * np.pi / 2, 6.0 - k
        turn = pinocchio.utils.rotate('x', alpha) @ pinocchio.utils.rotate('z', theta)
        rpy, xyz = pinocchio.rpy.matrixToRpy(turn), (a, -d * np.sin(alpha), d * np.cos(alpha))
        parts.append(
            f'<link name="link{k + 1}"><inertial><origin xyz="0.02 0.01 {0.03 * k}"/><mass value="{mass}"/><inertia '
            f'ixx="{0.02 * mass}" iyy="{0.02 * mass}" izz="{0.01 * mass}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint_{k + 1}" type="revolute"><parent link="{f"link{k}" if k else "base"}"/><child '
            f'link="link{k + 1}"/><origin xyz="{" ".join(map(repr, map(float, xyz)))}" rpy="'
            f'{" ".join(map(repr, map(float, rpy)))}"/><axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="7" '
            'effort="100"/></joint>'
        )
    return ''.join([*parts, '</robot>'])


def robots():
    """Robots by name; those of recordings only where the recordings are."""
    coupling = np.eye(6)
    coupling[5, 4] = 1.0
    yield 'ur5e', RobotModel.from_urdf(ur5e_urdf())
    yield 'tx40', RobotModel.from_urdf(tx40_urdf(), coupling=coupling)
    yield 'palletiser', RobotModel.from_urdf(palletiser_urdf(), parallelograms=PARALLELOGRAMS)
    passive = {'j3': {'j1': -1.0, 'j2': 0.5, 'offset': 0.1}}
    yield 'parallelogram', RobotModel.from_urdf(chain_urdf(4), parallelograms=passive)
    yield (
        'mimic',
        RobotModel.from_urdf(chain_urdf(5, prismatic=(1,), mimics=(3,)), locked={'j5': 0.3}, joints=['j1', 'j2', 'j3']),
    )
    for name in ('kr300', 'gen3'):
        path = DATA / name / f'{name}.urdf'
        if path.is_file():
            yield name, RobotModel.from_urdf(path)
        else:
            print(f'skipped: {name}, its URDF is not at {path}; set JOINT_DYNAMICS_DATA')


def complete(robot):
    """A description in which every field that C++ reads is given, those of coupling where drives are coupled."""
    document = described(robot)
    document['joints'][robot.joint_names[-1]] = copy.deepcopy(FULL)
    document['robot'] |= {'name': 'robot', 'identity': identity_of(robot)}
    document['inertial']['base'] = [{'name': 'ZZR_1', 'expression': 'ZZ_1', 'value': 9.0, 'std': None}]
    if robot.coupling is not None:
        document['inertial']['coupling'] = dict(zip(robot.coupling.parameter_names, (0.3, 5.0, 4.0), strict=False))
    for name in robot.link_names[robot.n :]:
        document['joints'][name] = {'terms': [{'document': {'fourier': 1}, 'values': [3.0, -2.0]}]}
    return document | {
        'format': 'joint_dynamics',
        'version': 2,
        'mounting': [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]],
        'payload': {
            'mass': {'value': 2.0}, 'first_moments': [0.3, -0.2, 0.4], 'inertia': [0.5, 0.1, 0.0, 0.6, 0.0, 0.7],
            'std': [0.1, None], 'attached': True,
        },
        'provenance': {'method': 'wls', 'residuals': [1.0]},
    }  # fmt: skip


def write_fields(folder, robot, rng):
    """One case for every field of the schema, at a large value."""
    for name, (_, change) in RULES.items():
        if change is None or name in NOT_IN_CPP:
            continue
        document = described(robot)
        change(document)
        motion = motion_of(robot.n, rng)
        temperature = 30.0 + 8.0 * rng.uniform(-1, 1, motion.shape[1:])
        write(folder / f'{name}.json', golden_case(None, document, GoldenOptions(), motion, temperature))


def write_robots(folder, rng):
    for name, robot in robots():
        motion = motion_of(robot.n, rng)
        scale = np.stack([rng.uniform(0.5, 2.0, motion.shape[1:]), rng.uniform(-0.05, 0.05, motion.shape[1:])], axis=2)
        temperature = rng.uniform(22.0, 34.0, motion.shape[1:])
        case = golden_case(None, complete(robot), GoldenOptions(), motion, temperature, scale)
        write(folder / f'robot_{name}.json', case)
        urdf = None if robot.locked else robot.urdf
        case = golden_case(urdf, described(robot), GoldenOptions(friction='static'), motion)
        write(folder / f'robot_{name}_static.json', case)


def write_options(folder, robot, rng):
    plain = described(robot)
    for part in plain['joints'].values():
        del part['friction']['maxwell_slip']
    mixed = described(robot)
    del mixed['joints'][robot.joint_names[0]]['friction'], mixed['joints'][robot.joint_names[1]]['stiffness']
    mixed['joints'][robot.joint_names[2]]['friction']['maxwell_slip'] = {
        'limits': [1e-8, 1e-7, 0.3, 1.0], 'stiffness': [2e7, 2e6, 1.0, 0.3], 'presliding': 5e-3
    }  # fmt: skip
    cold = described(robot)
    for part in cold['joints'].values():
        part['friction']['parameters']['F_T1'] = 0.3
        part['validity'] = {'temperature': [20.0, 25.0]}  # below T_0, which stays within
    motion = motion_of(robot.n, rng)
    temperature = 26.0 + 8.0 * rng.uniform(-1, 1, motion.shape[1:])
    write(folder / 'validity_cold.json', golden_case(None, cold, GoldenOptions(), motion, temperature))
    cases = {
        'none': GoldenOptions(friction='none'),
        'smooth': GoldenOptions(friction='static', friction_smoothing=0.1),
        'gain': GoldenOptions(friction_gain=0.7, rest_gain=0.4),
        'no_gravity': GoldenOptions(gravity=False),
        'payload': GoldenOptions(payload_mass=3.0, payload_center=(0.1, -0.2, 0.05)),
        'rpy': GoldenOptions(mounting=(0.3, -1.2, 2.0)),
        'quaternion': GoldenOptions(mounting=(0.5, -0.5, 0.5, 0.5)),
    }
    for name, options in cases.items():
        write(folder / f'option_{name}.json', golden_case(None, described(robot), options, motion_of(robot.n, rng)))
    for name, document in (('without', plain), ('mixed', mixed)):
        case = golden_case(None, document, GoldenOptions(), motion_of(robot.n, rng))
        write(folder / f'hysteresis_{name}.json', case)


def faults(value, path=()):
    """Pairs of a path in a document and a change of the mapping or list that holds it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        here = (*path, key)
        if isinstance(value, dict):
            yield 'missing', here, lambda part, key=key: part.pop(key)
        for kind, wrong in (('nan', float('nan')), ('huge', 1e31), ('text', 'x'), ('mapping', {}), ('negative', -3)):
            if isinstance(item, (int, float)) or kind in ('mapping', 'text'):
                yield kind, here, lambda part, key=key, wrong=wrong: part.__setitem__(key, wrong)
        yield from faults(item, here)
    if isinstance(value, dict):
        yield 'unknown', (*path, 'surprise'), lambda part: part.__setitem__('surprise', 1.0)
    elif isinstance(value, list) and value:
        yield 'short', (*path, 0), lambda part: part.pop()


def is_used(path, robot):
    """Whether C++ reads a field: not one that documents, nor one that only the estimator reads."""
    field = '.'.join(str(key) for key in path if not isinstance(key, int) and key not in robot.link_names)
    unread = (*DOCUMENTATION - CHECKED, *UNREAD)
    return path[-1] not in BESIDE and not any(f'{field}.'.startswith(f'{name}.') for name in unread)


def write_refused(folder, robot):
    """Descriptions with one fault each, which Python refuses."""
    document, refused = complete(robot), []
    for kind, path, change in faults(document):
        if kind not in ('unknown', 'nan', 'huge') and not is_used(path, robot):
            continue
        alike = {*robot.joint_names[:-1], *robot.link_names[robot.n :]}  # the last joint has every field
        if path[:2] == ('robot', 'urdf') or alike & set(path[:-1]):
            continue  # readers of URDF differ in what they take
        wrong = copy.deepcopy(document)
        part = wrong
        for key in path[:-1]:
            part = part[key]
        change(part)
        try:
            arm_of(robot.urdf, wrong, GoldenOptions())
        except JointDynamicsError:
            text = yaml.dump(wrong, sort_keys=False, allow_unicode=True)
            refused.append({'name': f'{kind} {".".join(map(str, path))}', 'description': text, 'key': str(path[-1])})
    write(folder / 'refused' / 'refused.json', refused)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, allow_nan=False))


def main(folder):
    rng = np.random.default_rng(63)
    robot = RobotModel.from_urdf(chain_urdf(3, (1,)))
    write_fields(folder, robot, rng)
    write_robots(folder, rng)
    write_options(folder, robot, rng)
    coupling = np.eye(3)
    coupling[2, 1] = 1.0
    write_refused(folder, RobotModel.from_urdf(chain_urdf(3, (1,)), coupling=coupling))
    print(f'written: {len(list(folder.glob("*.json")))} golden vectors')


if __name__ == '__main__':
    main(Path(sys.argv[1]))
