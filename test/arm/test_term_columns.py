"""Formulas of terms: what they compute, and what they never do."""

import numpy as np
import pytest

from joint_dynamics.arm.term_columns import FUNCTIONS, Formula
from joint_dynamics.arm.terms import function_term, terms_from_config
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings

Q, DQ = np.linspace(-2, 2, 50), np.linspace(1, -1.5, 50)


@pytest.mark.parametrize('text', [
    'sin(q) / sqrt(1.2 - cos(q))', 'sign(dq) * abs(dq)**0.5', '-q**2 + 3*q - pi/2', '2**-q', 'exp(-(dq/0.4)**2)',
    'arctan(50*dq)', '1', ' q ', '+dq', 'tanh(q)*log(abs(q) + 1)', '1e-3*q**3', '--q',
])  # fmt: skip
def test_values_are_those_of_python(text):
    known = {name: getattr(np, name) for name in FUNCTIONS}
    expected = eval(text.strip(), {'__builtins__': {}}, {**known, 'pi': np.pi, 'q': Q, 'dq': DQ})
    np.testing.assert_allclose(Formula(text, 'here')(Q, DQ), np.broadcast_to(expected, Q.shape), rtol=1e-14)
    np.testing.assert_array_equal(function_term('a', text).values(Q, DQ)[0], Formula(text, 'here')(Q, DQ))


BAD = [
    '9**9**9**9', '9**9**9', '2**(10**10)', 'q**1e6', 'sin()', 'sin(q, dq)', 'sin(x=q)', 'sin(*q)', 'sin', 'sin + q',
    'q(dq)', 'x', '', 'q +', '__import__("os")', 'q.real', 'q[0]', 'True', '1j', '"a"', 'lambda: q',
    '[q for q in q]', 'q if q else dq', 'q < dq', 'q @ dq', 'q // 2', 'q % 2', '~q', 'q; dq', 'q\ndq', 'q := 1',
    '(' * 230 + 'q' + ')' * 230, '-' * 400 + 'q', '+'.join(['q'] * 200), 'q' * 600, '9' * 450, '\0', '\ud800',
    'log(0*q)', 'sqrt(-1 - q*q)', 'pi()', 'yield q', 'await q', 'nan', '1if q', '1if q else 2', '2or q',
]  # fmt: skip


@pytest.mark.parametrize('text', BAD, ids=lambda text: text[:12].encode('unicode_escape').decode())
def test_what_is_no_formula_is_one_clear_error(text, recwarn):
    with pytest.raises(JointDynamicsError, match=r'^terms.a.function: expected') as caught:
        terms_from_config({'a': [{'function': text}]})
    assert '\n' not in str(caught.value) and not list(recwarn)


ALLOWED = 'q, dq, pi, numbers, + - * / ** and sin, cos, tan, sqrt, exp, log, abs, sign, tanh, arctan of one argument'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('q' * 501, 'expected a formula of at most 500 characters, found 501'),
        ('q +', "expected a formula in q and dq, found 'q +'"),
        ('+'.join(['q'] * 100), f'expected a formula of at most 200 parts, found {"+".join(["q"] * 100)!r}'),
        (
            'log(0*q)',
            "expected a formula with finite values, found 'log(0*q)', which is no number for q = -2, -0.7, 0.3, 1.1,"
            ' 2.9 rad',
        ),
        ('x', f"expected {ALLOWED}, found 'x'"),
        ('sin(q, dq)', "expected one argument of sin, found 2 in 'sin(q, dq)'"),
        ('sin(q, x=q)', "expected one argument of sin, found 2 in 'sin(q, x=q)'"),
        ('sin()', "expected one argument of sin, found 0 in 'sin()'"),
        ('sin(*q)', "expected one argument of sin, found 1 in 'sin(*q)'"),
        ('q**20.5', "expected exponents of at most 20, found 20.5 in 'q**20.5'"),
        # of any value the variables may have, here −2 and 2.1
        ('2**(10*q + 1)', "expected exponents of at most 20, found 30 in '2**(10*q + 1)'"),
        ('9**(0*log(0*q))', "expected exponents of at most 20, found nan in '9**(0*log(0*q))'"),
    ],
    ids=lambda text: text[:20],
)
def test_a_mistake_is_named_in_one_line(text, message):
    with pytest.raises(JointDynamicsError) as caught:
        Formula(text, 'here')
    assert str(caught.value) == f'here: {message}'


def test_the_longest_formulas_are_taken():
    np.testing.assert_allclose(Formula(' ' * 499 + 'q', 'here')(Q, DQ), Q)
    np.testing.assert_allclose(Formula('q**20', 'here')(Q, DQ), Q**20)
    # one part for the formula as a whole, and of each sum an operation, its kind and two summands with what they are
    np.testing.assert_allclose(Formula('+'.join(['q'] * 40), 'here')(Q, DQ), 40 * Q)
    assert Formula('2', 'here')(Q, DQ).shape == Q.shape
    assert Formula('q', 'here').text == 'q'


def test_a_formula_without_a_value_somewhere_says_where():
    with pytest.raises(JointDynamicsError, match=r"finite values, found inf of '1 / q' for q = 0 rad, dq = 0.5 rad/s"):
        function_term('a', '1 / q').values(np.array([1.0, 0.0]), np.array([0.5, 0.5]))


def test_terms_of_the_settings_are_those():
    assert IdentificationSettings.from_config({'terms': {'a': {'fourier': 1}}}).terms[0].document == {'fourier': [1]}
    with pytest.raises(JointDynamicsError, match=r'terms\.a\.hysteresis: expected'):
        IdentificationSettings.from_config({'terms': {'a': [{'hysteresis': 10**400}]}})
