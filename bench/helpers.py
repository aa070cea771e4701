"""The modules of the tests that make robots, motions and corruptions, for benches: `test/` is no package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).parents[1] / 'test'


def from_tests(path: str) -> ModuleType:
    """Return the module of a file in `test/`, under a name of its own by which its classes can be pickled."""
    name = f'test_{path.removesuffix(".py").replace("/", "_")}'
    spec = importlib.util.spec_from_file_location(name, TESTS / path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
