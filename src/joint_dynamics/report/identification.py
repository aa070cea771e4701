"""The report of a robot's identification.

It shows measured and predicted torque, residuals, parameters, conditioning and cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.arrays import finite
from joint_dynamics.identification import IdentificationResult
from joint_dynamics.identification.regression.diagnostics import (
    band_text,
    relative_deviation_percent,
    residual_headers,
    residual_rows,
)
from joint_dynamics.identification.regression.residuals import Fit, band_of_all, overall_residual
from joint_dynamics.identification.reliability.verdict import Reason, headline
from joint_dynamics.report.figure import Figure, Panel, Series
from joint_dynamics.report.html import Report
from joint_dynamics.report.identification_extra import add_sections
from joint_dynamics.report.joint_curves import add_friction, add_stiffness
from joint_dynamics.report.svg import Interval

RESOLUTION = 50.0
"""Steps of the torques in a page per standard deviation of the residual, which rounding changes by 1/100 at most."""


def torque_figure(fit: Fit, filtered: bool = False) -> Figure:
    """Return measured and predicted torque of every joint over time at the full rate, with the residual.

    Parameters
    ----------
    filtered
        whether torques are filtered and decimated as in the regression.
    """
    joints = fit.residual_percent(moving=True)[0] if filtered else fit.raw[0]
    shown = fit if filtered else fit.full
    band = np.zeros_like(shown.tau) if shown.band_of_rest is None else shown.band_of_rest
    # Rounded to a share of the residual nobody sees, a page holds half as much.
    resolution = np.std(shown.tau - shown.predicted, axis=0) / RESOLUTION
    panels = [
        Panel(
            name,
            f'[{unit}]',
            (
                Series('measured', measured, 'measured', resolution=fine),
                Series(
                    'predicted',
                    expected,
                    'predicted',
                    resolution=fine,
                    low=expected - width if width.any() else None,
                    high=expected + width if width.any() else None,
                ),
                Series('residual', measured - expected, 'residual', difference_of=(0, 1)),
            ),
            shown.time,
            note=f'residual in motion {share:.1f} %' if np.isfinite(share) else 'at rest',
        )
        for name, unit, measured, expected, width, share, fine in zip(
            fit.joint_names,
            fit.units,
            np.ascontiguousarray(shown.tau.T),
            np.ascontiguousarray(shown.predicted.T),
            np.ascontiguousarray(band.T),
            joints,
            resolution.tolist(),
            strict=True,
        )
    ]
    return Figure(panels, 'time [s]', linked=True, height=120)


def identification_report(result: IdentificationResult) -> Report:
    """Return the report of one identification."""
    model = result.problem.model
    report = Report(
        'Robot identification', f'{model.pinocchio.name}, {model.n} joints, method {result.settings.method}'
    )
    report.add_section('Verdict')
    add_verdict(report, result.verdict, result.reasons)
    report.add_numbers(
        [
            ('moving residual, trained on, %', overall_residual(result.training, moving=True)[1]),
            *(
                [('moving residual, validated on, %', overall_residual(result.validation, moving=True)[1])]
                if result.validation
                else []
            ),
            (f'condition number (limit {result.settings.condition_limit:g})', result.solution.condition_number),
            ('parameters', len(result.names)),
            ('samples of each joint', result.samples),
            ('recordings', len(result.training) + len(result.validation)),
        ]
    )
    for note in result.notes:
        report.add_text(note)
    report.add_section('Residuals')
    roles = {
        'training': (result.training, 'Trained on: 100 ‖τ − τ̂‖/‖τ‖'),
        'validation': (result.validation, 'Validated on, not used in training'),
    }
    for fits, caption in roles.values():
        if fits:
            report.add_table(residual_headers(fits), residual_rows(fits), f'{caption}, {band_text(fits)}')
    report.add_section('Measured and predicted torque')
    for role, (fits, _) in roles.items():
        for fit in fits:
            add_torques(report, fit, f'{fit.short_name} ({role})')
    add_parameters(report, result)
    add_friction(report, result)
    add_stiffness(report, result)
    add_sections(report, result)
    report.add_section('Filters')
    report.add_table(
        ['setting', 'value'],
        [[name, value] for name, value in vars(result.plan).items()],
        'Hz, samples and s; a dash: from the rate of each recording',
    )
    report.add_text(
        f'Computed in {result.seconds:.1f} s. The condition number is that of the regressor with columns scaled to'
        ' norm 1.'
    )
    return report


def add_parameters(report: Report, result: IdentificationResult) -> None:
    """Add the parameters as a forest plot beside their numbers, the most certain first."""
    report.add_section('Parameters')
    relative = relative_deviation_percent(result.solution.chi, result.deviation)
    poorly_determined = set(result.poorly_determined)
    rows = [
        [
            name,
            Interval(value, deviation, marked=name in poorly_determined or abs(value) < 2 * deviation),
            value,
            finite(deviation),
            finite(percent),
            finite(inflation),
            'no' if name in poorly_determined else 'yes',
            expression,
        ]
        for name, value, deviation, percent, inflation, expression in zip(
            result.names,
            result.solution.chi.tolist(),
            result.deviation.tolist(),
            relative.tolist(),
            result.solution.inflation,
            result.expressions,
            strict=True,
        )
    ]
    rows.sort(key=lambda row: np.inf if row[4] is None else row[4])
    report.add_table(
        ['parameter', 'value ± two deviations', 'value', 'std', 'std %', '√VIF', 'told apart', 'made of'],
        rows,
        'SI units, joint side, the best known first; std allows for residuals correlated in time. Red: not told apart'
        ' from others by this motion, or from zero',
    )


def add_verdict(report: Report, line: str, reasons: Sequence[Reason]) -> None:
    """Add the verdict in one coloured line, which has the first reason, every further one, and the codes of all."""
    report.add_text(line[:1].upper() + line[1:], kind='warning' if reasons else 'good')
    for reason in reasons[1:]:
        report.add_text(reason.text, kind='warning')
    if reasons:
        report.add_text(f'Codes: {", ".join(reason.code for reason in reasons)}')


def add_torques(report: Report, fit: Fit, what: str) -> None:
    """Add the torques at the full rate and, to unfold, filtered."""
    report.add_figure(
        torque_figure(fit),
        f'{what}: measured and predicted torque at the full rate ({len(fit.full.time)} samples at'
        f' {fit.full.rate:.4g} Hz), residual in % of the unfiltered torque in motion; band: Coulomb level at rest',
    )
    report.add_figure(
        torque_figure(fit, filtered=True),
        f'{what}: the same as the regression saw them {band_of_all([fit])}'.rstrip(),
        folded='filtered torque',
    )


def validation_report(fits: Sequence[Fit], source: str, reasons: Sequence[Reason] = ()) -> Report:
    """Return the report of recordings predicted from a description."""
    report = Report('Prediction from a dynamics description', source)
    report.add_section('Verdict')
    add_verdict(report, headline(reasons, fits, validated=True), reasons)
    report.add_section('Residuals')
    report.add_table(residual_headers(fits), residual_rows(fits), f'100 ‖τ − τ̂‖/‖τ‖, {band_text(fits)}')
    report.add_section('Measured and predicted torque')
    for fit in fits:
        add_torques(report, fit, fit.short_name)
    return report
