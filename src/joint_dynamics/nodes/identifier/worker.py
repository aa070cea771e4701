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

"""The identifier's work, in a process of its own (`nodes.worker`): no ROS in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.worker import do_job
from joint_dynamics.recording import Recording, RecordingBuilder

MOTION = 0.01  # rad or m; a recording in which no joint moves further shows encoder noise


@dataclass(frozen=True)
class Job:
    """One identification."""

    robot: str  # path or text of the robot, as RobotModel.load takes it
    joints: tuple[str, ...]  # the same
    mounting: tuple[float, ...]  # the same
    recordings: tuple[tuple[str, RecordingBuilder], ...]  # (name, filled builder) in the order recorded
    loaded: tuple[tuple[str, RecordingBuilder], ...]  # those with a payload
    validation: int  # number of recordings, the last ones, that only validate
    settings: dict[str, Any]  # as IdentificationSettings.from_config takes them
    folder: str  # of the results
    remarks: dict[str, str]  # name -> reason for the early end of a recording


def work(job: Job, say: Callable[[str], None]) -> dict[str, Any]:
    """Align, identify, write the results.

    Return the line to answer with, the description, whether it is reliable, and the command to go on with.

    Raises
    ------
    JointDynamicsError
        When there is no result at all.
    """
    from joint_dynamics.description import next_command, write_result
    from joint_dynamics.identification import IdentificationSettings, identify
    from joint_dynamics.identification.result import residual_text
    from joint_dynamics.output_files import prepare_folder, write_atomically
    from joint_dynamics.report.identification import identification_report
    from joint_dynamics.robot import RobotModel

    folder = prepare_folder(job.folder)
    settings = IdentificationSettings.from_config(job.settings)
    model = RobotModel.load(job.robot, joints=list(job.joints) or None, mounting=list(job.mounting) or None)
    left_out: dict[str, str] = {}

    def aligned(group: tuple[tuple[str, RecordingBuilder], ...], needed: int) -> list[list[Recording]]:
        """Return the recordings that can be used, each in pieces between its gaps.

        One that an abort left behind must not hold up the others.
        """
        usable = []
        for name, builder in group:
            say(f'aligning {name}')
            try:
                pieces = [piece.select(model.joint_names) for piece in builder.build_pieces(name)]
                if not max(np.ptp(piece.q, axis=0).max() for piece in pieces) >= MOTION:
                    raise JointDynamicsError('expected a motion, found that no joint moves')
                usable.append(pieces)
            except JointDynamicsError as error:
                left_out[name] = ' '.join(
                    [*str(error).split(), *([f'({job.remarks[name]})'] if name in job.remarks else [])]
                )
        if len(usable) < needed:
            reasons = '; '.join(f'{name}: {reason}' for name, reason in left_out.items())
            raise JointDynamicsError(
                f'identify: expected at least {needed} recordings that can be used, found {len(usable)} ({reasons})'
            )
        return usable

    recordings = aligned(job.recordings, job.validation + 1)
    loaded = aligned(job.loaded, min(1, len(job.loaded)))
    split = len(recordings) - job.validation
    training, validation, payload_runs = (
        [piece for pieces in group for piece in pieces] for group in (recordings[:split], recordings[split:], loaded)
    )
    result = identify(model, training, validation, settings, progress=say, loaded=payload_runs)
    say('writing the results')
    summary = result.summary()
    reliable = not result.reasons or settings.proceed
    description = result.description
    write_result(folder, description, summary, identification_report(result), reliable)
    words = [f'{summary["base_parameters"]} base parameters']
    if summary['condition_number'] is not None:
        words.append(f'condition number {summary["condition_number"]:.3g}')
    if result.reasons and (left := residual_text(result.validation) or residual_text(result.training)):
        words.append(f'residual in motion {left}')
    further = [str(reason) for reason in result.reasons[1:]]
    line = '; '.join([result.verdict, *further, ', '.join(words), f'results in {folder}'])
    if left_out:
        line += '; left out: ' + '; '.join(f'{name} ({reason})' for name, reason in left_out.items())
    for name, remark in job.remarks.items():
        if name not in left_out:
            line += f'; {name} {remark}'
    if not reliable:
        return {'line': line, 'reliable': False}
    robot = job.robot
    if robot.lstrip().startswith('<'):
        # It came over a topic: whoever goes on with the description needs it, too.
        robot = str(folder / 'robot.urdf')
        write_atomically(robot, job.robot)
    command = next_command(robot, folder, recordings[0][0].rate)
    return {'line': line, 'reliable': True, 'yaml': description.to_yaml(), 'next': command}


def serve_identification() -> int:
    """Do the job of the node that started this process; return the exit status."""

    def work_or_say_why_not(job: Job, send: Callable[..., None]) -> dict[str, Any]:
        try:
            return work(job, lambda text: send(progress=text))
        except OSError as error:
            raise JointDynamicsError(f'identify: expected to write the results, found: {error}') from None

    return do_job(work_or_say_why_not)
