"""Where the frames of a robot's joints are in the bodies of an MJCF, by the kinematics of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel

#: m, rad: by which the two may place a link differently. Files of one arm do so by some millimetres, where somebody has
#: rounded; another zero or axis is hundreds of times as much.
TOLERANCE = 5e-3
#: Postures at which the two are compared.
POSTURES = 8
#: Weight of what only a guess says beside what the joints' lines say: it hardly costs them anything.
HINT = 1e-4


def placements_in(path: str | Path, model: RobotModel) -> tuple[list[pinocchio.SE3], float]:
    """Return the placement of each joint's frame in the body that the MJCF's joint of that name moves.

    And by how much [m, rad] it differs between postures: how far the two files disagree about the arm's shape.

    Both robots take the same random postures; how the joint's frame lies in the body must not depend on the posture.

    Raises
    ------
    JointDynamicsError
        Where mujoco is missing or refuses the file, or a joint does not move as the robot's.
    """
    try:
        import mujoco
    except ImportError:
        raise JointDynamicsError(
            'export-mjcf --into: expected the package mujoco, not found (pip install joint_dynamics[mujoco])'
        ) from None
    # What MuJoCo warns of in a file that is only read would end in a log in the working folder.
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise JointDynamicsError(f'MJCF {path}: expected what MuJoCo reads, found: {error}') from None
    finally:
        mujoco.set_mju_user_warning(before)
    state, data = mujoco.MjData(theirs), model.pinocchio.createData()
    joints = [theirs.joint(name) for name in model.joint_names]
    rng = np.random.default_rng(0)
    seen: list[list[pinocchio.SE3]] = []
    base = None
    for q in [np.zeros(model.n), *rng.uniform(-1.0, 1.0, (POSTURES - 1, model.n))]:
        state.qpos[:] = theirs.qpos0
        for joint, angle in zip(joints, q, strict=True):
            # A joint that is given a reference angle is at 0 there.
            state.qpos[joint.qposadr[0]] = angle
        mujoco.mj_kinematics(theirs, state)
        pinocchio.forwardKinematics(model.pinocchio, data, q)
        bodies = [_placement(state, int(joint.bodyid[0])) for joint in joints]
        if base is None:
            base = _base_of(theirs, state, joints, data.oMi, model)
        seen.append([body.actInv(base * data.oMi[k + 1]) for k, body in enumerate(bodies)])
    apart = []
    for k, name in enumerate(model.joint_names):
        off = max(float(np.abs(pinocchio.log6(seen[0][k].actInv(each[k])).vector).max()) for each in seen)
        if off > TOLERANCE:
            raise JointDynamicsError(
                f'MJCF {path}: expected {name} to move as in the robot file, found the frames of its link {off:.3g} m '
                'or rad apart over some postures: another robot, another zero, or another direction of an axis'
            )
        apart.append(off)
    return seen[0], max(apart)


def _placement(state: Any, body: int) -> pinocchio.SE3:
    return pinocchio.SE3(np.array(state.xmat[body]).reshape(3, 3), np.array(state.xpos[body]))


def _base_of(theirs: Any, state: Any, joints: list[Any], ours: Any, model: RobotModel) -> pinocchio.SE3:
    """Return where the robot's base is in MuJoCo's world, by the lines that the joints move about or along.

    The rotation [Kabsch 1976] of axes and common normals of each two of them, then the place. What they leave open (one
    joint; parallel axes) is as the body that the first joint's body hangs on.
    """
    parent = int(theirs.body_parentid[int(joints[0].bodyid[0])])
    hint = _placement(state, parent)
    lines, seen = [], []
    for k, joint in enumerate(joints):
        frame = ours[k + 1]
        lines.append((frame.translation, frame.rotation @ model.chain.axis[k]))
        seen.append((np.array(state.xanchor[joint.id]), np.array(state.xaxis[joint.id])))
    turning = [k for k in range(model.n) if not model.chain.prismatic[k]]
    pairs = [(lines[k][1], seen[k][1]) for k in range(model.n)]
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
