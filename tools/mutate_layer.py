"""The mutants of one layer, made and tried by mutmut inside a copy of the repository; `mutants.py` starts it there.

Differs from `mutmut run` where its figure would depend on the machine or would be too good:

- Getters under @property and @cached_property are mutated too: in the copy they are plain methods, wrapped below them.
- Tests run from the cheapest to the dearest, in the same order every time.
- A test belongs to every function that it or one of its fixtures runs, whichever test came first to a shared fixture.
- A test's time is processor time with that of its fixtures, so that "ran far longer than without the mutant" means a
  loop that does not end, not a machine that is busy or a fixture that is slow.
- Tests that need ROS 2 are skipped, as where it is not installed; the slow ones, which have quick siblings, left out.
- The sample is tried in its own, random order: where time runs out, what was tried is still a sample.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import libcst as cst
import mutmut.__main__ as mutmut
import pytest
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name
from mutmut.workers.isolation import ForkRunner

GETTERS = ('property', 'cached_property')
# A mutant that takes this many times the processor time of its tests, and this many seconds more, never ends.
LIMIT_TIMES, LIMIT_MORE = 3.0, 10.0
# One that waits for what never comes uses no processor time; many times the above, for a busy machine.
WAITS = 20.0
# Bytes a mutant may ask for before it fails.
MEMORY = 6 * 2**30


class PlainGetters(cst.CSTTransformer):
    """`@property def x(self)` becomes `def _get_x(self)` and `x = property(_get_x)`, which mutmut can mutate."""

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        """Rewrite the getters of a class; those of a protocol have no body."""
        protocol = any(
            isinstance(base.value, cst.Name) and base.value.value == 'Protocol' for base in updated_node.bases
        )
        if protocol or not isinstance(updated_node.body, cst.IndentedBlock):
            return updated_node
        body = [made for statement in updated_node.body.body for made in self.plain(statement)]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))

    @staticmethod
    def plain(statement: cst.BaseStatement) -> Iterator[cst.BaseStatement]:
        """Yield the statement, or the method and its wrapping that a getter becomes."""
        if isinstance(statement, cst.FunctionDef) and len(statement.decorators) == 1:
            decorator = statement.decorators[0].decorator
            if isinstance(decorator, cst.Name) and decorator.value in GETTERS:
                name = statement.name.value
                yield statement.with_changes(name=cst.Name(f'_get_{name}'), decorators=[])
                yield cst.parse_statement(f'{name} = {decorator.value}(_get_{name})')
                return
        yield statement


class OwnTests(PytestRunner):
    """Runs the layer's tests; what they cost and which functions they reach includes their fixtures."""

    def __init__(self) -> None:
        super().__init__()
        self.fixtures = Fixtures()

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        """Run the tests, with a mutant in a process of its own."""
        if mutant_name is not None:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            # the tests' modules as of the run without a mutant may hold what they computed when imported
            for name in [name for name in sys.modules if name == 'test' or name.startswith(('test.', 'conftest'))]:
                del sys.modules[name]
        return super().run_tests(mutant_name=mutant_name, tests=tests)

    def run_stats(self, *, tests: Iterable[str]) -> int:
        """Run the tests without a mutant and note what they cost and reach."""
        status = super().run_stats(tests=tests)
        self.fixtures.give()
        return status

    def execute_pytest(self, params: list[str], **kwargs: Any) -> int:
        """Run pytest with these arguments; return its exit status."""
        return super().execute_pytest(params, plugins=[*kwargs.get('plugins', ()), self.fixtures])


class Fixtures:
    """Notes what every fixture costs and reaches; all tests that use it are given both."""

    def __init__(self) -> None:
        self.seconds: dict[Any, float] = {}
        self.reached: dict[Any, set[str]] = {}
        self.own: dict[str, float] = {}
        self.used: dict[str, set[Any]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """Note a fixture's set-up."""
        before, began = set(state()._stats), time.process_time()
        state()._stats.clear()
        yield
        seconds = time.process_time() - began
        if fixturedef.scope == 'function':
            self.own[request.node.nodeid] = self.own.get(request.node.nodeid, 0.0) + seconds
        else:
            self.seconds[fixturedef] = max(self.seconds.get(fixturedef, 0.0), seconds)
        self.reached.setdefault(fixturedef, set()).update(state()._stats)
        state()._stats.update(before)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Note a test and the fixtures it uses."""
        began = time.process_time()
        yield
        self.own[item.nodeid] = self.own.get(item.nodeid, 0.0) + time.process_time() - began
        self.used[item.nodeid] = {used for found in item._fixtureinfo.name2fixturedefs.values() for used in found}

    def give(self) -> None:
        """Add what fixtures cost and reach to what mutmut noted of every test."""
        for test, used in self.used.items():
            state().duration_by_test[test] = self.needed([test])
            for function in set().union(*(self.reached.get(one, ()) for one in used)):
                state().tests_by_mangled_function_name[function].add(test.removeprefix('mutants/'))

    def needed(self, tests: Iterable[str]) -> float:
        """Return the processor time (s) of these tests together, each fixture set up once."""
        used: set[Any] = set().union(*(self.used.get(test, ()) for test in tests))
        return sum(self.own.get(test, 0.0) for test in tests) + sum(self.seconds.get(one, 0.0) for one in used)


def make(layer: str, files: str, tests: list[str], workers: int) -> ForkRunner:
    """Write the mutants of the layer's files, run its tests once without any, and return what runs them with one."""
    for path in Path('src/joint_dynamics', layer).glob(files):
        text = path.read_text(encoding='utf-8')
        path.write_text(cst.parse_module(text).visit(PlainGetters()).code, encoding='utf-8')
    configuration = mutmut.config()
    chosen = Path('src/joint_dynamics', layer).glob(files)
    configuration.only_mutate = sorted(str(path) for path in chosen if path.suffix == '.py')
    oracles = sorted(str(path) for path in Path('test/oracle').glob(f'test_{layer}*.py'))
    configuration.pytest_add_cli_args_test_selection = tests or [f'test/{layer}', *oracles]
    configuration.timeout_multiplier, configuration.timeout_constant = LIMIT_TIMES * WAITS, LIMIT_MORE
    mutmut.set_mutant_under_test('mutant_generation')
    Path('mutants').mkdir()
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.create_mutants(workers)
    runner = ForkRunner(workers, OwnTests())
    mutmut.run_stats_collection(runner)
    return runner


def main() -> None:
    """Make and try the mutants of one layer; the working directory is its copy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('layer')
    parser.add_argument('--sample', type=int, required=True)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--only', default='')
    parser.add_argument('--files', default='**/*.py')
    parser.add_argument('--tests', nargs='*', default=[])
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--seconds', type=float, default=math.inf)
    options = parser.parse_args()
    began = time.monotonic()
    # DDS does not outlive a fork: a test that uses it would wait for ever in every mutant, and count as one found.
    sys.modules['rclpy'] = None  # type: ignore[assignment]
    runner = make(options.layer, options.files, options.tests, options.workers)
    found, _ = mutmut.collect_source_file_mutation_data(mutant_names=())
    files = {name: file for file, name, _ in found if re.search(options.only, name)}
    if not files:
        sys.exit(f'expected a mutant whose name matches {options.only}, found none of {len(found)}')
    sample = random.Random(options.seed).sample(sorted(files), min(options.sample, len(files)))
    print(
        f'{options.layer}: {len(found)} mutants, {len(sample)} to be tried; {time.monotonic() - began:.0f} s so far',
        flush=True,
    )

    def note(name: str, exit_code: int, seconds: float) -> None:
        files[name].exit_code_by_key[name] = exit_code
        files[name].save()
        print(f'{time.monotonic() - began:.0f} s: {exit_code} after {seconds:.1f} s: {name}', flush=True)

    def take() -> None:
        result = runner.wait_for_result()
        note(result.mutant_name, result.exit_code, result.duration)

    mutmut.set_mutant_under_test('')
    runner.startup()
    for name in sample:
        if time.monotonic() - began > options.seconds:
            break
        tests = state().tests_by_mangled_function_name.get(mangled_name_from_mutant_name(name), set())
        if not tests:
            note(name, 33, 0.0)
            continue
        while not runner.has_capacity():
            take()
        needed = runner.test_runner.fixtures.needed(tests)
        # Cheap tests first, and the same order every time: most mutants are found early, by any of many tests.
        tests = sorted(tests, key=lambda test: (state().duration_by_test.get(test, 0.0), test))
        runner.submit(name, tests, math.ceil(LIMIT_TIMES * needed + LIMIT_MORE), needed)
    while runner.pending_count():
        take()


if __name__ == '__main__':
    main()
