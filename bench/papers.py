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

"""The headline figures of the five papers beside ours: measured, kept, and written into docs/results/papers.md.

`make papers`, or `python bench/papers.py [G H L A M]`: measures those papers (all without a name, some minutes), keeps
the values with their seeds in bench/published/results.json, and writes the table between the markers of the page.
`python bench/papers.py --page` only writes the table. The printed figures are in bench/published/figures.yaml.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import yaml

RESULTS = Path(__file__).parent / 'published' / 'results.json'
PAGE = Path(__file__).parents[1] / 'docs' / 'results' / 'papers.md'
MODULES = {'M': 'madsen', 'G': 'gautier', 'H': 'hamon', 'L': 'li', 'A': 'aalst'}
FIGURES = yaml.safe_load((RESULTS.parent / 'figures.yaml').read_text(encoding='utf-8'))
HEADER = '| place | figure | theirs | ours | why they differ |\n| --- | --- | --- | --- | --- |\n'
MARKED = re.compile(r'(<!-- papers -->\n).*?(<!-- end -->)', re.DOTALL)


def kept() -> dict[str, Any]:
    """Return the results of the last run, by paper."""
    return json.loads(RESULTS.read_text(encoding='utf-8')) if RESULTS.exists() else {}


def module(paper: str) -> ModuleType:
    """Return the module that measures the figures of a paper."""
    return import_module(f'published.{MODULES[paper]}')


def measured(paper: str) -> dict[str, Any]:
    """Measure all figures of a paper; return values by key, seeds, processor time [s] and versions."""
    source, values = module(paper), {}
    begin = time.process_time()
    for seed in source.SEEDS:
        for key, value in source.measure(seed).items():
            values.setdefault(key, []).append(float(f'{value:.6g}'))
        print(f'{paper}: seed {seed}, {time.process_time() - begin:.0f} s of processor time', flush=True)
    return {
        'seeds': list(source.SEEDS),
        'values': values,
        'processor_seconds': round(time.process_time() - begin),
        'with': {name: version(name) for name in ('numpy', 'scipy', 'pin')} | {'python': platform.python_version()},
    }


def row(figure: dict[str, str], values: dict[str, list[float]]) -> str:
    """Return a row of the table: the median over the seeds, and the range where they differ."""
    ours = '–'
    if 'key' in figure:
        middle, low, high = (figure['form'].format(f(values[figure['key']])) for f in (np.median, min, max))
        # the unit once
        low, high = (text.partition(' ')[0] for text in (low, high))
        ours = middle if low == high else f'{middle} ({low} … {high})'
        ours = ours.replace('-', '−')
    cells = (figure['place'], figure['figure'], figure.get('theirs', '–'), ours, figure['why'])
    return '| ' + ' | '.join(cell.replace('|', '\\|') for cell in cells) + ' |'


def tables(results: dict[str, Any]) -> str:
    """Return the tables of all papers as Markdown."""
    parts = []
    for paper, printed in FIGURES.items():
        seeds, values = results[paper]['seeds'], results[paper]['values']
        plant = f'{printed["plant"]}; {len(seeds)} seeds ({seeds[0]} to {seeds[-1]})'
        rows = '\n'.join(row(figure, values) for figure in printed['figures'])
        parts.append(f'## {printed["title"]}\n{plant[0].upper()}{plant[1:]}.\n\n{HEADER}{rows}\n')
    return '\n'.join(parts)


def filled(page: str, results: dict[str, Any]) -> str:
    """Return the page with the tables between its markers."""
    return MARKED.sub(lambda match: f'{match.group(1)}\n{tables(results)}\n{match.group(2)}', page)


def main(arguments: list[str]) -> None:
    """Measure the papers named (all without a name), keep the values, write the page."""
    unknown = [name for name in arguments if name not in (*MODULES, '--page')]
    if unknown:
        sys.exit(f'papers: expected some of {", ".join(MODULES)}, or --page, found {", ".join(unknown)}')
    for paper in [] if '--page' in arguments else arguments or MODULES:
        found = measured(paper)
        results = {**kept(), paper: found}
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + '\n', encoding='utf-8')
    PAGE.write_text(filled(PAGE.read_text(encoding='utf-8'), kept()), encoding='utf-8')


if __name__ == '__main__':
    main(sys.argv[1:])
