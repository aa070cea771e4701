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

"""Signals of one joint, from a recording of the robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording
from joint_dynamics.signals.filtering import central_difference, zero_phase_lowpass


@dataclass(frozen=True)
class JointData:
    """Signals of one joint on a uniform grid, each (N,) or None when it was not measured.

    Attributes
    ----------
    joint, name
        of the joint and of the recording.
    time, rate
        s and Hz.
    q, theta
        link and motor angle [rad], θ on the joint side; equal where only one was measured.
    omega, alpha
        speed and acceleration of the motor side [rad/s, rad/s²], smoothed without phase at `cutoff`.
    cutoff
        Hz.
    two_sided
        whether θ was measured apart from q.
    tau
        motor torque on the joint side [N·m], positive with q.
    tau_J
        torque through the transmission [N·m], from the robot model or a known load.
    temperature
        °C.
    load_source
        where `tau_J` comes from, in words.
    """

    joint: str
    name: str
    time: FloatArray
    rate: float
    q: FloatArray
    theta: FloatArray
    omega: FloatArray
    alpha: FloatArray
    cutoff: float
    two_sided: bool
    tau: FloatArray | None = None
    tau_J: FloatArray | None = None
    temperature: FloatArray | None = None
    load_source: str = 'none'

    @property
    def samples(self) -> int:
        """Number of samples N."""
        return int(self.time.size)

    def need(self, *names: str) -> None:
        """Raise JointDynamicsError for the first of the named signals that was not measured."""
        wanted = {
            'theta': 'a motor-side angle (theta)',
            'tau': 'a motor torque (tau, or current with a drive gain)',
            'temperature': 'a joint temperature',
            'tau_J': 'a load torque (column load, or --robot with inertial parameters)',
        }
        for name in names:
            if name == 'theta' and not self.two_sided:
                raise JointDynamicsError(f'{self.name}: {self.joint}: expected {wanted[name]}, found only q')
            if getattr(self, name) is None:
                raise JointDynamicsError(f'{self.name}: {self.joint}: expected {wanted[name]}, found none')

    def friction(self) -> FloatArray:
        """Return the friction torque at constant speed, (N,) [N·m]: motor torque less transmission torque where known.

        Raises JointDynamicsError without a motor torque.
        """
        self.need('tau')
        assert self.tau is not None
        return self.tau if self.tau_J is None else self.tau - self.tau_J


def joint_data(
    recording: Recording,
    joint: str,
    *,
    drive_gains: Mapping[str, float] | None = None,
    arm: Arm | None = None,
    cutoff: float = 10.0,
) -> JointData:
    """Take one joint out of a recording.

    Parameters
    ----------
    recording, joint
        of the robot, and the joint's name.
    drive_gains
        {joint: N·m/A}, for a recording with currents.
    arm
        whose torque, payload and mounting included, at the smoothed motion is that through the transmission, unless
        `load_torque` was recorded; None: not known.
    cutoff
        of the zero-phase low-pass of θ (of q where θ was not measured), whose derivatives speed and acceleration are
        [Hz].

    Raises
    ------
    JointDynamicsError
        When the joint is not in the recording.
    """
    if joint not in recording.joint_names:
        raise JointDynamicsError(
            f'{recording.name}: expected a joint of {", ".join(recording.joint_names)}, found {joint}'
        )
    index = recording.joint_names.index(joint)
    q = recording.q[:, index]
    theta = q if recording.theta is None else recording.theta[:, index]
    smooth = zero_phase_lowpass(theta, cutoff, recording.rate)
    omega = central_difference(smooth, recording.rate)
    tau, gains = None, {joint: drive_gains[joint]} if drive_gains and joint in drive_gains else None
    if recording.tau is not None or (recording.current is not None and gains is not None):
        tau = recording.select([joint]).torque(gains)[:, 0]
    tau_J, source = None, 'none'
    if recording.load_torque is not None:
        tau_J, source = recording.load_torque[:, index], 'recorded load'
    elif arm is not None:
        tau_J, source = link_torque(recording, joint, arm, cutoff), 'robot model'
    temperature = None if recording.temperature is None else recording.temperature[:, index]
    return JointData(
        joint=joint,
        name=recording.name,
        time=recording.time,
        rate=recording.rate,
        q=q,
        theta=theta,
        omega=omega,
        alpha=central_difference(omega, recording.rate),
        cutoff=cutoff,
        two_sided=recording.theta is not None,
        tau=tau,
        tau_J=tau_J,
        temperature=temperature,
        load_source=source,
    )


def link_torque(recording: Recording, joint: str, arm: Arm, cutoff: float) -> FloatArray:
    """Return τ_J = M q̈ + C q̇ + g of one joint along the recording, (N,) N·m, as the load of its drive.

    cutoff: of the zero-phase low-pass of q [Hz].
    """
    motion = recording.select(arm.joint_names)
    q = zero_phase_lowpass(motion.q, cutoff, motion.rate)
    dq = central_difference(q, motion.rate)
    return arm.link_torque(q, dq, central_difference(dq, motion.rate))[:, arm.joint_names.index(joint)]
