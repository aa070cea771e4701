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

"""Where the frames of a robot's joints are in the bodies of another file of it, by the kinematics of both.

Files of one arm place their frames differently: Denavit and Hartenberg's, the CAD's, the centre of mass. They share the
axes of the joints, by which they are aligned.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel

TOLERANCE = 5e-3  # m, rad, largest difference of a link's place: rounding makes millimetres, another axis hundreds more
POSTURES = 8  # postures of the comparison
HINT = 1e-4  # weight of a guess beside the joints' axes: it hardly costs them anything


class Posture(NamedTuple):
    """The robot of a file at one posture, in that file's world.

    bodies: of each link, where the body is; anchors, axes (N, 3): a point of the line that it moves about or along [m]
    and its direction; parent: where the body is that the first joint's body hangs on.
    """

    bodies: list[pinocchio.SE3]
    anchors: FloatArray
    axes: FloatArray
    parent: pinocchio.SE3


class Kinematics(Protocol):
    """The robot as a file has it; `source` names it in messages."""

    source: str

    def at(self, q: FloatArray) -> Posture:
        """Return it at the positions q (N,) [rad or m] of the joints `RobotModel.link_names`, all others at zero."""


def placements_in(theirs: Kinematics, model: RobotModel) -> tuple[list[pinocchio.SE3], float]:
    """Return the placement of each link's frame in the body that the file's joint of that name moves, and its spread.

    The spread is by how much [m, rad] it differs between postures: how far the two disagree about the arm's shape.

    Both robots take the same random postures; how the joint's frame lies in the body must not depend on the posture.

    Parameters
    ----------
    theirs
        the robot of the file, its joints those of `model`, in the order of the links.
    model
        the robot.

    Raises
    ------
    JointDynamicsError
        Where a joint does not move as the robot's.
    """
    data = model.pinocchio.createData()
    rng = np.random.default_rng(0)
    seen: list[list[pinocchio.SE3]] = []
    base = None
    for q in [np.zeros(model.n), *rng.uniform(-1.0, 1.0, (POSTURES - 1, model.n))]:
        tree = model.tree_position(q)
        posture = theirs.at(tree[model.chain.tree.row])
        pinocchio.forwardKinematics(model.pinocchio, data, tree)
        frames = [data.oMi[int(k) + 1] for k in model.chain.tree.row]
        if base is None:
            base = _base_of(posture, frames, model)
        seen.append([body.actInv(base * frame) for frame, body in zip(frames, posture.bodies, strict=True)])
    apart = []
    for k, name in enumerate(model.link_names):
        off = max(float(np.abs(pinocchio.log6(seen[0][k].actInv(placements[k])).vector).max()) for placements in seen)
        if not off <= TOLERANCE:
            raise JointDynamicsError(
                f'{theirs.source}: expected {name} to move as in the robot file, found the frames of its link'
                f' {off:.3g} m or rad apart over some postures: another robot, another zero, or another direction of an'
                ' axis'
            )
        apart.append(off)
    return seen[0], max(apart)


def _base_of(posture: Posture, ours: list[pinocchio.SE3], model: RobotModel) -> pinocchio.SE3:
    """Return where the robot's base is in the file's world, by the lines that the joints move about or along.

    The rotation [Kabsch 1976] of axes and common normals of each two of them, then the place. The parent of the first
    body decides undetermined directions (one joint; parallel axes).
    """
    hint = posture.parent
    lines, seen = [], []
    chain = model.chain
    for k, (frame, row) in enumerate(zip(ours, chain.tree.row, strict=True)):
        lines.append((frame.translation, frame.rotation @ chain.axis[row]))
        seen.append((posture.anchors[k], posture.axes[k]))
    turning = [k for k, row in enumerate(chain.tree.row) if not chain.prismatic[row]]
    pairs = [(lines[k][1], seen[k][1]) for k in range(len(lines))]
    pairs += [(_normal(lines[i], lines[k]), _normal(seen[i], seen[k])) for i in turning for k in turning if i < k]
    pairs += [(HINT * unit, HINT * hint.rotation @ unit) for unit in np.eye(3)]
    left, _, right = np.linalg.svd(sum(np.outer(there, here) for here, there in pairs))
    rotation = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    rows, places = [HINT * np.eye(3)], [HINT * hint.translation]
    for k in turning:
        across = np.eye(3) - np.outer(seen[k][1], seen[k][1])
        rows.append(across)
        places.append(across @ (seen[k][0] - rotation @ lines[k][0]))
    place, *_ = np.linalg.lstsq(np.concatenate(rows), np.concatenate(places), rcond=None)
    return pinocchio.SE3(rotation, place)


def _normal(one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the vector of the shortest way from one line (point, direction) to another, both (3,)."""
    apart = other[0] - one[0]
    across = np.cross(one[1], other[1])
    length = np.linalg.norm(across)
    if length < 1e-6:
        return np.asarray(apart - (apart @ one[1]) * one[1])
    return np.asarray((apart @ across) * across / length**2)
