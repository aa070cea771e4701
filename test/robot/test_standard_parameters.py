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

"""Places of the standard parameters, and the ten of a body against sums over points and pinocchio."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import INERTIAL, JOINT, PER_JOINT, StandardParameters
from joint_dynamics.robot.limits import column_unit, joint_unit
from joint_dynamics.robot.standard_parameters import (
    body_of,
    column,
    coupled_columns,
    drive_columns,
    inertia_of,
    link_columns,
    parameter_names,
    point_mass,
    tensor_of,
)


@pytest.fixture
def cloud():
    """Masses (20,) kg and their places (20, 3) m."""
    rng = np.random.default_rng(17)
    return rng.uniform(0.1, 1.0, 20), rng.normal(scale=0.3, size=(20, 3))


@pytest.fixture
def coupled():
    """Parameters of three joints and two coupled motors, each number another one."""
    return StandardParameters(np.arange(1.0, 1.0 + 3 * PER_JOINT + 6), 3)


def test_a_body_is_the_sum_of_its_points(cloud):
    """Σ m (r·r E − r rᵀ), Σ m r, Σ m; and pinocchio's body of that mass, centre and tensor about the centre."""
    masses, places = cloud
    body = sum(point_mass(m, r) for m, r in zip(masses, places, strict=True))
    tensor = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, places, strict=True))
    np.testing.assert_allclose(tensor_of(body), tensor, atol=1e-14)
    np.testing.assert_allclose(body[6:9], masses @ places, atol=1e-14)
    assert body[9] == pytest.approx(masses.sum(), rel=1e-14)
    centre = masses @ places / masses.sum()
    about_centre = sum(
        m * ((r - centre) @ (r - centre) * np.eye(3) - np.outer(r - centre, r - centre))
        for m, r in zip(masses, places, strict=True)
    )
    np.testing.assert_allclose(body_of(pinocchio.Inertia(masses.sum(), centre, about_centre)), body, atol=1e-13)
    np.testing.assert_allclose(body_of(inertia_of(body)), body, atol=1e-13)


def test_columns_match_the_parameter_names(coupled):
    names = parameter_names(3)
    assert names == [f'{kind}_{k}' for k in (1, 2, 3) for kind in (*INERTIAL, *JOINT)]
    for k in range(3):
        assert names[link_columns(k)] == [f'{kind}_{k + 1}' for kind in INERTIAL]
        assert names[drive_columns(k)] == [f'{kind}_{k + 1}' for kind in JOINT]
        assert [names[column(kind, k)] for kind in ('XX', 'M', 'Ia', 'off')] == [
            f'{kind}_{k + 1}' for kind in ('XX', 'M', 'Ia', 'off')
        ]
    # behind the joints: coupled motors
    assert coupled.values[coupled_columns(3)].tolist() == coupled.coupled.tolist() == [43, 44, 45, 46, 47, 48]
    assert coupled.links[1].tolist() == list(range(15, 25))
    views = coupled.rotor_inertia, coupled.viscous, coupled.coulomb, coupled.offset
    assert [view[1] for view in views] == [25, 26, 27, 28]


def test_views_share_their_values_and_copies_do_not(coupled):
    copy = coupled.copy()
    assert copy.n == 3
    copy.values[:] = 0.0
    assert coupled.values[0] == 1.0
    for view in ('links', 'rotor_inertia', 'viscous', 'coulomb', 'offset', 'coupled'):
        getattr(coupled, view)[-1] = -1.0
    assert np.flatnonzero(coupled.values == -1.0).tolist() == [*range(28, 42), 47]


@pytest.mark.parametrize(('values', 'shape'), [(np.zeros(41), r'\(41,\)'), (np.zeros((3, 14)), r'\(3, 14\)')])
def test_too_few_numbers_are_refused(values, shape):
    with pytest.raises(JointDynamicsError, match=f'expected 42 numbers or more for 3 links, found shape {shape}$'):
        StandardParameters(values, 3)


@pytest.mark.parametrize(
    ('turning', 'sliding'), [('N·m', 'N'), ('N·m/rad', 'N/m'), ('N·m·s/rad', 'N·s/m'), ('kg·m²', 'kg'), ('mrad', 'mm')]
)
def test_units_of_sliding_joints(turning, sliding):
    assert joint_unit(turning, False) == turning and joint_unit(turning, True) == sliding
    assert column_unit(turning, [False, False]) == turning
    assert column_unit(turning, [True]) == sliding
    assert column_unit(turning, [True, False]) == column_unit(turning, [False, True]) == f'{turning} or {sliding}'
