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

"""NaN fails every check of a limit."""

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / 'src' / 'joint_dynamics'
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
NO_FLOATS = {
    'channels', 'columns', 'count', 'date', 'depth', 'every', 'joints', 'least', 'len', 'length', 'max_bytes',
    'max_nodes', 'MAX_NODES', 'MAX_POINTS', 'messages', 'monotonic', 'ndim', 'needed', 'nodes', 'now', 'operators',
    'order', 'periods', 'rows', 'samples', 'shape', 'size', 'st_size', 'ticks', 'waiting',
}  # fmt: skip
"""Counts, lengths of files, dates and times of the process's clock: never NaN."""


def passes_what_is_no_number(test):
    """Return comparisons of a refusal's condition that NaN passes."""
    if any(name in ast.unparse(test) for name in ('isfinite', 'isnan')):
        return []
    found, waiting = [], [(test, False)]
    while waiting:
        node, negated = waiting.pop()
        negated ^= isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if isinstance(node, ast.Compare) and any(isinstance(each, ORDERED) for each in node.ops) and not negated:
            words = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            words |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
            if not words & NO_FLOATS and not all(word.isupper() for word in words):
                found.append(node)
        waiting += [(child, negated) for child in ast.iter_child_nodes(node)]
    return found


def refusals(text):
    """Return line and comparison of each refusal that lets NaN pass."""
    return [
        f'{node.lineno}: {ast.unparse(each)}'
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.If) and any(isinstance(line, ast.Raise) for line in node.body)
        for each in passes_what_is_no_number(node.test)
    ]


@pytest.mark.parametrize(
    ('condition', 'passes'),
    [
        ('margin < -ROUNDING', True),
        ('speed > 0 and np.any(mass <= 0)', True),
        ('not margin >= -ROUNDING', False),
        ('not np.all(mass > 0)', False),
        ('not np.isfinite(mass) or mass <= 0', False),
        ('len(rows) < 3', False),
    ],
)
def test_recognises_comparisons_that_nan_passes(condition, passes):
    assert bool(refusals(f'if {condition}:\n    raise ValueError')) is passes


def test_no_refusal_lets_nan_pass():
    found = [
        f'{path.relative_to(SOURCES)}:{line}'
        for path in sorted(SOURCES.rglob('*.py'))
        for line in refusals(path.read_text())
    ]
    assert not found, 'write `not value <= limit`, which NaN fails:\n' + '\n'.join(found)
