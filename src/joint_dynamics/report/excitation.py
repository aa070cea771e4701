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

"""The report of a planned motion: the robot moving, margins to every limit, its joints, quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from joint_dynamics.arrays import FloatArray, finite
from joint_dynamics.excitation.constraint import TorqueBound
from joint_dynamics.excitation.limits import MotionLimits, end_effector_frame
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.problem import all_constraints
from joint_dynamics.report.figure import Figure, Panel, Series
from joint_dynamics.report.html import Report
from joint_dynamics.report.robot_shapes import robot_shapes
from joint_dynamics.report.robot_view import RobotView
from joint_dynamics.robot.limits import joint_unit

if TYPE_CHECKING:
    from joint_dynamics.excitation import Plan
    from joint_dynamics.robot import RobotModel

POINTS = 4000


def excitation_report(model: RobotModel, plan: Plan) -> Report:
    """Return the report of a plan."""
    trajectory, assessment = plan.trajectory, plan.assessment
    limits = MotionLimits.of(model, plan.settings.limits)
    constraints = all_constraints(model, plan.settings.limits)
    time = np.linspace(0.0, trajectory.duration, POINTS)
    motion = RobotMotion(model, *trajectory.motion(time))
    report = Report(
        'Excitation',
        f'{model.pinocchio.name}, {model.n} joints, profile {plan.settings.profile}, {trajectory.duration:.2f} s',
    )
    report.add_section('Verdict')
    if plan.poor_excitation:
        report.add_text(plan.poor_excitation, kind='warning')
    elif assessment.condition_number <= plan.settings.condition_limit:
        report.add_text(
            f'Every limit is kept, and all {assessment.base_parameters} base parameters are separated: condition'
            f' number {assessment.condition_number:.3g} (limit {plan.settings.condition_limit:g}).',
            kind='good',
        )
    else:
        report.add_text('Every limit is kept.', kind='good')
    frame = end_effector_frame(model, plan.settings.limits.end_effector)
    shapes, remark = robot_shapes(model, plan.settings.limits)
    view = RobotView.of(
        model,
        time,
        motion.q.T,
        shapes,
        (limits.lower, limits.upper),
        frame.name,
        floor=plan.settings.limits.floor,
        margins=[(kind, margin) for kind, margin in assessment.margins.items() if np.isfinite(margin)],
    )
    report.add_robot(
        view,
        f'The motion, with the path of {frame.name}. Beside it the range of each joint within its limits (shaded: used)'
        f' and the smallest margins, safety factor {plan.settings.limits.safety_factor:g} included.'
        f' Moving along a figure below moves the robot. {remark}',
    )
    report.add_list([f'{note}.' for note in plan.notes])
    for title, values, low, high, unit in (
        ('Position', motion.q, limits.lower, limits.upper, 'rad'),
        ('Speed', motion.dq, -limits.velocity, limits.velocity, 'rad/s'),
        ('Acceleration', motion.ddq, -limits.acceleration, limits.acceleration, 'rad/s²'),
    ):
        report.add_section(title)
        report.add_figure(_traces(time, values, low, high, model, unit))
    for constraint in constraints:
        if isinstance(constraint, TorqueBound) and limits.torque is not None:
            report.add_section('Torque')
            report.add_figure(
                _traces(time, constraint.torque(motion), -limits.torque, limits.torque, model, 'N·m'),
                'By the model, payload and friction of the settings included',
            )
    watched = next((constraint for constraint in constraints if constraint.kind == 'clearance'), None)
    if watched is not None and watched.touching:  # type: ignore[attr-defined]
        pairs = ', '.join(f'{a} – {b}' for a, b in watched.touching)  # type: ignore[attr-defined]
        report.add_text(f'Closer than the clearance in every posture and therefore not checked: {pairs}.')
    _add_quality(report, plan)
    return report


def _add_quality(report: Report, plan: Plan) -> None:
    report.add_section('Quality')
    assessment, result = plan.assessment, plan.result
    headers, caption, compared = ['', 'this motion'], '', [assessment]
    if result is not None:
        headers.append('best random motion')
        compared.append(result.before)
        caption = (
            f'Criterion {result.settings.criterion}, {result.seconds:.1f} s, {result.finished} of'
            f' {result.settings.starts} searches ({result.ended}), seed {result.settings.seed}'
        )
    rows = (
        ('condition number of the base regressor, columns of norm 1', 'condition_number'),
        ('log det of the information per sample', 'log_det'),
        ('base parameters', 'base_parameters'),
    )
    report.add_table(headers, [[text, *(finite(getattr(one, key)) for one in compared)] for text, key in rows], caption)
    if not np.isfinite(assessment.condition_number):
        report.add_text('This motion does not excite all parameters of the robot; it is made for a test of one joint.')


def _traces(
    time: FloatArray, values: FloatArray, lower: FloatArray, upper: FloatArray, model: RobotModel, turning: str
) -> Figure:
    panels = []
    units = [joint_unit(turning, bool(slides)) for slides in model.prismatic]
    for name, unit, value, low, high in zip(
        model.joint_names, units, np.ascontiguousarray(values), lower, upper, strict=True
    ):
        series = [Series('planned', value, 'first')]
        for limit, label in ((low, 'limit'), (high, '')):
            if np.isfinite(limit):
                ends = np.array([time[0], time[-1]])
                series.append(Series(label, np.full(2, limit), 'limit', ends, dashed=True))
        panels.append(Panel(name, f'[{unit}]', series, time, note=_used(value, low, high)))
    return Figure(panels, 'time [s]', linked=True, clock='robot', columns=2 if model.n > 1 else 1, height=110)


def _used(value: FloatArray, low: float, high: float) -> str:
    """Say how much of its range between finite limits a joint uses."""
    if not np.isfinite(high - low):
        return ''
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    return f'{100 * float(np.abs(value - middle).max()) / half:.0f} % of the limit'
