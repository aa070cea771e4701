"""The excitation node's planning, in a process of its own (`nodes.worker`): no ROS in here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from joint_dynamics.excitation import PlanSettings, Progress, Trajectory, plan
from joint_dynamics.nodes.framework.worker import do_job
from joint_dynamics.robot import RobotModel


@dataclass(frozen=True)
class PlanJob:
    """What is to be planned: for which robot, by which settings, beside which motions that were played before."""

    robot: RobotModel
    settings: PlanSettings
    earlier: tuple[Trajectory, ...] = ()


def work(job: PlanJob, send: Callable[..., None]) -> dict[str, Any]:
    """Plan; send how it goes, and every motion that is better than those before.

    Return the line on the last one, and the motion.

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
        send(progress=str(progress), motion=progress.trajectory if better else None)

    planned = plan(job.robot, job.settings, report, job.earlier)
    value = '' if planned.result is None else f'condition number {planned.assessment.condition_number:.2f}'
    return {'line': value, 'motion': planned.trajectory}


if __name__ == '__main__':
    sys.exit(do_job(work))
