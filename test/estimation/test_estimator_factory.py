"""How the learning parts are made from what is described and set; health and adapted description, number by number."""

import inspect
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('numba', reason='the simulated robot is compiled by numba')

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import (
    CoulombViscousEstimator,
    EstimationSettings,
    FrictionEstimator,
    HealthMonitor,
    PayloadEstimator,
    StiffnessEstimator,
    estimator_factory,
)
from joint_dynamics.estimation.description_update import (
    adapted_description,
    fingerprint,
    is_adapted_copy,
    notes_of,
    reference_of,
)
from joint_dynamics.estimation.estimator_factory import largest_backlash, make_friction, make_payload, make_stiffness
from joint_dynamics.estimation.health import HealthThresholds, JointHealth
from joint_dynamics.estimation.remarks import remarks_of
from joint_dynamics.joint import TorsionalStiffness

PERIOD = 0.01


@pytest.fixture(scope='module')
def arm(worn_arm):
    return worn_arm


@pytest.fixture(scope='module')
def description(worn_description):
    return worn_description


@pytest.fixture
def given(monkeypatch):
    """What the estimator that was made last was given, by the name of the argument."""
    arguments = {}

    def watched(kind):
        class Watched(kind):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                arguments.clear()
                arguments.update(inspect.signature(kind).bind(*args, **kwargs).arguments)

        return Watched

    for kind in (FrictionEstimator, CoulombViscousEstimator, StiffnessEstimator, PayloadEstimator):
        monkeypatch.setattr(estimator_factory, kind.__name__, watched(kind))
    return arguments


def test_the_adaptive_law_begins_at_the_described_scale_within_bounds_that_let_viscous_friction_through(arm, given):
    use = EstimationSettings(
        friction_rate=(0.5, 0.25), friction_lower=(0.3, -1.0), friction_upper=(3.0, 1e-3), viscous_share=0.4,
        friction_memory=7.0, information=0.03, omega_min=0.02, hold=0.3,
    )  # fmt: skip
    made = make_friction(arm, use, PERIOD)
    assert isinstance(made, FrictionEstimator)
    viscous = 0.4 * np.abs(arm.friction.viscous(np.ones(6)))
    assert viscous.min() < 1.0 < viscous.max() and viscous.min() > 1e-3
    np.testing.assert_array_equal(made.parameters, np.tile([0.9, 0.02], (6, 1)))
    np.testing.assert_array_equal(made.lower, np.stack([np.full(6, 0.3), np.minimum(-1.0, -viscous)], axis=1))
    np.testing.assert_array_equal(made.upper, np.stack([np.full(6, 3.0), viscous], axis=1))
    np.testing.assert_array_equal(made.rate, np.tile([0.5, 0.25], (6, 1)))
    assert (made.joints, made.period, made.omega_min, made.information) == (6, PERIOD, 0.02, 0.03)
    assert (given['hold'], given['memory']) == (0.3, 7.0)
    coulomb = np.maximum(0.3 * arm.friction.parameters['F_C0'], 1e-2)
    np.testing.assert_allclose(given['floor'], np.stack([coulomb**2, np.full(6, 0.04)], axis=1))
    assert make_friction(arm, replace(use, friction='none'), PERIOD) is None
    assert make_friction(replace(arm, friction=None), use, PERIOD) is None


def test_coulomb_and_viscous_friction_begin_at_what_is_described(arm, given):
    use = EstimationSettings(friction='coulomb_viscous', friction_memory=4.0, omega_min=0.03)
    for one in (arm, replace(arm, friction=None)):
        made = make_friction(one, use, PERIOD)
        assert isinstance(made, CoulombViscousEstimator)
        start = np.zeros((6, 2))
        if one.friction is not None:
            described = one.friction.parameters
            start = np.stack([0.9 * described['F_C0'], described['F_V1'] + 0.02], axis=1)
        np.testing.assert_allclose(made.parameters, start)
        np.testing.assert_array_equal(made.omega_min, 0.03)
        assert (given['period'], given['memory']) == (PERIOD, 4.0)


def test_a_described_stiffness_starts_with_a_deviation_of_30_percent_and_an_unknown_one_free(arm, given):
    use = EstimationSettings(stiffness_order=3, stiffness_scale=7e-3, stiffness_memory=6.0)
    described = np.arange(6) != 4
    one = replace(arm, stiffness_described=described)
    made = make_stiffness(one, use, PERIOD)
    known = arm.stiffness.coefficients
    expected = np.hstack([np.where(described[:, None], known, 0.0), np.zeros((6, 3 - known.shape[1]))])
    np.testing.assert_allclose(made.coefficients, expected)
    unit = 7e-3 ** np.array([1, 3, 5])
    expected_covariance = np.where(described[:, None], np.maximum((0.3 * expected * unit / 0.1) ** 2, 1.0), 1e4)
    np.testing.assert_allclose(np.diagonal(made.covariance, axis1=1, axis2=2) * unit**2, expected_covariance)
    np.testing.assert_allclose(made.scale, 7e-3)
    assert made.mu == pytest.approx(1.0 - PERIOD / 6.0) and (made.joints, made.order, made.period) == (6, 3, PERIOD)
    widest = np.array([table.max() for table in arm.backlash.tables])
    np.testing.assert_array_equal(largest_backlash(arm), widest)
    np.testing.assert_array_equal(largest_backlash(replace(arm, backlash=None)), np.zeros(6))
    np.testing.assert_allclose(given['gate'], np.maximum(1.4e-3, 2.0 * widest))
    np.testing.assert_array_equal(given['keep'], described)
    assert (2.0 * widest > 1.4e-3).any()
    assert (2.0 * widest < 1.4e-3).any()
    make_stiffness(arm, replace(use, stiffness_gate=5e-4), PERIOD)
    np.testing.assert_allclose(given['gate'], 5e-4)
    # at least as many terms as are described, one where nothing is
    assert make_stiffness(arm, replace(use, stiffness_order=1), PERIOD).order == known.shape[1] > 1
    bare = make_stiffness(
        replace(arm, stiffness=None, stiffness_described=None), replace(use, stiffness_order=1), PERIOD
    )
    assert bare.order == 1 and not bare.coefficients.any()
    np.testing.assert_allclose(bare.covariance[:, 0, 0] * unit[0] ** 2, 1e4)
    thesis = make_stiffness(arm, replace(use, stiffness_preset='thesis'), PERIOD)
    assert (thesis.joints, thesis.mu, thesis.delta, thesis.period) == (6, 0.99995, 0.1, 1e-3)
    np.testing.assert_array_equal(np.diagonal(thesis.covariance, axis1=1, axis2=2), np.tile([1e9, 1e18], (6, 1)))
    assert np.isinf(thesis.change_share) and given['gate'] == given['novelty'] == 0.0
    np.testing.assert_array_equal(thesis.scale, 1.0)


def test_payload_has_the_memory_that_is_set(arm, given):
    made = make_payload(arm.rigid, EstimationSettings(payload_memory=9.0), PERIOD)
    assert given['memory'] == 9.0 and made.body is arm.rigid and made.period == PERIOD


@pytest.mark.parametrize(
    'bad',
    [
        {'friction': 'magic'},
        {'stiffness_source': 'x'},
        {'stiffness_preset': 'x'},
        {'window': -1.0},
        {'window': float('inf')},
        {'friction_rate': (1.0, -1.0)},
        {'link_noise': float('nan')},
        {'payload_memory': float('nan')},
        {'stiffness_order': 0},
        {'friction_lower': (3.0, 0.0)},
        {'friction_lower': (0.4, 0.06)},
    ],
)
def test_settings_name_the_field_that_is_wrong(bad):
    with pytest.raises(JointDynamicsError, match=rf'\b{next(iter(bad))}(\[\d\])?: expected .*, found '):
        EstimationSettings(**bad)


def test_settings_that_are_allowed():
    EstimationSettings(payload_memory=np.inf, stiffness_memory=np.inf, temperature=-20.0, stiffness_order=1)
    EstimationSettings(friction_lower=(0.5, 0.05), friction_upper=(0.5, 0.05))
    thesis = EstimationSettings.thesis(window=0.2)
    assert thesis == EstimationSettings(
        window=0.2,
        taper=False,
        information=0.0,
        friction_upper=(1.5, 0.05),
        viscous_share=0.0,
        stiffness_preset='thesis',
    )
    assert replace(EstimationSettings(), omega_min=0.5) == EstimationSettings(omega_min=0.5)


def test_health_in_every_word():
    reference = TorsionalStiffness([[2e4, 3e9]] * 3)

    def anew():
        return HealthMonitor(
            reference, 2e-3, HealthThresholds((0.1, 0.2), (0.3, 0.5), 5.0, 2.0), np.array([1.0, 2.0, 1.0])
        )

    monitor = anew()
    coefficients = reference.coefficients * [[0.9], [0.8], [1.25]]
    np.testing.assert_allclose(monitor.stiffness_ratios(coefficients), [0.9, 0.8, 1.25])
    # over the working range, of another shape: the projection of one torque on the other
    phi = 2e-3 * np.linspace(0.05, 1.0, 20)
    known = 2e4 * phi + 3e9 * phi**3
    ratio = 2e4 * phi @ known / (known @ known)
    np.testing.assert_allclose(monitor.stiffness_ratios(np.tile([2e4, 0.0], (3, 1))), ratio)
    words = [
        ('warning', 'stiffness -10 % against the reference', 0.9, None),
        ('error', 'stiffness -20 % against the reference', 0.8, None),
        ('error', 'stiffness +25 % against the reference', 1.25, None),
    ]
    factors = np.array([[0.9 - 1e-9], [0.8 - 1e-9], [1.25]])
    found = monitor.judge(stiffness=reference.coefficients * factors)
    assert [(item.status, item.reason) for item in found] == [word[:2] for word in words]
    assert [item.friction_ratio for item in found] == [None] * 3
    np.testing.assert_allclose([item.stiffness_ratio for item in found], [0.9, 0.8, 1.25])
    # twice its deviation taken off
    found = anew().judge(stiffness=reference.coefficients * factors, stiffness_deviation=np.array([0.01, 0.04, 0.08]))
    assert [item.status for item in found] == ['ok', 'warning', 'ok']
    both = anew().judge(
        stiffness=reference.coefficients * factors,
        stiffness_excitation=np.array([4.9, 5.0, 5.0]),
        friction=np.array([1.1, 2.61, 1.51]),
        friction_deviation=np.array([0.0, 0.0, 0.1]),
        friction_excitation=np.array([5.0, 5.0, 4.9]),
    )
    expected = [
        JointHealth('ok', 'Coulomb friction +10 % against the reference'),
        JointHealth('error', 'stiffness -20 % against the reference'),
        JointHealth('error', 'stiffness +25 % against the reference'),
    ]
    assert [(item.status, item.reason) for item in both] == [(item.status, item.reason) for item in expected]
    np.testing.assert_allclose([item.friction_ratio for item in both], [1.1, 1.305, 1.51])
    few = anew().judge(stiffness=coefficients, stiffness_excitation=np.zeros(3), friction=np.ones(3),
                        friction_excitation=np.zeros(3))  # fmt: skip
    assert few[0].reason == 'stiffness not excited yet; Coulomb friction not excited yet'
    none = HealthMonitor(None).judge(stiffness=np.ones((2, 2)))
    assert none == [JointHealth('unknown', 'no reference', None, None)] * 2
    assert np.isnan(HealthMonitor(None).stiffness_ratios(np.ones((2, 2)))).tolist() == [True, True]
    with pytest.raises(JointDynamicsError, match=r'^health: expected stiffness or friction, found neither$'):
        monitor.judge()
    for name, limits in (('stiffness', (0.3, 0.1)), ('friction', (0.0, 0.1))):
        with pytest.raises(JointDynamicsError, match=rf'\b{name}(\[\d\])?: expected .*, found '):
            HealthThresholds(**{name: limits})
    HealthThresholds(stiffness=(0.1, 0.1))


def test_the_adapted_description_in_every_field(description, arm):
    """Friction of two kinds of estimator, learnt and described stiffness, payload, runs; the original left alone."""
    before = description.to_yaml()
    friction = FrictionEstimator(6, PERIOD, initial=[1.25, -0.01])
    stiffness = SimpleNamespace(
        reliable=np.arange(6) < 2, coefficients=np.arange(12.0).reshape(6, 2) + 1e3,
        standard_deviation=np.arange(12.0).reshape(6, 2) + 0.5,
    )  # fmt: skip
    payload = SimpleNamespace(known=True, mass=2.5, first_moments=np.array([0.1, 0.2, 0.3]),
                              covariance=np.diag([0.04, 0.01, 0.09, 0.16]))  # fmt: skip
    estimator = SimpleNamespace(
        arm=arm, friction=friction, stiffness=stiffness, payload=payload,
        friction_scale=lambda: (friction.parameters, friction.covariance),
    )  # fmt: skip
    health = [JointHealth('ok', 'x', 0.9 + 0.01 * j, None) for j in range(6)]
    history = [{'date': str(k)} for k in range(200)]
    base = fingerprint(description)
    options = {'base': base, 'date': '2024-05-01T12:00:00+00:00', 'health': health}
    found = adapted_description(description, estimator, history=history, reference=arm.stiffness, **options).document
    assert description.to_yaml() == before
    for j, name in enumerate(arm.joint_names):
        part, old = found['joints'][name], description.document['joints'][name]
        assert part['friction'] == {**old['friction'], 'scale': [1.25, -0.01]}
        if j < 2:
            learnt = {'coefficients': [1e3 + 2 * j, 1e3 + 2 * j + 1], 'method': 'online'}
            assert part['stiffness'] == {**learnt, 'standard_deviations': [2 * j + 0.5, 2 * j + 1.5]}
        else:
            assert part['stiffness'] == old['stiffness']
    assert found['payload'] == {
        'mass': {'value': 2.5, 'std': 0.2}, 'first_moments': [0.1, 0.2, 0.3],
        'std': [0.2, 0.1, 0.3, 0.4], 'attached': True,
    }  # fmt: skip
    notes = found['provenance']['estimator']
    assert (notes['base'], notes['date'], len(notes['runs'])) == (base, options['date'], 200)
    assert notes['runs'][-2] == {'date': '199'} and notes['runs'][0] == {'date': '1'}
    ratios = {name: {'stiffness': 0.9 + 0.01 * j, 'friction': None} for j, name in enumerate(arm.joint_names)}
    assert notes['runs'][-1] == {'date': options['date'], 'joints': ratios}
    described = {
        name: {'stiffness': row.tolist()} for name, row in zip(arm.joint_names, arm.stiffness.coefficients, strict=True)
    }
    assert notes['reference'] == described
    # without a reference the first that was learnt is it; what is not known is not written
    payload.known = False
    again = adapted_description(description, estimator, history=[], **options)
    assert again.document['provenance']['estimator']['reference'] == {
        name: {'stiffness': again.document['joints'][name]['stiffness']['coefficients']} for name in arm.joint_names[:2]
    }
    assert 'payload' not in again.document
    assert is_adapted_copy(again, description) and not is_adapted_copy(description, description)
    assert notes_of(None) == notes_of(description) == {} and notes_of(again)['base'] == base
    assert fingerprint(again) != base and len(base) == 16
    assert reference_of(again, arm).coefficients == pytest.approx(arm.stiffness.coefficients)
    assert reference_of(description, replace(arm, stiffness_described=np.arange(6) > 0)) is None
    estimator.stiffness, estimator.payload, estimator.friction = (
        None,
        None,
        CoulombViscousEstimator(6, initial=[-1.0, 2.0]),
    )
    estimator.friction_scale = lambda: (estimator.friction.parameters, None)
    estimator.friction.seen[3] = 1
    third = adapted_description(description, estimator, history=[], **options).document
    for j, name in enumerate(arm.joint_names):
        expected = description.document['joints'][name]
        if j == 3:
            expected = {**expected, 'friction': {**expected['friction'], 'scale': [-1.0, 2.0]}}
        assert third['joints'][name] == expected


def test_friction_that_was_not_described_is_written_as_learnt(description, arm, tools):
    friction = CoulombViscousEstimator(6, initial=[-1.0, 2.0])
    friction.seen[:] = 1
    estimator = SimpleNamespace(
        arm=arm, friction=friction, stiffness=None, payload=None, friction_scale=lambda: (friction.parameters, None)
    )
    bare = tools.changed(description, friction=None)
    found = adapted_description(
        bare, estimator, base='b', date='2024-05-01', health=[JointHealth('ok', 'x')] * 6, history=[]
    )
    for part in found.document['joints'].values():
        assert part['friction'] == {'parameters': {'F_C0': 0.0, 'F_V1': 2.0}, 'method': 'online'}


def test_what_needs_the_motor_side_angle_is_named(arm):
    use, joints = EstimationSettings(), ', '.join(arm.joint_names)
    every = {'stiffness', 'damping', 'kinematic_error', 'backlash'}
    whole = replace(arm, stiffness_described=np.ones(6, dtype=bool), damping=np.ones(6))
    assert whole.kinematic_error is not None and whole.backlash is not None
    assert remarks_of(whole, use, True) == []
    why = 'not used without the motor-side angle'
    assert set(remarks_of(whole, use, False)) == {f'joints.({joints}).{field}: {why}' for field in every}
    some, only = np.arange(6) == 1, arm.joint_names[1]
    partly = replace(whole, stiffness_described=some, damping=2.0 * some, kinematic_error=None, backlash=None)
    assert set(remarks_of(partly, use, False)) == {
        f'joints.({only}).{field}: {why}' for field in ('stiffness', 'damping')
    }
    thesis = remarks_of(partly, replace(use, stiffness_preset='thesis'), True)
    assert thesis == [f'joints.({only}).stiffness: not used, the preset thesis begins from none']
