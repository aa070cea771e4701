"""Joints of which some have Hamon's quadrants, and friction held at the limits of what was checked."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, MaxwellSlip, QuadrantFriction
from joint_dynamics.joint.load import QUADRANT_PARAMETERS

HAMON = {
    'a_m': 1.2,
    'b_m': 0.1,
    'a_g': 0.8,
    'b_g': 0.15,
    'c_m': 4.0,
    'd_m': 1.0,
    'c_g': 3.0,
    'd_g': 0.5,
    'F_V': 2.0,
    'tau_off': 0.3,
    'dq_s': 0.3,
}
USUAL = {'F_C0': 5.0, 'F_Cl': 0.1, 'F_C1': 2e-3, 'F_S': 7.0, 'V_S': 0.2, 'F_V1': 3.0, 'F_V2': 0.4, 'offset': 0.3}
WARM = {'F_T0': 0.4, 'F_T1': -0.05, 'F_T2': 2e3, 'T_0': 30.0}


def two(**quadrants):
    """The usual friction, and beside it a joint with quadrants; both with a temperature part."""
    return FrictionModel.from_dicts(
        [{'parameters': {**USUAL, **WARM}}, {'parameters': {**USUAL, **WARM}, 'quadrants': {**HAMON, **quadrants}}]
    )


@pytest.fixture
def states():
    """Speeds rad/s and loads N·m of both joints, of every sign; some at rest, some without load."""
    rng = np.random.default_rng(5)
    omega, load = rng.normal(scale=[[[1.0]], [[40.0]]], size=(2, 60, 2))
    omega[:5], load[3:8] = 0.0, 0.0
    return omega, load


def test_in_steady_slip_it_is_hamons_friction_beside_the_usual(states):
    omega, load = states
    friction = two()
    found = friction.static(omega, load, 37.0)
    warm = np.sign(omega) * np.sqrt(np.abs(omega)) * (0.4 - 0.05 * 7.0 + 2e3 * (37.0**-3 - 30.0**-3))
    # Without power there is no quadrant: half of each is taken then, see below.
    powered = (omega * load)[:, 1] != 0
    np.testing.assert_allclose(
        found[powered, 1],
        (QuadrantFriction(**HAMON).friction(load[:, 1], omega[:, 1]) + warm[:, 1])[powered],
        atol=1e-12,
    )
    alone = FrictionModel({**USUAL, **WARM}).static(omega[:, :1], load[:, :1], 37.0)
    np.testing.assert_allclose(found[:, :1], alone, atol=1e-12)


def test_between_the_quadrants_the_dry_part_goes_straight_over():
    """P⁺ = (1 + H sgn τ)/2 at any H."""
    friction, omega = two(), 0.1
    fade = np.exp(-omega / 0.3)
    for load in (-20.0, 0.0, 20.0):
        for H in (-1.0, -0.4, 0.0, 0.7, 1.0):
            motor = (1 + H * np.sign(load)) / 2
            expected = (motor * (1.2 + 0.1 * fade) + (1 - motor) * (0.8 - 0.15 * fade) - 1) * load + (
                motor * (4.0 + fade) + (1 - motor) * (3.0 + 0.5 * fade)
            ) * H
            assert friction.dry(H, omega, load)[1] == pytest.approx(expected, abs=1e-12)
            assert friction.dry(H, omega, load)[0] == pytest.approx(
                H * (5.0 + 0.1 * abs(load) + 2e-3 * load**2), abs=1e-12
            )
    speed = friction.speed_part(0.5, omega)
    root = np.sqrt(omega) * 0.4
    assert speed[1] == pytest.approx(2.0 * omega + 0.3 + root)
    assert speed[0] == pytest.approx(0.5 * 2.0 * np.exp(-0.5) + 3.0 * omega + 0.4 * omega**2 + root + 0.3)
    np.testing.assert_allclose(friction.torque(0.5, omega, 20.0), friction.dry(0.5, omega, 20.0) + speed)


def test_quadrants_go_round_as_documents():
    friction = two()
    assert 'quadrants' not in friction.to_dict(0)
    assert friction.to_dict(1)['quadrants'] == HAMON
    again = FrictionModel.from_dicts([friction.to_dict(0), friction.to_dict(1)])
    for name in (*QUADRANT_PARAMETERS, 'dq_s'):
        np.testing.assert_array_equal(again.quadrants[name], friction.quadrants[name])
    # what a document leaves out does nothing
    bare = FrictionModel.from_dict({'parameters': {'F_C0': 5.0}, 'quadrants': {'dq_s': 0.3, 'c_m': 4.0}})
    assert bare.to_dict()['quadrants'] == {
        name: {'a_m': 1.0, 'a_g': 1.0, 'c_m': 4.0, 'dq_s': 0.3}.get(name, 0.0) for name in HAMON
    }
    assert FrictionModel({'F_C0': 5.0}).quadrants is None


@pytest.mark.parametrize(
    ('quadrants', 'message'),
    [
        ({'c_m': 4.0}, 'friction: expected the quadrant parameter dq_s, found c_m'),
        ({'dq_s': 0.1, 'e_m': 4.0}, "friction: expected a known quadrant parameter, found 'e_m'"),
        ({'dq_s': 0.0}, 'dq_s: expected values > 0, found 0.0'),
    ],
)
def test_quadrants_that_are_none_are_refused(quadrants, message):
    with pytest.raises(JointDynamicsError) as caught:
        FrictionModel.from_dict({'parameters': {'F_C0': 5.0}, 'quadrants': quadrants})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ('quadrants', 'message'),
    [
        ({'c_m': [4.0, 3.0]}, 'friction: expected the quadrant parameter dq_s, found c_m'),
        ({'dq_s': [0.1, 0.1], 'e_m': 4.0}, "friction: expected a known quadrant parameter, found 'e_m'"),
        ({'dq_s': [0.1, 0.1, 0.1]}, 'friction: expected parameters for one or 3 joints, found sizes [1, 2, 3]'),
    ],
)
def test_quadrants_of_all_joints_that_do_not_fit_are_refused(quadrants, message):
    with pytest.raises(JointDynamicsError) as caught:
        FrictionModel({'F_C0': [5.0, 4.0], 'F_V1': 2.0}, quadrants=quadrants)
    assert str(caught.value) == message
    # of one joint, beside quadrants of two: there are two
    assert FrictionModel({'F_C0': 5.0}, quadrants={'dq_s': [0.1, np.nan], 'c_m': 4.0}).joints == 2


def test_what_the_friction_depends_on():
    friction = FrictionModel(
        {
            'F_C0': [1.0] * 4,
            'F_Cl': [0, 0.1, 0, 0],
            'F_C1': [0, 0, 0.1, 0],
            'F_T1': [0, 1.0, 0, 0],
            'F_T2': [0, 0, 1.0, 0],
        }
    )
    assert friction.depends_on_load.tolist() == [False, True, True, False]
    assert friction.depends_on_temperature.tolist() == [False, True, True, False]
    plain = {'parameters': {'F_C0': 1.0}}
    assert FrictionModel.from_dicts([plain, {**plain, 'quadrants': HAMON}]).depends_on_load.tolist() == [False, True]


def test_beyond_its_bounds_friction_is_that_at_them(states):
    omega, load = states
    held = two().bounded([10.0, 20.0], ([26.0, 29.0], [33.0, 31.0]))
    for temperature, at in ((60.0, [33.0, 31.0]), (5.0, [26.0, 29.0]), (30.0, [30.0, 30.0])):
        found = held.static(omega, load, temperature)
        inside = two().static(omega, np.clip(load, -10.0, 10.0), np.array(at))
        np.testing.assert_allclose(found[:, 0], inside[:, 0], atol=1e-12)
        # Hamon's load is the arm's to hold
        np.testing.assert_allclose(found[:, 1], two().static(omega, load, np.array(at))[:, 1], atol=1e-12)
    assert held.parameters['tau_max'].tolist() == [10.0, 20.0]


def test_the_reference_temperature_stays_within_the_bounds():
    friction = FrictionModel({'F_C0': 1.0, 'F_T1': 1.0, 'T_0': 25.0})
    for low, high, expected in ((30.0, 40.0, (25.0, 40.0)), (5.0, 10.0, (5.0, 25.0)), (-50.0, 500.0, None)):
        p = friction.bounded(np.inf, (low, high)).parameters
        found = float(p['T_min'][0]), float(p['T_max'][0])
        assert found == (expected or (friction.parameters['T_min'][0], friction.parameters['T_max'][0]))
    p = friction.bounded(np.inf, (25.0, 25.0)).parameters
    assert p['T_min'][0] == 25.0 < p['T_max'][0] == np.nextafter(25.0, np.inf)
    unbounded = friction.bounded(7.0).parameters
    assert (unbounded['T_min'], unbounded['T_max']) == (friction.parameters['T_min'], friction.parameters['T_max'])


def test_a_bounded_friction_shares_the_hysteresis_and_a_copy_has_its_own():
    slip = MaxwellSlip(2, 1e-3)
    friction = FrictionModel({'F_C0': 1.0}, slip, joints=2)
    held, copy = friction.bounded(5.0), friction.copy()
    assert held.maxwell_slip is slip
    assert held.joints == copy.joints == 2
    friction.step([0.0, 0.0], 0.0)
    friction.step([0.1, -0.1], 0.0)
    assert slip.output.tolist() == [1.0, -1.0]
    assert copy.maxwell_slip.output.tolist() == [0.0, 0.0]
    two_copy = two().copy()
    np.testing.assert_array_equal(two_copy.quadrants['a_m'], [np.nan, 1.2])
    assert two_copy.maxwell_slip is None


def test_the_warmth_known_before_is_the_warmth_at_the_temperature(states):
    omega, _ = states
    friction = two()
    np.testing.assert_array_equal(friction.temperature_factor(), [0.4, 0.4])
    warmth = friction.temperature_factor([37.0, 20.0])
    expected = [0.4 - 0.05 * (T - 30.0) + 2e3 * (T**-3 - 30.0**-3) for T in (37.0, 20.0)]
    np.testing.assert_allclose(warmth, expected, rtol=1e-12)
    np.testing.assert_array_equal(
        friction.speed_part(np.sign(omega), omega, temperature_factor=warmth),
        friction.speed_part(np.sign(omega), omega, [37.0, 20.0]),
    )
    assert friction.level().tolist() == [5.0, 5.0]
