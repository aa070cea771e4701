"""Explanations of mutants that survive: each is of something that stands in the source, and stale ones are refused."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOL = ROOT / 'tools' / 'mutants.py'
PACKAGE = ROOT / 'src' / 'joint_dynamics'

pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason='tools/ is not beside the tests')


@pytest.fixture(scope='module')
def mutants():
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location('mutants', TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path):
    """A package of one function and one class with a method and a getter."""
    (tmp_path / 'arm').mkdir()
    (tmp_path / 'arm' / 'reach.py').write_text(
        'def _far(x):\n    return x > 1\n\n\n'
        'class Reach:\n    def __init__(self):\n        self.x = 2\n\n'
        '    @property\n    def long(self):\n        return self.x > 3\n'
    )
    return tmp_path


def entry(function, was, becomes='something else'):
    return f'- function: {function}\n  was: {was}\n  becomes: {becomes}\n  why: no matter\n'


def test_every_explanation_is_of_lines_that_stand_in_the_source(mutants):
    assert mutants.stale(mutants.EXPLAINED.read_text(encoding='utf-8'), PACKAGE) == []


def test_functions_methods_and_getters_are_found_as_the_mutants_name_them(mutants, package):
    text = ''.join(
        [
            entry('arm.reach.far', 'return x > 1'),
            entry('arm.reach.Reach.__init', 'self.x = 2'),
            entry('arm.reach.Reach._get_long', 'return self.x > 3'),
        ]
    )
    assert mutants.stale(text, package) == []
    for name, function in (
        ('x__far', 'far'),
        ('xǁReachǁ__init__', 'Reach.__init'),
        ('xǁReachǁ_get_long', 'Reach._get_long'),
    ):
        assert mutants.function_of(f'joint_dynamics.arm.reach.{name}__mutmut_7') == f'arm.reach.{function}'


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        (entry('arm.reach.near', 'return x > 1'), 'arm.reach.near: expected a function'),
        (entry('arm.reach.far', 'return x > 2'), "found 'return x > 2'"),
        (entry('arm.reach.far', 'self.x = 2'), "found 'self.x = 2'"),
        (2 * entry('arm.reach.far', 'return x > 1'), "one explanation of 'something else', found two"),
    ],
)
def test_what_is_stale_is_named(mutants, package, text, said):
    (found,) = mutants.stale(text, package)
    assert said in found


def test_the_tool_refuses_stale_explanations_before_it_runs_anything(mutants, tmp_path, monkeypatch, capsys):
    explained = mutants.ROOT / 'tools' / 'mutants_explained.yaml'
    broken = tmp_path / 'explained.yaml'
    broken.write_text(explained.read_text(encoding='utf-8') + entry('arm.reach.near', 'return x > 1'))
    monkeypatch.setattr(mutants, 'EXPLAINED', broken)
    monkeypatch.setattr(mutants, 'OUT', tmp_path / 'out')
    monkeypatch.setattr('sys.argv', ['mutants.py', 'arm'])
    assert mutants.main() == 2
    assert 'arm.reach.near' in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()
