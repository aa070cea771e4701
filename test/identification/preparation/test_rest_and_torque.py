"""Samples at rest, rigid torque of whole recordings, further terms, residual checks, rotor compensation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from joint_dynamics.arm import terms_from_config
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.preparation.observations import FilterPlan, observe
from joint_dynamics.recording import Recording
from joint_dynamics.robot import StandardParameters

PLAIN = IdentificationSettings(selection=False)


def test_rigid_torque_is_that_of_the_regressor(ur):
    rng = np.random.default_rng(2)
    q, dq, ddq = ur.random_states(5000, rng)
    standard = StandardParameters.zeros(ur.n)
    standard.links[:] = rng.normal(size=(ur.n, 10))
    expected = ur.inverse_dynamics(q, dq, ddq, standard.values)
    assert np.allclose(ur.chain.torque(q, dq, ddq, standard.links), expected, atol=1e-11)


@pytest.mark.parametrize('position', [0.3, -1.2345, 2.7])
def test_a_joint_that_does_not_move_has_no_speed_not_even_that_of_rounding(ur, position):
    """Speeds of 1e-14 rad/s would be scaled to columns like others.

    The parameter they belong to would seem well excited.
    """
    t = np.arange(0, 6, 0.002)
    q = np.tile(np.sin(t)[:, None], ur.n)
    q[:, 5] = position
    observed = observe(
        Recording(ur.joint_names, t, q, tau=np.zeros_like(q), theta=q), FilterPlan(2.0, 10.0, 4.0, None, 0.1)
    )
    for name in ('dq', 'ddq', 'dtheta', 'ddtheta'):
        assert not getattr(observed, name)[:, 5].any()
    assert np.all(observed.q[:, 5] == position)
    inner = slice(500, -500)
    np.testing.assert_allclose(observed.dq[inner, 0], np.cos(observed.time[inner]), atol=1e-3)


def stop_and_go(true_robot, seed, duration=24.0, rate=200.0):
    """Motion in which every joint rests for long; what it stops with is anything within Coulomb friction."""
    rng = np.random.default_rng(seed)
    t, *course = true_robot.motion(rng, duration, rate)
    wave = np.clip(np.sin(2 * np.pi * t / 3.0), 0.0, None)
    pace = 2.0 * wave**3
    change = 6.0 * wave**2 * np.cos(2 * np.pi * t / 3.0) * 2 * np.pi / 3.0
    along = CubicSpline(t, pace).antiderivative()(t)
    q, dq, ddq = (CubicSpline(t, signal)(along) for signal in course)
    ddq = ddq * pace[:, None] ** 2 + dq * change[:, None]
    dq = dq * pace[:, None]
    pace = pace > 0
    tau = true_robot.torque(q, dq, ddq)
    stay = np.cumsum(np.diff(pace.astype(int), prepend=1) != 0)
    Fc = true_robot.standard[:, 12]
    stiction = rng.uniform(-1, 1, (stay.max() + 1, len(Fc))) * Fc
    tau = np.where(pace[:, None], tau, tau + stiction[stay]) + rng.normal(scale=0.05, size=q.shape)
    return Recording(true_robot.model.joint_names, t, q, tau=tau)


def test_rest_does_not_pull_the_parameters(true_robot):
    errors = {}
    for speed in (0.0, 0.01):
        settings = IdentificationSettings(selection=False, rest_speed=speed)
        found = [identify(true_robot.model, [stop_and_go(true_robot, seed)], settings=settings) for seed in range(3)]
        errors[speed] = np.mean([np.linalg.norm((item.solution.chi - true_robot.base)[:20]) for item in found])
    assert errors[0.01] < 0.5 * errors[0.0]


@pytest.mark.parametrize('entry', [
    {'friction': 'F_T0'}, {'friction': 'F_Cl'}, {'friction': 'F_C1'}, {'stribeck': 0.3},
    {'stribeck': {'V_S': 0.2, 'mu': 2}}, {'hysteresis': 1e-3}, {'friction': 'load_gain'},
])  # fmt: skip
def test_terms_asked_for_are_in_the_description(true_robot, entry):
    names = true_robot.model.joint_names
    settings = IdentificationSettings(selection=False, terms=terms_from_config({names[1]: [entry]}))
    result = identify(true_robot.model, [true_robot.record(3, duration=8.0)], settings=settings)
    assert result.names[-1].endswith(names[1])
    joint = DynamicsDescription.from_yaml(result.description.to_yaml()).joint(names[1])
    where = {**joint['friction']['parameters'], **joint['friction'], 'load_gain': joint.get('terms')}
    key = {'stribeck': 'F_S', 'hysteresis': 'maxwell_slip'}.get(next(iter(entry)), entry.get('friction'))
    assert where[key] is not None


def test_a_term_of_temperature_needs_temperatures(true_robot):
    terms = terms_from_config({true_robot.model.joint_names[0]: [{'friction': 'F_T1'}]})
    with pytest.raises(JointDynamicsError, match='temperature'):
        identify(true_robot.model, [true_robot.record(1, duration=6.0)], settings=replace(PLAIN, terms=terms))


def test_residual_checks_see_what_is_wrong(true_robot):
    good = identify(true_robot.model, [true_robot.record(5, duration=20.0, noise=0.03)], settings=PLAIN).diagnostics
    correlated = true_robot.record(5, duration=20.0, noise=0.03, correlated=True)
    bad = identify(true_robot.model, [correlated], settings=PLAIN).diagnostics

    def independent(entry):
        return sum(checks['independent'] for checks in entry['residuals'].values())

    assert all(checks['linear'] and checks['normal'] for checks in good['residuals'].values())
    assert independent(bad) <= independent(good)
    assert sum(good['leverage'].values()) == pytest.approx(len(true_robot.base), rel=1e-6)


def test_rotor_compensation_leaves_the_links(true_robot):
    """With the joints' own description taken off before, what is left are the links.

    The description holds both again.
    """
    recording = true_robot.record(7, duration=20.0, rate=200.0)
    first = identify(true_robot.model, [recording], settings=PLAIN)
    again = identify(true_robot.model, [recording], settings=replace(PLAIN, rotor=first.description))
    left = dict(zip(again.names, again.solution.chi, strict=True))
    assert max(abs(left[f'Fc_{k}']) for k in range(1, 7)) < 0.3
    links = [k for k, name in enumerate(again.names) if name[:2] in ('XX', 'MX', 'MY')]
    before, after = (one.solution.chi[links] for one in (first, again))
    assert np.allclose(after, before, atol=0.05 * np.abs(before).max())
    for name in true_robot.model.joint_names:
        before, after = (item.description.joint(name)['friction']['parameters'] for item in (first, again))
        assert after['F_C0'] == pytest.approx(before['F_C0'], abs=0.1)
        assert after['F_V1'] == pytest.approx(before['F_V1'], abs=0.1)
