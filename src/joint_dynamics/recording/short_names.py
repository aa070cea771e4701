"""What texts and tables call a recording: the last component of its path, with its window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def short_name(name: str) -> str:
    """Return the last component of a recording's path, with its window."""
    return name.rstrip('/').rpartition('/')[2] or name


def with_short_names(text: str, names: Iterable[str]) -> str:
    """Return a text with recordings called by their short names; of two that share one, both keep their path."""
    known = sorted(set(names), key=len, reverse=True)
    shared = Counter(map(short_name, known))
    for name in known:
        # a window's name contains that of its recording: the longest goes first, and an unknown one stays
        if shared[short_name(name)] == 1:
            text = text.replace(name, short_name(name))
    return text
