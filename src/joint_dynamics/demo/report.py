"""The report of a demonstration: the table at its end, and the figures behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from joint_dynamics.demo.comparison import Comparison, headlines
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.report.html import Report

TRUE, FOUND, BEFORE = '#9aa7b5', '#0b6fb8', '#c4543a'


def demo_report(summary: Mapping[str, Any], results: Mapping[str, Any]) -> Report:
    """Return the report of one demonstration."""
    report = Report(
        'joint_dynamics: the demonstration',
        'A simulated UR5e with flexible joints, over DDS, every node its own process',
    )
    report.add_section('In short')
    report.add_table(['', 'here', 'published'], headlines(summary))
    report.add_text(
        'The simulated robot has what no model here knows of: drive gains up to 3 % off their data sheet, friction that'
        ' differs by direction and angle, ripple, another hysteresis. The stated deviations hold noise, what repeats'
        ' with the motion, and the uncertainty of the gains (± 3 %, uniform).'
    )
    comparison: Comparison = results['parameters']
    report.add_section('Base parameters')
    report.add_figure(
        _parameters_figure(comparison), 'Error of each base parameter in its stated deviations; the band is two of them'
    )
    report.add_table(
        ['parameter', 'identified', 'std', 'true', 'error in std', 'made of'],
        [
            [name, value, std, true, (value - true) / std, expression]
            for name, expression, value, std, true in comparison.rows
        ],
        'SI units, joint side; rigid bodies (tool included) and rotors',
    )
    if 'states' in results:
        _online(report, results)
    report.add_section('Time')
    report.add_table(['stage', 's'], [[name, value] for name, value in summary['seconds'].items()])
    return report


def _online(report: Report, results: Mapping[str, Any]) -> None:
    names, states, runs = results['truth']['joint_names'], results['states'], results['runs']
    report.add_section('Stiffness')
    report.add_figure(_stiffness_figure(names, states), 'Torque over deformation: true and estimated, new and worn')
    report.add_table(
        ['joint', 'new, NRMSE %', 'worn, NRMSE %', 'wear'],
        [
            [name, states['new']['stiffness_nrmse'][j], states['worn']['stiffness_nrmse'][j], states['worn']['wear'][j]]
            for j, name in enumerate(names)
        ],
    )
    report.add_section('Friction')
    report.add_figure(
        _friction_figure(names, states['worn']),
        'Friction of the worn, warm robot over speed: true, as identified when new, adapted',
    )
    report.add_figure(
        _history_figure(names, results['alpha'].history, results['stiffness'].history),
        'Estimates over simulated time: friction scale α1, and stiffness at rest',
    )
    report.add_section('Feedforward')
    report.add_figure(
        _runs_figure(names, runs),
        'The same motion on the worn robot: what the feedforward left to the controller, and where the '
        'robot was beside its path',
    )
    rows = [
        [
            name,
            *(1e3 * np.sqrt(runs[kind]['tracking_mse'][j]) for kind in runs),
            *(np.sqrt(runs[kind]['torque_mse'][j]) for kind in runs),
        ]
        for j, name in enumerate(names)
    ]
    report.add_table(
        ['joint', *(f'{kind}, mrad' for kind in runs), *(f'{kind}, N·m' for kind in runs)],
        rows,
        'Root mean squares: position error, torque that the feedforward left over',
    )


def _grid(names: list[str], height: float = 2.6) -> tuple[Any, list[Any]]:
    from matplotlib import pyplot

    columns = 3
    rows = -(-len(names) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(11, height * rows), squeeze=False)
    for axis, name in zip(axes.ravel(), names, strict=False):
        axis.set_title(name, fontsize=9)
        axis.grid(alpha=0.3)
        axis.tick_params(labelsize=8)
    return figure, list(axes.ravel())


def _parameters_figure(comparison: Comparison) -> Any:
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(11, 3.2))
    labels = [row[0] for row in comparison.rows]
    axis.axhspan(-2, 2, color=FOUND, alpha=0.15)
    axis.plot(range(len(labels)), comparison.deviations, 'o', color=FOUND, markersize=4)
    axis.set_xticks(range(len(labels)), labels, rotation=90, fontsize=7)
    axis.set_ylabel('error / std')
    axis.grid(alpha=0.3)
    return figure


def _stiffness_figure(names: list[str], states: Mapping[str, Any]) -> Any:
    figure, axes = _grid(names)
    for state, style in (('new', '-'), ('worn', '--')):
        for j, axis in enumerate(axes[: len(names)]):
            phi = np.linspace(0.0, 3e-3, 60)
            true = states[state]['true_spring']
            found = TorsionalStiffness(np.asarray(states[state]['stiffness'])[j, :2])
            for torque, colour, label in (
                (np.interp(phi, true['deformation'][j], true['torque'][j]), TRUE, 'true'),
                (found.torque(phi), FOUND, 'estimated'),
            ):
                axis.plot(1e3 * phi, torque, style, color=colour, label=f'{label}, {state}')
            axis.set_xlabel('deformation [mrad]', fontsize=8)
    axes[0].set_ylabel('torque [N·m]', fontsize=8)
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def _friction_figure(names: list[str], state: Mapping[str, Any]) -> Any:
    figure, axes = _grid(names)
    for j, axis in enumerate(axes[: len(names)]):
        for key, colour, label in (
            ('true', TRUE, 'true'),
            ('identified', BEFORE, 'identified when new'),
            ('adapted', FOUND, 'adapted'),
        ):
            axis.plot(state['speed'], state[f'friction_{key}'][:, j], color=colour, label=label)
        axis.set_xlabel('speed [rad/s]', fontsize=8)
    axes[0].set_ylabel('friction [N·m]', fontsize=8)
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def _history_figure(names: list[str], alpha: list[Any], stiffness: list[Any]) -> Any:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 3.4))
    for axis, history, label in (
        (axes[0], alpha, 'friction scale α1'),
        (axes[1], stiffness, 'stiffness, relative to the first'),
    ):
        time = [moment for moment, _ in history]
        values = np.array([value[:, 0] for _, value in history])
        if axis is axes[1]:
            values = values / np.where(values[0] != 0, values[0], 1.0)
        for j, name in enumerate(names):
            axis.plot(time, values[:, j], label=name)
        axis.set_xlabel('simulated time [s]')
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def _runs_figure(names: list[str], runs: Mapping[str, Any]) -> Any:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(names), 2, figsize=(11, 1.5 * len(names) + 0.6), sharex=True, squeeze=False)
    for kind, colour in (('plain', BEFORE), ('adaptive', FOUND)):
        run = runs[kind]
        for j, name in enumerate(names):
            axes[j, 0].plot(run['time'], run['torque_error'][:, j], color=colour, linewidth=0.7, label=kind)
            axes[j, 1].plot(run['time'], 1e3 * run['position_error'][:, j], color=colour, linewidth=0.7)
            axes[j, 0].set_ylabel(name, fontsize=7)
    axes[0, 0].set_title('torque left over [N·m]', fontsize=9)
    axes[0, 1].set_title('position error [mrad]', fontsize=9)
    axes[0, 0].legend(fontsize=7)
    for axis in axes[-1]:
        axis.set_xlabel('time [s]')
    for axis in axes.ravel():
        axis.grid(alpha=0.3)
        axis.tick_params(labelsize=7)
    return figure
