"""The extended Maxwell-slip friction model: proposition 1 with load, no jump, one code for samples and recordings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, StaticFriction, TemperatureFriction

FULL = {
    'F_C0': 6.0,
    'F_C1': 1e-3,
    'F_S': 7.5,
    'V_S': 0.05,
    'mu': 0.8,
    'F_V1': 4.0,
    'F_V2': -0.6,
    'F_V3': 0.1,
    'F_T1': -0.05,
    'F_T2': 2e3,
}


def model(joints=1, **changes):
    backlash = PeriodicMap.stack(
        [PeriodicMap(1e-3 * (1 + 0.3 * np.cos(np.arange(60) * 2 * np.pi / 60 + j))) for j in range(joints)]
    )
    return FrictionModel({**FULL, **changes}, MaxwellSlip(joints, backlash), joints=joints)


@given(load=st.floats(-150, 150), sign=st.sampled_from([-1, 1]), start=st.floats(-6, 6))
@settings(max_examples=30, deadline=None)
def test_steady_slip_gives_plus_minus_the_coulomb_level(load, sign, start):
    plain = model(F_S=6.0, F_V1=0, F_V2=0, F_V3=0)
    theta = start + sign * np.linspace(0, 0.05, 300)[:, None]
    f = plain.run(theta, np.full((300, 1), sign * 0.05), load)
    assert np.allclose(f[200:], sign * (6 + 1e-3 * load**2), rtol=1e-12)


def test_steady_slip_is_the_static_map():
    friction = model()
    static = StaticFriction(6, 7.5, 0.05, 0.8, 4, -0.6, 0.1)
    warm = TemperatureFriction(-0.05, 2e3)
    for omega in (-1.5, -0.03, 0.2):
        theta = np.cumsum(np.full((400, 1), omega * 1e-3))
        friction.reset()
        f = friction.run(theta[:, None], omega, 30.0, 40.0)[-1]
        assert np.allclose(f, static.torque(omega) + np.sign(omega) * 1e-3 * 30**2 + warm.torque(omega, 40.0))
        assert np.allclose(f, friction.static(omega, 30.0, 40.0))


@given(seed=st.integers(0, 2**31), rate=st.floats(1e-3, 1.0), load=st.floats(-100, 100))
@settings(max_examples=40, deadline=None)
def test_no_jump_at_zero_speed(seed, rate, load):
    # Between neighbouring samples f moves by no more than its slope allows, through every reversal, Stribeck term
    # included.
    rng = np.random.default_rng(seed)
    friction = model(mu=1.0, F_V2=0.0, F_V3=0.0)
    dt = 1e-5
    t = np.arange(4000) * dt
    omega = rate * np.sin(2 * np.pi * (40 + 20 * rng.random()) * t + rng.uniform(0, 6))
    theta = rng.uniform(-3, 3) + np.concatenate([[0.0], np.cumsum(0.5 * (omega[1:] + omega[:-1]) * dt)])
    f = friction.run(theta[:, None], omega[:, None], load)[:, 0]
    level = 7.5 + 1e-3 * load**2
    slope_H = friction.maxwell_slip.stiffness.sum() / friction.maxwell_slip.presliding.minimum * 1.01
    largest = level * slope_H * np.abs(np.diff(theta)) + (1.5 / 0.05 + 4) * np.abs(np.diff(omega)) + 1e-9
    assert np.all(np.abs(np.diff(f)) <= largest)
    # The static map of the same motion does jump.
    crossing = np.nonzero(np.diff(np.sign(omega)))[0]
    if crossing.size and rate < 0.05:
        assert np.max(np.abs(np.diff(friction.static(omega[:, None], load)[:, 0]))[crossing]) > 10


@given(seed=st.integers(0, 2**31), joints=st.integers(1, 7))
@settings(max_examples=20, deadline=None)
def test_recordings_and_single_samples_are_the_same_numbers(seed, joints):
    rng = np.random.default_rng(seed)
    whole = model(joints)
    single = whole.copy()
    theta = np.cumsum(rng.normal(0, 3e-4, (60, joints)), axis=0)
    omega, load, temperature = (
        rng.normal(0, 1, (60, joints)),
        rng.normal(0, 50, (60, joints)),
        rng.uniform(0, 60, (60, joints)),
    )
    f = whole.run(theta, omega, load, temperature)
    assert np.array_equal(
        f, np.array([single.step(*sample) for sample in zip(theta, omega, load, temperature, strict=True)])
    )


def test_closed_path_at_constant_load_and_speed_loses_energy():
    friction = model(F_V1=0.0, F_V2=0.0, F_V3=0.0)
    theta = np.concatenate(
        [np.linspace(0, 2e-3, 400), np.linspace(2e-3, -1e-3, 600)[1:], np.linspace(-1e-3, 0, 200)[1:]]
    )
    f = friction.run(theta[:, None], 0.0, 40.0)[:, 0]
    assert np.sum(0.5 * (f[1:] + f[:-1]) * np.diff(theta)) > 0


def test_adaptive_regressor_at_its_nominal_value_is_the_coulomb_part():
    friction = model(2)
    H, omega, load = np.array([[0.3, -1.0]]), np.array([[0.5, -0.2]]), np.array([[10.0, -40.0]])
    assert np.allclose(friction.regressor(H, omega, load) @ [1, 0], friction.level(load) * H)
    assert np.allclose(friction.regressor(H, omega, load) @ [0, 1], omega)


def test_load_is_bounded():
    assert model(tau_max=20.0).level(1e9) == model().level(20.0)


def test_documents_go_round():
    friction = model(2, F_C0=[6.0, 3.0], F_S=[7.0, 3.5])
    documents = [friction.to_dict(j) for j in range(2)]
    back = FrictionModel.from_dicts(documents)
    theta = np.cumsum(np.random.default_rng(0).normal(0, 3e-4, (50, 2)), axis=0)
    assert np.allclose(back.run(theta, 0.1, 20.0, 30.0), friction.run(theta, 0.1, 20.0, 30.0))
    one = FrictionModel.from_dict(documents[1])
    assert np.allclose(one.static(0.3), friction.static(0.3)[1])


@pytest.mark.parametrize(
    ('document', 'message'),
    [
        ({'parameters': {}}, 'F_C0'),
        ({'parameters': {'F_C0': 1, 'F_X': 2}}, 'F_X'),
        ({'parametres': {}}, 'parametres'),
        (
            {'parameters': {'F_C0': 1}, 'maxwell_slip': {'operators': 4}},
            r'maxwell_slip.presliding: expected the presliding length, a number \[rad\] or a map over the angle, found'
            ' nothing$',
        ),
    ],
)
def test_bad_documents_are_refused(document, message):
    with pytest.raises(JointDynamicsError, match=message):
        FrictionModel.from_dict(document)


def test_without_hysteresis_only_the_static_map():
    static = FrictionModel({'F_C0': 2.0})
    assert static.static(0.1) == 2
    with pytest.raises(JointDynamicsError, match='Maxwell-slip'):
        static.step(0.0, 0.1)


def test_what_a_change_of_level_can_give_back_is_what_the_springs_hold():
    # f = F(τ_J) H is passive at any constant level. Stretched at a low level and released at a high one, it gives back
    # more than was put in: at most the difference of the levels times the energy of the springs at H = 1, 𝓑 Σ k_i
    # Δ_i²/2 per N·m (5e-5 J at 𝓑 = 1 mrad).
    friction = FrictionModel({'F_C0': 6.0, 'F_C1': 1e-3}, MaxwellSlip(1, 1e-3))
    slip = friction.maxwell_slip
    stored = 1e-3 * float(np.sum(slip.stiffness * slip.limits**2)) / 2
    out = np.linspace(0, 1e-3, 4000)
    theta = np.concatenate([out, out[::-1]])
    load = np.where(np.arange(theta.size) < out.size, 0.0, 100.0)
    f = friction.run(theta[:, None], 0.0, load[:, None])[:, 0]
    friction.reset()
    constant = friction.run(theta[:, None], 0.0, 0.0)[:, 0]

    def work(torque):
        same = np.diff(theta) != 0
        return float(np.sum((0.5 * (torque[1:] + torque[:-1]) * np.diff(theta))[same]))

    assert work(constant) > 0
    assert work(constant) - work(f) < 10.0 * stored * 1.01
    assert stored < 5e-5


def test_a_document_with_a_kinematic_error_is_one_whose_angle_is_corrected():
    error = PeriodicMap(0.2 * np.cos(np.arange(24) * 2 * np.pi / 24))
    document = {'parameters': {'F_C0': 6.0}, 'maxwell_slip': {'operators': 4, 'presliding': 1e-3}}
    theta = 1.5 + 1e-3 * np.sin(np.linspace(0, 20, 400))
    corrected = FrictionModel.from_dict(document, error)
    plain = FrictionModel.from_dict(document)
    expected = plain.run((theta - error(theta))[:, None], 0.0)
    assert np.allclose(corrected.run(theta[:, None], 0.0), expected, atol=1e-9)
    assert not np.allclose(FrictionModel.from_dict(document).run(theta[:, None], 0.0), expected)
    written = FrictionModel.from_dict(document, error.to_dict())
    assert np.allclose(written.run(theta[:, None], 0.0), expected, atol=1e-9)


def test_what_a_document_leaves_out_has_its_default():
    """F_S is then F_C0 of the same joint, the rest does nothing; joints may leave out different things."""
    friction = FrictionModel.from_dicts(
        [{'parameters': {'F_C0': 5.0, 'F_S': 6.0}}, {'parameters': {'F_C0': 2.0, 'F_V1': 3.0}}]
    )
    assert friction.maxwell_slip is None
    assert friction.joints == 2
    omega = np.array([[0.2, 0.2]])
    assert np.allclose(friction.static(omega), [[5 + np.exp(-2.0), 2 + 0.6]])
    assert np.array_equal(friction.static(omega, 0.0), friction.static(omega))
    assert friction.to_dict() == friction.to_dict(0)
    assert friction.to_dict()['parameters']['F_S'] == 6.0
    assert 'tau_max' not in friction.to_dict()['parameters']
    assert 'maxwell_slip' not in friction.to_dict()


def test_numbers_are_for_all_joints_there_are():
    assert FrictionModel({'F_C0': 1.0}).joints == 1
    three = FrictionModel({'F_C0': 1.0}, joints=3)
    assert three.joints == 3
    assert three.parameters['F_S'].tolist() == three.static(0.1).tolist() == [1.0] * 3
    assert FrictionModel({'F_C0': 1.0}, MaxwellSlip(2)).level().tolist() == [1.0] * 2
    assert FrictionModel({'F_C0': 1.0, 'F_V1': [1.0, 2.0]}).static(1.0).tolist() == [2.0, 3.0]


def test_without_load_a_sample_has_the_level_without_load():
    friction = model(F_C1=1.0)
    twin = friction.copy()
    assert np.array_equal(friction.step([0.1], [0.2]), twin.step([0.1], [0.2], 0.0))
    assert np.array_equal(friction.run([[0.2]], [[0.2]]), twin.run([[0.2]], [[0.2]], 0.0))
    assert np.array_equal(friction.torque(1.0, 0.2), friction.torque(1.0, 0.2, 0.0))
    assert np.array_equal(friction.regressor(1.0, 0.2), friction.regressor(1.0, 0.2, 0.0))


def test_the_temperature_part_is_zero_without_a_temperature_and_at_its_reference():
    friction = model(F_T0=0.4, T_0=30.0)
    assert np.array_equal(friction.static(0.5), friction.static(0.5, temperature=30.0))
    assert friction.static(0.5) - model().static(0.5) == pytest.approx(0.4 * np.sqrt(0.5))


def test_reset_takes_the_hysteresis_where_it_is_told():
    friction = model(2, F_S=6.0, F_V1=0.0, F_V2=0.0, F_V3=0.0)
    friction.reset([0.1, 0.2], direction=[1.0, -1.0])
    assert np.allclose(friction.step([0.1, 0.2], 0.0), [6.0, -6.0])
    friction.reset()
    assert np.allclose(friction.step([0.1, 0.2], 0.0), 0.0)


@pytest.mark.parametrize(
    ('build', 'message'),
    [
        (
            lambda: FrictionModel({'F_C0': [1, 2], 'F_V1': [1, 2, 3]}),
            r'^friction: expected parameters for one or 3 joints, found sizes \[2, 3\]$',
        ),
        (
            lambda: FrictionModel({'F_C0': [1, 2]}, MaxwellSlip(3)),
            r'^friction: expected parameters for one or 3 joints, found sizes \[2, 3\]$',
        ),
        (lambda: FrictionModel({'F_C0': 1, 'F_X': 1}), "^friction: expected a known parameter, found 'F_X'$"),
        (lambda: FrictionModel({}), '^friction: expected the parameter F_C0, found none$'),
        (
            lambda: FrictionModel.from_dict({'parameters': {'F_C0': 1}, 'colour': 1}),
            "^friction: expected a known field, found 'colour'$",
        ),
        (
            lambda: FrictionModel.from_dict({'parameters': {'F_Y': 1}}),
            "^friction: expected a known parameter, found 'F_Y'$",
        ),
        (lambda: FrictionModel.from_dict({'parameters': {}}), '^friction: expected the parameter F_C0, found none$'),
        (lambda: FrictionModel.from_dict({}), '^friction: expected the field parameters, found'),
        (
            lambda: FrictionModel.from_dicts(
                [{'parameters': {'F_C0': 1}, 'maxwell_slip': {'presliding': 1e-3}}, {'parameters': {'F_C0': 1}}]
            ),
            '^friction: expected a Maxwell-slip part of every joint or of none, found one of some$',
        ),
        (
            lambda: FrictionModel({'F_C0': 1}).reset(),
            r'^friction: expected a model with a Maxwell-slip part, found none: give it one, or use static\(\)$',
        ),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(build, message):
    with pytest.raises(JointDynamicsError, match=message):
        build()
