"""The table of residuals that reports and the terminal show; apart, for the terminal needs nothing else of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.identification.regression.full_rate import BAND
from joint_dynamics.identification.regression.residuals import Fit, band_of_all


def band_text(fits: Sequence[Fit]) -> str:
    """Say in which band the residuals of `residual_rows` are."""
    fixed = sorted({f'{fit.full.band:.3g}' for fit in fits})
    return (
        f'per joint, overall and moving {band_of_all(fits) or "of the full band"}; in the last columns below'
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
