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

"""Motions for the excitation node: planned by its settings in a process of its own, or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from joint_dynamics.documents import section_of
from joint_dynamics.excitation import PlanSettings, Playback, Progress, Trajectory, plan
from joint_dynamics.excitation.files import load_plan
from joint_dynamics.excitation.plan import NO_FLOOR, with_options
from joint_dynamics.nodes.framework.worker import Worker, do_job
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import ParameterValues


@dataclass(frozen=True)
class PlanJob:
    """One motion to plan: for which robot, by which settings, beside which motions that were played before."""

    robot: RobotModel
    settings: PlanSettings
    earlier: tuple[Trajectory, ...] = ()


class Planning:
    """A plan in the making.

    Attributes
    ----------
    motion
        the best one so far, which keeps every limit; None: none yet.
    line
        how far it is.
    better
        whether the last `receive` brought a better motion.
    ended
        whether nothing more comes: with the best motion, or with `failure`, the reason why there is none.
    defect
        what a process that ended by a defect wrote.
    """

    def __init__(self, job: PlanJob):
        self.motion: Trajectory | None = None
        self.line, self.failure, self.defect = 'planning', '', ''
        self.better = self.ended = False
        self._worker = Worker('joint_dynamics.nodes.excitation.planning:serve_plan', job, 'planning')

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._worker.pid

    def receive(self) -> None:
        """Take the messages that have come, without waiting."""
        self.better = False
        for message in self._worker.poll():
            content = message.get('done', message)
            if content.get('motion') is not None:
                self.motion, self.better = content['motion'], True
            if 'progress' in message:
                self.line = f'{"ready" if content["exciting"] else "planning"}, {message["progress"]}'
            else:
                self.line = content.get('line', 'planning')
                self.failure, self.defect = message.get('failed', ''), message.get('defect', '')
                self.ended = True

    def close(self) -> None:
        """End it with what there is."""
        self.ended = True
        self._worker.close()


class MotionPlanner:
    """Makes what can be played of a robot's motions; settings are those of the node's parameters when it is made.

    Attributes
    ----------
    remark
        warning about the settings, '' for none.

    Raises
    ------
    JointDynamicsError
        For settings that do not fit.
    """

    def __init__(self, robot: RobotModel, parameters: ParameterValues):
        section = section_of(parameters['config_file'], 'excitation')
        section = {key: value for key, value in section.items() if key != 'profile'}
        settings = PlanSettings.from_config(section, parameters['profile'])
        self._settings = with_options(settings, joint=parameters['joint'] or None)
        self._robot, self._repeats, self._speed = robot, parameters['repeats'], parameters['approach_speed']
        limits = self._settings.limits
        self.remark = NO_FLOOR if limits.floor is None and limits.height is None else ''

    def load(self, path: str) -> Playback:
        """Return the motion of a file; raises JointDynamicsError where it cannot be read or leaves the limits.

        A plan without a torque limit states that in its file.
        """
        trajectory, torque_limit = load_plan(path)
        if not torque_limit:
            limits = self._settings.limits.replaced(torque_limit=False)
            self._settings = self._settings.replaced(limits=limits)
            self.remark += (
                f'{self.remark and "; "}the torque is not checked, because {path} was planned without a torque limit'
            )
        return self.playback_of(trajectory)

    def begin(self, earlier: Sequence[Trajectory]) -> Planning:
        """Begin to plan a motion in a process of its own, which adds to the information of earlier ones."""
        return Planning(PlanJob(self._robot, self._settings, tuple(earlier)))

    def playback_of(self, trajectory: Trajectory) -> Playback:
        """Return how a motion is played; raises JointDynamicsError where it leaves the limits."""
        return Playback(self._robot, self._settings.limits, trajectory, self._repeats, self._speed)


def plan_motion(job: PlanJob, send: Callable[..., None]) -> dict[str, Any]:
    """Plan; send the progress, whether the best motion is exciting enough, and every better motion.

    Return the state and the motion.

    Raises
    ------
    JointDynamicsError
        For what does not fit, and when no motion keeps the limits.
    """
    best = None

    def report(progress: Progress) -> None:
        nonlocal best
        better = progress.best != best
        best = progress.best
        condition = progress.condition_number
        exciting = condition is not None and condition <= job.settings.condition_limit
        send(progress=str(progress), exciting=exciting, motion=progress.trajectory if better else None)

    planned = plan(job.robot, job.settings, report, job.earlier)
    line = 'ready'
    if planned.poor_excitation:
        line = f'not ready: {planned.poor_excitation}'
    elif planned.result is not None:
        line = f'ready, condition number {planned.assessment.condition_number:.2f}'
    return {'line': line, 'motion': planned.trajectory}


def serve_plan() -> int:
    """Plan in a process of its own, for `Planning`, without ROS; return the exit status."""
    return do_job(plan_motion)
