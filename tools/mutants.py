"""Mutation testing of the numeric layers: what share of small faults put into a layer its own tests find.

    python tools/mutants.py                          all layers, samples as below (about 40 minutes on two cores)
    python tools/mutants.py robot joint --sample 50  these layers, 50 mutants each
    python tools/mutants.py robot --only 'mdh'       those whose name matches a regular expression, all of them

mutmut makes the mutants (functions and methods; not what is decorated, nor module-level constants) and runs, for each, those of the layer's own tests
(test/LAYER and test/oracle/test_LAYER*.py) that pass through the mutated function. The sample is drawn with a seed from the sorted names, so that the
same source gives the same sample. Everything happens in copies under out/mutants; the repository is not touched. Printed, and kept in
out/mutants/survivors.md: a table, and each survivor as a diff.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / 'out' / 'mutants'
COPIED = (
    'src',
    'test',
    'docs',
    'config',
    'launch',
    'bench',
    'resource',
    'pyproject.toml',
    'setup.cfg',
    'setup.py',
    'package.xml',
    'README.md',
)
# How many mutants of each layer are tried by default: about as much time for each.
SAMPLES = {'robot': 150, 'joint': 150, 'signals': 80, 'identification': 60, 'estimation': 60, 'control': 80}
# A mutant was found when a test failed, ran far longer than without it, or when the test run itself broke.
SURVIVED, UNTESTED = 'survived', 'no tests'


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


def run_layer(layer: str, sample: int, seed: int, only: str, workers: int) -> None:
    """Make and try the mutants of one layer; the working directory is its copy."""
    import mutmut.__main__ as mutmut

    configuration = mutmut.config()
    configuration.only_mutate = [f'src/joint_dynamics/{layer}/*']
    oracles = sorted(str(path) for path in Path('test/oracle').glob(f'test_{layer}*.py'))
    configuration.pytest_add_cli_args_test_selection = [f'test/{layer}', *oracles]
    collect = mutmut.collect_source_file_mutation_data

    def sampled(*, mutant_names):
        mutants, data = collect(mutant_names=mutant_names)
        mutants = sorted((mutant for mutant in mutants if re.search(only, mutant[1])), key=lambda mutant: mutant[1])
        print(f'{layer}: {len(mutants)} mutants')
        return random.Random(seed).sample(mutants, min(sample, len(mutants))), data

    mutmut.collect_source_file_mutation_data = sampled
    mutmut._run((), workers)


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
    done = subprocess.run(
        [sys.executable, '-m', 'mutmut', 'show', name], cwd=OUT / layer, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def report(layers: list[str], seconds: dict[str, float]) -> str:
    """Return the table and the survivors, in Markdown."""
    rows = [
        '| layer | mutants | tried | killed | survived | reached by no test | killed % | s |',
        '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ]
    survivors = []
    for layer in layers:
        total, found = outcomes(layer)
        left = sorted(name for name, status in found.items() if status in (SURVIVED, UNTESTED))
        untested = sum(found[name] == UNTESTED for name in left)
        killed = len(found) - len(left)
        share = 100.0 * killed / max(len(found), 1)
        rows.append(
            f'| {layer} | {total} | {len(found)} | {killed} | {len(left) - untested} | {untested} | {share:.1f} | {seconds[layer]:.0f} |'
        )
        survivors += [f'```diff\n{difference(layer, name)}\n```' for name in left]
    return '\n'.join([*rows, '', *survivors, ''])


def main() -> int:
    """Run the layers asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('layers', nargs='*', metavar='LAYER', help=f'of {", ".join(SAMPLES)}; without: all')
    parser.add_argument('--sample', type=int, default=0, help='mutants tried of each layer (default: see SAMPLES)')
    parser.add_argument('--seed', type=int, default=0, help='of the sample (default: 0)')
    parser.add_argument('--only', default='', metavar='REGEX', help='only mutants whose name matches')
    parser.add_argument('--workers', type=int, default=2, help='processes at once (default: 2)')
    parser.add_argument('--in-copy', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.layers) - set(SAMPLES):
        parser.error(f'expected layers of {", ".join(SAMPLES)}, found {", ".join(sorted(unknown))}')
    layers = options.layers or list(SAMPLES)
    sample = options.sample or (10**9 if options.only else 0)
    if options.in_copy:
        run_layer(layers[0], sample or SAMPLES[layers[0]], options.seed, options.only, options.workers)
        return 0
    # Workers fill the cores already, and the recordings are where the repository has them.
    environment = {
        'JOINT_DYNAMICS_DATA': str(ROOT.parent / 'shared' / 'data'),
        **os.environ,
        'OPENBLAS_NUM_THREADS': '1',
    }
    seconds = {}
    for layer in layers:
        began = time.monotonic()
        arguments = [
            '--sample',
            str(sample),
            '--seed',
            str(options.seed),
            '--only',
            options.only,
            '--workers',
            str(options.workers),
        ]
        folder = copy_of(layer)
        log = OUT / f'{layer}.log'
        print(f'{layer} … (log: {log.relative_to(ROOT)})', flush=True)
        with log.open('w', encoding='utf-8') as file:
            done = subprocess.run(
                [sys.executable, __file__, layer, '--in-copy', *arguments],
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
