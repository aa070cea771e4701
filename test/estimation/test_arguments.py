"""What the learning parts take: defaults that nobody changes by accident, and words for what they cannot take."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from joint_dynamics.control.friction import ALPHA_BOUNDS, friction_parameters
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import (
    ContactDetector,
    CoulombViscousEstimator,
    EstimationSettings,
    FrictionEstimator,
    FrictionObserver,
    HealthMonitor,
    MomentumObserver,
    PayloadEstimator,
    StiffnessEstimator,
    trend,
)
from joint_dynamics.estimation.recursive import RecursiveLeastSquares, per_joint, positive
from joint_dynamics.estimation.session import EstimationSession
from joint_dynamics.estimation.timeline import Timeline
from joint_dynamics.estimation.torques import LostMotion

DEFAULTS = {
    ContactDetector: (None, 4.0, 100.0, 5.0, 0.01, 0.15, 0.08, 0.024, 5.0),
    FrictionEstimator: (1e-3, 1.0, (1.0, 0.0), (0.4, -0.05), (1.5, 0.05), 0.01, 0.05, 0.02, 10.0, (1e-4, 0.04)),
    CoulombViscousEstimator: (1e-3, 10.0, 0.0, (100.0, 100.0), 0.01),
    StiffnessEstimator: (2, 1e-3, 1e-3, 5.0, None, 0.0, 0.0, 1e4, None, None, 0.2, 0.3, 0.3, 0.1, False, np.inf),
    PayloadEstimator: (30.0, 1.0, 10.0, 0.3, (0.3, 1.0), 0.02),
    FrictionObserver: (30.0,),
    MomentumObserver: (30.0,),
    RecursiveLeastSquares: (1.0, 0.0, True),
    Timeline: (None, 0.1, 100, None),
    EstimationSession: (None, None, 0.1, None, None, None, 1e-3),
    StiffnessEstimator.thesis: (1,),
    StiffnessEstimator.ordinary: (1, 2),
}


@pytest.mark.parametrize(('made', 'values'), DEFAULTS.items(), ids=lambda value: getattr(value, '__qualname__', ''))
def test_defaults_are_those_that_the_benchmarks_were_run_with(made, values):
    """A method tuned at these; another number is another method, and its tables have to be made anew."""
    parameters = inspect.signature(made).parameters.values()
    assert tuple(one.default for one in parameters if one.default is not inspect.Parameter.empty) == values


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: ContactDetector(2, 0.0, floor=1.0), 'period: expected a number > 0, found 0.0'),
        (lambda: ContactDetector(2, 1.0, floor=0.0), 'floor: expected one number > 0 or 2 of them, found 0.0'),
        (lambda: ContactDetector(2, 1.0, floor=1, noise=-1), 'noise: expected one number > 0 or 2 of them, found -1'),
        (lambda: ContactDetector(2, 1.0, floor=1.0, deviations=-1), 'deviations: expected a number > 0, found -1'),
        (lambda: ContactDetector(2, 1.0, floor=1.0, omega_min=0), 'omega_min: expected a number > 0, found 0'),
        (lambda: FrictionEstimator(0), 'friction: expected joints >= 1, found 0'),
        (lambda: FrictionEstimator(1, -1.0), 'period: expected a number > 0, found -1.0'),
        (lambda: FrictionEstimator(1, memory=0.0), 'memory: expected a number > 0, found 0.0'),
        (lambda: FrictionEstimator(1, rate=-1.0), 'finite rates >= 0 and lower <= upper bounds, found -1.0'),
        (lambda: FrictionEstimator(1, rate=np.inf, lower=2.0, upper=1.0), 'lower <= upper bounds, found inf'),
        (lambda: FrictionEstimator(2).update([1.0, 1.0], [1.0], [1.0, 1.0]), 'expected three arrays of shape (2,)'),
        (lambda: CoulombViscousEstimator(1, 0.0), 'period: expected a number > 0, found 0.0'),
        (lambda: CoulombViscousEstimator(1, memory=-1.0), 'memory: expected a number > 0, found -1.0'),
        (lambda: CoulombViscousEstimator(2, omega_min=[0.1, -0.1]), 'expected one number >= 0 or 2 of them'),
        (lambda: StiffnessEstimator(1, period=0.0), 'period: expected a number > 0, found 0.0'),
        (lambda: StiffnessEstimator(1, memory=0.0), 'memory: expected a number > 0, found 0.0'),
        (lambda: StiffnessEstimator(1, scale=0.0), 'scale: expected one number > 0 or 1 of them, found 0.0'),
        (lambda: StiffnessEstimator(1, gate=-1.0), 'gate: expected one number >= 0 or 1 of them, found -1.0'),
        (lambda: StiffnessEstimator(1, novelty=-1.0), 'novelty: expected one number >= 0 or 1 of them, found -1.0'),
        (lambda: StiffnessEstimator(1, noise=0.0), 'noise: expected one number > 0 or 1 of them, found 0.0'),
        (lambda: StiffnessEstimator(1, change_share=0.0), 'change_share: expected a number > 0, found 0.0'),
        (lambda: StiffnessEstimator(1, change_window=0.0), 'change_window: expected a number > 0, found 0.0'),
        (lambda: StiffnessEstimator(2).update([1.0], [1.0, 2.0]), 'expected deformation and torque of shape (2,)'),
        (lambda: RecursiveLeastSquares(0, 2, initial_covariance=1.0), 'expected joints >= 1 and order >= 1'),
        (
            lambda: RecursiveLeastSquares(1, 2, initial_covariance=1.0, forgetting=1.5, delta=0.1),
            'recursive least squares: expected 0 < forgetting <= 1 and delta >= 0, found 1.5 and 0.1',
        ),
        (
            lambda: RecursiveLeastSquares(1, 2, initial_covariance=1.0, forgetting=0.0, delta=-1.0),
            'recursive least squares: expected 0 < forgetting <= 1 and delta >= 0, found 0.0 and -1.0',
        ),
        (lambda: RecursiveLeastSquares(1, 2, initial_covariance=1.0, delta=np.inf), 'found 1.0 and inf'),
        (lambda: RecursiveLeastSquares(1, 2, initial_covariance=0.0), 'initial_covariance: expected finite numbers'),
        (lambda: LostMotion(1, None, 1.0, 0.0), 'period: expected a number > 0, found 0.0'),
        (lambda: LostMotion(2, None, [1.0, 0.0], 1.0), 'limit: expected one number > 0 or 2 of them, found [1.0, 0.0]'),
        (lambda: FrictionObserver(1, 0.0, 1.0), 'period: expected a number > 0, found 0.0'),
        (lambda: FrictionObserver(1, 1.0, 1.0, 0.0), 'gain: expected a number > 0, found 0.0'),
        (lambda: FrictionObserver(1, 1.0, -1), 'rotor_inertia: expected one number > 0 or 1 of them, found -1'),
        (lambda: MomentumObserver(None, 0.0), 'period: expected a number > 0, found 0.0'),
        (lambda: MomentumObserver(None, 1.0, -2.0), 'gain: expected a number > 0, found -2.0'),
        (lambda: PayloadEstimator(None, 0.0), 'period: expected a number > 0, found 0.0'),
        (lambda: PayloadEstimator(None, 1.0, memory=0.0), 'memory: expected a number > 0, found 0.0'),
        (
            lambda: Timeline(('a', 'a'), ('q',)),
            "timeline: expected joints, each once, and quantities, found ('a', 'a') and ('q',)",
        ),
        (lambda: Timeline(('a',), ('q',), 0.0), 'period: expected a number > 0, found 0.0'),
        (lambda: Timeline(('a',), ('q',), max_gap=0.0), 'max_gap: expected a number > 0, found 0.0'),
        (lambda: trend([0.0], [1.0, 2.0]), 'trend: expected as many times as ratios, found 1 and 2'),
    ],
)
def test_what_cannot_be_is_said(make, message):
    with pytest.raises(JointDynamicsError, match=re.escape(message)):
        make()


def test_numbers_for_one_and_for_every_joint():
    for given in (2.0, [2.0], [2.0, 2.0, 2.0]):
        np.testing.assert_array_equal(per_joint('x', given, 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(per_joint('x', [0.0, 1.0], 2, zero=True), [0.0, 1.0])
    for bad in ([2.0, 2.0], [[2.0]], np.nan, np.inf, -1.0, 0.0):
        with pytest.raises(JointDynamicsError, match=r'^x: expected one number > 0 or 3 of them, found '):
            per_joint('x', bad, 3)
    with pytest.raises(JointDynamicsError, match=r'^x: expected one number >= 0 or 1 of them, found '):
        per_joint('x', -1e-9, 1, zero=True)
    assert positive('x', np.inf) == np.inf
    with pytest.raises(JointDynamicsError, match=r'^x: expected a number > 0, found nan$'):
        positive('x', np.nan)


def test_everything_is_forgotten_in_its_kind():
    """States after a reset, without and with what to begin at; masks are masks."""
    rls = RecursiveLeastSquares(2, 2, initial_covariance=1.0)
    rls.alpha += 1.0
    rls.reset()
    assert not rls.alpha.any()
    stiffness, friction, least = StiffnessEstimator(2), FrictionEstimator(2), CoulombViscousEstimator(2)
    for mask in (
        stiffness.excited, stiffness.reliable, friction.moving, friction.excited, friction.informative,
        friction.saturated, least.excited, ContactDetector(2, 1.0, floor=1.0).contact,
        ContactDetector(2, 1.0, floor=1.0).armed, ContactDetector(2, 1.0, floor=1.0).lasting,
    ):  # fmt: skip
        assert mask.dtype == bool and not mask.any()
    assert stiffness.changes.dtype.kind == 'i'
    assert HealthMonitor(None).working_range == 1e-3 and HealthMonitor(None).friction_reference == 1.0


@pytest.mark.parametrize('order', [1, 2, 3, 4])
def test_curves_are_the_polynomials_and_their_slopes(order):
    rng = np.random.default_rng(order)
    scale = np.array([1e-3, 2e-3])
    estimator = StiffnessEstimator(2, order, scale=scale)
    alpha = rng.uniform(1, 2, (2, order)) * 1e4 / scale[:, None] ** (2 * np.arange(order))
    estimator.reset(alpha)
    phi = rng.normal(0, 1e-3, (5, 2))
    power = 2 * np.arange(order) + 1
    np.testing.assert_allclose(estimator.torque(phi), np.sum(alpha * phi[..., None] ** power, axis=-1), rtol=1e-9)
    slope = np.sum(alpha * power * phi[..., None] ** (power - 1), axis=-1)
    np.testing.assert_allclose(estimator.stiffness(phi), slope, rtol=1e-9)
    psi = phi[0][:, None] ** power
    variance = np.einsum('np,npq,nq->n', psi, estimator.covariance, psi) * estimator.noise**2
    np.testing.assert_allclose(estimator.variance(phi[0]), variance, rtol=1e-9)


def test_a_stiffness_is_reliable_when_excited_explaining_the_torque_and_rising():
    """Two seconds; a fifth of the torque's mean square; a slope above zero at φ = 0 and at the scale."""
    for noise, seconds, sign, reliable in (
        (0.3, 25.0, 1.0, True), (0.6, 25.0, 1.0, False), (0.3, 1.9, 1.0, False), (0.0, 2.5, -1.0, False),
    ):  # fmt: skip
        rng = np.random.default_rng(1)
        estimator = StiffnessEstimator(1, 2, period=5e-3, gate=0.0, change_share=np.inf)
        t = np.arange(round(seconds / 5e-3) + 1) * 5e-3
        phi = 1e-3 * np.sin(9 * t)
        torque = sign * 20.0 * np.sin(9 * t) + noise * 20.0 * rng.normal(size=t.size)
        for pair in zip(phi, torque, strict=True):
            estimator.update(pair[:1], pair[1:])
        assert estimator.reliable[0] == reliable
    for (linear, cubic), reliable in (((1e4, 1e9), True), ((1e4, -5e9), False), ((-1e3, 5e9), False)):
        estimator = StiffnessEstimator(1, 2, period=5e-3, gate=0.0, change_share=np.inf)
        for phi in 1e-3 * np.sin(9 * np.arange(0.0, 9.0, 5e-3)):
            estimator.update([phi], [linear * phi + cubic * phi**3])
        np.testing.assert_allclose(estimator.coefficients, [[linear, cubic]], rtol=1e-3)
        assert estimator.reliable[0] == reliable


@pytest.mark.parametrize('directional', [True, False])
@pytest.mark.parametrize(('forgetting', 'delta'), [(1.0, 0.0), (0.97, 0.0), (0.97, 1e-3)])
def test_recursive_least_squares_is_the_textbooks(textbook, directional, forgetting, delta):
    rng = np.random.default_rng(3)
    diagonal = np.array([[2.0, 5.0, 0.5], [1.0, 3.0, 4.0]])
    rls = RecursiveLeastSquares(
        2, 3, initial_covariance=diagonal, forgetting=forgetting, delta=delta, directional=directional
    )
    rls.reset(alpha=[0.3, -1.0, 2.0])
    np.testing.assert_array_equal(rls.P, [np.diag(row) for row in diagonal])
    P, alpha = list(rls.P.copy()), list(rls.alpha.copy())
    for _ in range(60):
        psi, y = rng.normal(size=(2, 3)), rng.normal(size=2)
        steps = [textbook(psi[j], y[j], P[j], alpha[j], forgetting, delta, directional) for j in range(2)]
        error, weighed = rls.step(psi, y, np.ones(2, dtype=bool))
        P, alpha = [step[0] for step in steps], [step[1] for step in steps]
        np.testing.assert_allclose(error, [step[2] for step in steps], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(weighed, [step[3] for step in steps], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(rls.P, P, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(rls.alpha, alpha, rtol=1e-7, atol=1e-12)
    # a joint that is held off, and its neighbour, in the same step
    before = rls.P.copy(), rls.alpha.copy()
    rls.step(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), np.array([0.0, 1.0]), np.array([False, True]))
    np.testing.assert_array_equal(rls.P[0], before[0][0])
    np.testing.assert_array_equal(rls.alpha[0], before[1][0])
    assert not np.allclose(rls.P[1], before[0][1]) and not np.allclose(rls.alpha[1], before[1][1])


def test_the_covariance_is_bounded_relative_to_its_start():
    """Eigenvalues of P in units of P(0): at most 1, at least 1e-14 of the largest; what is within is left alone."""
    start = np.array([[4.0, 9.0]])
    root = np.sqrt(start[0])
    unit = np.outer(root, root)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for values, bounded in (
        ([0.5, 0.25], [0.5, 0.25]),
        ([7.0, 0.25], [1.0, 0.25]),
        ([0.5, -0.1], [0.5, 0.5e-14]),
        ([0.5, 1e-20], [0.5, 0.5e-14]),
        ([1e-30, 1e-30], [1e-24, 1e-24]),
    ):
        rls = RecursiveLeastSquares(1, 2, initial_covariance=start)
        rls.P[0] = turn @ np.diag(values) @ turn.T * unit
        before = rls.P.copy()
        rls.bound()
        if values == bounded:
            np.testing.assert_array_equal(rls.P, before)
        # of the smaller one only what rounding of the larger one leaves
        expected = turn @ np.diag(bounded) @ turn.T * unit
        np.testing.assert_allclose(rls.P[0], expected, rtol=1e-9, atol=4e-15 * max(bounded) * unit.max())
        np.testing.assert_array_equal(rls.P[0], rls.P[0].T)


PRESET = Path(__file__).parents[2] / 'config' / 'thesis' / 'estimator.yaml'


def test_preset_of_the_thesis():
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    from joint_dynamics.nodes.estimator.parameters import PARAMETERS, settings_of

    values = {row.name: row.default for row in PARAMETERS}
    given = yaml.safe_load(PRESET.read_text(encoding='utf-8'))['/**/estimator']['ros__parameters']
    assert set(given) <= set(values)
    assert settings_of({**values, **given}) == EstimationSettings.thesis()
    assert settings_of(values) == EstimationSettings()


def test_estimator_and_feedforward_have_one_region_of_alpha():
    settings = EstimationSettings()
    assert (settings.friction_lower, settings.friction_upper) == ALPHA_BOUNDS
    assert {item.name: item.default for item in friction_parameters('none')}['viscous_share'] == settings.viscous_share


@pytest.mark.parametrize('lower', [(0.4, 0.1), (3.0, 0.0)])
def test_a_lower_bound_above_the_upper_is_refused_with_both(lower):
    both = re.escape(f'friction_upper, (2.5, 0.05), found {lower}')
    with pytest.raises(JointDynamicsError, match=rf'\bfriction_lower: expected .*{both}'):
        EstimationSettings(friction_lower=lower)


def test_settings_that_are_allowed():
    EstimationSettings(payload_memory=np.inf, stiffness_memory=np.inf, temperature=-20.0, stiffness_order=1)
    EstimationSettings(friction_lower=(0.5, 0.05), friction_upper=(0.5, 0.05))
    thesis = EstimationSettings(
        window=0.1, taper=False, information=0.0, friction_upper=(1.5, 0.05), viscous_share=0.0,
        stiffness_preset='thesis',
    )  # fmt: skip
    assert EstimationSettings.thesis() == thesis
    assert EstimationSettings.thesis(window=0.2, taper=True) == replace(thesis, window=0.2, taper=True)
    assert replace(EstimationSettings(), omega_min=0.5) == EstimationSettings(omega_min=0.5)
