"""Coupled drives: a column is a motor's torque on the joints it drives, τ = cᵀ (J c q̈ + F_v c q̇ + F_s sgn c q̇)."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot.dependent import DriveCoupling

#: Motors 2 and 4 of four turn with more than one joint; the diagonal is the gear ratios.
MATRIX = [[20.0, 0.0, 0.0, 0.0], [0.0, 50.0, -25.0, 0.0], [0.0, 0.0, 40.0, 0.0], [3.0, 0.0, 15.0, 30.0]]


@pytest.fixture
def coupling():
    return DriveCoupling(MATRIX)


def test_rows_are_by_the_motors_own_joint(coupling):
    np.testing.assert_allclose(
        coupling.matrix, [[1, 0, 0, 0], [0, 1, -0.5, 0], [0, 0, 1, 0], [0.1, 0, 0.5, 1]], rtol=1e-15
    )
    assert coupling.ratios.tolist() == coupling.matrix[[1, 3]].tolist() and coupling.coupled
    assert coupling.parameter_names == ['Ia_m2', 'Fv_m2', 'Fs_m2', 'Ia_m4', 'Fv_m4', 'Fs_m4']
    assert DriveCoupling(np.diag([3, 4])).parameter_names == []


def test_columns_are_the_motors_torque_less_the_own_part(coupling):
    rng = np.random.default_rng(8)
    dq, ddq = rng.normal(size=(2, 4, 30))
    parameters = rng.uniform(0.5, 2.0, 6)
    expected = np.zeros((4, 30))
    for m, (Ia, Fv, Fs) in zip((1, 3), parameters.reshape(2, 3), strict=True):
        c = coupling.matrix[m]
        torque = Ia * (c @ ddq) + Fv * (c @ dq) + Fs * np.sign(c @ dq)
        # what the joint's own motion does is in its own Ia and Fv
        expected += c[:, None] * torque - (c**2)[:, None] * (Ia * ddq + Fv * dq)
    rows = coupling.regressor_rows(dq, ddq)
    assert rows.shape == (4, 6, 30)
    np.testing.assert_allclose(np.einsum('jps,p->js', rows, parameters), expected, atol=1e-13)
    assert not coupling.regressor_rows(np.zeros((4, 2)), np.zeros((4, 2))).any()


@pytest.mark.parametrize(
    ('matrix', 'message'),
    [
        ([['a']], r"expected a square matrix of numbers, found \[\['a'\]\]"),
        ([[1.0], [1.0, 2.0]], r'expected a square matrix of numbers, found \[\[1.0\], \[1.0, 2.0\]\]'),
        ([1.0, 2.0], r'expected a square matrix, found shape \(2,\)'),
        ([[1.0, 1.0], [1.0, 1.0]], 'expected a regular matrix of finite numbers without zeros on the diagonal, found'),
        ([[0.0, 1.0], [1.0, 0.0]], 'expected a regular matrix of finite numbers without zeros on the diagonal, found'),
        ([[1e9, 0.0], [0.0, 1.0]], 'expected a regular matrix of finite numbers without zeros on the diagonal, found'),
        ([[np.nan, 0.0], [0.0, 1.0]], 'expected a regular matrix of finite numbers without zeros on the diagonal'),
    ],
)
def test_what_couples_nothing_is_refused(matrix, message):
    with pytest.raises(JointDynamicsError, match=f'^coupling: {message}'):
        DriveCoupling(matrix)
