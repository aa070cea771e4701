"""From a trajectory to a Recording in one call, without ROS."""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording
from joint_dynamics.simulation.robot import FlexibleJointRobot
from joint_dynamics.simulation.samples import Command, Samples
from joint_dynamics.simulation.trajectory import TrajectoryPoints

#: Ticks per call into the compiled loop: bounds the memory of a long run.
BLOCK = 20000


def play(robot: FlexibleJointRobot, trajectory: TrajectoryPoints, *, hold: float = 0.0) -> Samples:
    """Let `robot` follow `trajectory` from its first point, then `hold` it for that many seconds; return all `Samples`.

    A robot that stands elsewhere (more than 1 mrad) is placed at the first point, at rest (`FlexibleJointRobot.place`).
    """
    if trajectory.n != robot.n:
        raise JointDynamicsError(f'simulation: expected a trajectory of {robot.n} joints, found {trajectory.n}')
    first = trajectory.sample(0.0).q[0]
    if np.abs(robot.truth.position - first).max() > 1e-3:
        robot.place(first)
    ticks = int(round((trajectory.duration + hold) * robot.rate)) + 1
    blocks = []
    for start in range(0, ticks, BLOCK):
        reference = trajectory.sample(np.arange(start, min(start + BLOCK, ticks)) * robot.period)
        blocks.append(robot.run(Command.track(reference.q, reference.dq, reference.effort)))
    return Samples.joined(blocks)


def record(
    robot: FlexibleJointRobot, trajectory: TrajectoryPoints, *, hold: float = 0.0, name: str = 'simulation', **what: Any
) -> Recording:
    """Let `robot` follow `trajectory` (see `play`) and return what its sensors saw; `what` as for `recording_of`."""
    return recording_of(play(robot, trajectory, hold=hold), name=name, **what)


def recording_of(samples: Samples, *, name: str = 'simulation', torque: bool = False, every: int = 1) -> Recording:
    """Return measured `samples` as a Recording: q, dq, theta, dtheta, temperature and the motor current [A].

    Parameters
    ----------
    torque
        give `tau` [N·m], current times the drive's nominal gain, instead of the current.
    every
        keep every that many-th sample.
    """
    if every < 1:
        raise JointDynamicsError(f'simulation: expected every >= 1 sample, found {every}')
    samples = samples.every(every)
    tau, current = (samples.effort, None) if torque else (None, samples.current)
    return Recording(
        samples.joint_names,
        samples.time - samples.time[0],
        samples.q,
        dq=samples.dq,
        tau=tau,
        current=current,
        theta=samples.theta,
        dtheta=samples.dtheta,
        temperature=samples.temperature,
        name=name,
    )
