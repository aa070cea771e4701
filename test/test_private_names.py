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

"""Tests know the package by its public names: what starts with an underscore may change without asking them."""

import ast
from pathlib import Path

import pytest

import joint_dynamics

ROOT = Path(joint_dynamics.__file__).parent
TESTS = sorted(Path(__file__).parent.rglob('*.py'))


def parsed(path):
    return ast.walk(ast.parse(path.read_text(encoding='utf-8')))


def private(name):
    return name.startswith('_') and not name.startswith('__') and len(name) > 1


def defined():
    """Return the private names of the package: functions, classes, variables and attributes."""
    found = set()
    for path in ROOT.rglob('*.py'):
        for node in parsed(path):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
                found.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    return set(filter(private, found))


OURS = defined()


def reached(tree):
    """Yield line and name of every attribute, import and text, as for setattr, that is private to the package.

    What a class in a test calls its own, through `self` or `cls`, is its own.
    """
    nodes = list(tree)
    within = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Attribute) and getattr(node.value, 'id', '') not in ('self', 'cls'):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            names = [node.value]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name in OURS)


@pytest.mark.parametrize('path', TESTS, ids=lambda path: path.name)
def test_no_test_reaches_into_what_is_private(path):
    assert list(reached(parsed(path))) == []


def test_reaching_in_is_seen():
    assert len(OURS) > 500
    name = min(OURS)
    for text in (f'part.{name} = 1', f'from joint_dynamics.arm import {name}', f"setattr(part, '{name}', 1)"):
        assert [found for _, found in reached(ast.walk(ast.parse(text)))] == [name]
    assert not list(reached(ast.walk(ast.parse(f'self.{name} = part._replace(a=1)'))))
