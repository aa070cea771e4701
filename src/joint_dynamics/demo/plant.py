"""The robot that the demonstration, the chain and its benchmark work with, and what its data sheet says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.simulation import FlexibleJointRobot, Laws, ModelErrors, Payload

#: Height of the floor over the robot's base, which stands on a pedestal [m]: whoever plans a motion has to know it.
FLOOR = -0.6
#: Relative spread of the true masses and inertias about the URDF's.
INERTIA_ERROR = 0.2
#: Relative standard deviation of a data sheet's drive gains, ± 5 % as a uniform distribution; not what the plant draws
#: them by.
GAIN_DEVIATION = 0.05 / 3**0.5
#: What the joints wear to, and simulated seconds that it takes.
WEAR, HEATING_TIME = 0.8, 15.0
#: Share of the friction that the adaptive law compensates while the desired motion of a joint stands: what a joint
#: holds before it slips is known to some 30 % (static friction, its place on the turn, its warmth), and 1/(1 + 0.3) of
#: it never drives a joint that should stand.
REST_GAIN = 0.75
#: Heat brought in from outside, W for the strongest joint: half a degree per second.
HEATING = 500.0


def heating(effort: FloatArray) -> FloatArray:
    """Return the heat (n,) [W] that warms joints with torque limits `effort` (n,) [N·m] alike."""
    return HEATING * (effort / effort.max()) ** 0.6


def unknown_tool(seed: int) -> Payload:
    """Return the tool of this seed's robot, which is in no model: a box of 2 to 5 kg, up to 0.2 m off the flange."""
    rng = np.random.default_rng([seed, 0x70])
    mass, com = rng.uniform(2.0, 5.0), rng.uniform([-0.12, -0.12, 0.05], [0.12, 0.12, 0.15])
    sides = rng.uniform(0.05, 0.2, 3)
    return Payload(float(mass), com, np.diag(mass / 12.0 * (np.sum(sides**2) - sides**2)))


def demo_robot(
    seed: int, engine: str, position: ArrayLike, *, methods_laws: bool = False, **options: Any
) -> FlexibleJointRobot:
    """Return the robot of a seed, its tool in hand, at rest in `position` (n,) [rad].

    methods_laws: the laws of the methods instead of drawn ones. options: as for FlexibleJointRobot.
    """
    robot = FlexibleJointRobot(
        seed=seed,
        rate=500.0,
        errors=ModelErrors(inertia=INERTIA_ERROR),
        laws=Laws() if methods_laws else Laws.drawn(seed),
        dynamics=engine,
        floor=FLOOR if engine == 'mujoco' else None,
        position=position,
        **options,
    )
    robot.attach_payload(unknown_tool(seed))
    robot.place(position)
    return robot
