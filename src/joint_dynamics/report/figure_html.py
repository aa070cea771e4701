"""A figure as a part of the page: the static drawing, and what the script needs to take its place."""

from __future__ import annotations

import html
import json
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.report.figure import Figure, Panel
from joint_dynamics.report.packing import Packer
from joint_dynamics.report.svg import panel_svg


def figure_html(figure: Figure, caption: str, name: str) -> str:
    """Return a figure with its caption; `name` is unique in the page."""
    count = len(figure.panels)
    drawn = ''.join(
        '<div class="panel"><div class="head">'
        f'<span class="title">{html.escape(panel.title)}</span><span class="unit">{html.escape(panel.y_label)}</span>'
        f'<span class="note">{html.escape(panel.note)}</span><output></output></div>'
        f'<div class="static">{panel_svg(figure, panel, _has_axis(figure, k, count))}</div></div>'
        for k, panel in enumerate(figure.panels)
    )
    legend = ''.join(
        f'<li class="c-{colour}" data-label="{html.escape(label)}"><i class="{kind}{" d" if dashed else ""}"></i>'
        f'{html.escape(label)}</li>'
        for label, colour, kind, dashed in figure.labels
    )
    legend = f'<ul class="legend">{legend}</ul>' if legend else ''
    data = ''
    if figure.interactive:
        packer = Packer()
        text = json.dumps(_specification(figure, packer), ensure_ascii=False, allow_nan=False).replace('<', '\\u003c')
        data = (
            f'<script type="application/json" class="specification">{text}</script>'
            f'<script type="text/plain" class="arrays">{packer.text()}</script>'
        )
    return (
        f'<figure class="chart columns-{figure.columns}" data-columns="{figure.columns}" id="{name}">'
        f'{legend}<div class="panels">{drawn}</div>'
        f'<figcaption>{html.escape(caption)}</figcaption>{data}</figure>'
    )


def _has_axis(figure: Figure, k: int, count: int) -> bool:
    return not figure.linked or figure.columns > 1 or k == count - 1


def _specification(figure: Figure, packer: Packer) -> dict[str, Any]:
    return {
        'x_label': figure.x_label,
        'height': figure.height,
        'linked': figure.linked,
        'clock': figure.clock,
        'panels': [
            {'title': panel.title, 'unit': panel.y_label, 'log': panel.log, **_panel(panel, packer)}
            for panel in figure.panels
        ],
    }


def _panel(panel: Panel, packer: Packer) -> dict[str, Any]:
    """Return the arrays of a panel, all over the union of its series' abscissae."""
    own = {id(x): x for series in panel.series if (x := series.x) is not None}
    if panel.x is not None and not own:
        x = panel.x
    else:
        x = np.unique(np.concatenate([panel.x_of(series) for series in panel.series]))

    def aligned(values: FloatArray, of: FloatArray) -> FloatArray:
        if of is x:
            return values
        found = np.full(len(x), np.nan)
        found[np.searchsorted(x, of)] = values
        return found

    rows = []
    for series in panel.series:
        row: dict[str, Any] = {
            'label': series.label,
            'colour': series.colour,
            'kind': series.kind,
            'dashed': series.dashed,
        }
        of = panel.x if series.x is None else series.x
        assert of is not None
        if series.difference_of is None:
            row['y'] = packer.add(aligned(series.y, of), series.resolution)
        else:
            row['difference'] = list(series.difference_of)
        if series.kind == 'line' and np.any(np.diff(of) < 0):
            # Read by its samples in the order of their abscissae, drawn as it goes.
            row['way'] = {'x': packer.add(of), 'y': packer.add(series.y, series.resolution)}
        if series.low is not None and series.high is not None:
            row['low'], row['high'] = (packer.add(aligned(values, of)) for values in (series.low, series.high))
        rows.append(row)
    return {'x': packer.add(x), 'series': rows}
