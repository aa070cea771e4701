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

"""Mutations of inputs: values anywhere in a document, pieces of a text, bits of a file."""

import copy

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

NIGHTLY = settings.default.max_examples >= 10_000
CASES = settings(
    max_examples=10_000 if NIGHTLY else 100,
    deadline=None,
    derandomize=not NIGHTLY,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
HUGE = [10**400, -(10**30), 1e300, -1e300, 1e308, 5e-324, float('inf'), float('nan'), 2**63, 0, -1]
WORDS = [
    '', 'on', 'joint_1', '9**9**9**9', 'sin()', '2026-01-01', '{joint}', '../x', '\0', 'nan', '1e400', '*a', '!!int x',
]  # fmt: skip
PLAIN = st.none() | st.booleans() | st.integers(-10, 10) | st.sampled_from(HUGE)
JUNK = st.recursive(
    st.one_of(PLAIN, st.floats(), st.text(max_size=8), st.sampled_from(WORDS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(max_size=6), st.integers(0, 3), st.booleans()), inner, max_size=3),
    ),
    max_leaves=6,
)


def places(document, path=()):
    """Return the paths of all values in a document."""
    found = [path]
    if isinstance(document, dict):
        for key, value in document.items():
            found += places(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            found += places(value, (*path, index))
    return found


def changed(document, changes):
    """Return a copy with some values replaced by others, deleted, or swapped for another part.

    `changes`: (place 0…1, action, value).
    """
    document = copy.deepcopy(document)
    for place, action, value in changes:
        paths = places(document)
        path = paths[min(int(place * len(paths)), len(paths) - 1)]
        if not path:
            if action == 'replace':
                document = copy.deepcopy(value)
            continue
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        if action == 'delete':
            del holder[path[-1]]
        elif action == 'add' and isinstance(holder, dict):
            holder[str(value)[:10]] = copy.deepcopy(value)
        else:
            holder[path[-1]] = copy.deepcopy(value)
    return document


CHANGES = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(['replace', 'replace', 'delete', 'add']), JUNK), min_size=1, max_size=3
)
MARKS = [
    '<', '>', '"', '/', '&', '<!--', ']]>', '<!DOCTYPE a>', '[' * 80, '{a: ' * 80, '- ' * 80, '<a>' * 80, 'nan',
    'inf', '-1', '1e308', '1e-320', '9' * 400, ',', ',,', '\n', '\n\n', '\0', '\ufeff', '\r', ':', '&a ', '*a', '!!',
    '%', 'name="j1"', 'link="l1"', 'e', '.', '-',
]  # fmt: skip
PIECES = st.one_of(st.text(max_size=6), st.sampled_from(MARKS))
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), PIECES), min_size=1, max_size=4)


def edited(text, edits):
    """Return the text with pieces cut out and put in; `edits`: (place 0…1, characters to cut, text to put in)."""
    for place, cut, piece in edits:
        at = int(place * len(text))
        text = text[:at] + piece + text[at + cut :]
    return text


def damaged(content, flips, cut=None):
    """Return bytes with bits flipped at places 0…1, and cut off at a place."""
    content = bytearray(content)
    for place, bit in flips:
        content[min(int(place * len(content)), len(content) - 1)] ^= 1 << bit
    return bytes(content if cut is None else content[: int(cut * len(content))])
