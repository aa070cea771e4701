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

"""The chain that inverse_dynamics_solver builds of the exported URDF, computed by KDL itself, has our torques."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription, export_urdf
from joint_dynamics.description.export import solver_parameters
from joint_dynamics.robot import RobotModel, StandardParameters
from joint_dynamics.simulation import ur5e_urdf

kdl = pytest.importorskip('PyKDL', reason='PyKDL is not installed (python3-pykdl)')

MOUNTINGS = [None, [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]]


def numbers(element, name, default='0 0 0'):
    return [float(word) for word in (default if element is None else element.get(name, default)).split()]


def frame(element):
    """The frame of an `<origin>`; without one the identity."""
    return kdl.Frame(kdl.Rotation.RPY(*numbers(element, 'rpy')), kdl.Vector(*numbers(element, 'xyz')))


def inertia(link):
    """Mass, centre and inertia about the centre, in the axes of the link."""
    inertial = link.find('inertial')
    if inertial is None:
        return kdl.RigidBodyInertia()
    tensor = inertial.find('inertia')
    order = ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')
    about = kdl.RotationalInertia(*(float(tensor.get(key)) for key in order))
    placed = frame(inertial.find('origin'))
    turned = placed.M * kdl.RigidBodyInertia(0.0, kdl.Vector(), about)
    mass = float(inertial.find('mass').get('value'))
    return kdl.RigidBodyInertia(mass, placed.p, turned.getRotationalInertia())


def chain_of(urdf, root, tip):
    """As kdl_parser makes it: a segment for each joint, with the inertia of the link behind it."""
    tree = ElementTree.fromstring(urdf)
    links = {link.get('name'): link for link in tree.findall('link')}
    above = {joint.find('child').get('link'): joint for joint in tree.findall('joint')}
    segments = []
    while tip != root:
        joint, placed = above[tip], frame(above[tip].find('origin'))
        kind = kdl.Joint(kdl.Joint.Fixed)
        if joint.get('type') != 'fixed':
            axis = kdl.Vector(*numbers(joint.find('axis'), 'xyz', '1 0 0'))
            kind = kdl.Joint(placed.p, placed.M * axis, kdl.Joint.RotAxis)
        segments.append(kdl.Segment(tip, kind, placed, inertia(links[tip])))
        tip = joint.find('parent').get('link')
    chain = kdl.Chain()
    for segment in reversed(segments):
        chain.addSegment(segment)
    return chain


def array(values):
    found = kdl.JntArray(len(values))
    for k, value in enumerate(values):
        found[k] = value
    return found


@pytest.mark.parametrize('mounting', MOUNTINGS, ids=['floor', 'wall'])
@pytest.mark.parametrize('payload', ['without', 'merged', 'apart'])
def test_kdl_has_our_torques(tmp_path, mounting, payload):
    robot = RobotModel.from_urdf(ur5e_urdf())
    standard = StandardParameters(robot.parameters, robot.n)
    standard.links[:] *= np.random.default_rng(5).uniform(0.7, 1.3, (robot.n, 1))
    document = {
        'robot': {'joint_names': list(robot.joint_names)},
        'joints': {name: {} for name in robot.joint_names},
        'inertial': {'standard': {name: standard.link_document(k) for k, name in enumerate(robot.joint_names)}},
    }
    if mounting is not None:
        document['mounting'] = mounting
    if payload != 'without':
        document['payload'] = {'mass': {'value': 2.0}, 'first_moments': [0.02, 0.0, 0.16], 'attached': True}
    description = DynamicsDescription(document)
    export_urdf(description, ur5e_urdf(), tmp_path / 'out.urdf', payload)
    given = solver_parameters(description, tmp_path / 'out.urdf')['/**']['ros__parameters']
    solver = given['inverse_dynamics_solver']
    chain = chain_of(given['robot_description'], solver['root'], solver['tip'])
    recursive = kdl.ChainIdSolver_RNE(chain, kdl.Vector(*solver['gravity']))
    found, wrenches = kdl.JntArray(robot.n), [kdl.Wrench()] * chain.getNrOfSegments()
    arm = Arm.from_description(robot, description)
    for q, dq, ddq in np.random.default_rng(2).uniform(-3.0, 3.0, (20, 3, robot.n)):
        assert recursive.CartToJnt(array(q), array(dq), array(ddq), wrenches, found) == 0
        wanted = arm.rigid.inverse_dynamics(q, dq, ddq)
        largest = max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose([found[k] for k in range(robot.n)], wanted, rtol=0, atol=1e-12 * largest)
