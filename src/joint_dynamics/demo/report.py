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

from joint_dynamics.arrays import FloatArray
from joint_dynamics.demo.comparison import Comparison, headlines
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.report.figure import Colour, Figure, Panel, Series
from joint_dynamics.report.html import Interval, Report
from joint_dynamics.report.robot_shapes import robot_shapes
from joint_dynamics.report.robot_view import RobotView
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf


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
    model = RobotModel.load(ur5e_urdf())
    shapes, remark = robot_shapes(model)
    run = results.get('runs', {}).get('adaptive')
    if run is None:
        time, q, words = results['work'].time, results['work'].q, 'The work that the simulated arm was sent'
    else:
        time, q = run['time'], run['position']
        words = 'The simulated arm at its work, worn and warm, fed forward by what was learnt, as its encoders measured'
    limits = model.limits
    view = RobotView.of(model, time, q, shapes, (limits.lower, limits.upper))
    linked = '' if run is None else ' Reading the figures of the feedforward moves it to that time.'
    report.add_robot(view, f'{words}; the line is the path of its last frame.{linked} {remark}')


def _online(report: Report, results: Mapping[str, Any]) -> None:
    names, states, runs = results['truth']['joint_names'], results['states'], results['runs']
    report.add_section('Stiffness')
    report.add_figure(_stiffness_figure(names, states), 'Torque over deformation: true and estimated, new and worn')
    report.add_section('Friction')
    report.add_figure(
        _friction_figure(names, states['worn']),
        'Friction of the worn, warm robot over speed: true, as identified when new, adapted',
    )
    report.add_section('Feedforward')
    report.add_figure(
        _runs_figure(names, runs),
        'The same motion on the worn robot: torque beside the feedforward, and position error',
    )


def _stiffness_figure(names: Sequence[str], states: Mapping[str, Any]) -> Figure:
    phi = np.linspace(0.0, 3e-3, 60)
    panels = []
    for j, name in enumerate(names):
        series = []
        for state, dashed in (('new', False), ('worn', True)):
            true = states[state]['true_spring']
            estimated = TorsionalStiffness(states[state]['stiffness'][j], states[state]['stiffness_reach'][j])
            torques: tuple[tuple[str, Colour, FloatArray], ...] = (
                ('true', 'measured', np.interp(phi, true['deformation'][j], true['torque'][j])),
                ('estimated', 'predicted', estimated.torque(phi)),
            )
            series += [Series(f'{label}, {state}', torque, colour, dashed=dashed) for label, colour, torque in torques]
        panels.append(Panel(name, '[N·m]', series, 1e3 * phi))
    return Figure(panels, 'deformation [mrad]', columns=3, height=160)


def _friction_figure(names: Sequence[str], state: Mapping[str, Any]) -> Figure:
    parts: tuple[tuple[str, Colour, str], ...] = (
        ('true', 'measured', 'true'),
        ('identified', 'residual', 'identified when new'),
        ('adapted', 'predicted', 'adapted'),
    )
    speed = np.asarray(state['speed'], dtype=float)
    panels = [
        Panel(
            name,
            '[N·m]',
            [Series(label, np.asarray(state[f'friction_{key}'])[:, j], colour) for key, colour, label in parts],
            speed,
        )
        for j, name in enumerate(names)
    ]
    return Figure(panels, 'speed [rad/s]', columns=3, height=160)


def _runs_figure(names: Sequence[str], runs: Mapping[str, Any]) -> Figure:
    kinds: tuple[tuple[str, Colour], ...] = (('plain', 'residual'), ('adaptive', 'predicted'))
    panels = []
    for j, name in enumerate(names):
        for key, title, unit, factor in (
            ('torque_error', 'torque beside the feedforward', 'N·m', 1.0),
            ('position_error', 'position error', 'mrad', 1e3),
        ):
            series = [
                Series(kind, factor * np.asarray(runs[kind][key])[:, j], colour, np.asarray(runs[kind]['time']))
                for kind, colour in kinds
            ]
            panels.append(Panel(f'{name}: {title}', f'[{unit}]', series))
    return Figure(panels, 'time [s]', linked=True, clock='robot', columns=2, height=100)
