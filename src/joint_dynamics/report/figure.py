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

"""Figures as data: panels of series, and their part of the page, in which the script draws them.

Arrays are stored in the page as 16-bit integers with a step, as differences of neighbours, deflated, in base64. A
minute of six joints at 1 kHz, measured and predicted, takes 0.6 MB. The rounding is half a step: less than 1/130,000 of
an array's range, or half the requested resolution. The page's script decodes them (`decoded` in page/page.js).
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from joint_dynamics.arrays import FloatArray

Colour = Literal[
    'measured', 'predicted', 'residual', 'limit', 'first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh'
]
STEPS = 65534  # steps over the range of an array
MISSING = -32768  # code of no value
# Colours of series without a meaning of their own, in order.
CYCLE: tuple[Colour, ...] = ('first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh')


@dataclass(frozen=True)
class Series:
    """One line or one set of points.

    Attributes
    ----------
    label
        in the legend; '' for a continuation of the preceding series.
    y
        (K,), NaN where there is none.
    x
        (K,), None: that of the panel.
    kind
        style of drawing.
    low, high
        (K,) each: a band about a line, whiskers of points.
    difference_of
        the two series of the panel above whose difference this is, so that the page need not store it.
    resolution
        in the unit of y; the page may round values to it.
    """

    label: str
    y: FloatArray
    colour: Colour = 'first'
    x: FloatArray | None = None
    kind: Literal['line', 'points'] = 'line'
    dashed: bool = False
    low: FloatArray | None = None
    high: FloatArray | None = None
    difference_of: tuple[int, int] | None = None
    resolution: float = 0.0


@dataclass(frozen=True)
class Panel:
    """One pair of axes; `y_label` (with units in brackets) and `note` are shown beside the title.

    Attributes
    ----------
    x
        (K,), for all series without their own.
    joined
        whether it stands directly above the next panel, on the same time axis.
    height
        in pixels, 0: that of the figure.
    """

    title: str
    y_label: str
    series: Sequence[Series]
    x: FloatArray | None = None
    note: str = ''
    joined: bool = False
    height: int = 0

    def x_of(self, series: Series) -> FloatArray:
        """Return the abscissae (K,) of a series."""
        x = self.x if series.x is None else series.x
        assert x is not None
        return np.asarray(x, dtype=float)


@dataclass(frozen=True)
class Figure:
    """Panels with one caption.

    Attributes
    ----------
    linked
        whether the panels share one time axis, and zoom and cursor with it.
    clock
        name of the robot view that shows the same time, '' for none.
    columns
        number of columns of panels on a sufficiently wide screen.
    height
        of a panel in pixels.
    """

    panels: Sequence[Panel]
    x_label: str
    linked: bool = False
    clock: str = ''
    columns: int = 1
    height: int = 150

    @property
    def labels(self) -> list[tuple[str, Colour, str, bool]]:
        """Label, colour, kind and dash of every named series, each once."""
        labels: dict[str, tuple[str, Colour, str, bool]] = {}
        for panel in self.panels:
            for series in panel.series:
                if series.label:
                    labels.setdefault(series.label, (series.label, series.colour, series.kind, series.dashed))
        return list(labels.values())


class Packer:
    """Collects arrays in one text; `add` returns the entry of each."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self._known: dict[int, tuple[FloatArray, dict[str, Any]]] = {}

    def add(self, values: FloatArray, resolution: float = 0.0) -> dict[str, Any]:
        """Return the entry of an array (K,), stored to `resolution` or 1/65,534 of its range, whichever is coarser.

        {kind: ramp, n, start, step}, or {kind: codes, n, at, start, step}: `start + step · code`, of differences modulo
        2¹⁶, all low bytes first.
        """
        known = self._known.get(id(values))
        if known is not None:
            return known[1]
        entry = self._ramp(values) or self._codes(values, resolution)
        self._known[id(values)] = values, entry
        return entry

    @staticmethod
    def _ramp(values: FloatArray) -> dict[str, Any] | None:
        if len(values) < 2 or not np.all(np.isfinite(values)):
            return None
        step = (values[-1] - values[0]) / (len(values) - 1)
        even = values[0] + step * np.arange(len(values))
        if step <= 0 or np.abs(values - even).max() > 0.01 * step:
            return None
        return {'kind': 'ramp', 'n': len(values), 'start': float(values[0]), 'step': float(step)}

    def _codes(self, values: FloatArray, resolution: float) -> dict[str, Any]:
        values = np.asarray(values, dtype=float)
        finite = np.isfinite(values)
        low, high = (float(values[finite].min()), float(values[finite].max())) if finite.any() else (0.0, 0.0)
        step = max((high - low) / STEPS, resolution) or 1.0
        middle = 0.5 * (low + high)
        codes = np.full(len(values), MISSING, dtype=np.int64)
        codes[finite] = np.rint((values[finite] - middle) / step)
        changes = np.diff(codes, prepend=0).astype(np.uint16)
        chunk = (changes & 0xFF).astype(np.uint8).tobytes() + (changes >> 8).astype(np.uint8).tobytes()
        entry = {'kind': 'codes', 'n': len(values), 'at': self._size, 'start': middle, 'step': step}
        self._chunks.append(chunk)
        self._size += len(chunk)
        return entry

    def text(self) -> str:
        """Return all arrays, deflated, in base64."""
        return base64.b64encode(zlib.compress(b''.join(self._chunks), 6)).decode('ascii')


def figure_html(figure: Figure, caption: str, name: str) -> str:
    """Return a figure with its caption; `name` is unique in the page."""
    cells = ['']
    for panel in figure.panels:
        cells[-1] += _panel_html(panel, panel.height or figure.height)
        if not panel.joined:
            cells.append('')
    legend = ''.join(
        f'<li><button type="button" aria-pressed="true" class="c-{colour}" data-label="{html.escape(label)}">'
        f'<i class="{kind}{" d" if dashed else ""}"></i>{html.escape(label)}</button></li>'
        for label, colour, kind, dashed in figure.labels
    )
    packer = Packer()
    specification = _specification(figure, packer)
    return (
        f'<figure class="chart columns-{figure.columns}" id="{name}"><ul class="legend">{legend}</ul>'
        f'<div class="cells">{"".join(f"<div>{cell}</div>" for cell in cells if cell)}</div>'
        f'{caption and f"<figcaption>{html.escape(caption)}</figcaption>"}{packed_html(specification, packer)}</figure>'
    )


def _panel_html(panel: Panel, height: int) -> str:
    return (
        '<div class="panel"><div class="head">'
        f'<span class="title">{html.escape(panel.title)}</span><span class="unit">{html.escape(panel.y_label)}</span>'
        f'<span class="note">{html.escape(panel.note)}</span><output></output></div>'
        f'<div class="plot" style="min-height:{height}px" tabindex="0" role="group" aria-label='
        f'"{html.escape(f"{panel.title} {panel.y_label}")}: figure to zoom into and to read by keys"></div></div>'
    )


def packed_html(specification: dict[str, Any], packer: Packer) -> str:
    """Return the input of the script: the specification, and the arrays that it names."""
    text = json.dumps(specification, ensure_ascii=False, allow_nan=False).replace('<', '\\u003c')
    return (
        f'<script type="application/json" class="specification">{text}</script>'
        f'<script type="text/plain" class="arrays">{packer.text()}</script>'
    )


def _specification(figure: Figure, packer: Packer) -> dict[str, Any]:
    return {
        **{key: getattr(figure, key) for key in ('x_label', 'linked', 'clock', 'columns')},
        'panels': [
            {'height': panel.height or figure.height, 'axis': not panel.joined, **_panel(panel, packer)}
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
        placed = np.full(len(x), np.nan)
        placed[np.searchsorted(x, of)] = values
        return placed

    rows = []
    for series in panel.series:
        row: dict[str, Any] = {key: getattr(series, key) for key in ('label', 'colour', 'kind', 'dashed')}
        of = panel.x if series.x is None else series.x
        assert of is not None
        if series.difference_of is None:
            row['y'] = packer.add(aligned(series.y, of), series.resolution)
        else:
            row['difference'] = list(series.difference_of)
        if series.kind == 'line' and np.any(np.diff(of) < 0):
            # Read in the order of its abscissae, drawn in the order of time.
            row['path'] = {'x': packer.add(of), 'y': packer.add(series.y, series.resolution)}
        if series.low is not None and series.high is not None:
            row['low'], row['high'] = (packer.add(aligned(values, of)) for values in (series.low, series.high))
        rows.append(row)
    return {'x': packer.add(x), 'series': rows}
