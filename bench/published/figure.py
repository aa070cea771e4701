"""One headline figure of a paper: what is printed, and what has to be said of ours beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A row of the table.

    key: name of the measured value; '' where the figure cannot be measured here, and `why` says the reason. place:
    table, figure or section of the paper. published: as printed, with its unit. form: how ours is written. why: of what
    ours is, and why the two differ.
    """

    key: str
    place: str
    what: str
    published: str
    form: str
    why: str
