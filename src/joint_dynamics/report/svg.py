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

"""Intervals in a column of a table as SVG: two deviations either way, relative to the value, from −100 to 100 %."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH = 160  # pixels of the column
HEIGHT = 18  # pixels of a row
HALF = WIDTH / 2 - 5  # pixels of 100 %


@dataclass(frozen=True)
class Interval:
    """A value and its standard deviation, as a cell of a table.

    Attributes
    ----------
    value, std
        in the same unit; an interval that contains zero reaches the edge.
    marked
        whether it is drawn in the colour of a warning.
    reference
        another value to draw beside it, None for none.
    """

    value: float
    std: float
    marked: bool = False
    reference: float | None = None

    def place(self, value: float) -> float:
        """Return the abscissa of a value in pixels."""
        share = (value - self.value) / abs(self.value) if self.value else 0.0
        return WIDTH / 2 + HALF * min(1.0, max(-1.0, share))

    def svg(self) -> str:
        """Return the interval as SVG."""
        low, high = (self.place(self.value + 2 * side * self.std) for side in (-1, 1))
        colour = 'c-residual' if self.marked else 'c-predicted'
        grid = f'M{WIDTH / 2 - HALF} 0V{HEIGHT}M{WIDTH / 2 + HALF} 0V{HEIGHT}'
        other = ''
        if self.reference is not None:
            other = f'<path class="c-measured wide" d="M{self.place(self.reference):.1f} 2V16"/>'
        words = f'{self.value:.4g} ± {2 * self.std:.2g}'
        return (
            f'<svg class="forest" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
            f'<path d="{grid}"/>{other}'
            f'<path class="{colour} wide" d="M{low:.1f} 9H{max(high, low + 0.5):.1f}"/>'
            f'<path class="{colour} big" d="M{WIDTH / 2} 9h0"/></svg>'
        )
