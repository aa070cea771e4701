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

"""Robots of any number of joints, a description of them in which every field is set, and motions."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control import Path
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel

LAWS = ('computed_torque', 'adaptive_friction', 'flexible_joint')


def chain_urdf(n, prismatic=(), mimics=()):
    """A chain of n joints with inertials and limits, axes and offsets drawn.

    `prismatic`: indices of those that slide; `mimics`: of those that mimic the first.
    """
    mimic = '<mimic joint="j1" multiplier="-0.7" offset="0.2"/>'
    rng = np.random.default_rng(40 + n)
    parts = ['<robot name="chain"><link name="link0"/>']
    for k in range(n):
        kind = 'prismatic' if k in prismatic else 'revolute'
        axis = np.eye(3)[rng.integers(3)]
        xyz, rpy = rng.uniform(-0.3, 0.3, 3), rng.uniform(-1, 1, 3)
        com, mass = rng.uniform(-0.1, 0.1, 3), rng.uniform(0.5, 3)
        ixx, iyy, izz = mass * rng.uniform(0.008, 0.012, 3)
        parts.append(
            f'<joint name="j{k + 1}" type="{kind}"><parent link="link{k}"/><child link="link{k + 1}"/><axis'
            f' xyz="{axis[0]} {axis[1]} {axis[2]}"/><origin xyz="{xyz[0]} {xyz[1]} {xyz[2]}" rpy="{rpy[0]} {rpy[1]}'
            f' {rpy[2]}"/><limit lower="-3" upper="3" velocity="3" effort="400"/>{mimic * (k in mimics)}</joint><link'
            f' name="link{k + 1}"><inertial><origin xyz="{com[0]} {com[1]} {com[2]}"/><mass value="{mass}"/><inertia'
            f' ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0.0003" ixz="-0.0002" iyz="0.0001"/></inertial></link>'
        )
    return ''.join([*parts, '</robot>'])


def described(robot, kinematics=True):
    """The document of an arm with rotors, friction with hysteresis, stiffness, maps, gains.

    What every field is set large in.
    """
    standard = robot.standard(robot.parameters)
    joints = {}
    for k, name in enumerate(robot.joint_names):
        parameters = {'F_C0': 3.0 + 0.1 * k, 'F_V1': 4.0, 'F_S': 4.0, 'V_S': 0.1, 'T_0': 30.0}
        slip = {'operators': 4, 'r_Delta': 4.0, 'r_k': 2.0, 'presliding': 5e-4}
        joints[name] = {
            'drive_gain': {'value': 9.0 + k}, 'rotor_inertia': {'value': 0.4 + 0.05 * k}, 'damping': {'value': 3.0},
            'friction': {'parameters': parameters, 'maxwell_slip': slip}, 'stiffness': {'coefficients': [2e4, 1e8]},
            'kinematic_error': {'values': (1e-4 * np.sin(np.arange(24) * 2 * np.pi / 24 + k)).tolist()},
            'backlash': {'values': [4e-4]},
        }  # fmt: skip
    return {
        'robot': {'joint_names': list(robot.joint_names), **(robot.kinematics() if kinematics else {})},
        'joints': joints,
        'inertial': {'standard': {name: standard.link_document(k) for k, name in enumerate(robot.link_names)}},
    }


def motion_of(robot, period=1.3e-2):
    """Rest to rest through three points, q … q⁗ of shape (N, 5, n), and temperatures (N, n)."""
    rng = np.random.default_rng(7)
    points = np.cumsum(rng.uniform(-0.35, 0.35, (3, robot.n)), axis=0)
    zero = np.zeros_like(points)
    path = Path([0.0, 0.8, 1.6], points, zero, zero)
    motion = path.sample(np.arange(0.0, path.end, period))
    return motion, 30.0 + 8.0 * np.sin(np.arange(len(motion))[:, None] * 0.01 + np.arange(robot.n))


class TableValues:
    """The parameters of the feedforward node: its defaults and the given ones, without a node."""

    def __init__(self, **given):
        pytest.importorskip('rclpy')
        from joint_dynamics.nodes.feedforward.node import FeedforwardNode

        rows = {row.name: row for row in FeedforwardNode.parameter_rows()}
        self._values = {name: row.value(given.pop(name, row.default)) for name, row in rows.items()}
        assert not given

    def __getitem__(self, name):
        return self._values[name]

    def per_joint(self, name, joint_names=None):
        return [self._values[name]] * len(joint_names)


def node_law(robot, description, **parameters):
    """A law as the feedforward node builds it: by the node's own function, from the node's own table of parameters."""
    values = TableValues(**parameters)
    from joint_dynamics.nodes.feedforward.parameters import law_of

    return law_of(values, Arm.from_description(robot, description))


class Bench:
    """The consumers of one description along one motion."""

    def __init__(self, robot, document):
        self.robot, self.description = robot, DynamicsDescription(document)
        self.arm = Arm.from_description(robot, self.description)
        self.motion, self.temperature = motion_of(robot)

    def batch(self, **motor):
        q, dq, ddq = (np.ascontiguousarray(self.motion[:, k]) for k in range(3))
        return self.arm.motor_torque(q, dq, ddq, temperature=self.temperature, **motor)

    def made(self, law, **parameters):
        """A law as the feedforward node builds it."""
        return node_law(self.robot, self.description, law=law, **{'friction': 'hysteresis', **parameters})

    def law(self, law, **parameters):
        """The law's torque along the motion, its motor-side motion (none of a rigid law), and the law."""
        made = self.made(law, **parameters)
        unknown, torque = np.full((self.robot.n, 2), np.nan), []
        for k in range(len(self.motion)):
            made.adapt(self.temperature[k], unknown)
            torque.append(made.effort_along(self.motion[k : k + 1])[0])
        motor = made.motor_motion(self.motion).swapaxes(0, 1) if law == 'flexible_joint' else ()
        return np.array(torque), dict(zip(('theta', 'dtheta', 'ddtheta'), motor, strict=False)), made


@pytest.fixture(scope='session')
def tools():
    return SimpleNamespace(
        chain_urdf=chain_urdf, described=described, motion_of=motion_of, Bench=Bench, LAWS=LAWS, node_law=node_law
    )


@pytest.fixture(scope='session')
def arm3():
    """Three joints, the second one slides."""
    return RobotModel.from_urdf(chain_urdf(3, (1,)))
