"""The report of a robot's identification.

Measured against predicted torque, residuals, parameters, conditioning, cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.identification import IdentificationResult
from joint_dynamics.identification.regression.full_rate import BAND
from joint_dynamics.identification.regression.residuals import Fit, overall_residual
from joint_dynamics.identification.reliability.verdict import Reason, headline
from joint_dynamics.report.html import Report
from joint_dynamics.report.identification_extra import add_sections

MEASURED, PREDICTED, RESIDUAL = '#9aa7b5', '#0b6fb8', '#c4543a'


POINTS = 3000
"""Columns of a figure in pixels, about.

Longer series are drawn by the least and the largest value of each stretch, so that nothing is lost.
"""


def torque_figure(fit: Fit, filtered: bool = False) -> Any:
    """Return measured and predicted torque of every joint over time at the full rate, with the residual.

    Parameters
    ----------
    filtered
        as the regression saw them.
    """
    from matplotlib import pyplot

    n = len(fit.joint_names)
    figure, axes = pyplot.subplots(n, 1, figsize=(11, 1.8 * n + 0.6), layout='constrained', sharex=True, squeeze=False)
    joints = fit.residual_percent()[0] if filtered else fit.raw[0]
    time, tau, predicted = (
        (fit.time, fit.tau, fit.predicted) if filtered else (fit.full.time, fit.full.tau, fit.full.predicted)
    )
    for j, axis in enumerate(axes[:, 0]):
        axis.plot(*envelope(time, tau[:, j]), color=MEASURED, linewidth=2.2 if filtered else 0.6, label='measured')
        axis.plot(
            *envelope(time, (tau - predicted)[:, j]),
            color=RESIDUAL,
            linewidth=0.8 if filtered else 0.4,
            label='residual',
        )
        axis.plot(*envelope(time, predicted[:, j]), color=PREDICTED, linewidth=1.1, label='predicted')
        share = '' if not np.isfinite(joints[j]) else f'  {joints[j]:.1f} %'
        axis.set_ylabel('N·m', fontsize=8)
        axis.set_title(f'{fit.joint_names[j]}{share}', loc='left', fontsize=9, pad=3)
        axis.grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside upper right', ncol=3, fontsize=8, frameon=False)
    axes[-1, 0].set_xlabel('time [s]')
    figure.align_ylabels()
    return figure


def envelope(time: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (time, values) to draw.

    As they are, or of long series the least and the largest of each stretch, in their order.
    """
    stretch = len(values) // POINTS
    if stretch < 4:
        return time, values
    length = len(values) // stretch * stretch
    pieces = values[:length].reshape(-1, stretch)
    pair = np.sort(np.stack([pieces.argmin(axis=1), pieces.argmax(axis=1)], axis=1), axis=1)
    index = (pair + stretch * np.arange(len(pieces))[:, None]).ravel()
    return time[index], values[index]


def band_text(fits: Sequence[Fit]) -> str:
    """Say in which band the residuals of `residual_rows` are."""
    bands = sorted({f'{fit.band:.3g}' for fit in fits if fit.band is not None})
    fixed = sorted({f'{fit.full.band:.3g}' for fit in fits})
    return (
        f'per joint, overall and moving below {" or ".join(bands) or "the full band"} Hz; in the last columns below'
        f' {" or ".join(fixed)} Hz'
    )


def residual_rows(fits: Sequence[Fit]) -> list[list[Any]]:
    """Return one table row per recording: overall, moving, raw, per joint [%], and below 10 Hz [%, N·m]."""
    rows = []
    for fit in fits:
        joints, overall = fit.residual_percent()
        fixed = fit.fixed_band()
        rms = float(np.sqrt(np.mean([value**2 for value in fixed['rmse'].values()])))
        rows.append(
            [
                fit.short_name,
                overall,
                fit.residual_percent(moving=True)[1],
                fit.raw[1],
                *joints,
                fixed['residual_percent']['overall'],
                rms,
            ]
        )
    return rows


def residual_headers(joint_names: Sequence[str]) -> list[str]:
    """Return the headers of `residual_rows`."""
    return [
        'recording',
        'overall %',
        'moving %',
        'unfiltered %',
        *(f'{name} %' for name in joint_names),
        f'{BAND:g} Hz %',
        f'{BAND:g} Hz N·m',
    ]


def identification_report(result: IdentificationResult, title: str = 'Robot identification') -> Report:
    """Return the report of one identification."""
    model = result.problem.model
    fits = [*result.training, *result.validation]
    report = Report(title, f'{model.pinocchio.name}, {model.n} joints, method {result.settings.method}')
    report.add_section('Verdict')
    add_verdict(report, result.verdict, result.reasons)
    number = result.solution.condition_number
    report.add_text(
        f'Condition number of the regressor with columns scaled to norm 1: {number:.4g} (limit'
        f' {result.settings.condition_limit:g}). {result.samples} kept samples from {len(result.training)}'
        f' recording(s), {len(result.names)} parameters, {result.seconds:.1f} s.'
    )
    for note in result.notes:
        report.add_text(note)
    report.add_section('Residuals')
    headers = residual_headers(model.joint_names)
    report.add_table(
        headers, residual_rows(result.training), f'Trained on: 100 ‖τ − τ̂‖/‖τ‖, {band_text(result.training)}'
    )
    if result.validation:
        caption = f'Validated on, not used in training, {band_text(result.validation)}'
        report.add_table(headers, residual_rows(result.validation), caption)
    report.add_section('Measured and predicted torque')
    for fit in fits:
        role = 'validation' if any(fit is other for other in result.validation) else 'training'
        add_torques(report, fit, f'{fit.short_name} ({role})')
    report.add_section('Parameters')
    relative = 100 * result.deviation / np.maximum(np.abs(result.solution.chi), 1e-300)
    poorly_determined = set(result.poorly_determined)
    rows = [
        [
            name,
            value,
            deviation,
            percent,
            inflation if np.isfinite(inflation) else None,
            'no' if name in poorly_determined else 'yes',
            expression,
        ]
        for name, value, deviation, percent, inflation, expression in zip(
            result.names,
            result.solution.chi,
            result.deviation,
            relative,
            result.solution.inflation,
            result.expressions,
            strict=True,
        )
    ]
    report.add_table(
        ['parameter', 'value', 'std', 'std %', '√VIF', 'told apart', 'made of'],
        rows,
        'SI units, joint side; std allows for residuals correlated in time',
    )
    add_sections(report, result)
    report.add_section('Filters')
    report.add_table(
        ['setting', 'value'],
        [[name, value] for name, value in vars(result.plan).items()],
        'Hz, samples and s; None: from the rate of each recording',
    )
    return report


def add_verdict(report: Report, line: str, reasons: Sequence[Reason]) -> None:
    """Add the verdict in one line, in colour, and every reason with its code; of a single one, which is that line's."""
    report.add_text(line[:1].upper() + line[1:], kind='warning' if reasons else 'good')
    if len(reasons) == 1:
        report.add_text(f'Code of the reason: {reasons[0].code}')
        return
    for reason in reasons:
        report.add_text(f'{reason.code}: {reason.text}', kind='warning')


def add_torques(report: Report, fit: Fit, what: str) -> None:
    """Add the torques at the full rate and, to unfold, filtered."""
    report.add_figure(
        torque_figure(fit), f'{what}: measured (thin) and predicted torque at the full rate, % of the unfiltered torque'
    )
    band = '' if fit.band is None else f' below {fit.band:.3g} Hz'
    report.add_figure(
        torque_figure(fit, filtered=True),
        f'{what}: the same as the regression saw them,{band}',
        folded='filtered torque',
    )


def validation_report(fits: Sequence[Fit], source: str, reasons: Sequence[Reason] = ()) -> Report:
    """Return the report of recordings predicted from a description."""
    report = Report('Prediction from a dynamics description', source)
    report.add_section('Verdict')
    add_verdict(report, headline(reasons, overall_residual(fits, moving=True)[1]), reasons)
    report.add_section('Residuals')
    report.add_table(residual_headers(fits[0].joint_names), residual_rows(fits), f'100 ‖τ − τ̂‖/‖τ‖, {band_text(fits)}')
    report.add_section('Measured and predicted torque')
    for fit in fits:
        add_torques(report, fit, fit.short_name)
    return report
