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

"""The pages of docs/results are those of what the benches have kept, and what is quick to measure comes out again."""

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


def test_the_page_is_that_of_the_results(papers):
    page = papers.PAGE.read_text(encoding='utf-8')
    assert page == papers.filled(page, RESULTS), 'run: python bench/papers.py --page'


def test_tables_are_those_that_the_benches_kept(papers):
    pages = list(import_module('tables').pages())
    assert pages
    assert [str(path) for path, page, filled in pages if page != filled] == [], 'run: python bench/tables.py'


@pytest.mark.parametrize('paper', PAPERS)
def test_every_figure_was_measured_with_every_seed_or_says_why_not(papers, paper):
    source, result = papers.module(paper), RESULTS[paper]
    assert result['seeds'] == list(source.SEEDS)
    assert len(source.SEEDS) >= 3
    keys = [figure.key for figure in source.FIGURES if figure.key]
    assert len(set(keys)) == len(keys)
    for figure in source.FIGURES:
        assert figure.place and figure.what and figure.why
        if figure.key:
            assert len(result['values'][figure.key]) == len(source.SEEDS), figure.key
    assert set(PAPERS) == set(papers.MODULES) == set(RESULTS)


@pytest.mark.parametrize(
    ('paper', 'part'), [('H', 'measure'), ('A', 'trapezoid'), ('A', 'inertia')], ids=lambda value: value
)
def test_the_quick_ones_come_out_again(papers, paper, part):
    """To the six digits that are kept, of which another processor or version of numpy may round the last three."""
    found = getattr(papers.module(paper), part)(0)
    kept = {key: RESULTS[paper]['values'][key][0] for key in found}
    assert found == pytest.approx(kept, rel=1e-3, abs=1e-6)
