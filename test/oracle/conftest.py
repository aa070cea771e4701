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

"""Random robots as URDF text: trees of turning and sliding joints about any axis, links that are bodies."""

from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel, StandardParameters, mounting_rotation

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.oracle)


def text(values):
    return ' '.join(repr(float(value)) for value in values)


def random_urdf(rng, joints=6, branches=True, mimics=0, chains=True):
    """A robot of `joints` joints; each link a cloud of eight point masses, so that its inertia is that of a body.

    mimics: of those, how many mimic one that stands before them in the file; chains: which may mimic one itself.
    """
    followers = set((rng.permutation(joints - 1) + 2)[:mimics].tolist()) if mimics else set()
    links, found = ['<link name="base"/>'], []
    for k in range(1, joints + 1):
        points, masses = rng.normal(scale=0.15, size=(8, 3)), rng.uniform(0.1, 1.0, 8)
        mass = masses.sum()
        centre = masses @ points / mass
        arms = points - centre
        tensor = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
        names = zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), tensor[np.triu_indices(3)], strict=True)
        inertia = ' '.join(f'{name}="{float(value)!r}"' for name, value in names)
        links.append(
            f'<link name="l{k}"><inertial><origin xyz="{text(centre)}"/><mass value="{float(mass)!r}"/><inertia'
            f' {inertia}/></inertial></link>'
        )
        parent = rng.integers(max(0, k - 2), k) if branches and k > 1 else k - 1
        axis = rng.normal(size=3)
        mimic = _mimic(rng, k, () if chains else followers) if k in followers else ''
        kind = 'prismatic' if rng.random() < 0.2 else 'revolute'
        found.append(
            f'<joint name="j{k}" type="{kind}"><parent link="{f"l{parent}" if parent else "base"}"/><child'
            f' link="l{k}"/><origin xyz="{text(rng.normal(scale=0.3, size=3))}"'
            f' rpy="{text(rng.uniform(-3, 3, 3))}"/><axis xyz="{text(axis / np.linalg.norm(axis))}"/><limit lower="-3"'
            f' upper="3" velocity="3" effort="100"/>{mimic}</joint>'
        )
    return f'<robot name="random">{"".join(links)}{"".join(found)}</robot>'


def _mimic(rng, k, not_these):
    ratio, offset = float(rng.choice([-1, 1]) * rng.uniform(0.3, 1.5)), float(rng.normal(scale=0.3))
    leader = rng.choice([j for j in range(1, k) if j not in not_these])
    return f'<mimic joint="j{leader}" multiplier="{ratio!r}" offset="{offset!r}"/>'


@pytest.fixture
def urdf_of():
    """Return `random_urdf`: a random robot of a generator's."""
    return random_urdf


@pytest.fixture
def described_of():
    """Return what describes a robot whose links, rotors and friction are others than the URDF's."""

    def of(robot, rng, rotors=True, **more):
        standard = StandardParameters(robot.parameters, robot.n)
        standard.links[:] *= rng.uniform(0.5, 2.0)
        joints = {}
        for name in robot.joint_names:
            friction = {'F_C0': float(rng.uniform(1, 5)), 'F_V1': float(rng.uniform(1, 5))}
            joints[name] = {'friction': {'parameters': friction}}
            if rotors:
                joints[name]['rotor_inertia'] = {'value': float(rng.uniform(0.1, 1.0))}
        if robot.mounting is not None:
            more['mounting'] = mounting_rotation(robot.mounting).tolist()
        links = {name: standard.link_document(k) for k, name in enumerate(robot.joint_names)}
        frames = {'joint_names': list(robot.joint_names), **robot.kinematics()}
        return DynamicsDescription({'robot': frames, 'joints': joints, 'inertial': {'standard': links}, **more})

    return of


#: MuJoCo writes six significant digits: a number is off by 5e-6 of itself at most. A torque is a product of rotation,
#: place and inertia (three numbers) of each joint between base and tip.
DIGITS = 3 * 5e-6


@pytest.fixture
def check_torque():
    """Hold `exported.torque(q, dq, ddq)` against a description's: bodies, rotors and viscous friction."""

    def check(exported, description, robot):
        arm = Arm.from_description(robot, description)
        damping = np.array([description.joint(name)['friction']['parameters']['F_V1'] for name in robot.joint_names])
        states = list(zip(*robot.random_states(30, np.random.default_rng(1)), strict=True))
        wanted = [
            arm.rigid.inverse_dynamics(q, dq, ddq) + arm.rotor_inertia * ddq + damping * dq for q, dq, ddq in states
        ]
        found = [exported.torque(*state) for state in states]
        # the largest torque of all states stands for the parts of one, which may cancel
        np.testing.assert_allclose(found, wanted, rtol=0, atol=DIGITS * robot.n * np.abs(wanted).max())

    return check


@pytest.fixture(params=range(6))
def robot(request, urdf_of):
    """A random robot of two to seven joints, every second one mounted askew."""
    rng = np.random.default_rng(300 + request.param)
    text = urdf_of(rng, joints=int(rng.integers(2, 8)))
    return RobotModel.from_urdf(text, mounting=[0.4, -0.7, 0.2] if request.param % 2 else None)
