"""Motor-side values of messages: what each order of names becomes is worked out once, and kept within bounds."""

import tracemalloc

import numpy as np

from joint_dynamics.estimation.input_values import ORDERS, MotorReflection
from joint_dynamics.recording.conversions import MotorSide

JOINTS = [f'joint_{k}' for k in range(6)]


def test_every_order_of_names_gives_the_same_values():
    rng = np.random.default_rng(0)
    reflection = MotorReflection(MotorSide(gear_ratio=50.0), JOINTS)
    values = dict(zip(JOINTS, rng.standard_normal(6), strict=True))
    for _ in range(2 * ORDERS):
        order = [*rng.permutation(JOINTS), 'gripper']
        found = reflection.reflected('motor_position', order, [values.get(name, 7.0) for name in order])
        np.testing.assert_array_equal(found, [values.get(name, 0.0) / 50.0 for name in order])


def test_names_without_end_fill_no_memory():
    """A publisher may make up names for every message; each order of 200 names has a matrix of 320 kB."""
    reflection = MotorReflection(MotorSide(gear_ratio=50.0), JOINTS)
    others = [f'other_{k}' for k in range(193)]

    def hear(first, number):
        for k in range(first, first + number):
            reflection.reflected('motor_position', [*JOINTS, *others, f'tool_{k}'], np.zeros(200))

    tracemalloc.start()
    try:
        hear(0, ORDERS)
        before, _ = tracemalloc.get_traced_memory()
        hear(ORDERS, 4 * ORDERS)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert before > ORDERS * 8 * 200**2
    # what is kept of one more at most
    assert after - before < 8 * 200**2


def test_what_overflows_is_not_finite_without_a_warning():
    with np.errstate(all='raise'):
        found = MotorReflection(MotorSide(gear_ratio=100.0), JOINTS).reflected(
            'motor_torque', JOINTS, [1e308] * len(JOINTS)
        )
    assert not np.isfinite(found).any()
