"""A figure as part of the page: the static drawing, and the data with which the script replaces it.

Arrays are stored in the page as 16-bit integers with a step, as differences of neighbours, deflated, in base64. A
minute of six joints at 1 kHz, measured and predicted, takes 0.6 MB. The rounding is half a step: less than 1/130,000 of
an array's range, or half the requested resolution. The page's script decodes them (`decoded` in page/packing.js).
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.report.figure import Figure, Panel
from joint_dynamics.report.svg import panel_svg

STEPS = 65534
"""Steps over the range of an array; the code left over says that there is no value."""
MISSING = -32768


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


def unpack(entry: dict[str, Any], text: str) -> FloatArray:
    """Return the array (K,) of an entry of `Packer.add` from `Packer.text`, NaN where a value is missing."""
    if entry['kind'] == 'ramp':
        return entry['start'] + entry['step'] * np.arange(entry['n'], dtype=float)
    n, at = entry['n'], entry['at']
    data = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)[at : at + 2 * n].astype(np.uint16)
    codes = np.cumsum(data[:n] + (data[n:] << 8), dtype=np.uint16).view(np.int16).astype(float)
    return np.where(codes == MISSING, np.nan, entry['start'] + entry['step'] * codes)


def figure_html(figure: Figure, caption: str, name: str) -> str:
    """Return a figure with its caption; `name` is unique in the page."""
    own_axes, last = not figure.linked or figure.columns > 1, len(figure.panels) - 1
    drawn = ''.join(
        '<div class="panel"><div class="head">'
        f'<span class="title">{html.escape(panel.title)}</span><span class="unit">{html.escape(panel.y_label)}</span>'
        f'<span class="note">{html.escape(panel.note)}</span><output></output></div>'
        f'<div class="static">{panel_svg(figure, panel, own_axes or k == last)}</div></div>'
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


def _specification(figure: Figure, packer: Packer) -> dict[str, Any]:
    return {
        **{key: getattr(figure, key) for key in ('x_label', 'height', 'linked', 'clock')},
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
            # Read by its samples in the order of their abscissae, drawn as it goes.
            row['way'] = {'x': packer.add(of), 'y': packer.add(series.y, series.resolution)}
        if series.low is not None and series.high is not None:
            row['low'], row['high'] = (packer.add(aligned(values, of)) for values in (series.low, series.high))
        rows.append(row)
    return {'x': packer.add(x), 'series': rows}
