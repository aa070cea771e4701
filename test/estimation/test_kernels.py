"""The compiled kernels of the online estimation against the array forms beside which they stand, to rounding."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import (
    ContactDetector,
    EstimationSettings,
    FrictionEstimator,
    JointEstimator,
    StiffnessEstimator,
)
from joint_dynamics.estimation.contact import Evidence
from joint_dynamics.estimation.lost_motion import LostMotion
from joint_dynamics.simulation import FlexibleJointRobot, TrajectoryPoints, play

#: Rounding of some ten operations, carried along by recursions that forget within thousands of samples.
ROUNDING = 1e-10
FOUND = (
    'torque', 'external', 'torque_link', 'torque_spring', 'torque_motor', 'rotor_torque', 'friction_torque',
    'friction_error', 'speed_friction', 'coulomb_level', 'coulomb_friction', 'held_speed', 'deformation',
    'damping_torque', 'spring_weight', 'link_weight', 'external_deviation', 'contact',
)  # fmt: skip


def assert_like(a, b, what):
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    np.testing.assert_allclose(a, b, rtol=0, atol=ROUNDING * (1.0 + np.abs(b).max()), err_msg=what)


@pytest.fixture(scope='module')
def recorded(tools):
    robot = FlexibleJointRobot(seed=3, rate=500.0, temperature=35.0)
    t, q = tools.waypoint_motion(1)
    samples = play(robot, TrajectoryPoints(t, q, np.gradient(q, t, axis=0)))
    return robot.model, tools.described(robot), samples


@pytest.mark.parametrize('two', [True, False])
@pytest.mark.parametrize('change', [{}, {'friction': None}, {'backlash': None}, {'kinematic_error': None}])
def test_the_whole_estimation(recorded, tools, two, change):
    model, description, samples = recorded
    arm = Arm.from_description(model, tools.changed(description, **change))
    settings = EstimationSettings(friction='coulomb_viscous') if 'friction' in change else EstimationSettings()
    fast, plain = (JointEstimator(arm, 1 / 500.0, settings, motor_side=two) for _ in range(2))
    for part in (plain, plain.lost_motion, plain.stiffness, plain.friction, plain.detector, plain.fusion):
        if part is not None:
            part.compiled = False
    for k in range(2500):
        for each in (fast, plain):
            if k % 500 == 0:
                each.set_temperature(samples.temperature[k])
            each.update(samples.q[k], samples.current[k], samples.theta[k] if two else None)
        for name in FOUND if k % 10 == 0 else ():
            assert_like(getattr(fast, name), getattr(plain, name), f'{name}, sample {k}')
    assert np.ptp(fast.torque) > 1.0
    if fast.stiffness is not None:
        for name in ('coefficients', 'covariance', 'noise', 'excitation', 'changes', 'reliable', 'excited'):
            a, b = getattr(fast.stiffness, name), getattr(plain.stiffness, name)
            assert_like(a / np.abs(b).max(initial=1.0), b / np.abs(b).max(initial=1.0), name)
        assert fast.stiffness.excitation.max() > 0.5


@pytest.mark.parametrize('order', [1, 2, 3])
@pytest.mark.parametrize('delta', [0.0, 0.01])
def test_a_stiffness_that_jumps(order, delta):
    rng, n = np.random.default_rng(order), 4
    fast, plain = (StiffnessEstimator(n, order, period=0.01, memory=2.0, delta=delta) for _ in range(2))
    plain.compiled = False
    for k in range(3000):
        phi = 1e-3 * np.sin(0.13 * k + np.arange(n)) * (0.0 if 1000 < k < 1100 else 1.0)
        torque = (1.0 if k < 2000 else 0.5) * (1e4 * phi + 1e9 * phi**3) + 0.05 * rng.normal(size=n)
        torque[0] = np.nan if k % 97 == 0 else torque[0]
        excited = None if k % 3 else rng.random(n) > 0.2
        assert_like(fast.update(phi, torque, excited), plain.update(phi, torque, excited), f'error, sample {k}')
        assert np.array_equal(fast.excited, plain.excited)
    assert np.array_equal(fast.changes, plain.changes)
    # A covariance that is held open follows a jump before it is one.
    assert fast.changes.all() or delta > 0
    for name in ('coefficients', 'covariance', 'noise', 'standard_deviation'):
        a, b = getattr(fast, name), getattr(plain, name)
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * np.abs(b).max(), err_msg=name)


@pytest.mark.parametrize('rate', [0.5, [0.0, 2.0]])
def test_friction_that_adapts(rate):
    """Through rest, constant speed, joints that may not adapt, bounds, and samples that are no numbers."""
    rng, n = np.random.default_rng(7), 4
    fast, plain = (FrictionEstimator(n, 0.008, rate=rate, memory=3.0, hold=0.1) for _ in range(2))
    plain.compiled = False
    for k in range(3000):
        omega = np.where(np.sin(0.01 * k + np.arange(n)) > 0.3, 1.0, np.sin(0.05 * k + np.arange(n)))
        omega[1] *= k % 600 > 100
        coulomb = 6.0 * np.sign(omega) * (1.0 + 0.2 * rng.random(n))
        friction = (0.7 + 0.6 * (k > 1500)) * coulomb + 0.02 * omega + 0.1 * rng.normal(size=n)
        odd = k % 101
        if odd < 4:
            array = (friction, coulomb, omega, friction)[odd]
            array[odd] = (np.nan, np.inf, np.nan, -1e12)[odd]
        excited = None if k % 3 else rng.random(n) > 0.2
        assert_like(fast.update(friction, coulomb, omega, excited), plain.update(friction, coulomb, omega, excited), k)
        for name in ('moving', 'informative', 'excited', 'saturated', 'excitation'):
            assert np.array_equal(getattr(fast, name), getattr(plain, name)), (name, k)
        for name in ('parameters', 'noise', 'covariance'):
            assert_like(getattr(fast, name), getattr(plain, name), f'{name}, sample {k}')
    assert fast.excitation.min() > 1.0
    assert fast.saturated.any() or rate == 0.5


def test_lost_motion():
    rng, n = np.random.default_rng(0), 5
    width = np.array([1e-3, 2e-3, 0.0, 5e-4, 1e-3])
    fast, plain = (LostMotion(n, lambda theta: width * (1.0 + 0.1 * np.sin(theta)), 150.0, 0.008) for _ in range(2))
    plain.compiled = False
    for k in range(2000):
        theta, load = 0.3 * np.sin(0.01 * k * np.arange(1, n + 1)), 20.0 * rng.normal(size=n)
        for each in (fast, plain):
            each.update(theta, load)
        for name in ('motion', 'slack', 'uncertainty'):
            assert_like(1e3 * getattr(fast, name), 1e3 * getattr(plain, name), f'{name}, sample {k}')
    assert np.abs(fast.motion).max() > 1e-4


def test_contacts():
    rng, n = np.random.default_rng(0), 4
    fast, plain = (ContactDetector(n, 0.008, floor=1.0, learning=0.5, patience=1.0, memory=3.0) for _ in range(2))
    plain.compiled = False
    seen = np.zeros(n)
    for k in range(4000):
        omega = np.where(np.sin(0.004 * k + np.arange(n)) > 0.3, 0.5 * np.sin(0.01 * k + np.arange(n)), 0.0)
        push = 12.0 * (k > 1500 and k % 400 < 60) * (np.arange(n) == k // 400 % n)
        motor, spring = rng.normal(size=n) + push, rng.normal(size=n) + push
        deviations = 0.5 + rng.random((4, n))
        evidence = Evidence(
            motor, deviations[0], spring, deviations[1], deviations[2], deviations[3], np.arange(n) % 2 == 0
        )
        adapted = rng.random(n) > 0.1
        assert np.array_equal(fast.update(evidence, omega, adapted), plain.update(evidence, omega, adapted)), k
        for name in ('ratio', 'armed', 'lasting', 'level'):
            assert_like(getattr(fast, name), getattr(plain, name), f'{name}, sample {k}')
        seen += fast.contact
    assert (seen > 0).all() and (seen < 1500).all()
