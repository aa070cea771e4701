"""The plant as the kernels take it: one record per joint, so that a call passes a pointer instead of fifty arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.arrays import FloatArray
from joint_dynamics.simulation.drives import Drives

#: Columns of the maps in `PlantConstants.maps`: value here, slope in the next.
ERROR, WIDTH, TRAVEL = 0, 2, 4
#: Drives' arrays that are not one number per joint.
_SHARED = ('kinematic_error', 'backlash', 'travel', 'reference_temperature', 'temperature_range', 'radius', 'weight')
CONSTANTS = np.dtype(
    [(name, np.float64) for name in Drives._fields if name not in _SHARED]
    + [(name, np.float64) for name in ('reference_temperature', 'coldest', 'hottest')],
    align=True,
)
#: State of one joint: `current` [A] behind the current loop; `load` τ_J low-passed and the share `lash_gain` of the
#: lost motion it leaves; `lash` [1] where the lost motion's play stands,
#: `wind` [rad] where the spring's slipping part does; `winding`, `gear`, `sensed` temperatures [°C],
#: `temperature_effect` what the gear's does to friction (`dynamics.temperature_effect`); `heating` [W];
#: `wear`, its goal and rate [1/s]; `external` [N·m]; `integral` of the PID [N·m]; encoder readings and speeds.
JOINT = np.dtype(
    [
        (name, np.float64)
        for name in (
            'current',
            'load',
            'lash_gain',
            'lash',
            'wind',
            'winding',
            'gear',
            'sensed',
            'temperature_effect',
            'heating',
            'wear',
            'wear_goal',
            'wear_rate',
            'external',
            'integral',
            'link_reading',
            'motor_reading',
            'link_speed',
            'motor_speed',
        )
    ],
    align=True,
)
#: Works that the energy audit integrates, in the order of `PlantState.work`; the last is booked when a setting jumps.
MOTOR, COGGING, EXTERNAL, FRICTION, DAMPING, CONTACT, SETTINGS = range(7)


class PlantConstants(NamedTuple):
    """Constants: `joints` (n,) records, `maps` (n, nodes, 6), `radius` and `weight` (M,) of the hysteresis."""

    joints: NDArray[Any]
    maps: FloatArray
    radius: FloatArray
    weight: FloatArray


class PlantState(NamedTuple):
    """State, changed in place: `motion` (4, n) q, q̇, θ, θ̇; `joints` (n,); `play` of H; `work` (7,) [J]."""

    motion: FloatArray
    joints: NDArray[Any]
    play: FloatArray
    work: FloatArray


def pack(drives: Drives) -> PlantConstants:
    """Return `drives` for the kernels."""
    joints = np.zeros(drives.gain.size, dtype=CONSTANTS).view(np.recarray)
    for name in CONSTANTS.names or ():
        if name in Drives._fields:
            joints[name] = getattr(drives, name)
    joints['reference_temperature'] = drives.reference_temperature
    joints['coldest'], joints['hottest'] = drives.temperature_range
    maps = np.ascontiguousarray(np.concatenate([drives.kinematic_error, drives.backlash, drives.travel], axis=2))
    return PlantConstants(joints, maps, np.ascontiguousarray(drives.radius), np.ascontiguousarray(drives.weight))


def rest(n: int, operators: int, temperature: float) -> PlantState:
    """Return the state of `n` joints at rest at 0 rad and `temperature` [°C], without any history."""
    joints = np.zeros(n, dtype=JOINT).view(np.recarray)
    for name in ('winding', 'gear', 'sensed'):
        joints[name] = temperature
    return PlantState(np.zeros((4, n)), joints, np.zeros((n, max(operators, 2))), np.zeros(7))
