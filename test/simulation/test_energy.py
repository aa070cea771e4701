"""What goes in by work is stored or burnt."""

import numpy as np
import pytest

from joint_dynamics.simulation import Command, FlexibleJointRobot, ModelErrors, Payload, Sensors, plausible_drives, play


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_the_balance_closes_in_motion_with_everything_on(seed, waves):
    robot = FlexibleJointRobot(seed=seed)
    robot.attach_payload(Payload(3.0, (0.02, 0.0, 0.07)))
    robot.set_external_torque([2.0, 1.0, -1.0, 0.3, 0.2, 0.1])
    robot.set_wear([0.2, 0.5, 1.0, 0.3, 0.6, 0.1], duration=1.5)
    robot.place(robot.truth.position)
    play(robot, waves(robot.truth.position, 4.0, size=0.8))
    energy = robot.energy
    assert energy.throughput > 50.0
    assert abs(energy.error) < 1e-4 * energy.throughput
    assert energy.friction > 0
    assert energy.damping >= 0
    assert abs(energy.settings) < 1e-3 * energy.throughput


def test_without_losses_a_falling_arm_keeps_its_energy():
    drives = plausible_drives(np.array([150.0, 150, 150, 28, 28, 28]), 1, ModelErrors.none())
    losses = (
        'damping', 'coulomb', 'coulomb_load', 'static', 'viscous', 'viscous_square', 'viscous_cubic',
        'temperature_linear', 'temperature_cubic',
    )  # fmt: skip
    none = {name: 0.0 * getattr(drives, name) for name in losses}
    robot = FlexibleJointRobot(
        errors=ModelErrors.none(),
        sensors=Sensors.ideal(),
        drives=drives._replace(**none, lash_load=drives.lash_load * 1e-9),
    )
    before = robot.energy.stored
    robot.run(Command.torque(np.zeros((1500, 6))))
    energy = robot.energy
    assert energy.links > 3.0
    assert energy.stored - before == pytest.approx(0.0, abs=2e-3 * energy.links)
    assert energy.friction == pytest.approx(0.0, abs=1e-9)


def test_a_pushed_joint_comes_to_rest_and_all_it_got_is_burnt(turntable):
    robot = turntable(seed=2)
    robot.set_external_torque(60.0)
    robot.run(Command.torque(np.zeros((300, 1))))
    robot.set_external_torque(0.0)
    robot.run(Command.torque(np.zeros((4000, 1))))
    energy = robot.energy
    assert energy.links + energy.rotors < 1e-9
    assert energy.external > 1.0
    # What little is left stands in the spring and in friction's presliding.
    assert energy.friction + energy.damping == pytest.approx(energy.external, rel=1e-3)
