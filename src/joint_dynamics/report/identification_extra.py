"""Further sections of an identification's report.

Terms selected on held-out data, drive gains, payload, loops, residual checks, leverage.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from joint_dynamics.identification import IdentificationResult
from joint_dynamics.identification.regression.covariance import autocorrelation
from joint_dynamics.identification.regression.diagnostics import AUTOCORRELATION, LAGS, moving_rows
from joint_dynamics.recording import short_name
from joint_dynamics.report.figure import Figure, Panel, Series
from joint_dynamics.report.html import Report
from joint_dynamics.robot.limits import joint_unit

POINTS = 800


def add_sections(report: Report, result: IdentificationResult) -> None:
    """Add a section for each result beside the plain solution."""
    details = result.details
    for entry, add in (
        (details.selection, _selection),
        (result.drive_gains, _drive_gains),
        (result.payload, _payload),
        (details.irls, _loops),
        (details.i_irls, _loops),
        (details.essential, _essential),
        (details.physical, _physical),
    ):
        if entry is not None:
            add(report, entry)
    if result.diagnostics is not None:
        _diagnostics(report, result)


def _selection(report: Report, entry: dict[str, Any]) -> None:
    report.add_section('Further terms, chosen by held-out data')
    before, after = entry['held_out_loss']['without'], entry['held_out_loss']['with']
    report.add_text(
        'Blocks of the training data were left out in turn and predicted, validation recordings not looked at. Loss'
        f' per held-out row (1: as large as the residual of training): {before:.3g} with Coulomb and viscous friction'
        f' alone, {after:.3g} with the terms chosen.'
    )
    rows = [
        [step['term'], step['gain_percent'], step['standard_errors'], ', '.join(step['joints'])]
        for step in entry['chosen']
    ]
    report.add_table(
        ['term', 'held-out loss falls by %', 'in standard errors', 'joints'],
        rows,
        'In the order of choice: each gain is on top of those above',
    )


def _drive_gains(report: Report, entry: dict[str, Any]) -> None:
    report.add_section('Drive gains')
    keys = ('value', 'std', 'prior', 'change_percent', 'mixed', 'tls', 'wls')
    report.add_table(
        ['joint', 'gain', 'std', 'a priori', 'change %', 'mixed LS-TLS', 'TLS as published', 'WLS'],
        [[name, *(gain.get(key) for key in keys)] for name, gain in entry.items()],
        'N·m of joint torque per ampere. WLS is biased towards zero by the noise of the currents',
    )


def _payload(report: Report, entry: dict[str, Any]) -> None:
    report.add_section('Payload')
    rows = [
        [name, value['value'], value['std'], 'known' if value['known'] else 'identified']
        for name, value in entry.items()
        if isinstance(value, dict)
    ]
    report.add_table(
        ['parameter', 'value', 'std', ''],
        rows,
        'In the frame of the joint that moves its link, inertia about its origin; kg·m², kg·m, kg',
    )
    if entry.get('moved_to_a_body'):
        report.add_text(
            'The estimate was no body (inertia that does not go with mass and centre): this is the nearest one, by the'
            ' deviations.'
        )
    if 'center_of_mass' in entry:
        report.add_text('Centre of mass: ' + ', '.join(f'{value:.4g}' for value in entry['center_of_mass']) + ' m')


def _loops(report: Report, entry: dict[str, Any]) -> None:
    report.add_section('Convergence of the loops')
    for name, loops in entry.items():
        if isinstance(loops, list) and loops and isinstance(loops[0], dict):
            headers = [key for key, value in loops[0].items() if not isinstance(value, (list, dict))]
            report.add_table(
                ['pass', *headers], [[k + 1, *(step.get(key) for key in headers)] for k, step in enumerate(loops)], name
            )
        elif isinstance(loops, (int, float, str)):
            report.add_text(f'{name}: {loops}')


def _essential(report: Report, entry: dict[str, Any]) -> None:
    report.add_section('Essential parameters')
    report.add_text(f'{entry["count"]} parameters are left: {", ".join(entry["parameters"])}')
    report.add_table(
        ['dropped', 'std %', 'F', 'largest std % / smallest', 'residual % after', 'price %'],
        [[*step.values()] for step in entry['steps']],
        f'Residual of the weighted system before: {entry["residual_percent_before"]:.4g} %',
    )


def _physical(report: Report, entry: dict[str, Any]) -> None:
    report.add_section('Physical consistency')
    report.add_text(
        'Every link is a body of positive density, friction and rotor inertia are not negative. '
        + ' '.join(f'{name}: {value:.4g}.' for name, value in entry.items() if isinstance(value, float))
    )


def _diagnostics(report: Report, result: IdentificationResult) -> None:
    entry = result.diagnostics
    assert entry is not None
    report.add_section('What the residuals say')
    keys = ('trend', 'largest_autocorrelation', 'spread', 'skewness', 'excess_kurtosis')
    rows = []
    for name, checks in entry['residuals'].items():
        assumed = ('linear', 'independent', 'constant_variance', 'normal')
        failed = ', '.join(f'not {key.replace("_", " ")}' for key in assumed if not checks.get(key, True))
        rows.append([name, checks['samples'], *map(checks.get, keys), failed or 'as assumed'])
    report.add_table(
        ['joint', 'samples', 'trend', 'autocorrelation', 'spread', 'skewness', 'excess kurtosis', 'verdict'],
        rows,
        'Training samples in motion. trend, spread: rank correlation of residual and of its size with the fitted'
        ' torque. What is not as assumed is not wrong: the deviations above allow for correlation; it says where a'
        ' better model would find something',
    )
    report.add_figure(
        _residual_figure(result),
        'Residual against fitted torque, autocorrelation (dashed: ±0.15), quantiles against the normal law',
    )
    report.add_section('Leverage of the recordings')
    report.add_table(
        ['recording', 'parameters it decides'],
        [[short_name(name), share] for name, share in entry['leverage'].items()],
        f'Of {len(result.names)} parameters; a recording with a large share is the only one to show something',
    )


def _residual_figure(result: IdentificationResult) -> Figure:
    model = result.problem.model
    panels = []
    for j, name in enumerate(model.joint_names):
        fitted, residual = moving_rows(result.training, j)
        if len(residual) < 20 or np.ptp(residual) == 0:
            continue
        every = max(1, len(residual) // POINTS)
        fitted, some = fitted[::every], residual[::every]
        correlation = autocorrelation(residual, LAGS)
        lags = np.arange(len(correlation), dtype=float)
        limit = np.full(len(lags), AUTOCORRELATION)
        ordered = np.sort(some)
        unit = joint_unit('N·m', bool(model.prismatic[j]))
        # Filliben's medians of the order statistics, as scipy.stats.probplot has them.
        places = (np.arange(1, len(ordered) + 1) - 0.3175) / (len(ordered) + 0.365)
        panels += [
            Panel(name, f'residual [{unit}] over fitted torque', (Series('', some, 'predicted', fitted, 'points'),)),
            Panel(
                '',
                'autocorrelation over lag',
                (
                    Series('', correlation, 'predicted'),
                    Series('', limit, 'limit', dashed=True),
                    Series('', -limit, 'limit', dashed=True),
                ),
                lags,
            ),
            Panel('', 'residual over normal quantile', (Series('', ordered, 'predicted', ndtri(places), 'points'),)),
        ]
    return Figure(panels, '', columns=3, height=105, interactive=False)
