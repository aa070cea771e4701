"""The report of a robot's identification: measured against predicted torque, residuals, parameters, conditioning, cross-validation."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.identification import IdentificationResult
from joint_dynamics.identification.regression.residuals import Fit
from joint_dynamics.report.html import Report
from joint_dynamics.report.identification_extra import add_sections

MEASURED, PREDICTED, RESIDUAL = '#9aa7b5', '#0b6fb8', '#c4543a'


def torque_figure(fit: Fit):
    """Return measured and predicted torque of every joint over time, with the residual."""
    from matplotlib import pyplot
    n = len(fit.joint_names)
    figure, axes = pyplot.subplots(n, 1, figsize=(11, 1.8 * n + 0.6), layout='constrained', sharex=True, squeeze=False)
    joints, _ = fit.residual_percent()
    for j, axis in enumerate(axes[:, 0]):
        axis.plot(fit.time, fit.tau[:, j], color=MEASURED, linewidth=2.2, label='measured')
        axis.plot(fit.time, fit.predicted[:, j], color=PREDICTED, linewidth=1.1, label='predicted')
        axis.plot(fit.time, fit.residual[:, j], color=RESIDUAL, linewidth=0.8, label='residual')
        share = '' if not np.isfinite(joints[j]) else f'  {joints[j]:.1f} %'
        axis.set_ylabel('N·m', fontsize=8)
        axis.set_title(f'{fit.joint_names[j]}{share}', loc='left', fontsize=9, pad=3)
        axis.grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside upper right', ncol=3, fontsize=8, frameon=False)
    axes[-1, 0].set_xlabel('time [s]')
    figure.align_ylabels()
    return figure


def residual_rows(fits: Sequence[Fit]) -> list[list]:
    """Return one table row per recording: overall, moving, raw, and per joint [%]."""
    rows = []
    for fit in fits:
        joints, overall = fit.residual_percent()
        rows.append([fit.name, overall, fit.residual_percent(moving=True)[1], fit.raw[1], *joints])
    return rows


def residual_headers(joint_names: Sequence[str]) -> list[str]:
    """Return the headers of `residual_rows`."""
    return ['recording', 'overall %', 'moving %', 'unfiltered %', *(f'{name} %' for name in joint_names)]


def identification_report(result: IdentificationResult, title: str = 'Robot identification') -> Report:
    """Return the report of one identification."""
    model = result.problem.model
    fits = [*result.training, *result.validation]
    report = Report(title, f'{model.pinocchio.name}, {model.n} joints, method {result.settings.method}')
    report.add_section('Can this be believed?')
    number = result.solution.condition_number
    report.add_text(f'Condition number of the regressor with columns scaled to norm 1: {number:.4g} (limit {result.settings.condition_limit:g}). '
                    f'{result.samples} kept samples from {len(result.training)} recording(s), {len(result.names)} parameters, '
                    f'{result.seconds:.1f} s.')
    for reason in result.reasons:
        report.add_text(reason, warning=True)
    if not result.reasons:
        report.add_text('The motion excites every parameter well enough to tell it from the others.')
    for note in result.notes:
        report.add_text(note)
    report.add_section('Residuals')
    report.add_table(residual_headers(model.joint_names), residual_rows(result.training), 'Trained on: 100 ‖τ − τ̂‖/‖τ‖, filtered samples')
    if result.validation:
        report.add_table(residual_headers(model.joint_names), residual_rows(result.validation), 'Validated on, not used in training')
    report.add_section('Measured and predicted torque')
    for fit in fits:
        role = 'validation' if any(fit is other for other in result.validation) else 'training'
        report.add_figure(torque_figure(fit), f'{fit.name} ({role}): filtered torque and what the identified model predicts')
    report.add_section('Parameters')
    relative = 100 * result.deviation / np.maximum(np.abs(result.solution.chi), 1e-300)
    doubtful = set(result.doubtful)
    rows = [[name, value, deviation, percent, inflation if np.isfinite(inflation) else None, 'no' if name in doubtful else 'yes', expression]
            for name, value, deviation, percent, inflation, expression in zip(
                result.names, result.solution.chi, result.deviation, relative, result.solution.inflation, result.expressions, strict=True)]
    report.add_table(['parameter', 'value', 'std', 'std %', '√VIF', 'told apart', 'made of'], rows,
                     'SI units, joint side; std allows for residuals correlated in time')
    add_sections(report, result)
    report.add_section('Filters')
    report.add_table(['setting', 'value'], [[name, value] for name, value in vars(result.plan).items()],
                     'Hz, samples and s; None: from the rate of each recording')
    return report


def validation_report(fits: Sequence[Fit], source: str) -> Report:
    """Return the report of recordings predicted from a description."""
    report = Report('Prediction from a dynamics description', source)
    report.add_section('Residuals')
    report.add_table(residual_headers(fits[0].joint_names), residual_rows(fits), '100 ‖τ − τ̂‖/‖τ‖, filtered samples')
    report.add_section('Measured and predicted torque')
    for fit in fits:
        report.add_figure(torque_figure(fit), fit.name)
    return report
