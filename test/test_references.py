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

"""Every source that a docstring or page names is on docs/explanation/references.md, and none that nobody names."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / 'docs' / 'explanation' / 'references.md').read_text(encoding='utf-8')
KEY = r'(?:M[2-6]?|G|H|L|A|patent [12])'
PLACE = r'(?:eq|eqs|fig|figs|table|tables|ch|chapter|par|§|[IVX]+\b|\d)'
#: A bracket that begins with a key and a place, or is a key alone, or several of them: [M6 eq 24; H IV.B], [M5, G].
BRACKET = re.compile(rf'\[({KEY}(?:,? {PLACE}[^\]]*)?(?:[,;] {KEY}[^\]]*)*)\]')
WORDS = r'(?:[A-Z][a-zé-]*[A-ZÀ-Ža-zà-ž]+)'
YEAR = re.compile(rf'({WORDS}(?:,? (?:and )?{WORDS})*(?: et al\.?)?),? \(?((?:19|20)\d\d)\)?')


def texts():
    pages = [path for path in (ROOT / 'docs').rglob('*.md') if path.name != 'references.md']
    for path in [*sorted((ROOT / 'src').rglob('*.py')), *sorted(pages)]:
        yield path.relative_to(ROOT), re.sub(r'\s*\n\s*(?:# ?)?', ' ', path.read_text(encoding='utf-8'))


def keys_named():
    for path, text in texts():
        for bracket in BRACKET.findall(text):
            for part in re.split(r'[,;] ', bracket):
                found = re.match(rf'{KEY}(?= |$)', part)
                if found:
                    yield path, found.group()


def test_keys_are_explained():
    explained = set(re.findall(rf'\*\*\[({KEY})\]\*\*', PAGE))
    named = list(keys_named())
    assert len(named) > 100
    assert sorted({(str(path), key) for path, key in named if key not in explained}) == []
    assert explained <= {key for _, key in named} | {'M'}


def test_authors_and_years_are_there():
    listed = {(name.split()[0].rstrip(','), year) for name, year in YEAR.findall(PAGE)}
    missing = [
        (str(path), name, year)
        for path, text in texts()
        for name, year in YEAR.findall(text)
        if ('and' in name or 'et al' in name) and (name.split()[0].rstrip(','), year) not in listed
    ]
    assert missing == []
