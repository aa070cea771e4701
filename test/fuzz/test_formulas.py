"""Any text as the formula of a term: a function with finite values, or one error that says where."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from joint_dynamics.arm.term_columns import Formula
from joint_dynamics.errors import JointDynamicsError

_spec = importlib.util.spec_from_file_location('fuzz_tools', Path(__file__).with_name('conftest.py'))
tools = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tools)
pytestmark = pytest.mark.fuzz
Q, DQ = np.linspace(-3.0, 3.0, 7), np.linspace(2.0, -2.0, 7)
PARTS = [
    'q', 'dq', 'pi', '2', '9', '1e9', '1e-320', '+', '-', '*', '/', '**', '(', ')', 'sin(', 'exp(', 'log(', 'sqrt(',
    'abs(', ',', '.', ' ', '\n', '=', ':', '[', '"', "'", '__class__', 'lambda', 'if', 'else', '@', '~', '%', '٣',
]  # fmt: skip


@tools.CASES
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PARTS), max_size=30).map(''.join)))
@example('9**9**9**9')
@example('sin()')
@example('(' * 200 + 'q' + ')' * 200)
def test_any_text_as_a_formula(text):
    try:
        values = Formula(text, 'here')(Q, DQ)
    except JointDynamicsError as error:
        assert str(error).startswith('here: expected')
        assert '\n' not in str(error)
        assert len(str(error)) < 3000
    else:
        assert values.shape == Q.shape
        assert np.isfinite(values).all()
