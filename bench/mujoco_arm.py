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

"""Arms with elastic joints in MuJoCo, which share no law with this package, and the description of each.

A joint is two hinges about one axis: that of the motor, with rotor inertia, dry and viscous friction, and that of the
spring. The first coordinate is θ, the sum of both is q.
"""

import mujoco
import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel, StandardParameters
from joint_dynamics.simulation import ur5e_urdf

STEP = 2e-4  # s, of the physics; the stiffest wrist oscillates at 3000 rad/s
PERIOD = 2e-3  # s, of the samples
CONTROL_STEPS = 5  # steps of the physics in one of the controller
BANDWIDTH = 40.0  # rad/s, of the position controller
SETTLED_SPEED = 0.02  # rad/s, width of the step of the friction that the controller feeds forward
MODEL_ERROR = 0.01  # relative error of the described inertial parameters
FRICTION_ERROR = 0.05  # relative error of the described friction
TORQUE_NOISE = 0.004  # standard deviation of the torque, relative to the torque limit
ENCODER = 2 * np.pi / 2**20  # rad, resolution
ELBOW = (  # axis; origin from the parent, m; mass, kg; bar of the link, m; torque limit, N·m
    ('0 0 1', (0.0, 0.0, 0.3), 12.0, (0.1, 0.0, 0.2), 180.0),
    ('0 1 0', (0.1, 0.0, 0.2), 10.0, (0.0, 0.0, 0.55), 180.0),
    ('0 1 0', (0.0, 0.0, 0.55), 7.0, (0.1, 0.0, 0.08), 110.0),
    ('1 0 0', (0.1, 0.0, 0.08), 4.0, (0.5, 0.0, 0.0), 45.0),
    ('0 1 0', (0.5, 0.0, 0.0), 2.5, (0.1, 0.0, 0.0), 35.0),
    ('1 0 0', (0.1, 0.0, 0.0), 1.0, (0.12, 0.0, 0.0), 25.0),
)
REACH = {  # deg, of the motion
    'ur5e': ([-180, -120, -130, -150, -90, -150], [0, -10, 110, -40, 120, 150]),
    'elbow': ([-150, -40, -60, -120, -100, -150], [150, 80, 50, 120, 100, 150]),
}


def elbow_urdf():
    """Return a six-axis industrial arm as URDF; its links are homogeneous bars of 5 cm."""
    parts = ['<robot name="elbow"><link name="l0"/>']
    for k, (axis, origin, mass, bar, effort) in enumerate(ELBOW, 1):
        bar = np.array(bar)
        tensor = mass / 12 * (bar @ bar * np.eye(3) - np.outer(bar, bar)) + mass * 0.05**2 / 2 * np.eye(3)
        names = zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), tensor[np.triu_indices(3)], strict=True)
        inertia = ' '.join(f'{name}="{value}"' for name, value in names)
        parts.append(
            f'<link name="l{k}"><inertial><mass value="{mass}"/><origin xyz="{" ".join(map(str, bar / 2))}"/>'
            f'<inertia {inertia}/></inertial></link><joint name="j{k}" type="revolute"><parent link="l{k - 1}"/>'
            f'<child link="l{k}"/><origin xyz="{" ".join(map(str, origin))}"/><axis xyz="{axis}"/>'
            f'<limit lower="-3.1" upper="3.1" velocity="3.1" effort="{effort}"/></joint>'
        )
    return ''.join([*parts, '</robot>'])


class MujocoArm:
    """A simulated arm `ur5e` or `elbow` with its controller; `seed` draws its drives, model errors and noise."""

    def __init__(self, name, seed):
        text = ur5e_urdf().read_text() if name == 'ur5e' else elbow_urdf()
        self.robot, self._seed = RobotModel.from_urdf(text), seed
        self.low, self.high = np.deg2rad(REACH[name])
        self._rng, n = np.random.default_rng([seed, 7]), self.robot.n
        size, spread = self.robot.limits.effort / 150.0, self._rng.uniform(0.9, 1.1, (4, n))
        self.stiffness, self._inertia = 2e4 * size**0.9 * spread[0], 0.9 * size**0.9 * spread[1]
        self._coulomb, self._viscous = 6.5 * size**0.7 * spread[2], 9.0 * size**0.75 * spread[3]
        self._damping = 0.05 * np.sqrt(self.stiffness * self._inertia)
        self._build(text)
        mass = self._inertia + np.diag(self.robot.mass_matrix(np.zeros(n)))
        self._gains = mass * BANDWIDTH**2, 1.6 * mass * BANDWIDTH

    def _build(self, text):
        compiler = '<mujoco><compiler fusestatic="false" discardvisual="true"/></mujoco>'
        spec = mujoco.MjSpec.from_string(text.replace('</robot>', f'{compiler}</robot>'))
        for k, name in enumerate(self.robot.joint_names):
            motor = spec.joint(name)
            motor.limited, motor.armature, motor.frictionloss = False, self._inertia[k], self._coulomb[k]
            motor.damping = np.resize([self._viscous[k], 0.0, 0.0], np.shape(motor.damping))
            spring = motor.parent.add_joint(name=f'{name}_spring', axis=motor.axis, pos=motor.pos, limited=False)
            spring.stiffness = np.resize([self.stiffness[k], 0.0, 0.0], np.shape(spring.stiffness))
            spring.damping = np.resize([self._damping[k], 0.0, 0.0], np.shape(spring.damping))
        spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        names = self.robot.joint_names
        self._motor = np.array([self._model.joint(name).dofadr[0] for name in names])
        self._spring = np.array([self._model.joint(f'{name}_spring').dofadr[0] for name in names])

    def arm(self):
        """Return the described arm; masses and friction have the errors of an identification."""
        rng, names, joints = np.random.default_rng([self._seed, 8]), list(self.robot.joint_names), {}
        standard = StandardParameters(self.robot.parameters, self.robot.n)
        standard.links[:] *= rng.uniform(1.0 - MODEL_ERROR, 1.0 + MODEL_ERROR, (self.robot.n, 1))
        factor = rng.uniform(1.0 - FRICTION_ERROR, 1.0 + FRICTION_ERROR, (2, self.robot.n))
        friction = factor * np.stack([self._coulomb, self._viscous])
        for k, name in enumerate(names):
            joints[name] = {
                'rotor_inertia': {'value': float(self._inertia[k])},
                'damping': {'value': float(self._damping[k])},
                'friction': {'parameters': {'F_C0': float(friction[0, k]), 'F_V1': float(friction[1, k])}},
                'stiffness': {'coefficients': [float(self.stiffness[k])]},
            }
        inertial = {'standard': {name: standard.link_document(k) for k, name in enumerate(names)}}
        frames = {'joint_names': names, **self.robot.kinematics()}
        return Arm.from_description(
            self.robot, DynamicsDescription({'robot': frames, 'joints': joints, 'inertial': inertial})
        )

    def moves(self, rng, seconds):
        """Return q, dq, ddq (samples, 3, n) of random moves with rests; two fifths are short, many slow."""
        now, parts, total = rng.uniform(self.low, self.high), [], 0.0
        while total < seconds:
            way = rng.uniform(self.low, self.high) - now
            way *= 0.15 if rng.random() < 0.4 else 1.0
            longest, speed = np.abs(way).max(), 3.1 * rng.uniform(0.03, 0.7)
            duration = max(1.875 * longest / speed, np.sqrt(5.8 * longest / 3.0))
            t = np.arange(0.0, duration, PERIOD) / duration
            place = 10 * t**3 - 15 * t**4 + 6 * t**5, (30 * t**2 - 60 * t**3 + 30 * t**4) / duration
            shape = np.stack([*place, (60 * t - 180 * t**2 + 120 * t**3) / duration**2], axis=1)
            parts.append(shape[:, :, None] * way + np.array([now, 0 * now, 0 * now]))
            now, rest = now + way, int(rng.uniform(0.0, 1.0) * (rng.random() < 0.5) / PERIOD)
            parts.append(np.repeat(np.array([[now, 0 * now, 0 * now]]), rest, axis=0))
            total += duration + rest * PERIOD
        return np.concatenate(parts)

    def place(self, q):
        """Stand still at q (n,) rad, each spring bent by gravity."""
        bend = self.robot.inverse_dynamics(q, np.zeros_like(q), np.zeros_like(q)) / self.stiffness
        self._data.qpos[self._motor], self._data.qpos[self._spring] = q + bend, -bend
        self._data.qvel[:] = 0.0

    def push(self, force):
        """Apply a force (3,) N at the centre of the last body, in the frame of the base, until the next call."""
        self._data.xfrc_applied[-1, :3] = force

    def sample(self, q, dq, ddq):
        """Track q, dq, ddq (n,) for one period; return measured q [rad], motor torque [N·m] and θ [rad], (n,) each."""
        data, link = self._data, self.robot.inverse_dynamics(q, dq, ddq)
        theta, (kp, kd), limit = q + link / self.stiffness, self._gains, self.robot.limits.effort
        feed = link + self._inertia * ddq + self._viscous * dq + self._coulomb * np.tanh(dq / SETTLED_SPEED)
        count, torque = round(PERIOD / STEP / CONTROL_STEPS), 0.0
        for _ in range(count):
            wanted = feed + kp * (theta - data.qpos[self._motor]) + kd * (dq - data.qvel[self._motor])
            data.qfrc_applied[self._motor] = np.clip(wanted, -limit, limit)
            mujoco.mj_step(self._model, data, CONTROL_STEPS)
            torque = torque + data.qfrc_applied[self._motor] / count
        motor = data.qpos[self._motor]
        counts = np.round(np.stack([motor + data.qpos[self._spring], motor]) / ENCODER)
        return counts[0] * ENCODER, torque + self._rng.normal(0.0, TORQUE_NOISE * limit), counts[1] * ENCODER
