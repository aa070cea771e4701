"""Forest plots in a column of a table: values with two deviations either way, on one axis for all units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WIDTH, HEIGHT, EDGE = 240.0, 18.0, 18.0
APART = 30.0
DECADES = 4
"""At most as many powers of ten either way of the axis are told apart; smaller values are near zero."""


@dataclass(frozen=True)
class Interval:
    """A value and its standard deviation, as a cell of a table.

    Attributes
    ----------
    marked
        drawn in the colour of a warning.
    reference
        another value to draw beside it, None: none.
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
        all that are drawn on it.
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
        found = [(0.0, '0')]
        for k, power in enumerate(powers[::-1]):
            # Every other power has its number, and none beside that of zero, or they would run into each other.
            label = f'{power:g}' if k % 2 == 0 and self.place(power) - self.place(0.0) > APART else ''
            found += [(power, label), (-power, f'−{label}' if label else '')]
        return found

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
