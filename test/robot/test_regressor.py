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

"""tau == regressor · parameters, held against pinocchio's own recursion, which shares no code with ours."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel
from joint_dynamics.robot.dependent import DriveCoupling
from joint_dynamics.robot.regressor import RowPacker, regressor_rows
from joint_dynamics.robot.standard_parameters import drive_columns

URDF = """<robot name="mixed"><link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0.02 -0.03" rpy="0.2 0.1 0"/><mass value="3"/>
  <inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.005" izz="0.15"/></inertial></link>
<link name="b"><inertial><origin xyz="-0.1 0.2 0.05"/><mass value="2"/>
  <inertia ixx="0.05" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.07"/></inertial></link>
<link name="c"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<link name="d"><inertial><origin xyz="0.02 0 0.1"/><mass value="0.5"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<link name="tool"><inertial><mass value="0.3"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
<joint name="lift" type="prismatic"><parent link="base"/><child link="a"/><origin xyz="0 0 0.4" rpy="0.1 0.2 0.3"/>
  <axis xyz="0 0.6 0.8"/>
  <limit lower="0" upper="0.5" velocity="1" effort="500"/></joint>
<joint name="turn" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0.2 0.1 0" rpy="0 1.2 0"/>
  <axis xyz="1 2 2"/></joint>
<joint name="slide" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 0.1 0.3" rpy="0.5 0 0"/>
  <axis xyz="1 0 0"/>
  <limit lower="-0.2" upper="0.2" velocity="1" effort="100"/></joint>
<joint name="branch" type="revolute"><parent link="b"/><child link="d"/><origin xyz="0 -0.2 0.1" rpy="0 0 1"/>
  <axis xyz="0 -1 0"/>
  <limit lower="-1" upper="2" velocity="3" effort="20"/></joint>
<joint name="flange" type="fixed"><parent link="c"/><child link="tool"/><origin xyz="0 0 0.05"/></joint>
</robot>"""


def random_standard(model, rng):
    parameters = rng.normal(size=len(model.parameter_names))
    parameters[model.columns(('M',))] = rng.uniform(0.5, 5, model.n)
    return parameters


def by_pinocchio(model, q, dq, ddq, parameters):
    """Inverse dynamics of one state after the other by rnea, rotors and friction added by hand."""
    other = model.pinocchio.copy()
    per_joint = parameters[: PER_JOINT * model.n].reshape(model.n, PER_JOINT)
    for k, (xx, xy, xz, yy, yz, zz, mx, my, mz, mass) in enumerate(per_joint[:, :10]):
        other.inertias[k + 1] = pinocchio.Inertia.FromDynamicParameters(
            np.array([mass, mx, my, mz, xx, xy, yy, xz, yz, zz])
        )
    workspace = other.createData()
    rigid = np.array([pinocchio.rnea(other, workspace, *state) for state in zip(q, dq, ddq, strict=True)])
    Ia, Fv, Fc, offset = per_joint[:, 10:].T
    return rigid + Ia * ddq + Fv * dq + Fc * np.sign(dq) + offset


@pytest.fixture(params=['6R', '7R', 'prismatic', 'tree with skew axes'])
def model(request, ur_table, pa10_table, scara_table):
    if request.param == 'tree with skew axes':
        return RobotModel.from_urdf(URDF, mounting=[0.3, -0.2, 0.5])
    return RobotModel.from_mdh({'6R': ur_table, '7R': pa10_table, 'prismatic': scara_table}[request.param])


def test_torque_is_regressor_times_parameters(model):
    rng = np.random.default_rng(7)
    q, dq, ddq = model.random_states(1000, rng)
    parameters = random_standard(model, rng)
    expected = by_pinocchio(model, q, dq, ddq, parameters)
    predicted = model.regressor(q, dq, ddq) @ parameters
    assert np.abs(predicted - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.abs(model.inverse_dynamics(q, dq, ddq, parameters) - expected).max() < 1e-9 * np.abs(expected).max()


def test_rigid_body_functions_agree_with_the_regressor(model):
    rng = np.random.default_rng(2)
    q, dq, ddq = (state[0] for state in model.random_states(1, rng))
    standard = np.zeros(len(model.parameter_names))
    inertial = model.columns(INERTIAL)
    standard[inertial] = random_standard(model, rng)[inertial]
    body = model.rigid_body(standard)
    tau = model.regressor(q, dq, ddq) @ standard
    assert np.allclose(body.inverse_dynamics(q, dq, ddq), tau, rtol=1e-9, atol=1e-9)
    assert np.allclose(body.mass_matrix(q) @ ddq + body.bias(q, dq), tau, rtol=1e-9, atol=1e-9)
    assert np.allclose(model.gravity(q, standard), body.gravity(q), atol=1e-9)


def test_rigid_body_takes_a_base_set_without_masses(ur):
    rng = np.random.default_rng(3)
    base = ur.base_parameters(INERTIAL)
    standard = np.zeros(len(ur.parameter_names))
    standard[ur.columns(INERTIAL)[base.independent]] = rng.normal(size=base.count)
    states = [state[0] for state in ur.random_states(1, rng)]
    assert np.allclose(
        ur.rigid_body(standard).inverse_dynamics(*states), ur.regressor(*states) @ standard, rtol=1e-8, atol=1e-8
    )


def test_coupled_drive_columns_are_those_of_its_motor():
    matrix = np.diag([30.0, 45.0, 32.0])
    matrix[2, 1] = 32.0
    rows = [{'alpha': alpha, 'a': 0.2, 'd': 0.0, 'theta': 0.0} for alpha in (0.0, HALF, -HALF)]
    model = RobotModel.from_mdh({'joints': rows}, coupling=matrix)
    assert model.parameter_names[-3:] == ['Ia_m3', 'Fv_m3', 'Fs_m3']
    q, dq, ddq = model.random_states(50, np.random.default_rng(5))
    parameters = np.zeros(len(model.parameter_names))
    rotor, viscous, coulomb = 0.02, 0.4, 1.3
    # the motor's own inertia and friction, on the joints it drives: τ = cᵀ (J c q̈ + F_v c q̇ + F_c sgn(c q̇)), c = [0
    # 1 1]
    parameters[[model.parameter_names.index(name) for name in ('Ia_2', 'Ia_3', 'Ia_m3')]] = rotor
    parameters[[model.parameter_names.index(name) for name in ('Fv_2', 'Fv_3', 'Fv_m3')]] = viscous
    parameters[model.parameter_names.index('Fs_m3')] = coulomb
    speed, acceleration = dq[:, 1] + dq[:, 2], ddq[:, 1] + ddq[:, 2]
    torque = rotor * acceleration + viscous * speed + coulomb * np.sign(speed)
    assert np.allclose(
        model.inverse_dynamics(q, dq, ddq, parameters), np.column_stack([0 * torque, torque, torque]), atol=1e-12
    )


HALF = np.pi / 2


@pytest.mark.parametrize(
    'call',
    [
        lambda ur: ur.inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(5)),
        lambda ur: ur.inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6)),
        lambda ur: ur.regressor(np.zeros((3, 5)), np.zeros((3, 5)), np.zeros((3, 5))),
        lambda ur: ur.regressor(np.zeros(6), np.zeros(6), np.zeros((1, 6))),
        lambda ur: ur.regressor(0.0, 0.0, 0.0),
    ],
)
def test_wrong_shapes_are_refused(ur, call):
    with pytest.raises(JointDynamicsError, match=r'^robot: expected'):
        call(ur)


def states(model, samples=70, seed=0):
    """q, dq, ddq and, of the motors, dtheta and ddtheta, (samples, joints); some stand."""
    q, dq, ddq = model.random_states(samples, np.random.default_rng(seed))
    dq[:3] = 0.0
    return q, dq, ddq, dq + np.sign(dq), ddq - 2.0


def expected_rows(model, q, dq, ddq, dtheta, ddtheta):
    rows = regressor_rows(model.chain, *(np.ascontiguousarray(state.T) for state in (q, dq, ddq)))
    for j in range(model.n):
        rows[j, drive_columns(j)][:3] = ddtheta[:, j], dtheta[:, j], np.sign(dtheta[:, j])
    return rows


def test_packed_rows_are_columns_of_the_regressor(model):
    wanted = model.base_parameters().independent
    motion = states(model)
    packed = RowPacker(model.chain, wanted).rows(*motion)
    expected = expected_rows(model, *motion)[:, wanted]
    np.testing.assert_array_equal(packed.dense(), expected)
    assert packed.shape == expected.shape
    for j, (columns, part) in enumerate(zip(packed.columns, packed.parts, strict=True)):
        np.testing.assert_array_equal(packed.values[part], expected[j, columns])
        assert not expected[j, np.setdiff1d(np.arange(len(wanted)), columns)].any()


def test_repeated_parameters_and_separate_motors(model):
    wanted = np.array([0, 5, 10, 11, 12, 5, 10])
    motion = states(model)
    packed = RowPacker(model.chain, wanted).rows(*motion).dense()
    np.testing.assert_array_equal(packed[:, 5:], packed[:, 1:3])
    np.testing.assert_array_equal(packed[0, 2:5], expected_rows(model, *motion)[0, 10:13])


#: Motors 2 and 4 of four turn with more than one joint; the diagonal is the gear ratios.
MATRIX = [[20.0, 0.0, 0.0, 0.0], [0.0, 50.0, -25.0, 0.0], [0.0, 0.0, 40.0, 0.0], [3.0, 0.0, 15.0, 30.0]]


@pytest.fixture
def coupling():
    return DriveCoupling(MATRIX)


def test_coupling_is_relative_to_the_own_joint(coupling):
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
        # the effect of the joint's own motion is in its own Ia and Fv
        expected += c[:, None] * torque - (c**2)[:, None] * (Ia * ddq + Fv * dq)
    rows = coupling.regressor_rows(dq, ddq)
    assert rows.shape == (4, 6, 30)
    np.testing.assert_allclose(np.einsum('jps,p->js', rows, parameters), expected, atol=1e-13)
    assert not coupling.regressor_rows(np.zeros((4, 2)), np.zeros((4, 2))).any()


@pytest.mark.parametrize(
    'matrix',
    [
        [['a']],
        [[1.0], [1.0, 2.0]],
        [1.0, 2.0],
        [[1.0, 1.0], [1.0, 1.0]],
        [[0.0, 1.0], [1.0, 0.0]],
        [[1e9, 0.0], [0.0, 1.0]],
        [[np.nan, 0.0], [0.0, 1.0]],
    ],
)
def test_wrong_couplings_are_refused(matrix):
    with pytest.raises(JointDynamicsError, match=r'^coupling: '):
        DriveCoupling(matrix)
