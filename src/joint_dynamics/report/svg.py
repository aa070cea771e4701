"""Intervals in a column of a table as SVG: a forest plot of values with two deviations either way, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WIDTH = 240.0  # pixels of the column
HEIGHT = 18.0  # pixels of a row
EDGE = 18.0  # pixels beside the axis, for the numbers at its ends
LABEL_DISTANCE = 30.0  # pixels between the zero of the axis and the next number
DECADES = 4  # powers of ten either way of the axis; smaller values are near zero


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
            f'<text x="{self.place(value):.1f}" y="12">{label}</text>' for value, label in self._marks() if label
        )
        return f'<svg class="forest" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" aria-hidden="true">{texts}</svg>'

    def drawn(self, item: Interval) -> str:
        """Return an interval as SVG."""
        grid = ''.join(f'M{self.place(value):.1f} 0V{HEIGHT:g}' for value, _ in self._marks() if value)
        low, middle, high = (self.place(item.value + k * item.std) for k in (-2, 0, 2))
        colour = 'c-residual' if item.marked else 'c-predicted'
        other = ''
        if item.reference is not None:
            other = f'<path class="c-measured wide" d="M{self.place(item.reference):.1f} 2V16"/>'
        words = f'{item.value:.4g} ± {2 * item.std:.2g}'
        return (
            f'<svg class="forest" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{words}">'
            f'<title>{words} (two deviations)</title><path d="{grid}"/>'
            f'<path class="zero" d="M{WIDTH / 2:g} 0V{HEIGHT:g}"/>{other}'
            f'<path class="{colour} wide" d="M{low:.1f} 9H{max(high, low + 0.5):.1f}"/>'
            f'<path class="{colour} big" d="M{middle:.1f} 9h0"/></svg>'
        )
