"""The table of residuals that reports and the terminal show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from joint_dynamics.identification.regression.residuals import Fit, band_of_all


def band_text(fits: Sequence[Fit]) -> str:
    """Return the frequency band of the residuals of `residual_rows` in words."""
    return (
        f'per joint, overall and moving {band_of_all(fits) or "of the full band"}; in the last columns below'
        f' {fixed_band_text(fits)}'
    )


def fixed_band_text(fits: Sequence[Fit]) -> str:
    """Return the band that is the same for every robot, as `10 Hz`; lower where the sampling rate requires."""
    return f'{" or ".join(dict.fromkeys(f"{band:.3g}" for band in sorted({fit.full.band for fit in fits})))} Hz'


def residual_rows(fits: Sequence[Fit]) -> list[list[Any]]:
    """Return one table row per recording: overall, moving, raw, per joint [%], and in the fixed band [%, N·m]."""
    rows = []
    for fit in fits:
        joints, overall = fit.residual_percent()
        fixed = fit.fixed_band
        rows.append(
            [
                fit.short_name,
                overall,
                fit.residual_percent(moving=True)[1],
                fit.raw[1],
                *joints,
                fixed['residual_percent']['overall'],
                *([] if fit.unit is None else [float(np.sqrt(np.mean([v**2 for v in fixed['rmse'].values()])))]),
            ]
        )
    return rows


def residual_headers(fits: Sequence[Fit]) -> list[str]:
    """Return the headers of `residual_rows`; fits: at least one."""
    fixed = fixed_band_text(fits)
    return [
        'recording',
        'overall %',
        'moving %',
        'unfiltered %',
        *(f'{name} %' for name in fits[0].joint_names),
        f'{fixed} %',
        *([] if fits[0].unit is None else [f'{fixed} {fits[0].unit}']),
    ]
