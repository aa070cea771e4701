"""Beyond the range of validity friction is the friction at its limit, in every part of it, and who holds it says so."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, RangeWatch, Validity
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import EstimationSettings, JointEstimator

LIMIT = {'speed': 0.5, 'load': 4.0, 'temperature': [28.0, 33.0]}
FURTHER = [
    {'document': {'friction': 'F_V3'}, 'values': [2.0]},
    {'document': {'friction': 'F_T1', 'T_0': 30.0}, 'values': [0.5]},
    {'document': {'friction': 'load_gain'}, 'values': [0.3]},
    {'document': {'fourier': [1]}, 'values': [5.0, -4.0]},
    {'document': {'power': 0.7}, 'values': [3.0]},
]


def arm_of(tools, robot, validity=None, F_Cl=0.3, **changes):
    document = tools.described(robot)
    for part in document['joints'].values():
        part['friction']['parameters'].update(F_V2=3.0, F_Cl=F_Cl, F_T1=0.4)
        part['friction']['scale'] = [1.2, 0.8]
        part['terms'] = FURTHER
        part.update(changes)
        if validity:
            part['validity'] = validity
    return Arm.from_description(robot, DynamicsDescription(document))


def drives(arm, speed, load, temperature):
    n = arm.n
    return arm.drive_torque(
        np.sign(speed) * np.ones(n), np.full(n, 0.3), *(np.full(n, v) for v in (speed, 0.0, load, temperature))
    )


@pytest.mark.parametrize('sign', [1, -1])
def test_friction_and_its_terms_are_held_each_at_its_own_limit(tools, arm3, sign):
    arm = arm_of(tools, arm3, LIMIT)
    at = drives(arm, sign * 0.5, sign * 4.0, 33.0)
    np.testing.assert_allclose(drives(arm, sign * 2.5, sign * 40.0, 60.0), at, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        drives(arm, sign * 0.3, sign, 12.0), drives(arm, sign * 0.3, sign, 28.0), rtol=0, atol=1e-12
    )
    free = arm_of(tools, arm3)
    assert (np.abs(drives(free, sign * 2.5, sign * 40.0, 60.0) - at) > 1.0).all()


def test_within_the_range_nothing_changes(tools, arm3):
    held, free = arm_of(tools, arm3, LIMIT), arm_of(tools, arm3)
    rng = np.random.default_rng(3)
    for _ in range(50):
        state = rng.uniform(-0.5, 0.5), rng.uniform(-4.0, 4.0), rng.uniform(28.0, 33.0)
        np.testing.assert_array_equal(drives(held, *state), drives(free, *state))


def test_each_joint_has_its_own_range(tools, arm3):
    document = tools.described(arm3)
    document['joints']['j2']['validity'] = {'speed': 0.1}
    bounded = Arm.from_description(arm3, DynamicsDescription(document))
    change = drives(bounded, 1.0, 0.0, 30.0) - drives(
        Arm.from_description(arm3, DynamicsDescription(tools.described(arm3))), 1.0, 0.0, 30.0
    )
    assert change[[0, 2]].tolist() == [0.0, 0.0]
    assert change[1] < -3.0


@pytest.mark.parametrize('temperature', [[20.0, 20.0], [-9.0, -3.0], [90.0, 120.0]])
def test_a_range_without_the_temperature_of_reference_keeps_it(tools, arm3, temperature):
    """The part of temperature vanishes at T_0; a friction that has none does not care."""
    arm = arm_of(tools, arm3, {'temperature': temperature}, terms=[])
    p = arm.friction.parameters
    assert (p['T_min'] <= p['T_0']).all()
    assert (p['T_0'] <= p['T_max']).all()
    plain = Arm.from_description(arm3, DynamicsDescription(tools.described(arm3))).friction_torque
    cold, warm = (plain(np.ones(3), np.ones(3), np.zeros(3), T) for T in (5.0, 80.0))
    np.testing.assert_array_equal(cold, warm)


@pytest.mark.parametrize(('validity', 'path'), [
    ({'speed': 0.0}, 'speed'), ({'load': -1.0}, 'load'), ({'temperature': [30.0, 20.0]}, 'temperature'),
    ({'temperature': [30.0]}, 'temperature'), ({'acceleration': 1.0}, 'acceleration'),
])  # fmt: skip
def test_what_is_no_range_is_refused(tools, arm3, validity, path):
    document = tools.described(arm3)
    document['joints']['j2']['validity'] = validity
    with pytest.raises(JointDynamicsError, match=f'joints.j2.validity.{path}: expected'):
        DynamicsDescription(document)


RANGE = Validity.of([{'speed': 1.0, 'load': 5.0}, None, {'temperature': [20.0, 40.0], 'load': 3.0}])


def test_a_range_is_read_joint_by_joint():
    assert RANGE.speed.tolist() == [1.0, np.inf, np.inf]
    assert RANGE.load.tolist() == [5.0, np.inf, 3.0]
    assert RANGE.low.tolist() == [-np.inf, -np.inf, 20.0]
    assert RANGE.high.tolist() == [np.inf, np.inf, 40.0]
    assert Validity.of([None, None]) is None
    assert Validity.of([{'speed': 1}]).speed.dtype == float


def test_what_matters_is_what_friction_or_a_term_depends_on(tools, arm3):
    """Of each joint: by its friction, by a term of its own, and still where a further term does not depend on it."""
    limit = {'speed': 1.0, 'load': 5.0, 'temperature': [20.0, 40.0]}
    document = tools.described(arm3)
    for part in document['joints'].values():
        part['validity'] = limit
    document['joints']['j1']['friction']['parameters'].update(F_Cl=0.1, F_T1=0.1)
    document['joints']['j1']['terms'] = [{'document': {'friction': 'F_V2'}, 'values': [1.0]}]
    document['joints']['j3']['terms'] = [
        {'document': {'friction': 'load_gain'}, 'values': [0.1]},
        {'document': {'friction': 'F_T2', 'T_0': 30.0}, 'values': [0.1]},
        {'document': {'friction': 'F_V2'}, 'values': [1.0]},
    ]
    arm = Arm.from_description(arm3, DynamicsDescription(document))
    assert arm.validity.speed.tolist() == [1.0] * 3
    assert arm.validity.load.tolist() == [5.0, np.inf, 5.0]
    assert arm.validity.low.tolist() == [20.0, -np.inf, 20.0]
    assert arm.validity.high.tolist() == [40.0, np.inf, 40.0]
    assert arm.terms.validity is arm.validity
    p = arm.friction.parameters
    assert p['tau_max'].tolist() == [5.0, 400.0, 5.0]
    assert (p['T_min'][[0, 2]] == 20.0).all() and (p['T_max'][[0, 2]] == 40.0).all()
    short = Validity.of([limit, limit])
    with pytest.raises(JointDynamicsError, match=r'^arm: expected validity of 3 joints, found 2$'):
        Arm(arm3, validity=short)
    assert Arm(arm3, validity=Validity.of([limit] * 3)).validity.load.tolist() == [np.inf] * 3


def test_how_far_the_motion_went():
    watch = RangeWatch(RANGE, ('a', 'b', 'c'))
    watch.update(np.array([[0.5, 99.0, 0.0], [-2.5, 0.0, 0.0]]), np.array([[1.0, 99.0, -1.0], [0.0, 0.0, -4.0]]))
    watch.update_temperature([[99.0, 0.0, 25.0], [99.0, 0.0, 55.5]])
    watch.update_temperature([0.0, 0.0, 12.5])
    held = 'friction is held at its value at'
    assert watch.extent() == [
        f'joints.a.validity.speed: {held} 1 rad/s, the motion goes to 2.5 rad/s (2.50 times)',
        f'joints.c.validity.load: {held} 3 N·m, the motion goes to 4 N·m (1.33 times)',
        f'joints.c.validity.temperature: {held} 40 °C, the motion goes to 55.5 °C',
        f'joints.c.validity.temperature: {held} 20 °C, the motion goes to 12.5 °C',
    ]
    ends = 'friction is held at its value there'
    assert watch.notes() == [
        f'joints.a.validity.speed: above 1 rad/s, {ends}',
        f'joints.c.validity.load: above 3 N·m, {ends}',
        f'joints.c.validity.temperature: above 40 °C, {ends}',
        f'joints.c.validity.temperature: below 20 °C, {ends}',
    ]
    # named once, however often and however far; what is no number left nothing
    watch.update(np.array([[-5.0, 0.0, 0.0], [np.nan, 0.0, 0.0]]), np.full((2, 3), np.nan))
    watch.update_temperature([0.0, 0.0, np.nan])
    assert len(watch.notes()) == 4 and watch.extent()[0].endswith('the motion goes to 5 rad/s (5.00 times)')
    watch.reset()
    assert watch.extent() == watch.notes() == []
    # at the limit is within it
    watch.update(np.array([1.0, 0.0, 0.0]), np.array([5.0, 0.0, -3.0]))
    watch.update_temperature([0.0, 0.0, 40.0])
    watch.update_temperature([0.0, 0.0, 20.0])
    assert watch.notes() == []
    free = RangeWatch(None, ('a',))
    free.update(np.array([1e9]), np.array([1e9]))
    free.update_temperature([1e9])
    assert free.notes() == free.extent() == []


@pytest.mark.parametrize(('speed', 'named'), [(0.01, True), (50.0, False)])
def test_a_law_says_what_left_the_range(tools, arm3, speed, named):
    document = tools.described(arm3)
    document['joints']['j2']['validity'] = {'speed': speed, 'load': 1e-6, 'temperature': [29.9, 30.1]}
    bench = tools.Bench(arm3, document)
    for law in tools.LAWS:
        _, _, made = bench.law(law)
        # Load and temperature do not matter to this friction, and are not spoken of.
        assert [note.partition(':')[0] for note in made.validity_violations] == ['joints.j2.validity.speed'] * named
        made.reset()
        assert made.validity_violations == ()


@pytest.mark.parametrize('friction', ['none', 'adaptive'])
def test_the_estimator_holds_its_friction_and_says_so(tools, arm3, friction):
    period, speed = 2e-3, np.array([0.4, -0.4, 0.4])
    found = []
    for omega in (speed, 2.0 * speed):
        arm = arm_of(tools, arm3, {'speed': 0.3}, F_Cl=0.0, terms=FURTHER[:1])
        estimator = JointEstimator(arm, period, EstimationSettings(friction=friction, window=0.02), effort='torque')
        estimator.learning = False
        for k in range(200):
            q = omega * k * period
            theta = q + 1e-3
            theta = theta + arm.kinematic_error(theta)
            estimator.update(q, np.full(3, 5.0), theta)
        found.append([estimator.friction_torque, estimator.rotor_torque])
        assert [note.partition(':')[0] for note in estimator.watch.notes()] == [
            f'joints.j{k}.validity.speed' for k in (1, 2, 3)
        ]
        estimator.reset()
        assert estimator.watch.notes() == []
    # Rounding of the smoother, on torques of some 10 N·m.
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-8)
