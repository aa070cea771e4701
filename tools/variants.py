"""The numeric tests as they would run on other machines: a table of variant, area and result.

    python tools/variants.py                                every variant, every area (hours on two cores)
    python tools/variants.py --variants prescott one-core --areas signals joint
    python tools/variants.py --together                     what does not exclude each other at once: three runs
    python tools/variants.py --together 'nehalem, threads'  the one of these
    python tools/variants.py --python other/bin/python      another interpreter, with other versions of the libraries

Every area is a process of its own, once. Printed, and kept in out/variants/table.md beside what each run said. The
status is 1 where something failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / 'out' / 'variants'
AREAS = (
    'signals',
    'joint',
    'robot',
    'oracle',
    'identification',
    'estimation',
    'control',
    'excitation',
    'arm',
    'simulation',
    'description',
    'recording',
    'cli',
)
# What `make test` runs.
DAILY = 'not nightly and not slow'
ONE_CORE = 'one core'
FEATURES = 'features'
# OPENBLAS_CORETYPE picks the kernels of another processor where this one has their instructions.
VARIANTS: dict[str, dict[str, str]] = {
    'plain': {},
    'haswell': {'OPENBLAS_CORETYPE': 'Haswell'},
    'skylakex': {'OPENBLAS_CORETYPE': 'SkylakeX'},
    'zen': {'OPENBLAS_CORETYPE': 'Zen'},
    'nehalem': {'OPENBLAS_CORETYPE': 'Nehalem'},
    'prescott': {'OPENBLAS_CORETYPE': 'Prescott'},
    'no-avx': {FEATURES: ''},
    'generic': {'NUMBA_CPU_NAME': 'generic'},
    'threads': {'OPENBLAS_NUM_THREADS': '4'},
    'hash': {'PYTHONHASHSEED': '12345'},
    'one-core': {ONE_CORE: ''},
}
TOGETHER: dict[str, dict[str, str]] = {
    'prescott, no-avx, generic, one-core, hash': {
        name: value
        for key in ('prescott', 'no-avx', 'generic', 'one-core', 'hash')
        for name, value in VARIANTS[key].items()
    },
    'nehalem, threads': {**VARIANTS['nehalem'], **VARIANTS['threads']},
    'skylakex': VARIANTS['skylakex'],
}


def features_of(python: str) -> str:
    """Return what NPY_DISABLE_CPU_FEATURES calls AVX2 and what came after it, by numpy's version."""
    program = 'import numpy; print(*numpy.__version__.split(".")[:2])'
    done = subprocess.run([python, '-c', program], capture_output=True, text=True, check=True)
    newer = tuple(int(part) for part in done.stdout.split()) >= (2, 4)
    return 'X86_V3 X86_V4' if newer else 'AVX512F AVX512CD AVX512_SKX AVX2 FMA3'


def run(python: str, name: str, settings: dict[str, str], area: str, features: str) -> tuple[str, bool]:
    """Run one area once; return pytest's last line and whether it passed."""
    changed = {key: value for key, value in settings.items() if key not in (ONE_CORE, FEATURES)}
    environment = {'OPENBLAS_NUM_THREADS': '1', **os.environ, **changed}
    if FEATURES in settings:
        environment['NPY_DISABLE_CPU_FEATURES'] = features
    # Compiled kernels of another processor are no kernels for this variant.
    environment['NUMBA_CACHE_DIR'] = str(OUT / 'numba' / name.replace(', ', '+'))
    first = {min(os.sched_getaffinity(0))}
    log = OUT / f'{name.replace(", ", "+")}-{area}.log'
    with log.open('w', encoding='utf-8') as file:
        done = subprocess.run(
            [python, '-m', 'pytest', '-p', 'no:cacheprovider', '-q', '-m', DAILY, f'test/{area}'],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
            preexec_fn=(lambda: os.sched_setaffinity(0, first)) if ONE_CORE in settings else None,
        )
    lines = log.read_text(encoding='utf-8', errors='replace').strip().splitlines()
    return (lines[-1].strip('= ') if lines else 'nothing said'), done.returncode == 0


def main() -> int:
    """Run what was asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--variants', nargs='+', choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument('--areas', nargs='+', choices=AREAS, default=list(AREAS))
    parser.add_argument(
        '--together', nargs='*', choices=list(TOGETHER), help='combinations (without a name: all) instead of variants'
    )
    parser.add_argument('--python', default=sys.executable, help='interpreter with the package installed')
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if options.together is None:
        chosen = {name: VARIANTS[name] for name in options.variants}
    else:
        chosen = {name: TOGETHER[name] for name in options.together or TOGETHER}
    features = features_of(options.python)
    rows, red = ['| variant | area | result | s |', '| --- | --- | --- | --- |'], 0
    for name, settings in chosen.items():
        for area in options.areas:
            began = time.monotonic()
            said, passed = run(options.python, name, settings, area, features)
            red += not passed
            rows.append(f'| {name} | {area} | {"" if passed else "**red** "}{said} | {time.monotonic() - began:.0f} |')
            print(rows[-1], flush=True)
            (OUT / 'table.md').write_text('\n'.join([*rows, '']), encoding='utf-8')
    return 1 if red else 0


if __name__ == '__main__':
    sys.exit(main())
