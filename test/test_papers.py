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

"""The pages have the kept figures, and quick figures are reproduced."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = json.loads((ROOT / 'bench' / 'published' / 'results.json').read_text(encoding='utf-8'))
PAPERS = ('M', 'G', 'H', 'L', 'A')


@pytest.fixture(scope='module')
def papers():
    sys.path.insert(0, str(ROOT / 'bench'))
    yield import_module('papers')
    sys.path.remove(str(ROOT / 'bench'))


def test_page_of_the_papers_has_the_kept_figures(papers):
    page = papers.PAGE.read_text(encoding='utf-8')
    assert page == papers.filled(page, RESULTS), 'run: python bench/papers.py --page'


def test_pages_have_the_kept_tables(papers):
    pages = list(import_module('tables').pages())
    assert pages
    assert [str(path) for path, page, filled in pages if page != filled] == [], 'run: python bench/tables.py'


@pytest.mark.parametrize('paper', PAPERS)
def test_every_figure_has_a_value_for_every_seed(papers, paper):
    seeds, result = list(papers.module(paper).SEEDS), RESULTS[paper]
    assert result['seeds'] == seeds
    keys = [figure['key'] for figure in papers.FIGURES[paper]['figures'] if 'key' in figure]
    assert len(set(keys)) == len(keys)
    assert [key for key in keys if len(result['values'][key]) != len(seeds)] == []


@pytest.mark.parametrize(('paper', 'part'), [('H', 'measure'), ('A', 'trapezoid')], ids=lambda value: value)
def test_quick_figures_are_reproduced(papers, paper, part):
    """To three of the six kept digits; processors and versions of numpy round the others."""
    found = getattr(papers.module(paper), part)(0)
    kept = {key: RESULTS[paper]['values'][key][0] for key in found}
    assert found == pytest.approx(kept, rel=1e-3, abs=1e-6)
