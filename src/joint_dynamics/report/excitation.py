"""The report of a planned motion: worth, margins to every limit, the motion itself, the path of the end-effector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.load import end_effector_frame, parent_joint
from joint_dynamics.excitation.motion import RobotMotion
from joint_dynamics.excitation.problem import all_constraints
from joint_dynamics.excitation.torque_bound import TorqueBound
from joint_dynamics.report.html import Report

if TYPE_CHECKING:
    from joint_dynamics.excitation import Plan
    from joint_dynamics.robot import RobotModel

POINTS = 4000
LINE, LIMIT, BEGIN = '#0b6fb8', '#c4543a', '#2e8b57'


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
    report.add_section('What it is worth')
    if plan.poor_excitation:
        report.add_text(plan.poor_excitation, kind='warning')
    for note in plan.notes:
        report.add_text(f'Note: {note}.')
    _worth(report, plan)
    report.add_section('Margins')
    report.add_table(
        ['limit', 'smallest margin, fraction of the limit'],
        [[kind, margin] for kind, margin in assessment.margins.items()],
        'Proved for all times, not for samples. The limits have the safety factor '
        f'{plan.settings.limits.safety_factor:g} in them.',
    )
    watched = next((constraint for constraint in constraints if constraint.kind == 'clearance'), None)
    if watched is not None and watched.touching:  # type: ignore[attr-defined]
        pairs = ', '.join(f'{a} – {b}' for a, b in watched.touching)  # type: ignore[attr-defined]
        report.add_text(f'Closer than the clearance in every posture and therefore not watched: {pairs}.')
    report.add_section('Motion')
    names = model.joint_names
    report.add_figure(_traces(time, motion.q, limits.lower, limits.upper, names, 'rad'), 'Position, with its limits')
    report.add_figure(_traces(time, motion.dq, -limits.velocity, limits.velocity, names, 'rad/s'), 'Speed')
    report.add_figure(
        _traces(time, motion.ddq, -limits.acceleration, limits.acceleration, names, 'rad/s²'), 'Acceleration'
    )
    for constraint in constraints:
        if isinstance(constraint, TorqueBound) and limits.torque is not None:
            report.add_figure(
                _traces(time, constraint.torque(motion), -limits.torque, limits.torque, names, 'N·m'),
                'Torque by the model, payload and friction of the settings included',
            )
    report.add_section('End-effector')
    frame = end_effector_frame(model, plan.settings.limits.end_effector)
    path = motion.frames.point(parent_joint(frame) - 1, np.array(frame.placement.translation))
    report.add_figure(_path_figure(path), f'Path of {frame.name} in the base frame; it begins at the green mark')
    return report


def _worth(report: Report, plan: Plan) -> None:
    assessment, result = plan.assessment, plan.result

    def finite(value: float) -> float | None:
        return value if np.isfinite(value) else None

    rows: list[list[Any]] = [
        ['condition number of the base regressor, columns of norm 1', finite(assessment.condition_number)],
        ['log det of the information per sample', finite(assessment.log_det)],
        ['base parameters', assessment.base_parameters],
    ]
    if result is None:
        report.add_table(['', 'value'], rows)
        if not np.isfinite(assessment.condition_number):
            report.add_text(
                'This motion does not show all parameters of the robot; it is made for a test of one joint.'
            )
        return
    before = [finite(result.before.condition_number), finite(result.before.log_det), result.before.base_parameters]
    report.add_table(
        ['', 'best random motion', 'optimised'],
        [[row[0], old, row[1]] for row, old in zip(rows, before, strict=True)],
        f'Criterion {result.settings.criterion}, {result.seconds:.1f} s, {result.finished} of {result.settings.starts}'
        f' searches ({result.ended}), seed {result.settings.seed}',
    )
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 3))
    seconds, values = np.array(result.history).T
    axis.step([*seconds, result.seconds], [*values, values[-1]], where='post', color=LINE)
    if np.all(values > 0):
        axis.set_yscale('log')
    axis.set_xlabel('time [s]')
    axis.set_ylabel(
        {'condition_number': 'condition number', 'weighted_blocks': 'W₁ cond Φ₁ + W₂ cond Φ₂'}.get(
            result.settings.criterion, '−log det / parameters'
        )
    )
    axis.grid(alpha=0.3, which='both')
    report.add_figure(figure, 'Best motion that keeps every limit, against time')


def _traces(
    time: FloatArray, values: FloatArray, lower: FloatArray, upper: FloatArray, names: tuple[str, ...], unit: str
) -> Any:
    from matplotlib import pyplot

    columns = 2 if len(names) > 1 else 1
    rows = -(-len(names) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(11, 1.6 * rows + 0.5), sharex=True, squeeze=False, layout='constrained'
    )
    for axis, name, value, low, high in zip(axes.ravel(), names, values, lower, upper, strict=False):
        axis.plot(time, value, color=LINE, linewidth=1)
        for limit in (low, high):
            axis.axhline(limit, color=LIMIT, linewidth=0.8, linestyle='--')
        axis.set_ylabel(f'{name}\n{unit}', fontsize=8)
        axis.grid(alpha=0.3)
    for axis in axes.ravel()[len(names) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel('time [s]')
    return figure


def _path_figure(path: FloatArray) -> Any:
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(12, 4))
    space = figure.add_subplot(1, 3, 1, projection='3d')
    space.plot(*path, color=LINE, linewidth=0.9)
    space.scatter(*path[:, 0], color=BEGIN)
    space.set_xlabel('x [m]', fontsize=8)
    space.set_ylabel('y [m]', fontsize=8)
    space.set_zlabel('z [m]', fontsize=8)
    space.tick_params(labelsize=7)
    views = (
        (2, path[0], path[1], ('x [m]', 'y [m]')),
        (3, np.hypot(path[0], path[1]), path[2], ('radius [m]', 'height [m]')),
    )
    for place, across, up, labels in views:
        axis = figure.add_subplot(1, 3, place)
        axis.plot(across, up, color=LINE, linewidth=0.9)
        axis.plot(across[0], up[0], 'o', color=BEGIN)
        axis.set_xlabel(labels[0])
        axis.set_ylabel(labels[1])
        axis.set_aspect('equal', adjustable='datalim')
        axis.grid(alpha=0.3)
    figure.subplots_adjust(wspace=0.35)
    return figure
