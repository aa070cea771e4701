"""docs/explanation/safety.md: every hazard has a guard where the page says it is, and a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / 'docs' / 'explanation' / 'safety.md').read_text(encoding='utf-8')
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


def test_the_hazards_the_page_is_for_are_on_it():
    hazards = ' '.join(row[0].lower() for row in ROWS)
    for hazard in (
        'runaway compensation',
        'stale input',
        'wrong order',
        'wrong unit',
        'gravity twice',
        'wrong payload',
        'encoder jump',
        'adaptation on contact',
        'clock',
        "another robot's description",
    ):
        assert f'**{hazard}**' in hazards


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


def test_every_table_has_these_columns():
    headers = [line for line in PAGE.splitlines() if line.startswith('| hazard')]
    assert len(headers) == len(re.findall(r'^\| --- ', PAGE, flags=re.MULTILINE)) == 5
    assert set(headers) == {'| ' + ' | '.join(HEADER) + ' |'}


def test_what_the_prose_names_exists():
    prose = '\n'.join(line for line in PAGE.splitlines() if not line.startswith('|'))
    files = re.findall(r'`([\w/]+\.py)`', prose)
    assert 'nodes/framework/heartbeat.py' in files
    for file in files:
        assert (ROOT / 'src' / 'joint_dynamics' / file).is_file(), file
