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

"""Write an identified robot as MJCF, MuJoCo's language, by its `MjSpec`: a new model, or into an existing one.

MuJoCo's rigid bodies with armature and damping obey M(q) q̈ + diag(armature) q̈ + h(q, q̇) + damping q̇ = τ, the motor
torque without the parts that `not_exported` lists; dry friction is its constraint `frictionloss`.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.export_urdf import bodies_to_export, inconsistent_links, joint_friction
from joint_dynamics.description.placement import Posture, placements_in
from joint_dynamics.documents import parse_xml, read_text
from joint_dynamics.errors import JointDynamicsError, one_line
from joint_dynamics.output_files import write_atomically
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.standard_parameters import inertia_of
from joint_dynamics.robot.urdf_checks import MAX_LENGTH, check_inertial

PAYLOAD_BODY = 'payload'
TENSOR = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Elements of an inertia tensor in the order of `fullinertia`."""


def mujoco_for(source: str) -> Any:
    """Return the package mujoco; raise JointDynamicsError where it is missing."""
    try:
        import mujoco
    except ImportError:
        raise JointDynamicsError(
            f'{source}: expected the package mujoco, found none (pip install joint_dynamics[mujoco])'
        ) from None
    return mujoco


def read_spec(path: str | Path, joint_names: Sequence[str]) -> Any:
    """Return the `MjSpec` of an MJCF that has these joints; raise JointDynamicsError otherwise."""
    source = f'MJCF {path}'
    mujoco = mujoco_for(source)
    root = parse_xml(read_text(path, source), source)
    if root.tag != 'mujoco':
        raise JointDynamicsError(f'{source}: expected the root element <mujoco>, found <{root.tag}>')
    for body in root.iter('body'):
        for part in (body, *body.findall('inertial'), *body.findall('joint')):
            _check_no_nan(part, f'{source}, body {body.get("name")}')
    try:
        with _without_warnings(mujoco):
            spec = mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        raise JointDynamicsError(f'{source}: expected a model for MuJoCo, found: {one_line(error)}') from None
    there = [joint.name for joint in spec.joints]
    if missing := [name for name in joint_names if name not in there]:
        found = ', '.join(there) or 'none'
        raise JointDynamicsError(f'{source}: expected the joints {", ".join(missing)}, found {found}')
    return spec


def compiled(spec: Any, source: str) -> Any:
    """Return the `MjModel` of a spec; raise JointDynamicsError where MuJoCo refuses it."""
    try:
        with _without_warnings(mujoco_for(source)):
            return spec.compile()
    except ValueError as error:
        raise JointDynamicsError(f'{source}: expected a model for MuJoCo, found: {one_line(error)}') from None


def _check_no_nan(part: ET.Element, where: str) -> None:
    """Refuse NaN in the text: MuJoCo compiles it as a number that was not given."""
    for key, text in part.attrib.items():
        if key not in ('name', 'class', 'childclass') and 'nan' in text.lower().split():
            raise JointDynamicsError(f'{where}: expected numbers for {key} of <{part.tag}>, found {text!r}')


@contextmanager
def _without_warnings(mujoco: Any) -> Iterator[None]:
    """Drop MuJoCo's warnings: it prints them and writes a log file into the working folder."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


class MjcfKinematics:
    """Kinematics and inertials of an MJCF, by MuJoCo.

    Parameters
    ----------
    path
        of the file.
    joint_names
        joints of the file.

    Raises
    ------
    JointDynamicsError
        Where mujoco is missing or refuses the file, or a joint is not there.
    """

    def __init__(self, path: str | Path, joint_names: Sequence[str]):
        self.source = f'MJCF {path}'
        mujoco = mujoco_for(self.source)
        self._model: Any = compiled(read_spec(path, joint_names), self.source)
        self._check_numbers()
        self._joints = [self._model.joint(name) for name in joint_names]
        self._data: Any = mujoco.MjData(self._model)
        self._run = mujoco.mj_kinematics

    def at(self, q: FloatArray) -> Posture:
        """Return the robot at joint positions q (n,), all others where the file has them."""
        self._data.qpos[:] = self._model.qpos0
        for joint, angle in zip(self._joints, q, strict=True):
            # A joint with a reference angle is at 0 there.
            self._data.qpos[joint.qposadr[0]] = angle
        self._run(self._model, self._data)
        bodies = [int(joint.bodyid[0]) for joint in self._joints]
        return Posture(
            [self._place(body) for body in bodies],
            np.array([self._data.xanchor[joint.id] for joint in self._joints]),
            np.array([self._data.xaxis[joint.id] for joint in self._joints]),
            self._place(int(self._model.body_parentid[bodies[0]])),
        )

    def carried(self) -> list[pinocchio.Inertia]:
        """Return per joint the inertia of its body and of everything at rest on it, in that body's frame.

        Joints that were not named stand where the file has them, and their bodies are carried.
        """
        self.at(np.zeros(len(self._joints)))
        carriers = {int(joint.bodyid[0]): k for k, joint in enumerate(self._joints)}
        inertias = [pinocchio.Inertia.Zero() for _ in self._joints]
        for body in range(1, self._model.nbody):
            up = body
            while up and up not in carriers:
                up = int(self._model.body_parentid[up])
            if up:
                inertias[carriers[up]] += self._place(up).actInv(self._place(body)).act(self._own(body))
        return inertias

    def _check_numbers(self) -> None:
        """Raise JointDynamicsError for a placement, axis, mass or inertia that no robot has: MuJoCo compiles them."""
        for body in map(self._model.body, range(1, self._model.nbody)):
            where = f'{self.source}, body {body.name}'
            for what, values in (('pos', body.pos), ('quat', body.quat), ('pos of <inertial>', body.ipos)):
                _check_bounded(values, what, where)
            check_inertial(float(body.mass[0]), body.inertia, where)
        for joint in map(self._model.joint, range(self._model.njnt)):
            where = f'{self.source}, joint {joint.name}'
            for what, values in (('pos', joint.pos), ('axis', joint.axis), ('ref', joint.qpos0)):
                _check_bounded(values, what, where)

    def _place(self, body: int) -> pinocchio.SE3:
        return pinocchio.SE3(np.array(self._data.xmat[body]).reshape(3, 3), np.array(self._data.xpos[body]))

    def _own(self, body: int) -> pinocchio.Inertia:
        w, x, y, z = self._model.body_iquat[body]
        rotation = pinocchio.Quaternion(w, x, y, z).normalized().toRotationMatrix()
        tensor = rotation @ np.diag(self._model.body_inertia[body]) @ rotation.T
        return pinocchio.Inertia(float(self._model.body_mass[body]), np.array(self._model.body_ipos[body]), tensor)


def _check_bounded(values: FloatArray, what: str, where: str) -> None:
    if not np.all(np.abs(values) <= MAX_LENGTH):
        found = ' '.join(f'{value:g}' for value in values)
        raise JointDynamicsError(f'{where}: expected numbers of at most {MAX_LENGTH:g} for {what}, found {found}')


def export_mjcf(
    description: DynamicsDescription,
    model: RobotModel,
    out: str | Path,
    payload: str = 'merged',
    into: str | Path | None = None,
) -> float:
    """Write the description's bodies, rotor inertias and friction as MJCF [MuJoCo's XML reference].

    Parameters
    ----------
    description
        of n joints.
    model
        the robot; link k moves with joint k.
    out
        the file to write, whole or not at all.
    payload
        `merged` into the last link, `apart` as a body of its own that is fixed to it, or `without`.
    into
        an MJCF of the same robot: the bodies of its joints, by name, get the inertials, in their own frames, the joints
        armature, damping and frictionloss; bodies fixed to them lose their mass, all else stays. None: a new model
        without shapes, with the joints' limits.

    Returns
    -------
    float
        largest distance [m, rad] between the link frames of `into` and those of the robot file; 0 for a new model.

    Raises
    ------
    JointDynamicsError
        Where the description has no inertial part or is of another robot, a link is no body (identify with `physical:
        true`), `into` lacks a joint or moves it otherwise, or mujoco is missing.

    Notes
    -----
    `armature` is the rotor's inertia on the joint side [kg·m²; kg], `damping` F_V1 + α2 [N·m·s/rad; N·s/m],
    `frictionloss` α1 F_C0 [N·m; N], the last two against the motion.
    """
    bodies = bodies_to_export(description, payload, model)
    if unphysical := inconsistent_links(description, payload):
        raise JointDynamicsError(
            f'MJCF: expected links of positive density, found none of {", ".join(unphysical)}: MuJoCo refuses them; '
            'identify with `physical: true`'
        )
    if into is None:
        spec, apart = _new_spec(model), 0.0
        placements = [pinocchio.SE3.Identity()] * len(model.link_names)
    else:
        spec = read_spec(into, model.link_names)
        placements, apart = placements_in(MjcfKinematics(into, model.link_names), model)
        _keep_inertials(spec)
    carriers = [spec.joint(name).parent for name in model.link_names]
    for carrier in carriers:
        _take_masses_off(carrier)
    for carrier, body, placement in zip(carriers, bodies, placements, strict=True):
        _write_inertial(carrier, body, placement)
    for name in model.joint_names:
        joint, part = spec.joint(name), description.joint(name)
        joint.armature = part.get('rotor_inertia', {}).get('value', 0.0)
        damping, joint.frictionloss = joint_friction(part)
        # linear, quadratic and cubic in newer versions of MuJoCo
        joint.damping = [damping, 0.0, 0.0] if np.ndim(joint.damping) else damping
    if payload == 'apart' and description.payload_attached:
        names = {body.name for body in spec.bodies}
        name = next(
            name
            for name in (PAYLOAD_BODY, *(f'{PAYLOAD_BODY}_{k}' for k in range(len(names) + 1)))
            if name not in names
        )
        last = model.n - 1
        _write_inertial(carriers[last].add_body(name=name), description.payload(), placements[last])
    compiled(spec, 'MJCF')
    write_atomically(out, spec.to_xml())
    return apart


def _new_spec(model: RobotModel) -> Any:
    """Return a spec of the joints alone; link k has the frame of joint k."""
    mujoco = mujoco_for('MJCF')
    spec, tree = mujoco.MjSpec(), model.chain.tree
    spec.modelname = model.pinocchio.name or 'robot'
    spec.compiler.degree = False
    spec.option.gravity = model.pinocchio.gravity.linear
    bodies = [spec.worldbody]
    for row, name in enumerate(tree.names):
        placement = model.pinocchio.jointPlacements[row + 1]
        x, y, z, w = pinocchio.Quaternion(placement.rotation).coeffs()
        parent = bodies[model.pinocchio.parents[row + 1]]
        bodies.append(parent.add_body(name=f'{name}_link', pos=placement.translation, quat=[w, x, y, z]))
        kind = mujoco.mjtJoint.mjJNT_SLIDE if model.chain.prismatic[row] else mujoco.mjtJoint.mjJNT_HINGE
        joint = bodies[-1].add_joint(name=name, type=kind, axis=model.chain.axis[row])
        if not tree.moving[row]:
            continue
        k, limits = model.joint_names.index(name), model.limits
        if np.isfinite(limits.lower[k]) and np.isfinite(limits.upper[k]):
            joint.limited, joint.range = True, [limits.lower[k], limits.upper[k]]
        if np.isfinite(limits.effort[k]):
            joint.actfrclimited, joint.actfrcrange = True, [-limits.effort[k], limits.effort[k]]
    for name, follows in tree.dependent.items():
        # one leader by a polynomial of its position, several by a tendon of constant length
        if len(follows.ratios) == 1:
            ((leader, ratio),) = follows.ratios.items()
            equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=name, name2=leader)
            equality.objtype = mujoco.mjtObj.mjOBJ_JOINT
            equality.data[:5] = [follows.offset, ratio, 0.0, 0.0, 0.0]
            continue
        tendon = spec.add_tendon(name=f'{name}_follows')
        for key, factor in ((name, 1.0), *((key, -ratio) for key, ratio in follows.ratios.items())):
            tendon.wrap_joint(key, factor)
        equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_TENDON, name1=f'{name}_follows')
        equality.objtype = mujoco.mjtObj.mjOBJ_TENDON
        equality.data[:5] = [follows.offset, 0.0, 0.0, 0.0, 0.0]
    return spec


def _keep_inertials(spec: Any) -> None:
    """Have MuJoCo take inertials as they are written."""
    compiler = spec.compiler
    compiler.settotalmass, compiler.boundmass, compiler.boundinertia, compiler.balanceinertia = -1.0, 0.0, 0.0, False
    compiler.inertiafromgeom = 2  # auto: where no inertial is written


def _take_masses_off(body: Any) -> None:
    """Take the masses of bodies fixed to a body away: the identified link includes them."""
    for child in body.bodies:
        if child.joints:
            continue
        child.explicitinertial = False
        for geom in child.geoms:
            geom.density, geom.mass = 0.0, 0.0
        _take_masses_off(child)


def _write_inertial(body: Any, link: FloatArray, placement: pinocchio.SE3) -> None:
    """Write ten inertial parameters of a joint's frame; placement: of that frame in the body's."""
    inertia = placement.act(inertia_of(link))
    body.explicitinertial, body.mass, body.ipos = True, float(inertia.mass), inertia.lever
    body.iquat = [1.0, 0.0, 0.0, 0.0]
    body.fullinertia = [inertia.inertia[index] for index in TENSOR]
