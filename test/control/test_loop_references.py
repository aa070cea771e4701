"""A law that is not given the desired position: what is looked at then, and what is not."""

import numpy as np
import pytest

from joint_dynamics.control import ControlLoop, LoopSettings
from joint_dynamics.control.interface import Controller, InterfaceConfiguration

T = 0.002


class SpeedLaw(Controller):
    """Torque by the desired speed alone."""

    wanted = ('velocity',)

    def on_configure(self, setup):
        self._joint_names = setup.arm.joint_names

    def command_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, ['effort'])

    def state_interface_configuration(self):
        return InterfaceConfiguration()

    def reference_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, self.wanted)

    def update(self, time, period):
        self.command['effort'] = 10.0 * self.reference['velocity']


class PlaceLaw(SpeedLaw):
    """The same, and asks for the desired position beside it."""

    wanted = ('position', 'velocity')


@pytest.mark.parametrize(('law', 'looked_at'), [(SpeedLaw, False), (PlaceLaw, True)])
def test_where_no_position_is_desired_none_is_looked_at(arm, law, looked_at):
    """Neither its limits nor how far the arm is from it; of the desired speed the limit, as ever."""
    loop = ControlLoop(law(), arm, LoopSettings(tracking=0.1, safe='zero'))
    loop.activate()
    first = arm.joint_names[0]
    loop.step(0.0, T)
    assert loop.fallback_reason == f'state position of {first} has not come yet'
    loop.state.write('position', np.zeros(6), 0.0)
    loop.step(0.0, T)
    assert loop.fallback_reason == f'reference {law.wanted[0]} of {first} has not come yet'
    limit = arm.robot.limits
    far, speed = limit.upper + 10.0, np.linspace(-0.5, 0.5, 6)
    for k in range(300):
        loop.state.write('position', np.zeros(6), k * T)
        loop.reference.write('position', far, k * T)
        loop.reference.write('velocity', speed, k * T)
        out = loop.step(k * T, T)
    if looked_at:
        assert loop.fallback_reason.startswith(f'desired position of {first} is {far[0]:.6g}, allowed are ')
        np.testing.assert_array_equal(out, 0.0)
    else:
        assert loop.fallback_reason == ''
        np.testing.assert_allclose(out, 10.0 * speed)
    loop.reference.write('position', np.full(6, 0.2), 300 * T)
    loop.reference.write('velocity', speed, 300 * T)
    loop.state.write('position', np.zeros(6), 300 * T)
    loop.step(300 * T, T)
    wrong = f'distance from the desired position of {arm.joint_names[0]} is -0.2, allowed are -0.1 … 0.1'
    assert loop.fallback_reason == (wrong if looked_at else '')
    loop.reference.write('position', np.zeros(6), 301 * T)
    loop.reference.write('velocity', 100.0 * np.eye(6)[3], 301 * T)
    loop.state.write('position', np.zeros(6), 301 * T)
    loop.step(301 * T, T)
    assert loop.fallback_reason.startswith(f'desired speed of {arm.joint_names[3]} is 100, allowed are ')
