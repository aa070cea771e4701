"""What the package refuses it refuses in one form: what was expected, what was found, and what helps."""

import ast
import pickle
import re
from pathlib import Path

import pytest

import joint_dynamics
from joint_dynamics.errors import JointDynamicsError, NotReliableError

ROOT = Path(joint_dynamics.__file__).parent
OLD = re.compile(r'must (be|have|not|name|come)|has to be|should be|cannot be read|unknown')


def refusals():
    """Yield file, line and text (placeholders as {}) of every JointDynamicsError that is made."""
    for path in sorted(ROOT.rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'JointDynamicsError' and node.args:
                yield path.relative_to(ROOT).as_posix(), node.lineno, text_of(node.args[0])


def text_of(node):
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return ''.join(text_of(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return '{}'


REFUSALS = list(refusals())


def test_there_are_refusals():
    assert len(REFUSALS) > 200


@pytest.mark.parametrize(('file', 'line', 'text'), REFUSALS, ids=lambda value: str(value)[:40])
def test_every_refusal_says_what_was_expected_and_what_was_found(file, line, text):
    words = text.replace('{}', '').strip(' :()[];,')
    assert ('expected' in text and 'found' in text) or not words, f'{file}:{line}: {text}'
    assert not OLD.search(text), f'{file}:{line}: {text}'


def test_an_error_is_one_line_and_steers_no_terminal():
    """Whatever a name from outside holds."""
    for given, shown in (
        ("found 'a\n b'", "found 'a b'"),
        ('found \x1b[2Jgone', r'found \x1b[2Jgone'),
        ('found \ud800', r'found \ud800'),
        ('τ̂ of 3 N·m at 20 °C', 'τ̂ of 3 N·m at 20 °C'),
    ):
        assert str(JointDynamicsError(given)) == shown
        assert str(NotReliableError(given)) == shown
    again = pickle.loads(pickle.dumps(JointDynamicsError('a\nb')))
    assert (str(again), again.args) == ('a b', ('a b',))
