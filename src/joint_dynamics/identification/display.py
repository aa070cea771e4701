"""Display of an identification's result in an interpreter or a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from joint_dynamics.identification.findings import Findings
from joint_dynamics.identification.regression.residuals import Fit, band_of_all, overall_in_fixed_band, overall_residual
from joint_dynamics.identification.reliability.coverage import relative_deviation_percent


def summary_line(result: Findings) -> str:
    """Return method, sizes, residual and verdict in one line."""
    base = result.problem.base.count
    further = len(result.names) - base
    size = f'{base} base parameters' + (f' and {further} further' if further else '')
    kind, fits = ('validation', result.validation) if result.validation else ('training', result.training)
    residual = overall_residual(fits)[1]
    shown = f'{kind} residual {residual_text(fits)}' if np.isfinite(residual) else f'{kind} without torque'
    return f'{result.settings.method}: {size} from {result.samples} samples, {shown}, {_verdict(result)}'


def residual_text(fits: Sequence[Fit]) -> str:
    """Return the overall residual of recordings with its band, and that of the fixed band, in percent and N·m or N."""
    fixed = overall_in_fixed_band(fits)
    shown = f'{overall_residual(fits)[1]:.3g} % {band_of_all(fits)}'.rstrip()
    if fixed['residual_percent'] is None:
        return shown
    rms = '' if fixed['rms'] is None else f', {fixed["rms"]:.3g} {fits[0].unit} RMS'
    return f'{shown} ({fixed["residual_percent"]:.3g} %{rms} below {fixed["band_hz"]:.3g} Hz)'


def as_html(result: Findings) -> str:
    """Return the summary as an HTML fragment.

    It includes reasons, residuals per recording [%] and parameters with standard deviations.
    """
    reasons = ''.join(f'<li>{escape(str(reason))}</li>' for reason in result.reasons)
    residuals = _table(
        ('recording', 'residual [%] and band'),
        [
            (f'{fit.name} ({kind})', residual_text([fit]))
            for kind, fits in (('training', result.training), ('validation', result.validation))
            for fit in fits
        ],
    )
    percents = relative_deviation_percent(result.solution.chi, result.deviation)
    parameters = _table(
        ('parameter', 'value', 'σ', 'σ [%]', 'made of'),
        [
            (name, f'{value:.5g}', f'{std:.2g}', f'{percent:.2g}', expression)
            for name, value, std, percent, expression in zip(
                result.names, result.solution.chi, result.deviation, percents, result.expressions, strict=True
            )
        ],
    )
    return (
        f'<div><p><b>{escape(summary_line(result))}</b></p><ul>{reasons}</ul>{residuals}'
        f'<details><summary>{len(result.names)} parameters</summary>{parameters}</details></div>'
    )


def _verdict(result: Findings) -> str:
    count = len(result.reasons)
    return 'reliable' if not count else f'not reliable for {count} reason{"s" if count > 1 else ""}'


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [
        ''.join(f'<th>{escape(cell)}</th>' for cell in head),
        *(''.join(f'<td>{escape(cell)}</td>' for cell in row) for row in rows),
    ]
    return f'<table>{"".join(f"<tr>{line}</tr>" for line in lines)}</table>'
