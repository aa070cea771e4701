"""One headline figure of a paper: what is printed, and what has to be said of ours beside it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).parents[2] / 'test'


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


def helpers(path: str) -> ModuleType:
    """Return a module of the tests, whose simulated joints and robots share no code with the package."""
    spec = importlib.util.spec_from_file_location(f'published_{Path(path).stem}', TESTS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
