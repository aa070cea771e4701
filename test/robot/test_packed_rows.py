"""The wanted columns without their zeros."""

import numpy as np
import pytest

from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.regressor import RowPacker, regressor_rows
from joint_dynamics.robot.standard_parameters import drive_columns


@pytest.fixture(params=['6R', '7R', 'prismatic', 'tree'])
def model(request, ur_table, pa10_table, scara_table):
    if request.param == 'tree':
        return RobotModel.from_urdf(TREE, mounting=[0.3, -0.2, 0.5])
    return RobotModel.from_mdh({'6R': ur_table, '7R': pa10_table, 'prismatic': scara_table}[request.param])


TREE = """<robot name="mixed"><link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
<joint name="lift" type="prismatic"><parent link="base"/><child link="a"/><origin xyz="0 0 0.4" rpy="0.1 0.2 0.3"/>
  <axis xyz="0 0.6 0.8"/><limit lower="0" upper="0.5" velocity="1" effort="500"/></joint>
<joint name="turn" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0.2 0.1 0" rpy="0 1.2 0"/>
  <axis xyz="1 2 2"/></joint>
<joint name="slide" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 0.1 0.3" rpy="0.5 0 0"/>
  <axis xyz="1 0 0"/><limit lower="-0.2" upper="0.2" velocity="1" effort="100"/></joint>
<joint name="branch" type="revolute"><parent link="b"/><child link="d"/><origin xyz="0 -0.2 0.1" rpy="0 0 1"/>
  <axis xyz="0 -1 0"/><limit lower="-1" upper="2" velocity="3" effort="20"/></joint></robot>"""


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


def test_they_are_the_columns_of_the_regressor(model):
    wanted = model.base_parameters().independent
    motion = states(model)
    packed = RowPacker(model.chain, wanted).rows(*motion)
    expected = expected_rows(model, *motion)[:, wanted]
    np.testing.assert_array_equal(packed.dense(), expected)
    assert packed.shape == expected.shape
    for j, (columns, part) in enumerate(zip(packed.columns, packed.parts, strict=True)):
        np.testing.assert_array_equal(packed.values[part], expected[j, columns])
        assert not expected[j, np.setdiff1d(np.arange(len(wanted)), columns)].any()


def test_sums_of_samples_and_a_right_hand_side(model):
    wanted = model.base_parameters().independent
    motion = states(model)
    packed = RowPacker(model.chain, wanted).rows(*motion)
    weights = np.random.default_rng(1).standard_normal((70, 5))
    np.testing.assert_allclose((packed @ weights + packed @ weights).dense(), 2 * packed.dense() @ weights, atol=1e-9)
    y = np.arange(70.0)
    dense = packed.dense()
    for joint in range(model.n):
        below = packed.with_right_side(joint, (joint + 1) * y)
        np.testing.assert_array_equal(below[-1], (joint + 1) * y)
        np.testing.assert_array_equal(below[:-1], packed.values[packed.parts[joint]])
    np.testing.assert_array_equal(packed.dense(), dense)


def test_a_parameter_wanted_twice_and_motors_that_move_otherwise(model):
    wanted = np.array([0, 5, 10, 11, 12, 5, 10])
    motion = states(model)
    packed = RowPacker(model.chain, wanted).rows(*motion).dense()
    np.testing.assert_array_equal(packed[:, 5:], packed[:, 1:3])
    np.testing.assert_array_equal(packed[0, 2:5], expected_rows(model, *motion)[0, 10:13])


def test_rows_that_nothing_is_written_into_are_zero(model):
    """The caller's, and what is zero by itself: `rows` begins with memory that holds anything."""
    every = np.arange(14 * model.n)
    further = np.zeros((model.n, len(every) + 2), dtype=bool)
    further[0, -2:] = True
    packed = RowPacker(model.chain, np.append(every, [len(every), len(every) + 1]), further).rows(*states(model))
    np.testing.assert_array_equal(packed.dense()[:, : len(every)], expected_rows(model, *states(model)))
    assert not packed.dense()[:, -2:].any()
    assert not any(packed.values[part.stop].any() for part in packed.parts)  # where right-hand sides will be
