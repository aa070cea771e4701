"""Mutation testing of the numeric layers: what share of small faults put into a layer its own tests find.

    python tools/mutants.py                          all layers, samples as below (at most 40 minutes on two cores)
    python tools/mutants.py robot joint --sample 50  these layers, 50 mutants each
    python tools/mutants.py robot --only mdh         those whose name matches a regular expression, all of them
    python tools/mutants.py robot --files mdh.py --tests test/robot/test_mdh.py    of this file, by these tests alone

mutmut makes the mutants of functions, methods and getters, and runs, for each, those of the layer's own tests
(test/LAYER and test/oracle/test_LAYER*.py) that pass through the mutated function. Left out: constants of modules,
defaults of dataclass fields, functions under other decorators, and nested classes. The sample is drawn with a seed from
the sorted names, so that the same source gives the same sample. Everything happens in copies under out/mutants; the
repository is not touched. Printed, and kept in out/mutants/survivors.md: a table and each survivor as a diff. Survivors
that change nothing are explained in tools/mutants_explained.yaml; they count as survivors all the same. An explanation
of what no longer stands in the source is refused before anything runs.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / 'out' / 'mutants'
COPIED = (
    'src',
    'test',
    'docs',
    'config',
    'launch',
    'bench',
    'examples',
    'resource',
    'ros2_control',
    'pyproject.toml',
    'setup.cfg',
    'setup.py',
    'package.xml',
    'README.md',
)
# How many mutants of each layer are tried by default.
SAMPLES = {'robot': 150, 'joint': 150, 'signals': 80, 'arm': 60, 'control': 80, 'estimation': 60, 'identification': 60}
# Share of the time left that a layer may take, 1 for the others; its tests without a mutant are part of it. What a
# layer leaves over is for those after it, so the dearest comes last.
SHARES = {'arm': 1.5, 'identification': 2.0, 'estimation': 2.0}
# A mutant was found when a test failed, ran far longer than without it, or when the test run itself broke.
SURVIVED, UNTESTED, ENDLESS = 'survived', 'no tests', 'timeout'
# Said of every `zip` whose parts have one length by construction; what leaves it out needs no explanation of its own.
STRICT = 'strict=True'
# Installed packages offer control laws under it.
LAWS = 'joint_dynamics.controllers'
EXPLAINED = ROOT / 'tools' / 'mutants_explained.yaml'


def copy_of(layer: str) -> Path:
    """Return a fresh copy of what the layer's tests need."""
    folder = OUT / layer
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns('__pycache__', '*.egg-info'))
        elif source.exists():
            shutil.copy(source, folder / name)
    return folder


def outcomes(layer: str) -> tuple[int, dict[str, str]]:
    """Return how many mutants the layer has, and what became of those that were tried."""
    os.chdir(OUT / layer)
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.stats import status_by_exit_code

    total, found = 0, {}
    for path in sorted(Path('src/joint_dynamics', layer).rglob('*.py')):
        data = SourceFileMutationData(path=path)
        data.load()
        total += len(data.exit_code_by_key)
        found |= {name: status_by_exit_code[code] for name, code in data.exit_code_by_key.items() if code is not None}
    return total, found


def difference(layer: str, name: str) -> str:
    """Return a mutant as a diff."""
    os.chdir(OUT / layer)
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    module = name.rpartition('.')[0].replace('.', '/')
    return f'# {name}\n{get_diff_for_mutant(name, path=f"src/{module}.py")}'


def changed(diff: str) -> tuple[str, str]:
    """Return the lines that a mutant replaces and what it puts there, without their indentation."""
    lines = [line for line in diff.splitlines() if not line.startswith(('---', '+++'))]
    return tuple('\n'.join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in '-+')


def function_of(name: str) -> str:
    """Return `module.Class.function`, the module without the package's name, of a mutant's name."""
    module, _, mangled = name.removeprefix('joint_dynamics.').rpartition('.')
    return f'{module}.{mangled.rpartition("__mutmut_")[0].removeprefix("x").strip("_ǁ").replace("ǁ", ".")}'


def explanations(text: str) -> dict[tuple[str, str, str], str]:
    """Return why mutants survive, by function and by the lines replaced and put there."""
    return {(one['function'], one['was'], one['becomes']): one['why'] for one in yaml.safe_load(text) or ()}


def reason_of(why: dict[tuple[str, str, str], str], function: str, was: str, becomes: str) -> str | None:
    """Return why a mutant survives, None where nobody says."""
    if STRICT in was and becomes in (was.replace(STRICT, other) for other in ('strict=None', 'strict=False', '')):
        return 'What is zipped has one length always; strict says so to the reader.'
    return why.get((function, was, becomes))


def sources(package: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield every function below a folder, named as `function_of` names it, with its lines without indentation."""
    for path in sorted(package.rglob('*.py')):
        text = path.read_text(encoding='utf-8')
        module = '.'.join(('joint_dynamics', *path.relative_to(package).with_suffix('').parts))
        tree = ast.parse(text)
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        for prefix, body in (('x_', tree.body), *((f'xǁ{node.name}ǁ', node.body) for node in classes)):
            for node in body:
                if isinstance(node, ast.FunctionDef):
                    getter = any(ast.unparse(one) in ('property', 'cached_property') for one in node.decorator_list)
                    name = f'{prefix}{"_get_" * getter}{node.name}'
                    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
                    yield function_of(f'{module}.{name}__mutmut_1'), {line.strip() for line in lines}


def stale(text: str, package: Path) -> list[str]:
    """Return what is wrong with explanations: of no function, of lines that it does not hold, or given twice."""
    lines = dict(sources(package))
    seen, found = set(), []
    for one in yaml.safe_load(text) or ():
        function, was, key = one['function'], one['was'], (one['function'], one['was'], one['becomes'])
        if function not in lines:
            found.append(f'{function}: expected a function of the package, found none of that name')
        elif missing := [line for line in was.splitlines() if line.strip() not in lines[function]]:
            found.append(f'{function}: expected a line of the function, found {missing[0]!r}')
        elif key in seen:
            found.append(f'{function}: expected one explanation of {one["becomes"]!r}, found two')
        seen.add(key)
    return found


def share_of(layers: list[str], left: float) -> float:
    """Return how long (s) the first of these layers may take of the time left for all of them."""
    shares = [SHARES.get(layer, 1.0) for layer in layers]
    return max(left, 0.0) * shares[0] / sum(shares)


def report(layers: list[str], seconds: dict[str, float]) -> str:
    """Return the table and the survivors, in Markdown."""
    rows = [
        '| layer | mutants | tried | killed | of these endless | survived | of these explained | reached by no test '
        '| killed % | s |',
        '| --- ' * 10 + '|',
    ]
    why = explanations(EXPLAINED.read_text(encoding='utf-8'))
    survivors, explained = [], []
    for layer in layers:
        total, found = outcomes(layer)
        left = sorted(name for name, status in found.items() if status in (SURVIVED, UNTESTED))
        untested = sum(found[name] == UNTESTED for name in left)
        endless = sum(status == ENDLESS for status in found.values())
        diffs = {name: difference(layer, name) for name in left}
        reasons = {name: reason_of(why, function_of(name), *changed(diff)) for name, diff in diffs.items()}
        known = sum(reason is not None for reason in reasons.values())
        killed = len(found) - len(left)
        share = 100.0 * killed / max(len(found), 1)
        rows.append(
            f'| {layer} | {total} | {len(found)} | {killed} | {endless} | {len(left) - untested} | {known} '
            f'| {untested} | {share:.1f} | {seconds[layer]:.0f} |'
        )
        for name, diff in diffs.items():
            text = f'```diff\n{diff}\n```'
            if reasons[name] is None:
                survivors.append(text)
            else:
                explained.append(f'{text}\n{reasons[name]}')
    rows.append(f'\n{sum(seconds.values()) / 60:.0f} minutes.')
    return '\n'.join([*rows, '', '# Survivors', *survivors, '', '# Survivors explained', *explained, ''])


def main() -> int:
    """Run the layers asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('layers', nargs='*', metavar='LAYER', help=f'of {", ".join(SAMPLES)}; without: all')
    parser.add_argument('--sample', type=int, default=0, help='mutants tried of each layer (default: see SAMPLES)')
    parser.add_argument('--seed', type=int, default=0, help='of the sample (default: 0)')
    parser.add_argument('--only', default='', metavar='REGEX', help='only mutants whose name matches')
    parser.add_argument('--files', default='**/*.py', help='only mutants of these files below the layer (a glob)')
    parser.add_argument(
        '--tests', nargs='+', default=[], metavar='PATH', help='only these tests (default: all of the layer)'
    )
    parser.add_argument('--workers', type=int, default=2, help='processes at once (default: 2)')
    parser.add_argument('--minutes', type=float, default=40.0, help='for the layers together (default: 40); see SHARES')
    options = parser.parse_args()
    if unknown := set(options.layers) - set(SAMPLES):
        parser.error(f'expected layers of {", ".join(SAMPLES)}, found {", ".join(sorted(unknown))}')
    if wrong := stale(EXPLAINED.read_text(encoding='utf-8'), ROOT / 'src' / 'joint_dynamics'):
        wrong.append(f'Mend or delete these in {EXPLAINED}.')
        print(*wrong, sep='\n', file=sys.stderr)
        return 2
    if not entry_points(group=LAWS):
        print(
            f'Expected joint_dynamics installed for {sys.executable} (make env), found no control law.', file=sys.stderr
        )
        return 2
    # Workers fill the cores already, and the recordings are where the repository has them.
    environment = {
        'JOINT_DYNAMICS_DATA': str(ROOT.parent / 'shared' / 'data'),
        **os.environ,
        'OPENBLAS_NUM_THREADS': '1',
    }
    seconds = {}
    layers = options.layers or list(SAMPLES)
    for position, layer in enumerate(layers):
        began = time.monotonic()
        sample = options.sample or (10**9 if options.only else SAMPLES[layer])
        allowed = share_of(layers[position:], 60.0 * options.minutes - sum(seconds.values()))
        arguments = ['--sample', sample, '--seed', options.seed, '--only', options.only, '--workers', options.workers]
        arguments += [
            '--seconds',
            'inf' if options.only else allowed,
            '--files',
            options.files,
            '--tests',
            *options.tests,
        ]
        folder = copy_of(layer)
        log = OUT / f'{layer}.log'
        print(f'{layer} … (at most {allowed:.0f} s; log: {log.relative_to(ROOT)})', flush=True)
        with log.open('w', encoding='utf-8') as file:
            done = subprocess.run(
                [sys.executable, ROOT / 'tools' / 'mutate_layer.py', layer, *map(str, arguments)],
                cwd=folder,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            print(f'{layer}: mutmut failed, see {log}', file=sys.stderr)
            return 2
        seconds[layer] = time.monotonic() - began
    text = report(layers, seconds)
    (OUT / 'survivors.md').write_text(text, encoding='utf-8')
    print(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
