"""The state in which the arm stands still: springs and motors hold gravity, and friction has forgotten everything."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from joint_dynamics.arrays import FloatArray
from joint_dynamics.simulation.dynamics import deformation, lost_motion_share, motor_torque, spring_torque, travel
from joint_dynamics.simulation.packed import Plant, PlantState


def set_equilibrium(plant: Plant, state: PlantState, position: FloatArray, holding: FloatArray) -> None:
    """Put `state` at rest at `position` (n,) [rad], springs and motors holding `holding` (n,) [N·m]; heat stays."""
    joints = state.joints
    state.motion[:] = 0.0
    state.motion[0] = position
    joints['load'] = holding
    for j in range(joints.size):
        # θ = q + φ(g) + θ̃(θ): the spring's inverse, then a fixed point, for |θ̃′| is far below 1.
        constants, maps = plant.joints[j], plant.maps[j]
        joints['lash_gain'][j] = lost_motion_share(constants.lash_law, holding[j] / constants.lash_load)
        phi = joints['wind'][j] = spring_deformation(plant, state, j, holding[j])
        theta = position[j] + phi
        for _ in range(100):
            joints['lash'][j] = travel(constants, maps, theta)
            theta += phi - deformation(constants, maps, joints[j], position[j], theta, 0.0)[0]
        state.motion[2, j] = theta
        joints['lash'][j] = state.play[j] = travel(constants, maps, theta)
        if constants.bristle > 0.0:
            state.play[j, 1] = 0.0
        # By virtual work the motor holds less (or more) than the load where the map from θ to the spring is not 1 : 1.
        torque = holding[j] * deformation(constants, maps, joints[j], position[j], theta, 0.0)[1]
        joints['current'][j] = torque / constants.gain
        for _ in range(30):
            # What of the gain depends on the current is a few percent: a fixed point.
            current = joints['current'][j]
            gain = motor_torque(constants, joints[j], theta) / current if current else constants.gain
            joints['current'][j] = torque / gain


def spring_deformation(plant: Plant, state: PlantState, j: int, torque: float) -> float:
    """Return the deformation φ [rad] at which spring `j`, its slipping part at ease, holds `torque` [N·m]."""
    constants = plant.joints[j]
    left = float(1.0 - constants.wear_stiffness * state.joints['wear'][j])

    def excess(phi: float) -> float:
        return left * spring_torque(constants, phi, phi) - abs(torque)

    high = 1e-9
    while excess(high) < 0.0:
        high *= 2.0
    return float(np.copysign(brentq(excess, 0.0, high, xtol=1e-16, rtol=1e-14), torque)) if torque else 0.0
