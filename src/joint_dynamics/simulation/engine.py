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

"""Time stepping: classical Runge-Kutta of fixed step, one control tick after the other, all compiled.

The step is at most 0.25 ms and short enough for every mode of the arm (`simulation_settings`). Nothing is skipped: a
slow machine takes longer for the same simulated time. The hysteresis of friction is a function of travel and exact in
each stage; its plays are updated at the end of each step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import inlined
from joint_dynamics.simulation.dynamics import (
    deformation,
    joint_torques,
    lost_motion_share,
    rates,
    sliding,
    temperature_effect,
    unwind,
)
from joint_dynamics.simulation.transmission import drag

#: Ways to command a tick: joint PID about a reference plus feedforward, or the torque alone.
PID, TORQUE = range(2)


class Control(NamedTuple):
    """Joint PID of the drive and its encoders, arrays (n,).

    u = feedforward + kp e + ki ∫e + kd (q̇_d − θ̇), the integral held while the current saturates; e of the link side
    or, `motor_side`, of the motor side. `link_step`, `motor_step`: resolution of the encoders [rad], 0 for perfect
    ones; `bandwidth` of the speed filter [Hz].
    """

    kp: FloatArray
    ki: FloatArray
    kd: FloatArray
    motor_side: bool
    link_step: FloatArray
    motor_step: FloatArray
    bandwidth: float


@inlined
def _quantised(angle: float, step: float) -> float:
    return np.rint(angle / step) * step if step > 0.0 else angle


@inlined
def _read_encoders(state: Any, control: Any, period: float) -> None:
    """Read the encoders once: quantised angles, and low-passed differences for speeds."""
    blend = 1.0 - np.exp(-2.0 * np.pi * control.bandwidth * period)
    for j in range(state.joints.size):
        joint = state.joints[j]
        link = _quantised(state.motion[0, j], control.link_step[j])
        motor = _quantised(state.motion[2, j], control.motor_step[j])
        joint.link_speed += blend * ((link - joint.link_reading) / period - joint.link_speed)
        joint.motor_speed += blend * ((motor - joint.motor_reading) / period - joint.motor_speed)
        joint.link_reading = link
        joint.motor_reading = motor


@inlined
def _command(
    plant: Any,
    state: Any,
    control: Any,
    mode: int,
    q: FloatArray,
    dq: FloatArray,
    effort: FloatArray,
    period: float,
    wanted: FloatArray,
) -> None:
    """Fill `wanted` (n,) with the current the drives ask for [A]: torque over the nominal gain, limited."""
    for j in range(wanted.size):
        c, joint = plant.joints[j], state.joints[j]
        torque = effort[j]
        limit = c.max_current * c.nominal_gain
        if mode == PID:
            error = q[j] - (joint.motor_reading if control.motor_side else joint.link_reading)
            torque += control.kp[j] * error + control.kd[j] * (dq[j] - joint.motor_speed) + joint.integral
            # Hold the integral while the current is at its limit and the error would push it further.
            if abs(torque) < limit or torque * error < 0.0:
                joint.integral += control.ki[j] * error * period
        wanted[j] = min(max(torque, -limit), limit) / c.nominal_gain


@inlined
def _settings(plant: Any, state: Any, period: float) -> None:
    """Let the lost motion shrink under load and wear approach its goal."""
    for j in range(state.joints.size):
        c, joint = plant.joints[j], state.joints[j]
        joint.lash_gain = lost_motion_share(c.lash_law, joint.load / c.lash_load)
        step = joint.wear_rate * period
        joint.wear += min(max(joint.wear_goal - joint.wear, -step), step)
        joint.temperature_effect = temperature_effect(c, joint.gear)


@inlined
def _warm(plant: Any, state: Any, heat: FloatArray, ambient: float, period: float, heat_speed: float) -> None:
    """Advance winding, gear and sensor temperatures by `period` [s] under the gears' losses `heat` (n,) [W]."""
    for j in range(heat.size):
        c, joint = plant.joints[j], state.joints[j]
        through = (joint.winding - joint.gear) / c.winding_path
        away = (joint.gear - ambient) / c.joint_path
        copper = c.resistance * joint.current * joint.current
        joint.winding += heat_speed * period * (copper - through) / c.winding_capacity
        joint.gear += heat_speed * period * (heat[j] + joint.heating + through - away) / c.joint_capacity
        share = 1.0 - np.exp(-period / c.temperature_lag) if c.temperature_lag > 0.0 else 1.0
        joint.sensed += share * (joint.gear - joint.sensed)


@inlined
def runge_kutta(
    links: Any, plant: Any, state: Any, step: float, heat: FloatArray, scratch: FloatArray, work: Any
) -> None:
    """Advance state.motion and the plays by one step of classical Runge-Kutta [s].

    Add the gears' losses to `heat` (n,) [J].
    """
    n = heat.size
    start, slope, total = scratch[0:4], scratch[4:8], scratch[8:12]
    burnt, load = scratch[12], scratch[13]
    motion = state.motion
    for i in range(4):
        for j in range(n):
            start[i, j] = motion[i, j]
            total[i, j] = 0.0
    for stage in range(4):
        share = 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0
        rates(links, plant, state, slope, burnt, load, work)
        ahead = step if stage == 2 else 0.5 * step
        for i in range(4):
            for j in range(n):
                total[i, j] += share * slope[i, j]
                if stage < 3:
                    motion[i, j] = start[i, j] + ahead * slope[i, j]
        for j in range(n):
            heat[j] += share * step * burnt[j]
    for j in range(n):
        for i in range(4):
            motion[i, j] = start[i, j] + step * total[i, j]
        c, joint, play = plant.joints[j], state.joints[j], state.play[j]
        phi, _, x = deformation(c, plant.maps[j], joint, motion[0, j], motion[2, j], motion[3, j])
        if c.bristle > 0.0:
            play[1] = sliding(c, play, plant.radius, plant.weight, x)
            play[0] = x
        else:
            drag(x, play, plant.radius)
        joint.lash = min(max(joint.lash, x - 1.0), x + 1.0)
        heat[j] += unwind(c, joint, phi)


@inlined
def measure(plant: Any, state: Any, out: FloatArray) -> None:
    """Fill `out` (rows, n) with unfiltered readings and truth of this instant, in the order of `trajectory.ROWS`.

    The command is not filled in.
    """
    for j in range(state.joints.size):
        joint = state.joints[j]
        q, dq, theta, omega = state.motion[0, j], state.motion[1, j], state.motion[2, j], state.motion[3, j]
        torque, f, _, _, H = joint_torques(
            plant.joints[j], plant.maps[j], joint, state.play[j], plant.radius, plant.weight, q, dq, theta, omega
        )
        out[0, j], out[1, j] = joint.link_reading, joint.link_speed
        out[2, j], out[3, j] = joint.motor_reading, joint.motor_speed
        out[4, j], out[5, j] = joint.current, joint.sensed
        out[6, j], out[7, j], out[8, j], out[9, j] = q, dq, theta, omega
        out[10, j], out[11, j], out[12, j], out[13, j] = torque, f, H, joint.gear


@inlined
def run(
    links: Any,
    plant: Any,
    state: Any,
    control: Any,
    mode: int,
    q: FloatArray,
    dq: FloatArray,
    effort: FloatArray,
    period: float,
    substeps: int,
    ambient: float,
    heat_speed: float,
    work: Any,
    out: FloatArray,
) -> int:
    """Run one tick per row of the commands `q`, `dq`, `effort` (ticks, n); fill `out` (ticks, rows, n).

    A tick reads the encoders, is measured, computes the current, and then lasts `period` [s] in `substeps` steps. Heat
    flows `heat_speed` times faster than in reality. Returns the number of ticks done: fewer than requested when a value
    is not finite.
    """
    n = state.joints.size
    step = period / substeps
    wanted, heat, scratch = np.empty(n), np.empty(n), np.empty((14, n))
    for tick in range(q.shape[0]):
        _settings(plant, state, period)
        _read_encoders(state, control, period)
        measure(plant, state, out[tick])
        _command(plant, state, control, mode, q[tick], dq[tick], effort[tick], period, wanted)
        for j in range(n):
            out[tick, 14, j] = wanted[j] * plant.joints[j].nominal_gain
            joint = state.joints[j]
            joint.load += (1.0 - np.exp(-period / plant.joints[j].lash_lag)) * (out[tick, 10, j] - joint.load)
            heat[j] = 0.0
        for _ in range(substeps):
            for j in range(n):
                joint, lag = state.joints[j], plant.joints[j].current_lag
                joint.current += (1.0 - np.exp(-step / lag) if lag > 0.0 else 1.0) * (wanted[j] - joint.current)
            runge_kutta(links, plant, state, step, heat, scratch, work)
        for j in range(n):
            heat[j] /= period
            out[tick, 15, j] = state.joints[j].external
        _warm(plant, state, heat, ambient, period, heat_speed)
        if not np.isfinite(state.motion).all():
            return tick
    return q.shape[0]
