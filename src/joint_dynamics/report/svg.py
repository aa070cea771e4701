"""Panels, and intervals in a column of a table, as static SVG, for printing and where no script runs.

Colours are those of the page. Intervals form a forest plot: values with two deviations either way, on one axis for all
units.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.report.figure import Figure, Panel, Series, envelope

LEFT, RIGHT, TOP, BOTTOM, LABEL = 52.0, 8.0, 6.0, 20.0, 14.0
"""Margins in pixels: of the numbers beside the axes, and of the label below."""
MOST_POINTS = 1200
"""Of a set of points, as many are drawn, evenly chosen."""


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers from `low` to `high`, approximately `about` of them."""
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    raw = span / about
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1.0, 2.0, 5.0, 10.0) if factor * unit >= 0.999 * raw)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten from `low` to `high` (logarithms), or round numbers between where there are fewer than 2."""
    powers = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1)]
    return powers if len(powers) > 1 else ticks(10**low, 10**high, 3)


def text_of(value: float) -> str:
    """Return a number as text for an axis."""
    return f'{value:.6g}'.replace('-', '−')


def panel_svg(figure: Figure, panel: Panel, last: bool = True) -> str:
    """Return one panel of a figure as an SVG element; `last`: with numbers and label of the axis below."""
    return _Drawing(figure, panel, last).text()


class _Drawing:
    """Scales of one panel, and what is drawn with them."""

    def __init__(self, figure: Figure, panel: Panel, last: bool):
        self.figure, self.panel, self.last = figure, panel, last
        self.width = 720.0 if figure.columns == 1 else 420.0
        self.height = figure.height + (BOTTOM + LABEL if last else TOP)
        self.left, self.right = LEFT, self.width - RIGHT
        self.top, self.bottom = TOP, float(figure.height)
        x = _range([panel.x_of(series) for series in panel.series])
        y = _range(
            [
                _scaled(values, panel.log)
                for series in panel.series
                for values in (series.y, series.low, series.high)
                if values is not None
            ],
            0.0 if panel.log else 0.04,
        )
        if panel.equal:
            x, y = self._equal(x, y)
        self.x_range, self.y_range = x, y

    def _equal(self, x: tuple[float, float], y: tuple[float, float]) -> tuple[tuple[float, float], tuple[float, float]]:
        unit = max((x[1] - x[0]) / (self.right - self.left), (y[1] - y[0]) / (self.bottom - self.top))
        widths = unit * (self.right - self.left), unit * (self.bottom - self.top)
        across, up = (
            (0.5 * (low + high - wide), 0.5 * (low + high + wide))
            for (low, high), wide in zip((x, y), widths, strict=True)
        )
        return across, up

    def x(self, values: FloatArray) -> FloatArray:
        low, high = self.x_range
        return self.left + (np.asarray(values) - low) / (high - low) * (self.right - self.left)

    def y(self, values: FloatArray) -> FloatArray:
        low, high = self.y_range
        return self.bottom - (_scaled(values, self.panel.log) - low) / (high - low) * (self.bottom - self.top)

    def text(self) -> str:
        parts = [self._grid(), *map(self._series, self.panel.series)]
        title = html.escape(f'{self.panel.title} {self.panel.y_label}')
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{title}">{"".join(parts)}</svg>'
        )

    def _grid(self) -> str:
        low, high = self.y_range
        marks = log_ticks(low, high) if self.panel.log else ticks(low, high)
        parts = []
        for value, place in zip(marks, self.y(np.array(marks)), strict=True):
            parts.append(f'<path class="g" d="M{self.left:g} {place:.1f}H{self.right:g}"/>')
            parts.append(f'<text x="{self.left - 5:g}" y="{place + 3.5:.1f}" class="e">{text_of(value)}</text>')
        marks = ticks(*self.x_range, 6 if self.width > 500 else 4)
        for value, place in zip(marks, self.x(np.array(marks)), strict=True):
            parts.append(f'<path class="g" d="M{place:.1f} {self.top:g}V{self.bottom:g}"/>')
            if self.last:
                parts.append(f'<text x="{place:.1f}" y="{self.bottom + 14:g}" class="m">{text_of(value)}</text>')
        if self.last:
            middle = 0.5 * (self.left + self.right)
            label = html.escape(self.figure.x_label)
            parts.append(f'<text x="{middle:g}" y="{self.bottom + 29:g}" class="m">{label}</text>')
        return ''.join(parts)

    def _series(self, series: Series) -> str:
        x, y = self.panel.x_of(series), np.asarray(series.y, dtype=float)
        kind = f's c-{series.colour}{" d" if series.dashed else ""}'
        if series.kind == 'points':
            return self._points(series, x, y, kind)
        parts = []
        if series.low is not None and series.high is not None:
            finite = np.isfinite(series.low) & np.isfinite(series.high)
            edge = np.concatenate([x[finite], x[finite][::-1]])
            band = np.concatenate([series.low[finite], series.high[finite][::-1]])
            if finite.any():
                parts.append(f'<path class="b c-{series.colour}" d="{_path(self.x(edge), self.y(band))}Z"/>')
        for part in _pieces(np.isfinite(y)):
            px, py = envelope(x[part], y[part])
            if series.kind == 'step':
                px, py = np.repeat(px, 2)[1:], np.repeat(py, 2)[:-1]
            parts.append(f'<path class="{kind}" d="{_path(self.x(px), self.y(py))}"/>')
        return ''.join(parts)

    def _points(self, series: Series, x: FloatArray, y: FloatArray, kind: str) -> str:
        finite = np.flatnonzero(np.isfinite(y))
        if not len(finite):
            return ''
        chosen = finite[:: max(1, -(-len(finite) // MOST_POINTS))]
        px, py = self.x(x[chosen]), self.y(y[chosen])
        parts = []
        if series.low is not None and series.high is not None:
            low, high = self.y(series.low[chosen]), self.y(series.high[chosen])
            lines = ''.join(f'M{a:.1f} {b:.1f}V{c:.1f}' for a, b, c in zip(px, low, high, strict=True) if b - c > 0.2)
            parts.append(f'<path class="{kind}" d="{lines}"/>')
        # Lines of no length with round ends: a tenth of what circles take.
        size = 'p' if len(chosen) > 60 else 'p big'
        dots = ''.join(f'M{a:.1f} {b:.1f}h0' for a, b in zip(px, py, strict=True))
        return f'{"".join(parts)}<path class="{kind} {size}" d="{dots}"/>'


def _scaled(values: FloatArray, log: bool) -> FloatArray:
    values = np.asarray(values, dtype=float)
    if not log:
        return values
    with np.errstate(divide='ignore', invalid='ignore'):
        return np.where(values > 0, np.log10(values), np.nan)


def _range(arrays: Sequence[FloatArray], margin: float = 0.0) -> tuple[float, float]:
    finite = [values[np.isfinite(values)] for values in arrays]
    finite = [values for values in finite if len(values)]
    if not finite:
        return 0.0, 1.0
    low, high = min(float(values.min()) for values in finite), max(float(values.max()) for values in finite)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        low, high = low - max(0.5 * abs(low), 0.5), high + max(0.5 * abs(high), 0.5)
    return low - margin * (high - low), high + margin * (high - low)


def _pieces(finite: FloatArray) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], finite, [False]]).astype(np.int8)))
    return [slice(int(first), int(end)) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def _path(x: FloatArray, y: FloatArray) -> str:
    if not len(x):
        return ''
    return 'M' + 'L'.join(f'{a:.1f} {b:.1f}' for a, b in zip(x, y, strict=True))


WIDTH, HEIGHT, EDGE = 240.0, 18.0, 18.0
LABEL_DISTANCE = 30.0
DECADES = 4
"""At most as many powers of ten either way of the axis; smaller values are near zero."""


@dataclass(frozen=True)
class Interval:
    """A value and its standard deviation, as a cell of a table.

    Attributes
    ----------
    marked
        whether it is drawn in the colour of a warning.
    reference
        another value to draw beside it, None for none.
    """

    value: float
    std: float
    marked: bool = False
    reference: float | None = None


class IntervalScale:
    """The common axis of intervals: linear about zero, logarithmic beyond, either sign.

    Parameters
    ----------
    intervals
        all intervals drawn on it.
    """

    def __init__(self, intervals: Sequence[Interval]):
        sizes = [
            abs(size)
            for item in intervals
            for size in (item.value - 2 * item.std, item.value + 2 * item.std)
            if np.isfinite(size) and size
        ]
        self._high = int(np.ceil(np.log10(max(sizes)))) if sizes else 0
        low = int(np.floor(np.log10(min(abs(item.value) for item in intervals if item.value)))) if sizes else -1
        self._low = max(low, self._high - DECADES) if low < self._high else self._high - 1
        self._span = float(np.arcsinh(10.0 ** (self._high - self._low)))

    def place(self, value: float) -> float:
        """Return the abscissa of a value in pixels."""
        share = float(np.arcsinh(value / 10.0**self._low)) / self._span
        return WIDTH / 2 + min(1.0, max(-1.0, share)) * (WIDTH / 2 - EDGE)

    def _marks(self) -> list[tuple[float, str]]:
        powers = [10.0**k for k in range(self._low, self._high + 1)]
        marks = [(0.0, '0')]
        for k, power in enumerate(powers[::-1]):
            # Every other power has its number, and none beside that of zero, or they would run into each other.
            label = f'{power:g}' if k % 2 == 0 and self.place(power) - self.place(0.0) > LABEL_DISTANCE else ''
            marks += [(power, label), (-power, f'−{label}' if label else '')]
        return marks

    def axis(self) -> str:
        """Return the axis as SVG, for the head of the column."""
        texts = ''.join(
            f'<text x="{self.place(value):.1f}" y="12" class="m">{label}</text>'
            for value, label in self._marks()
            if label
        )
        return f'<svg class="forest" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" aria-hidden="true">{texts}</svg>'

    def drawn(self, item: Interval) -> str:
        """Return an interval as SVG."""
        grid = ''.join(f'M{self.place(value):.1f} 0V{HEIGHT:g}' for value, _ in self._marks() if value)
        low, middle, high = (self.place(item.value + k * item.std) for k in (-2, 0, 2))
        colour = 'c-residual' if item.marked else 'c-predicted'
        other = ''
        if item.reference is not None:
            other = f'<path class="s c-measured big" d="M{self.place(item.reference):.1f} 2V16"/>'
        words = f'{item.value:.4g} ± {2 * item.std:.2g}'
        return (
            f'<svg class="forest" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{words}">'
            f'<title>{words} (two deviations)</title><path class="g" d="{grid}"/>'
            f'<path class="g zero" d="M{WIDTH / 2:g} 0V{HEIGHT:g}"/>{other}'
            f'<path class="s {colour} wide" d="M{low:.1f} 9H{max(high, low + 0.5):.1f}"/>'
            f'<path class="s p {colour} big" d="M{middle:.1f} 9h0"/></svg>'
        )
