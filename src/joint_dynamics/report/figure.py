"""Figures as data: panels of series, which a report draws statically (SVG) and, where scripts run, interactively."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from joint_dynamics.arrays import FloatArray

Colour = Literal[
    'measured', 'predicted', 'residual', 'limit', 'first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh'
]
CYCLE: tuple[Colour, ...] = ('first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh')
"""Colours of series that have no meaning of their own, in order."""


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
        style of drawing; a step holds its value until the next one.
    low, high
        (K,) each: a band about a line, whiskers of points.
    difference_of
        the two series of the panel whose difference this is, so that the page need not store it.
    resolution
        in the unit of y; the page may round values to it.
    """

    label: str
    y: FloatArray
    colour: Colour = 'first'
    x: FloatArray | None = None
    kind: Literal['line', 'step', 'points'] = 'line'
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
    equal
        whether both axes have the same scale.
    """

    title: str
    y_label: str
    series: Sequence[Series]
    x: FloatArray | None = None
    note: str = ''
    log: bool = False
    equal: bool = False

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
    interactive
        whether the figure can be zoomed and read off.
    """

    panels: Sequence[Panel]
    x_label: str
    linked: bool = False
    clock: str = ''
    columns: int = 1
    height: int = 150
    interactive: bool = True

    @property
    def labels(self) -> list[tuple[str, Colour, str, bool]]:
        """Label, colour, kind and dash of every named series, each once."""
        labels: dict[str, tuple[str, Colour, str, bool]] = {}
        for panel in self.panels:
            for series in panel.series:
                if series.label:
                    labels.setdefault(series.label, (series.label, series.colour, series.kind, series.dashed))
        return list(labels.values())


POINTS = 300
"""Stretches of a long series in a static figure; each gives its least and its largest value."""


def envelope(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (x, y) for a static drawing: unchanged, or for long series the smallest and largest value of each stretch.

    They are in their original order, so that no peak is lost.
    """
    length = len(y) // POINTS
    if length < 4:
        return x, y
    pieces = y[: length * POINTS].reshape(POINTS, length)
    pair = np.sort(np.stack([pieces.argmin(axis=1), pieces.argmax(axis=1)], axis=1), axis=1)
    index = (pair + length * np.arange(POINTS)[:, None]).ravel()
    rest = np.arange(length * POINTS, len(y))
    if len(rest):
        index = np.concatenate([index, np.unique([rest[y[rest].argmin()], rest[y[rest].argmax()]])])
    return x[index], y[index]
