"""docs/reference/safety.md: every hazard has a guard where the page says it is, and a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / 'docs' / 'reference' / 'safety.md').read_text(encoding='utf-8')
HEADER = ['hazard', 'guard', 'where', 'test']


def rows():
    """The rows of all tables, header and rule left out."""
    found = [
        [cell.strip() for cell in line.strip('|\n').split(' | ')] for line in PAGE.splitlines() if line[:2] == '| '
    ]
    return [[cell.strip() for cell in row] for row in found if row != HEADER and not row[0].startswith('---')]


ROWS = rows()


@cache
def names_in(path):
    """All classes and functions of a file, methods as Class.method."""
    found = set()
    for item in ast.parse(path.read_text(encoding='utf-8')).body:
        if isinstance(item, (ast.ClassDef, ast.FunctionDef)):
            found.add(item.name)
        if isinstance(item, ast.ClassDef):
            found |= {f'{item.name}.{part.name}' for part in item.body if isinstance(part, ast.FunctionDef)}
    return found


def references(cell):
    """(file, name) of every `file::name` of a cell, which holds nothing else."""
    named = re.findall(r'`([^`:]+\.py)::([\w.]+)`', cell)
    assert named
    assert re.fullmatch(r'`[^`]+`(, `[^`]+`)*', cell), cell
    assert len(named) == cell.count('`') / 2, cell
    return named


@pytest.mark.parametrize('row', ROWS, ids=[re.sub(r'\W+', ' ', row[0])[:40].strip() for row in ROWS])
def test_guard_and_test_of_a_hazard_exist(row):
    assert len(row) == len(HEADER), row
    hazard, guard, where, tests = row
    assert hazard
    assert guard
    for file, name in references(where):
        assert name in names_in(ROOT / 'src' / 'joint_dynamics' / file), f'{file} has no {name}'
    for file, name in references(tests):
        assert name.startswith('test_')
        assert name in names_in(ROOT / file), f'{file} has no {name}'
