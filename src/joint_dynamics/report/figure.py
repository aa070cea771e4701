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

"""Figures as data: panels of series, which the script of the page draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from joint_dynamics.arrays import FloatArray

Colour = Literal[
    'measured', 'predicted', 'residual', 'limit', 'first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh'
]
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
