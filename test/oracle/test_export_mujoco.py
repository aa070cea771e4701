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

"""An exported MJCF, read and computed by MuJoCo."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio
import pytest

mujoco = pytest.importorskip('mujoco', reason='the extra `mujoco` is not installed')

from joint_dynamics.description.export_mjcf import export_mjcf  # noqa: E402
from joint_dynamics.description.import_inertials import import_inertials  # noqa: E402
from joint_dynamics.errors import JointDynamicsError  # noqa: E402
from joint_dynamics.robot import RobotModel, StandardParameters  # noqa: E402

PAYLOAD = {'mass': {'value': 2.0}, 'first_moments': [0.1, -0.2, 0.1], 'inertia': [0.5, 0.02, 0.01, 0.6, 0.03, 0.7]}


class Exported:
    """The model in MuJoCo, joints by name; contacts, limits and dry friction switched off."""

    def __init__(self, path, names, gravity=None):
        self.model = mujoco.MjModel.from_xml_path(str(path))
        if gravity is not None:
            self.model.opt.gravity[:] = gravity
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.data = mujoco.MjData(self.model)
        self.place = [int(self.model.joint(name).qposadr[0]) for name in names]
        self.dofs = [int(self.model.joint(name).dofadr[0]) for name in names]

    def torque(self, q, dq, ddq):
        self.data.qpos[self.place], self.data.qvel[self.dofs], self.data.qacc[self.dofs] = q, dq, ddq
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse[self.dofs].copy()


@pytest.mark.parametrize('payload', ['merged', 'apart'])
def test_a_new_model_has_the_torque_of_the_description(robot, tmp_path, payload, described_of, check_torque):
    description = described_of(robot, np.random.default_rng(2), payload=PAYLOAD)
    assert export_mjcf(description, robot, tmp_path / 'arm.xml', payload) == 0.0
    exported = Exported(tmp_path / 'arm.xml', robot.joint_names)
    check_torque(exported, description, robot)
    friction = [description.joint(name)['friction']['parameters']['F_C0'] for name in robot.joint_names]
    np.testing.assert_allclose(exported.model.dof_frictionloss[exported.dofs], friction, rtol=5e-6)
    joints = [exported.model.joint(name) for name in robot.joint_names]
    np.testing.assert_allclose(
        [joint.range for joint in joints], np.column_stack([robot.limits.lower, robot.limits.upper]), rtol=5e-6
    )
    assert any(mujoco.mj_id2name(exported.model, mujoco.mjtObj.mjOBJ_BODY, k) == 'payload' for k in range(30)) == (
        payload == 'apart'
    )


def other_file(robot, rng):
    """The same robot as somebody else's MJCF: other body frames, another base, geoms with masses, a fixed tool."""
    root = ET.Element('mujoco', model='theirs')
    ET.SubElement(root, 'compiler', angle='radian', inertiafromgeom='true', settotalmass='50')
    stand = pinocchio.SE3.Random()
    world = ET.SubElement(root, 'worldbody')
    ET.SubElement(world, 'geom', type='plane', size='1 1 1')
    bodies, frames = [body_at(world, 'stand', stand)], [pinocchio.SE3.Identity()]
    for k, name in enumerate(robot.joint_names):
        parent = robot.pinocchio.parents[k + 1]
        frame = pinocchio.SE3.Random()
        place = frames[parent].actInv(robot.pinocchio.jointPlacements[k + 1] * frame)
        body = body_at(bodies[parent], f'their_{k}', place)
        inside = frame.inverse()
        kind = 'slide' if robot.chain.prismatic[k] else 'hinge'
        axis, place = words(inside.rotation @ robot.chain.axis[k]), words(inside.translation)
        ET.SubElement(body, 'joint', name=name, type=kind, axis=axis, pos=place, damping='77')
        ET.SubElement(body, 'geom', type='sphere', size='0.05', rgba='1 0 0 1')
        bodies.append(body)
        frames.append(frame)
    tool = body_at(bodies[-1], 'tool', pinocchio.SE3.Random())
    ET.SubElement(tool, 'geom', type='box', size='0.1 0.1 0.1', density='5000')
    return ET.tostring(root, encoding='unicode'), stand.rotation @ robot.pinocchio.gravity.linear


def words(values):
    return ' '.join(repr(float(value)) for value in values)


def body_at(parent, name, place):
    x, y, z, w = pinocchio.Quaternion(place.rotation).coeffs()
    return ET.SubElement(parent, 'body', name=name, pos=words(place.translation), quat=words([w, x, y, z]))


def test_into_an_mjcf_of_other_frames_by_joint_name(robot, tmp_path, monkeypatch, described_of, check_torque):
    (tmp_path / 'elsewhere').mkdir()
    monkeypatch.chdir(tmp_path / 'elsewhere')
    pinocchio.seed(4)
    text, gravity = other_file(robot, np.random.default_rng(4))
    (tmp_path / 'theirs.xml').write_text(text)
    description = described_of(robot, np.random.default_rng(5))
    apart = export_mjcf(description, robot, tmp_path / 'arm.xml', into=tmp_path / 'theirs.xml')
    assert apart < 1e-6
    check_torque(Exported(tmp_path / 'arm.xml', robot.joint_names, gravity), description, robot)
    read = StandardParameters(import_inertials(tmp_path / 'arm.xml', robot), robot.n).links
    wanted = StandardParameters(description.standard_parameters(robot), robot.n).links
    # frames and inertias have six digits each
    np.testing.assert_allclose(read, wanted, rtol=0, atol=4 * 5e-6 * np.abs(wanted).max())
    # MuJoCo's warnings of the file, which asks for a total mass in a way that is going out of use, leave no log behind.
    assert list(Path.cwd().iterdir()) == []
    kept = ET.fromstring((tmp_path / 'arm.xml').read_text())
    assert [geom.get('type', 'sphere') for geom in kept.iter('geom')] == ['plane', *['sphere'] * robot.n, 'box']
    assert kept.find('.//geom[@rgba]').get('rgba') == '1 0 0 1'
    assert [body.get('name') for body in kept.iter('body')] == [
        body.get('name') for body in ET.fromstring(text).iter('body')
    ]


def test_another_robot_is_refused(urdf_of, tmp_path, described_of):
    rng = np.random.default_rng(8)
    robot, other = (RobotModel.from_urdf(urdf_of(rng, joints=4)) for _ in range(2))
    less = '<mujoco><worldbody><body><joint name="j1"/></body></worldbody></mujoco>'
    description = described_of(robot, rng)
    for text, found in ((other_file(other, rng)[0], r'j\d'), (less, 'j2, j3, j4'), (robot.urdf, '<robot>')):
        (tmp_path / 'into.xml').write_text(text)
        with pytest.raises(JointDynamicsError, match=rf'into\.xml: .*{found}'):
            export_mjcf(description, robot, tmp_path / 'arm.xml', into=tmp_path / 'into.xml')
    assert not (tmp_path / 'arm.xml').exists()
