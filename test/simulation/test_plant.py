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

"""The plant's equations, seen from outside: equilibrium, friction, spring, hysteresis, settings, determinism."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import (
    Command,
    FlexibleJointRobot,
    ModelErrors,
    Sensors,
    TrajectoryPoints,
    plausible_drives,
    play,
    ur5e_urdf,
)
from joint_dynamics.simulation.plant import eigenvalues, substeps


def turning(robot, speed, seconds, settle=1.0):
    """Samples of a turntable at constant `speed`, after `settle` s."""
    robot.place(0.0)
    ramp, end = 0.3, seconds + settle
    t = np.array([0.0, ramp, end, end + ramp])
    q = np.cumsum([0.0, speed * ramp / 2, speed * (end - ramp), speed * ramp / 2])
    samples = play(robot, TrajectoryPoints(t, q[:, None], np.array([0.0, speed, speed, 0.0])[:, None]))
    return samples, slice(int(settle * robot.rate), int(end * robot.rate))


def test_it_stands_where_it_was_placed():
    robot = FlexibleJointRobot(seed=4, errors=ModelErrors.none(), sensors=Sensors.ideal())
    for q in np.random.default_rng(0).uniform(-2, 2, (3, 6)):
        robot.place(q)
        samples = robot.run(Command.track(np.tile(q, (300, 1))))
        assert np.abs(samples.true_q - q).max() < 1e-6
        np.testing.assert_allclose(
            samples.transmission_torque[0], RobotModel.from_urdf(ur5e_urdf()).gravity(q), atol=1e-6
        )


def test_samples_obey_link_and_rotor_equations(waves):
    robot = FlexibleJointRobot(seed=4, errors=ModelErrors(torque_ripple=0.0, gear_ripple=0.0), sensors=Sensors.ideal())
    robot.set_external_torque([1.0, -2.0, 0.5, 0.2, 0.0, -0.1])
    samples = play(robot, waves(robot.truth.position, 3.0))
    inner = slice(300, -300)
    h = robot.period

    def derivative(x):
        # Five points: the samples' own curvature must not be mistaken for an error of the plant.
        return (-x[4:] + 8 * x[3:-1] - 8 * x[1:-3] + x[:-4])[inner] / (12 * h)

    q, dq, ddq = samples.true_q[2:-2][inner], samples.true_dq[2:-2][inner], derivative(samples.true_dq)
    torque = samples.transmission_torque[2:-2][inner]
    link = robot.model.inverse_dynamics(q, dq, ddq, _rigid(robot)) - torque - np.array([1.0, -2.0, 0.5, 0.2, 0.0, -0.1])
    assert np.sqrt(np.mean(link**2, axis=0)).max() < 0.02
    friction, drive = samples.friction[2:-2][inner], samples.current[2:-2][inner] * robot.truth.drive_gains
    rotor = robot.truth.rotor_inertia * derivative(samples.true_dtheta) + friction + torque - drive
    # One tick's current is a staircase behind a lag; the lever ∂φ/∂θ differs from 1 by less than 1e-3.
    assert np.sqrt(np.mean(rotor**2, axis=0)).max() < 0.3


def _rigid(robot):
    parameters = robot.truth.parameters.reshape(robot.n, -1).copy()
    parameters[:, 10:] = 0.0
    return parameters.ravel()


def test_steady_slip_gives_the_true_friction(turntable):
    robot = turntable(seed=3, heat_speed=0.0, temperature=30.0)
    for speed in (0.2, -0.2, 1.0, -2.0):
        samples, steady = turning(robot, speed, 2.0)
        expected = robot.truth.friction(np.array([[speed]]), 0.0, 30.0)[0, 0]
        assert samples.friction[steady].mean() == pytest.approx(expected, rel=2e-3)
        assert (samples.effort[steady] * robot.truth.drive_gains / robot.nominal_gains).mean() == pytest.approx(
            expected, rel=0.01
        )
        np.testing.assert_allclose(samples.hysteresis[steady], np.sign(speed), atol=1e-9)


def test_slow_reversals_show_kinematic_error_and_backlash(turntable):
    robot = turntable(seed=5)
    angles = np.linspace(0.2, 5.8, 6)
    middle, half = [], []
    for angle in angles:
        robot.place(angle - 0.02)
        t = np.array([0.0, 1.0, 2.0, 3.0])
        samples = play(robot, TrajectoryPoints(t, angle + 0.02 * np.array([[-1], [1], [-1], [1]]), np.zeros((4, 1))))
        phi = (samples.true_theta - samples.true_q)[:, 0]
        up = samples.true_dtheta[:, 0] > 0.01
        down = samples.true_dtheta[:, 0] < -0.01
        near = np.abs(samples.true_theta[:, 0] - angle) < 0.002
        late = samples.time - samples.time[0] > 1.0
        above, below = phi[up & near & late].mean(), phi[down & near & late].mean()
        middle.append((above + below) / 2)
        half.append((above - below) / 2)
    np.testing.assert_allclose(middle, robot.truth.kinematic_error(angles[:, None])[:, 0], atol=5e-6)
    np.testing.assert_allclose(half, robot.truth.backlash(angles[:, None])[:, 0], rtol=0.03)


def test_an_external_torque_twists_the_spring_by_its_own_law(turntable):
    robot = turntable(seed=6)
    for torque in (-120.0, -30.0, 40.0, 100.0):
        robot.set_external_torque(torque)
        robot.place(0.3)
        samples = robot.run(Command.track(np.tile(0.3, (2000, 1))))
        phi = samples.true_theta[-1] - samples.true_q[-1] - robot.truth.kinematic_error(samples.true_theta[-1:])[0]
        assert robot.truth.spring_torque(phi) == pytest.approx(-torque, rel=0.01)
        assert samples.transmission_torque[-1, 0] == pytest.approx(-torque, rel=1e-3)


def test_free_oscillation_has_frequency_and_damping_of_spring(turntable):
    drives = plausible_drives(np.array([150.0]), 1, ModelErrors.none())
    # A rotor that nothing moves: the table then swings on the spring alone.
    robot = turntable(
        drives=drives._replace(
            rotor_inertia=np.array([1e6]), stiffness_cubic=np.array([0.0]), lash_load=np.array([1e-9])
        )
    )
    robot.place(0.0)
    inertia = robot.truth.parameters[5]
    robot.set_external_torque(20.0)
    robot.run(Command.torque(np.zeros((2000, 1))))
    robot.set_external_torque(0.0)
    swing = robot.run(Command.torque(np.zeros((600, 1)))).true_q[:, 0]
    swing = swing - swing[-100:].mean()
    peaks = [k for k in range(1, 400) if swing[k] > swing[k - 1] and swing[k] >= swing[k + 1]]
    period = np.diff(peaks).mean() * robot.period
    assert 2 * np.pi / period == pytest.approx(np.sqrt(drives.stiffness[0] / inertia), rel=0.01)
    decay = np.log(swing[peaks[0]] / swing[peaks[5]]) / (peaks[5] - peaks[0]) / robot.period
    assert decay == pytest.approx(drives.damping[0] / (2 * inertia), rel=0.03)


def test_the_step_is_stable_for_every_mode():
    for source, rate in ((None, 1000.0), (None, 500.0)):
        robot = FlexibleJointRobot(source, seed=2, rate=rate)
        assert robot.step_size <= 0.25e-3 + 1e-12
        postures = np.random.default_rng(9).uniform(-np.pi, np.pi, (60, robot.n))
        z = eigenvalues(robot.truth.links, robot.drives, postures) * robot.step_size
        assert (z.real < 1e-9).all()
        assert np.abs(1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24).max() <= 1 + 1e-12


def test_stiffer_plants_get_shorter_steps():
    robot = FlexibleJointRobot(seed=2)
    stiff = robot.drives._replace(stiffness=robot.drives.stiffness * 30)
    assert substeps(robot.truth.links, stiff, 1e-3) > substeps(robot.truth.links, robot.drives, 1e-3)
    with pytest.raises(JointDynamicsError, match='fastest mode'):
        substeps(robot.truth.links, robot.drives._replace(damping=robot.drives.damping * 1e4), 1e-3)


def test_half_the_step_gives_the_same_motion(waves):
    quantities = []
    for step in (0.25e-3, 0.0625e-3):
        robot = FlexibleJointRobot(seed=1, max_step=step)
        quantities.append(play(robot, waves(robot.truth.position, 2.0)))
    coarse, fine = quantities
    assert np.abs(coarse.true_q - fine.true_q).max() < 2e-5
    assert np.sqrt(np.mean((coarse.transmission_torque - fine.transmission_torque) ** 2, axis=0)).max() < 0.05


def test_one_tick_at_a_time_is_the_same_as_all_at_once(waves):
    a, b = FlexibleJointRobot(seed=7), FlexibleJointRobot(seed=7)
    reference = waves(a.truth.position, 0.3).sample(np.arange(300) * a.period)
    together = a.run(Command.track(reference.q, reference.dq))
    for k in range(300):
        single = b.step(Command.track(reference.q[k], reference.dq[k]))
        for name in ('q', 'theta', 'current', 'temperature', 'friction', 'dq'):
            np.testing.assert_array_equal(getattr(single, name)[0], getattr(together, name)[k])
        assert single.time[0] == together.time[k]


def test_overflow_of_a_motion_is_an_error():
    robot = FlexibleJointRobot(seed=1)
    robot.set_external_torque(1e200)
    with pytest.raises(JointDynamicsError, match='not finite'):
        robot.run(Command.torque(np.zeros((500, 6))))


@pytest.mark.parametrize(
    ('setting', 'value'),
    [
        *(('gains', value) for value in ({'kp': 'stiff'}, {'kp': np.nan}, {'p': 1.0}, {'kp': -1.0})),
        *(('position', value) for value in ([0.0] * 5, [np.nan] * 6)),
        ('source', '<robot name="x"><link name="a"/></robot>'),
    ],
)
def test_wrong_settings_are_refused(setting, value):
    with pytest.raises(JointDynamicsError, match='expected'):
        FlexibleJointRobot(**{setting: value})


def test_tree_with_a_sliding_joint_is_simulated(gantry_urdf):
    robot = FlexibleJointRobot(gantry_urdf, seed=1)
    samples = robot.run(Command.track(np.tile(robot.truth.position, (500, 1))))
    assert np.abs(samples.true_q - robot.truth.position).max() < 1e-3
    assert set(robot.joint_names) == {'slide', 'swing', 'branch'}


def test_without_losses_a_falling_arm_keeps_its_energy():
    drives = plausible_drives(np.array([150.0, 150, 150, 28, 28, 28]), 1, ModelErrors.none())
    losses = (
        'damping', 'coulomb', 'coulomb_load', 'static', 'viscous', 'viscous_square', 'viscous_cubic',
        'temperature_linear', 'temperature_cubic',
    )  # fmt: skip
    none = {name: 0.0 * getattr(drives, name) for name in losses} | {'lash_load': drives.lash_load * 1e-9}
    options = {'errors': ModelErrors.none(), 'sensors': Sensors.ideal(), 'drives': drives._replace(**none)}
    robot = FlexibleJointRobot(**options)
    samples = robot.run(Command.torque(np.zeros((1500, 6))))
    model, phi = robot.model.pinocchio, samples.true_theta - samples.true_q
    phi -= robot.truth.kinematic_error(samples.true_theta)
    stored = 0.5 * drives.stiffness * phi**2 + 0.25 * drives.stiffness_cubic * phi**4
    stored = (stored + 0.5 * drives.rotor_inertia * samples.true_dtheta**2).sum(axis=1)
    data, links = model.createData(), []
    for k, (q, dq) in enumerate(zip(samples.true_q, samples.true_dq, strict=True)):
        links.append(pinocchio.computeKineticEnergy(model, data, q, dq))
        stored[k] += links[k] + pinocchio.computePotentialEnergy(model, data, q)
    assert max(links) > 3.0
    assert np.ptp(stored) < 2e-3 * max(links)
