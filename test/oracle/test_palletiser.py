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

"""A palletiser whose loops MuJoCo closes: motors of shoulder and elbow at the base, a rod to the forearm, a level hand.

MuJoCo holds the rod's end at the forearm by a constraint in space and the hand level by one between joints; identified
it is as a tree whose passive joints copy the motors (`robot.parallelograms`).
"""

from dataclasses import replace

import numpy as np
import pytest

mujoco = pytest.importorskip('mujoco', reason='the extra `mujoco` is not installed')

from joint_dynamics.arm import fourier_term  # noqa: E402
from joint_dynamics.identification import IdentificationSettings, identify  # noqa: E402
from joint_dynamics.recording import Recording  # noqa: E402
from joint_dynamics.robot import RobotModel  # noqa: E402

MOTORS = ('base', 'shoulder', 'elbow', 'wrist')
PARALLELOGRAMS = {
    'forearm': {'shoulder': -1.0, 'elbow': 1.0},
    'rod': {'shoulder': 1.0, 'elbow': -1.0},
    'hand': {'elbow': -1.0},
}
# name, parent, origin in it [m], axis, mass [kg], centre [m]
LINKS = (
    ('base', None, (0, 0, 0.6), (0, 0, 1), 60.0, (0.02, 0.01, -0.1)),
    ('shoulder', 'base', (0.1, 0, 0.3), (0, 1, 0), 25.0, (0.01, 0.03, 0.35)),
    ('elbow', 'base', (0.1, 0, 0.3), (0, 1, 0), 6.0, (-0.08, -0.1, 0.01)),
    ('forearm', 'shoulder', (0, 0, 0.8), (0, 1, 0), 18.0, (0.3, 0.02, 0.02)),
    ('rod', 'elbow', (-0.25, 0, 0), (0, 1, 0), 4.0, (0, 0, 0.4)),
    ('hand', 'forearm', (0.9, 0, 0), (0, 1, 0), 5.0, (0.05, 0.01, -0.05)),
    ('wrist', 'hand', (0.1, 0, -0.1), (0, 0, 1), 8.0, (0.03, 0.02, -0.1)),
)
CABLE = 60.0
"""N·m of a bundle of cables between upper arm and forearm, CABLE sin(3 q) against the forearm's turning."""
ROTOR = np.array([4.0, 8.0, 6.0, 0.5])
VISCOUS = np.array([20.0, 30.0, 25.0, 3.0])
PERIOD = 2.5e-3
STEP = 2.5e-4
PLAIN = IdentificationSettings(f_dyn=4.0, selection=False, period=0)
SETTINGS = replace(PLAIN, terms=(fourier_term('forearm', [3], ridge=0.0),))


def words(values):
    return ' '.join(f'{value:g}' for value in values)


def moments(mass):
    """Moments about the centre [kg·m²] of something about as long as these links are."""
    return mass * 0.04, mass * 0.05, mass * 0.02


def urdf():
    parts = ['<robot name="palletiser"><link name="floor"/>']
    for name, parent, origin, axis, mass, centre in LINKS:
        ixx, iyy, izz = moments(mass)
        parts.append(
            f'<link name="{name}_link"><inertial><origin xyz="{words(centre)}"/><mass value="{mass}"/>'
            f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="revolute"><parent link="{f"{parent}_link" if parent else "floor"}"/>'
            f'<child link="{name}_link"/><origin xyz="{words(origin)}"/><axis xyz="{words(axis)}"/>'
            '<limit lower="-2" upper="2" velocity="3" effort="5000"/></joint>'
        )
    return ''.join([*parts, '</robot>'])


def mjcf():
    def body(name):
        _, _, origin, axis, mass, centre = next(link for link in LINKS if link[0] == name)
        drive = ''
        if name in MOTORS:
            k = MOTORS.index(name)
            drive = f'armature="{ROTOR[k]}" damping="{VISCOUS[k]}"'
        inside = ''.join(body(link[0]) for link in LINKS if link[1] == name)
        return (
            f'<body name="{name}" pos="{words(origin)}"><joint name="{name}" axis="{words(axis)}" {drive}/><inertial'
            f' pos="{words(centre)}" mass="{mass}" diaginertia="{words(moments(mass))}"/>{inside}</body>'
        )

    stiff = 'solref="0.001 1" solimp="0.9999 0.9999 0.001"'
    return (
        f'<mujoco><option timestep="{STEP}" gravity="0 0 -9.81" integrator="implicitfast" tolerance="1e-14"'
        f' iterations="200"/><worldbody>{body("base")}</worldbody><equality>'
        # The end of the rod, 0.8 m from the crank's, is a point of the forearm 0.25 m behind the elbow's axis.
        f'<connect body1="rod" body2="forearm" anchor="0 0 0.8" {stiff}/>'
        f'<joint joint1="hand" joint2="elbow" polycoef="0 -1 0 0 0" {stiff}/></equality></mujoco>'
    )


def simulated(seed, duration):
    """A recording of the motors of the closed mechanism along sines of three frequencies per joint."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(mjcf())
    data = mujoco.MjData(model)
    place = [int(model.joint(name).qposadr[0]) for name in MOTORS]
    forearm = int(model.joint('forearm').qposadr[0])
    frequency = 2 * np.pi * np.array([0.2, 0.4, 0.6])
    sizes, phases = rng.uniform(0.1, 0.22, (3, 4)), rng.uniform(0, 2 * np.pi, (3, 4))

    def wanted(t):
        angle = frequency[:, None] * t + phases
        q = (sizes * (np.sin(angle) - np.sin(phases))).sum(axis=0)
        speed = (sizes * frequency[:, None] * np.cos(angle)).sum(axis=0)
        return q, speed * min(t, 1.0)

    stiffness, damping = np.array([8e4, 1.5e5, 1e5, 8e3]), np.array([4e3, 6e3, 4e3, 2e2])
    rows, every = [], round(PERIOD / STEP)
    for k in range(round(duration / STEP)):
        q, speed = wanted(k * STEP)
        torque = stiffness * (q - data.qpos[place]) + damping * (speed - data.qvel[place])
        data.qfrc_applied[place] = torque
        data.qfrc_applied[forearm] = -CABLE * np.sin(3 * data.qpos[forearm])
        if k % every == 0:
            rows.append((k * STEP, data.qpos[place].copy(), data.qvel[place].copy(), torque))
        mujoco.mj_step(model, data)
    time, q, dq, tau = (np.array([row[part] for row in rows]) for part in range(4))
    begin = round(1.0 / PERIOD)
    return Recording(
        time=time[begin:], q=q[begin:], dq=dq[begin:], tau=tau[begin:], joint_names=MOTORS, name=f'seed {seed}'
    ), data


@pytest.fixture(scope='module')
def robot():
    return RobotModel.from_urdf(urdf(), parallelograms=PARALLELOGRAMS)


@pytest.fixture(scope='module')
def runs():
    return simulated(1, 16.0), simulated(2, 9.0)


def by_motor(recording, names):
    """The recording in a robot's order."""
    order = [MOTORS.index(name) for name in names]
    part = {key: getattr(recording, key)[:, order] for key in ('q', 'dq', 'tau')}
    return Recording(time=recording.time, joint_names=tuple(names), name=recording.name, **part)


def test_passive_joints_close_the_loops_of_mujoco(robot, runs):
    for _, data in runs:
        tree = robot.tree_position(np.array([data.joint(name).qpos[0] for name in robot.joint_names]))
        found = [data.joint(name).qpos[0] for name in robot.chain.tree.names]
        np.testing.assert_allclose(found, tree, atol=2e-5)


def test_identified_palletiser_predicts_another_motion(robot, runs):
    """Residuals per joint, each against its own torque.

    Three in a thousand: the constraints give by 1e-5 rad, a step of 0.25 ms is a thousandth of the shortest period's
    turn, and the motors' torque changes between samples. With the passive joints locked a tenth is left and more.
    """
    training, validation = (by_motor(recording, robot.joint_names) for recording, _ in runs)
    result = identify(robot, [training], [validation], SETTINGS)
    residual, overall = result.validation[0].residual_percent()
    assert residual.max() < 0.3 and overall < 0.1
    assert result.solution.chi[result.names.index('sin3q_forearm')] == pytest.approx(CABLE, rel=0.02)

    names = list(robot.joint_names)
    standing = RobotModel.from_urdf(urdf(), joints=names)
    assert set(standing.held) == set(PARALLELOGRAMS)
    locked = identify(standing, [training], [validation], PLAIN).validation[0].residual_percent()[0]
    assert min(locked[names.index(joint)] for joint in ('base', 'shoulder', 'elbow')) > 5.0
