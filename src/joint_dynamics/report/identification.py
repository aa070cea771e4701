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

"""The report of a robot's identification: verdict, torque, friction, then everything else folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from joint_dynamics.arrays import finite
from joint_dynamics.identification import IdentificationResult
from joint_dynamics.identification.regression.diagnostics import (
    band_text,
    relative_deviation_percent,
    residual_headers,
    residual_rows,
)
from joint_dynamics.identification.regression.residuals import Fit
from joint_dynamics.identification.reliability.verdict import Reason, headline
from joint_dynamics.report.figure import Figure, Panel, Series
from joint_dynamics.report.html import Interval, Marked, Report, add_entry, table_html
from joint_dynamics.report.joint_curves import add_friction, add_stiffness

if TYPE_CHECKING:
    from joint_dynamics.robot import RobotModel

RESOLUTION = 50.0  # steps of the stored torques per standard deviation of the residual, which rounding changes by 1/100
RESIDUAL_HEIGHT = 55  # pixels of the residual below the torque
# Colour of the page by the state of a joint.
STATES = {'reliable': 'good', 'weak': 'weak', 'wrong': 'warn'}
UNVALIDATED = 'Validate the result on a second, different motion: `identify … --validate RECORDING`.'
# Title, unit or meaning, of the results beside the plain solution.
ENTRIES = (
    ('selection', 'Further terms, chosen by held-out data'),
    ('irls', 'Iteratively reweighted least squares'),
    ('i_irls', 'Two-stage iteratively reweighted least squares'),
    ('essential', 'Essential parameters'),
    ('physical', 'Physical consistency'),
)


def torque_figure(fit: Fit, clock: str = '') -> Figure:
    """Return measured and predicted torque of every joint over time at the full rate, the residual below each.

    clock: name of the robot view of the same motion.
    """
    shown = fit.full
    # Rounded to an invisible share of the residual, a page needs half the room.
    resolution = np.std(shown.tau - shown.predicted, axis=0) / RESOLUTION
    panels = []
    for j, (name, unit, share) in enumerate(
        zip(fit.joint_names, fit.units, fit.residual_percent(moving=True)[0], strict=True)
    ):
        measured, predicted = np.ascontiguousarray(shown.tau[:, j]), np.ascontiguousarray(shown.predicted[:, j])
        fine = float(resolution[j])
        # At rest friction takes any value within the Coulomb level.
        rest = np.zeros(1) if shown.band_of_rest is None else shown.band_of_rest[:, j]
        low, high = (predicted - rest, predicted + rest) if rest.any() else (None, None)
        torques = (
            Series('measured', measured, 'measured', resolution=fine),
            Series('predicted', predicted, 'predicted', resolution=fine, low=low, high=high),
        )
        note = f'{share:.1f} % in motion' if np.isfinite(share) else 'at rest'
        note = 'torque not recorded' if name in fit.without_torque else note
        panels.append(Panel(name, f'[{unit}]', torques, shown.time, joined=True))
        residual = Series('residual', measured - predicted, 'residual', difference_of=(0, 1))
        panels.append(Panel('', f'residual [{unit}]', (residual,), shown.time, note, height=RESIDUAL_HEIGHT))
    return Figure(
        panels, 'time [s]', linked=True, clock=clock, columns=2 if len(fit.joint_names) > 1 else 1, height=120
    )


def identification_report(result: IdentificationResult) -> Report:
    """Return the report of one identification."""
    model = result.problem.model
    report = Report(
        'Robot identification', f'{model.pinocchio.name}, {model.n} joints, method {result.settings.method}'
    )
    fits = [*result.validation, *result.training]
    shown = next((fit for fit in fits if fit.moving.any()), fits[0])
    report.add_section('Verdict')
    add_verdict(report, result.verdict, result.reasons)
    joints = result.checks.get('joints', {})
    _add_robot(report, model, shown, joints)
    if to_do := [*(reason.text for reason in result.reasons[1:]), *([] if result.validation else [UNVALIDATED])]:
        report.add_section('To do')
        report.add_list(to_do)
    report.add_section('Torque')
    report.add_figure(torque_figure(shown, clock='robot'), _torque_caption(shown))
    add_friction(report, result)
    add_stiffness(report, result)
    report.add_section('Notes')
    report.add_list([*_uses(result.checks.get('uses', {})), *result.notes])
    report.add_section('Details')
    report.add_section('Residuals of each recording', folded=True)
    _add_residuals(report, 'Validated on, not used in training', result.validation)
    _add_residuals(report, 'Trained on', result.training)
    further = [fit for fit in fits if fit is not shown]
    if further:
        report.add_section('Torque of further recordings', folded=True)
    for fit in further:
        report.add_figure(torque_figure(fit), _torque_caption(fit))
    add_parameters(report, result)
    for name, title in ENTRIES:
        add_entry(report, title, getattr(result.details, name))
    add_entry(report, 'Drive gains [N·m/A, joint side]', result.drive_gains)
    add_entry(report, 'Payload [kg, kg·m, kg·m²], in the frame of the last joint', result.payload)
    plan = {**vars(result.plan), 'seconds of computation': result.seconds}
    add_entry(report, 'Filters [Hz, samples, s]', plan)
    return report


def _uses(uses: Mapping[str, str]) -> list[str]:
    """Return one sentence on the uses that the result is good for, and one for each other use."""
    good = [use for use, why in uses.items() if not why]
    return [
        *([f'Good enough for {", ".join(good)}.'] if good else []),
        *(f'Not for {use}: {why}.' for use, why in uses.items() if why),
    ]


def _add_robot(report: Report, model: RobotModel, fit: Fit, joints: Mapping[str, Mapping[str, Any]]) -> None:
    """Add the robot in the motion of a recording, and a row per joint beside it."""
    from joint_dynamics.report.robot_shapes import robot_shapes
    from joint_dynamics.report.robot_view import RobotView

    rows = [
        [
            Marked(name, STATES[one['state']]),
            one['error'],
            one['percent'],
            None if one['rated'] is None or one['error'] is None else 100 * one['error'] / one['rated'],
            f'{one["why"]}: {one["help"]}' if one['help'] else 'nothing',
        ]
        for name, one in joints.items()
    ]
    table = table_html(
        ['joint', f'error, {fit.unit or "N·m or N"}', '% of its torque', '% of its rating', 'what to do'],
        rows,
        'Root mean square of the residual in motion. Green: reliable, yellow: weak, red: wrong',
    )
    shapes, remark = robot_shapes(model)
    colours = [STATES[joints[name]['state']] if name in joints else 'measured' for name in model.joint_names]
    limits = model.limits.lower, model.limits.upper
    assert fit.full.q is not None
    view = RobotView.of(model, fit.full.time, fit.full.q, shapes, limits, colours=colours)
    report.add_robot(
        view,
        f'The motion of {fit.short_name}; every link has the colour of its joint. The figure below moves with it.'
        f' {remark}',
        table,
    )


def _torque_caption(fit: Fit) -> str:
    samples = f'{len(fit.full.time)} samples at {fit.full.rate:.4g} Hz'
    return (
        f'{fit.short_name}: measured and predicted torque at the full rate ({samples}), the residual below.'
        ' Shaded: the Coulomb level, by which the torque of a joint at rest is uncertain'
    )


def _add_residuals(report: Report, title: str, fits: Sequence[Fit]) -> None:
    if fits:
        report.add_table(residual_headers(fits), residual_rows(fits), f'{title}: 100 ‖τ − τ̂‖/‖τ‖, {band_text(fits)}')


def add_parameters(report: Report, result: IdentificationResult) -> None:
    """Add the parameters as a forest plot beside their numbers, the most certain first."""
    report.add_section('Parameters', folded=True)
    relative = relative_deviation_percent(result.solution.chi, result.deviation)
    poorly_determined = set(result.poorly_determined)
    rows = []
    for name, value, deviation, percent, inflation, expression in zip(
        result.names,
        result.solution.chi.tolist(),
        result.deviation.tolist(),
        relative.tolist(),
        result.solution.inflation,
        result.expressions,
        strict=True,
    ):
        told = (
            'not from others' if name in poorly_determined else 'not from zero' if abs(value) < 2 * deviation else 'yes'
        )
        interval = Interval(value, deviation, marked=told != 'yes')
        numbers = map(finite, (deviation, percent, inflation))
        rows.append([name, value, interval, *numbers, told, expression])
    rows.sort(key=lambda row: np.inf if row[4] is None else row[4])
    report.add_table(
        ['parameter', 'value', '± two deviations (−100 … 100 %)', 'std', 'std %', '√VIF', 'told apart', 'made of'],
        rows,
        'SI units, joint side, the most certain first; the deviations allow for residuals correlated in time. Red: '
        'not separated from others or from zero. Condition number {result.solution.condition_number:.4g} (limit'
        f' {result.settings.condition_limit:g}), {result.samples} samples of each joint',
    )


def add_verdict(report: Report, line: str, reasons: Sequence[Reason]) -> None:
    """Add the verdict in one coloured sentence, with the first reason and the codes of all."""
    codes = f' [{", ".join(dict.fromkeys(reason.code for reason in reasons))}]' if reasons else ''
    kind: Literal['warning', 'weak', 'good'] = 'warning' if reasons else 'weak' if 'not validated' in line else 'good'
    report.add_text(f'{line[:1].upper()}{line[1:]}{codes}', kind)


def validation_report(fits: Sequence[Fit], source: str, reasons: Sequence[Reason] = ()) -> Report:
    """Return the report of recordings predicted from a description."""
    report = Report('Prediction from a dynamics description', source)
    report.add_section('Verdict')
    add_verdict(report, headline(reasons, fits, validated=True), reasons)
    report.add_list([reason.text for reason in reasons[1:]])
    report.add_section('Torque')
    for fit in fits:
        report.add_figure(torque_figure(fit), _torque_caption(fit))
    report.add_section('Residuals')
    _add_residuals(report, 'Predicted', fits)
    return report
