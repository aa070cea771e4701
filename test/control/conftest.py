import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control import Controller, ControlLoop, InterfaceConfiguration, LoopSettings, Path, create
from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

WAYPOINTS = np.radians([[-110, 0, 0, -90, 90, 0], [-70, -30, -90, -130, 50, 120], [-140, -10, -130, -40, 125, 10]])


@pytest.fixture(scope='session')
def robot():
    return RobotModel.from_urdf(ur5e_urdf())


@pytest.fixture
def make_arm(robot):
    """An arm with everything, or with what is given instead."""

    def make(**changes):
        rng = np.random.default_rng(5)
        n = robot.n
        friction = FrictionModel(
            {
                'F_C0': np.array([7.0, 7, 6, 2, 2, 2]),
                'F_C1': 1e-3,
                'F_S': np.array([8.0, 8, 7, 2.5, 2.5, 2.5]),
                'F_V1': 6.0,
                'F_T1': -0.05,
            },
            MaxwellSlip(n, 5e-4),
        )
        values = {
            'rotor_inertia': np.array([0.9, 0.9, 0.9, 0.2, 0.2, 0.2]),
            'drive_gain': rng.uniform(8, 14, n),
            'friction': friction,
            'stiffness': TorsionalStiffness([2e4, 1e8]),
            'damping': np.full(n, 5.0),
            'kinematic_error': PeriodicMap(rng.normal(0, 1e-4, 90)),
        }
        return Arm(robot, **{**values, **changes})

    return make


@pytest.fixture
def arm(make_arm):
    return make_arm()


@pytest.fixture
def make_loop(make_arm):
    """A loop with a law by name, activated."""

    def make(law='computed_torque', arm=None, settings=None, activate=True, **parameters):
        loop = ControlLoop(create(law), arm or make_arm(), settings or LoopSettings(), parameters)
        if activate:
            loop.activate()
        return loop

    return make


class GivenLaw(Controller):
    """A law of somebody else: claims what it is told to, commands 50 N·m, and does what `behave` does beside that."""

    def __init__(self, behave=lambda law: None, *, command=None, state=None, references=('position',)):
        self.behave, self.claimed, self.measured, self.references = behave, command, state, references

    def on_configure(self, setup):
        self._joint_names = setup.arm.joint_names

    def command_interface_configuration(self):
        return self.claimed or InterfaceConfiguration.individual(self.joint_names, ['effort'])

    def state_interface_configuration(self):
        return self.measured or InterfaceConfiguration.individual(self.joint_names, ['position'])

    def reference_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, self.references)

    def update(self, time, period):
        self.command['effort'] = 50.0
        self.behave(self)


@pytest.fixture(scope='session')
def given_law():
    """See GivenLaw."""
    return GivenLaw


@pytest.fixture
def path():
    """A smooth motion through three points of the thesis's cycle, at rest at each."""
    zero = np.zeros_like(WAYPOINTS)
    return Path([0.0, 2.5, 5.0], WAYPOINTS, zero, zero)


@pytest.fixture
def feed():
    """Write state and reference of one instant of a motion, tracked perfectly."""

    def write(loop, motion, time, **state):
        given = {
            'position': motion[0],
            'velocity': motion[1],
            'motor_position': motion[0],
            'motor_velocity': motion[1],
            'temperature': np.full(len(motion[0]), 30.0),
            **state,
        }
        for quantity, values in given.items():
            loop.state.write(quantity, values, time)
        for quantity, values in zip(('position', 'velocity', 'acceleration', 'jerk', 'snap'), motion, strict=True):
            loop.reference.write(quantity, values, time)

    return write
