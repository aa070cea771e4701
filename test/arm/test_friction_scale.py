"""A friction with its α in the parameters is the same friction, for every field that α touches."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, SteadyFriction, apply_friction_scale
from joint_dynamics.description import DynamicsDescription

PLAIN = {'F_C0': 5.0, 'F_Cl': 0.1, 'F_C1': 2e-3, 'F_S': 7.0, 'V_S': 0.2, 'F_V1': 3.0, 'F_V2': 0.4, 'offset': 0.3}
QUADRANTS = {
    'dq_s': 0.3, 'a_m': 1.2, 'b_m': 0.1, 'a_g': 0.8, 'b_g': 0.2, 'c_m': 4.0, 'd_m': 1.0, 'c_g': 3.0, 'F_V': 2.0,
}  # fmt: skip
DIRECTIONS = {'positive': {'F_C': 5.5, 'F_S': 7.5, 'F_V1': 3.2}, 'negative': {'F_C': 4.5, 'F_V1': 2.8}}


def friction_of(part):
    arm = Arm.of_joints(DynamicsDescription({'robot': {'joint_names': ['j']}, 'joints': {'j': part}}))
    return arm, SteadyFriction(arm, 0)


@pytest.mark.parametrize('scale', [[1.7, -0.6], [0.4, 2.0]])
@pytest.mark.parametrize('friction', [
    {'parameters': PLAIN}, {'parameters': {'F_C0': 5.0}}, {'parameters': PLAIN, 'quadrants': QUADRANTS},
    {'parameters': PLAIN, 'quadrants': {'dq_s': 0.3, 'c_m': 4.0}},
    {'parameters': PLAIN, 'directions': DIRECTIONS, 'standard_deviations': {'F_C0': 0.2, 'F_V1': 0.1}},
])  # fmt: skip
def test_the_torque_is_the_same(friction, scale):
    before = {'friction': {**friction, 'scale': scale}}
    after = apply_friction_scale(before)
    assert 'scale' not in after['friction']
    (old, steady), (new, again) = friction_of(before), friction_of(after)
    np.testing.assert_array_equal(new.friction_scale, [[1.0, 0.0]])
    H, speed, load = np.random.default_rng(3).uniform(-1, 1, (3, 400, 1)) * np.reshape([1, 2, 50], (3, 1, 1))
    # Some tens of operations on numbers below 1e2.
    found, expected = (arm.friction_torque(H, speed, load) for arm in (new, old))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    for sign in (1.0, -1.0):
        at = (sign * np.linspace(0.01, 2.0, 20), 30.0)
        np.testing.assert_allclose(again.torque(*at), steady.torque(*at), rtol=0, atol=1e-12)


def test_without_alpha_nothing_changes():
    part = {'friction': {'parameters': PLAIN}, 'damping': {'value': 1.0}}
    assert apply_friction_scale(part) == part
    assert apply_friction_scale({'damping': {'value': 1.0}}) == {'damping': {'value': 1.0}}
