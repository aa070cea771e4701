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

"""The report of a demonstration: the table at its end, and the figures behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from joint_dynamics.demo.comparison import Comparison, headlines
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.report.figure import Colour, Figure, Panel, Series
from joint_dynamics.report.html import Interval, Report
from joint_dynamics.report.robot_shapes import robot_shapes
from joint_dynamics.report.robot_view import RobotView
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

COLOURS: Mapping[str, Colour] = {'plain': 'residual', 'adaptive': 'predicted'}  # of the runs


def demo_report(summary: Mapping[str, Any], results: Mapping[str, Any]) -> Report:
    """Return the report of one demonstration."""
    report = Report(
        'joint_dynamics: the demonstration',
        'A simulated UR5e with flexible joints, over DDS, every node its own process',
    )
    report.add_section('In short')
    _add_robot(report, results)
    report.add_table(['', 'here', 'published'], headlines(summary))
    report.add_text(
        'The simulated robot differs from all models: drive gains up to 3 % off their data sheet, friction by'
        ' direction and angle, ripple, another hysteresis. The stated deviations include noise, repeated errors and'
        ' the uncertainty of the gains (± 3 %, uniform).'
    )
    comparison: Comparison = results['parameters']
    report.add_section('Base parameters')
    rows = [
        [
            name,
            Interval(value, std, marked=abs(value - true) > 2 * std, reference=true),
            value,
            std,
            true,
            (value - true) / std,
            expression,
        ]
        for name, expression, value, std, true in sorted(comparison.rows, key=_relative)
    ]
    report.add_table(
        ['parameter', '± two deviations (−100 … 100 %)', 'identified', 'std', 'true', 'error in std', 'made of'],
        rows,
        'SI units, joint side; rigid bodies (tool included) and rotors; the smallest deviation first. The grey mark '
        'is the true'
        ' value; red: more than two deviations from it',
    )
    if 'states' in results:
        _online(report, results)
    report.add_section('Time')
    report.add_table(['stage', 's'], [[name, value] for name, value in summary['seconds'].items()])
    return report


def _relative(row: tuple[str, str, float, float, float]) -> float:
    return row[3] / abs(row[2]) if row[2] else np.inf


def _add_robot(report: Report, results: Mapping[str, Any]) -> None:
    """Add the arm at its work, measured where the second half was run, else desired."""
    model, work = RobotModel.load(ur5e_urdf()), results['work']
    time, q, words = work.time, work.q, 'The work that the simulated arm was sent'
    if 'runs' in results:
        run = results['runs']['adaptive']
        time, q = run['time'], run['position']
        words = (
            'The simulated arm at its work, worn and warm, fed forward by the adaptive law, as its encoders measured'
        )
    shapes, remark = robot_shapes(model)
    view = RobotView.of(model, time, q, shapes, (model.limits.lower, model.limits.upper))
    report.add_robot(view, f'{words}; the line is the path of its last frame. {remark}')


def _online(report: Report, results: Mapping[str, Any]) -> None:
    names, states = results['truth']['joint_names'], results['states']
    report.add_section('Stiffness')
    report.add_figure(_stiffness_figure(names, states), 'Torque over deformation: true and estimated, new and worn')
    report.add_section('Friction')
    caption = 'Friction of the worn, warm robot over speed: true, as identified when new, adapted'
    report.add_figure(_friction_figure(names, states['worn']), caption)
    report.add_section('Feedforward')
    caption = 'The same motion on the worn robot: torque beside the feedforward, and position error'
    report.add_figure(_runs_figure(names, results['runs']), f'{caption}. Reading a figure moves the robot to that time')


def _stiffness_figure(names: Sequence[str], states: Mapping[str, Any]) -> Figure:
    phi = np.linspace(0.0, 3e-3, 60)
    panels = []
    for j, name in enumerate(names):
        series = []
        for state, dashed in (('new', False), ('worn', True)):
            shown, true = states[state], states[state]['true_spring']
            stiffness = TorsionalStiffness(shown['stiffness'][j], shown['stiffness_reach'][j])
            torque = np.interp(phi, true['deformation'][j], true['torque'][j])
            series.append(Series(f'true, {state}', torque, 'measured', dashed=dashed))
            series.append(Series(f'estimated, {state}', stiffness.torque(phi), 'predicted', dashed=dashed))
        panels.append(Panel(name, '[N·m]', series, 1e3 * phi))
    return Figure(panels, 'deformation [mrad]', columns=3, height=160)


def _friction_figure(names: Sequence[str], state: Mapping[str, Any]) -> Figure:
    speed = np.asarray(state['speed'], dtype=float)
    panels = []
    for j, name in enumerate(names):
        series = [
            Series('true', state['friction_true'][:, j], 'measured'),
            Series('identified when new', state['friction_identified'][:, j], 'residual'),
            Series('adapted', state['friction_adapted'][:, j], 'predicted'),
        ]
        panels.append(Panel(name, '[N·m]', series, speed))
    return Figure(panels, 'speed [rad/s]', columns=3, height=160)


def _runs_figure(names: Sequence[str], runs: Mapping[str, Any]) -> Figure:
    panels = []
    for j, name in enumerate(names):
        for title, key, factor in (
            ('torque beside the feedforward', 'torque_error', 1.0),
            ('position error', 'position_error', 1e3),
        ):
            series = [
                Series(kind, factor * runs[kind][key][:, j], colour, runs[kind]['time'])
                for kind, colour in COLOURS.items()
            ]
            panels.append(Panel(f'{name}: {title}', '[N·m]' if factor == 1.0 else '[mrad]', series))
    return Figure(panels, 'time [s]', linked=True, clock='robot', columns=2, height=100)
