# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Inputs, settings and saved descriptions of an estimation session, without a simulation."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import EstimationSession, EstimationSettings, FrictionEstimator, HealthThresholds
from joint_dynamics.estimation.conditions import conditions
from joint_dynamics.estimation.input_values import ORDERS, MotorReflection
from joint_dynamics.recording.conversions import MotorSide

PERIOD = 2e-3  # s
MS = 1_000_000  # ns
BOTH = ('q', 'current', 'theta', 'temperature')


@pytest.fixture
def make(worn_arm, worn_description):
    """A session on the worn arm, of a description that may be another one."""

    def made(offered=BOTH, description=worn_description, **options):
        return EstimationSession(worn_arm.robot, description, offered, period=PERIOD, **options)

    return made


def feed(session, samples, effort='current', start=0, gain=1.0):
    """Sines; returns the stamps that estimates were given for."""
    names, found = session.robot.joint_names, []
    t = (start + np.arange(samples)) * PERIOD
    wave = np.sin(np.outer(t, np.arange(1, 7)))
    for k in range(samples):
        stamp = (start + k) * 2 * MS
        for quantity, values in (('q', 0.3 * wave[k]), (effort, 2.0 * wave[k] * gain), ('theta', 0.301 * wave[k])):
            session.take(quantity, stamp, names, values)
        found += [estimate.stamp for estimate in session.run()]
    return found


@pytest.mark.parametrize(
    ('offered', 'effort', 'two_sides', 'warm'),
    [
        (BOTH, 'current', True, True),
        (('q', 'tau', 'current', 'motor_position'), 'current', True, False),
        (('q', 'tau', 'motor_torque'), 'tau', False, False),
        (('q', 'motor_torque', 'temperature'), 'tau', False, True),
    ],
)
def test_offered_inputs_decide_which_are_used(make, offered, effort, two_sides, warm):
    session = make(offered)
    assert (session.effort, session.two_sides, session.reads_temperature) == (effort, two_sides, warm)
    remarks = ['no motor-side encoder: no stiffness, and friction with the angle of the link'] * (not two_sides)
    remarks += ['no temperature: the temperature term of the friction stays constant'] * (not warm)
    assert [remark for remark in session.remarks if remark.startswith('no ')] == remarks
    quantities = ('q', effort, 'theta') if two_sides else ('q', effort)
    assert session.timeline.quantities == quantities and session.timeline.joint_names == session.robot.joint_names
    assert (session.timeline.period, session.timeline.max_gap) == (PERIOD, 0.1)


def test_without_gains_a_current_is_no_torque(make, worn_description, tools):
    bare = tools.changed(worn_description, drive_gain=None)
    assert make((*BOTH, 'tau'), bare).effort == 'tau'
    for offered, found in ((BOTH, 'q, current, theta, temperature'), ((), 'no input')):
        message = (
            '^estimator: expected motor torque, or motor current and drive gains in the dynamics description, '
            f'found {found}$'
        )
        with pytest.raises(JointDynamicsError, match=message):
            make(offered, bare)


def test_friction_that_cannot_adapt_is_said(make, worn_description, worn_arm, tools):
    names = worn_arm.joint_names
    words = ' in the dynamics description: friction is not adapted, identify it'
    none = tools.changed(worn_description, friction=None)
    partly = tools.changed(worn_description)
    for name in names[1:3]:
        del partly.document['joints'][name]['friction']
    for description, what in (
        (none, f'no friction of {", ".join(names)}'),
        (partly, f'no friction of {names[1]}, {names[2]}'),
    ):
        session = make(description=description)
        assert what + words in session.remarks
        assert session.settings.friction == 'none'
        settings = EstimationSettings(friction='none', omega_min=0.5)
        assert make(description=description, settings=settings).settings == settings
    assert make().settings == EstimationSettings() and make().remarks == list(worn_arm.remarks)


def test_friction_without_hysteresis_is_used_as_described(make, worn_description, worn_arm, tools):
    """All of it, Stribeck and load among it; it turns over at once."""
    plain = tools.changed(
        worn_description, friction=lambda part: {k: v for k, v in part.items() if k != 'maxwell_slip'}
    )
    session = make(description=plain)
    words = 'the dynamics description has no hysteresis: friction reverses within 0.0001 rad'
    assert words in session.remarks and session.settings == EstimationSettings()
    feed(session, 200)
    model = session.estimator.arm.friction
    assert {name: value.tolist() for name, value in model.parameters.items()} == {
        name: value.tolist() for name, value in worn_arm.friction.parameters.items()
    }
    assert model.maxwell_slip.operators == 1 and model.maxwell_slip.presliding.minimum == 1e-4
    assert session.arm.friction.maxwell_slip is None  # the description stays

    learnt = session.adapted('2024-05-01T12:00:00+00:00')
    assert all('maxwell_slip' not in learnt.joint(name)['friction'] for name in worn_arm.joint_names)


def test_estimates_belong_to_the_time_of_their_signals(make):
    session = make()
    assert session.estimator is None and session.health() == [] and session.validity_violations == []
    found = feed(session, 200)
    estimator = session.estimator
    assert session.steps == 200 and session.seconds > 0.0
    lead = len(found) - 200
    assert found[0] == -lead * 2 * MS - round(estimator.delay * 1e9) and np.all(np.diff(found) == 2 * MS)
    assert estimator.settings is session.settings and estimator.period == PERIOD and estimator.motor_side
    gains = session.arm.drive_gain
    last = 2.0 * np.sin(np.arange(1, 7) * (199 * PERIOD - estimator.delay))
    np.testing.assert_allclose(estimator.motor_torque, last * gains, rtol=0.05, atol=0.05 * gains.max())
    np.testing.assert_allclose(estimator.q, 0.15 * last, atol=0.01)
    kinematic = session.arm.kinematic_error(0.1505 * last)
    np.testing.assert_allclose(estimator.theta, 0.1505 * last - kinematic, atol=0.01)
    assert len(session.health()) == 6 and next(iter(conditions(session))) == 'samples'
    # a gap: the signals begin anew, learnt values stay
    session.estimator.friction.reset([1.1, 0.0])
    later = feed(session, 100, start=1000)
    assert session.timeline.gaps > 0 and len(later) == 100 + lead
    assert later[0] == (1000 - lead) * 2 * MS - round(estimator.delay * 1e9)
    np.testing.assert_allclose(session.estimator.friction.parameters[:, 0], 1.1, atol=0.1)
    session.forget_time()
    assert len(feed(session, 100, start=0)) == 100 + lead


def test_torque_goes_in_as_torque(make, worn_arm):
    by_current, by_torque = make(), make(('q', 'tau', 'theta'))
    feed(by_current, 120)
    by_torque.take('current', 0, worn_arm.joint_names, np.full(6, 1e6))
    feed(by_torque, 120, 'tau', gain=worn_arm.drive_gain)
    np.testing.assert_allclose(
        by_torque.estimator.torque_motor, by_current.estimator.torque_motor, rtol=1e-9, atol=1e-9
    )


@pytest.fixture
def reflected(make):
    """A function (motor side) -> session, and a dictionary of the values that it has taken by quantity."""

    def made(**motor_side):
        taken = {}
        session = make(('q', 'motor_torque', 'motor_position'), motor_side=MotorSide(**motor_side))
        session.timeline = SimpleNamespace(add=lambda quantity, stamp, names, values: taken.update({quantity: values}))
        return session, taken

    return made


def test_motor_signals_are_reflected_joint_by_joint(reflected, worn_arm):
    """In any order, beside joints of others."""
    names, rng = list(worn_arm.joint_names), np.random.default_rng(0)
    ratio = {name: (-1.0) ** k * (50.0 + k) for k, name in enumerate(names)}
    session, taken = reflected(gear_ratio=ratio, zero_offsets=0.25)
    order = [names[4], 'gripper', names[0], names[2]]
    theta, torque = rng.normal(size=(2, 4))
    session.take('motor_position', 1, order, theta)
    session.take('motor_torque', 1, order, torque)
    for j in (0, 2, 3):
        assert taken['theta'][j] == pytest.approx(theta[j] / ratio[order[j]] + 0.25, rel=1e-12)
        assert taken['tau'][j] == pytest.approx(torque[j] * ratio[order[j]], rel=1e-12)


def test_coupled_drives_need_all_of_their_motors(reflected, worn_arm):
    names, rng = list(worn_arm.joint_names), np.random.default_rng(0)
    R = np.diag(np.full(6, 80.0))
    R[5, 4] = 30.0
    coupled, taken = reflected(position_coupling=R, zero_offsets=-0.1)
    angle, turn = rng.normal(size=6), rng.permutation(6)
    mixed = [names[k] for k in turn]
    coupled.take('motor_position', 1, mixed, (R @ (angle + 0.1))[turn])
    np.testing.assert_allclose(taken['theta'], angle[turn], rtol=1e-9)
    coupled.take('motor_torque', 1, mixed, torque_of_motors := rng.normal(size=6))
    np.testing.assert_allclose(taken['tau'][np.argsort(turn)], R.T @ torque_of_motors[np.argsort(turn)], rtol=1e-9)
    message = f'^motor_position: expected all motors of coupled drives in one message, found {names[0]}, {names[1]}$'
    with pytest.raises(JointDynamicsError, match=message):
        coupled.take('motor_position', 1, names[:2], [0.0, 0.0])


@pytest.mark.parametrize('side', [MotorSide(gear_ratio=50.0), MotorSide(position_coupling=np.diag(np.full(6, 80.0)))])
def test_a_motor_of_others_that_tells_no_number_spoils_no_joint(make, side):
    """A driver that knows nothing of its gripper says NaN for it."""
    session = make(('q', 'motor_torque', 'motor_position'), motor_side=side)
    names = session.robot.joint_names
    for k in range(3):
        session.take('q', k * 2 * MS, ['gripper', *names], [np.nan, *np.zeros(6)])
        session.take('motor_position', k * 2 * MS, ['gripper', *names], [np.nan, *np.full(6, 100.0)])
        session.take('motor_torque', k * 2 * MS, [*names, 'gripper'], [*np.zeros(6), np.inf])
    samples = list(session.timeline.samples())
    assert session.timeline.broken == 0 and len(samples) == 3
    ratio = 80.0 if side.coupled else 50.0
    for _, arrays in samples:
        np.testing.assert_allclose(arrays['theta'], 100.0 / ratio, rtol=1e-12)
        np.testing.assert_array_equal(arrays['tau'], 0.0)


def test_temperatures_of_some_joints_and_of_others(make, worn_arm):
    session, names = make(), worn_arm.joint_names
    session.take('temperature', 0, [names[1], 'gripper'], [40.0, 99.0])
    feed(session, 3)
    np.testing.assert_array_equal(session.estimator.temperature, [np.nan, 40.0, *[np.nan] * 4])
    session.take('temperature', 0, [names[5]], [50.0])
    np.testing.assert_array_equal(session.estimator.temperature, [np.nan, 40.0, np.nan, np.nan, np.nan, 50.0])


def test_other_settings_keep_what_was_learnt(make):
    session = make()
    session.retune(EstimationSettings(omega_min=0.3))
    assert session.estimator is None and session.settings.omega_min == 0.3
    session.learning = False
    feed(session, 150)
    assert not session.estimator.learning and not session.learning
    session.learning = True
    assert session.estimator.learning and session.learning
    session.estimator.friction.reset([1.2, 0.01])
    session.estimator.stiffness.reset([1e4, 5e8])
    session.retune(EstimationSettings(omega_min=0.2, stiffness_order=2))
    assert session.estimator.settings.omega_min == 0.2 and isinstance(session.estimator.friction, FrictionEstimator)
    np.testing.assert_allclose(session.estimator.friction.parameters, np.tile([1.2, 0.01], (6, 1)))
    np.testing.assert_allclose(session.estimator.stiffness.coefficients, np.tile([1e4, 5e8], (6, 1)))
    # no friction learnt, another number of terms: begun at the description
    session.retune(EstimationSettings(friction='none', stiffness_order=4))
    assert session.estimator.friction is None
    np.testing.assert_allclose(session.estimator.stiffness.coefficients[:, :2], session.arm.stiffness.coefficients)
    session.retune(EstimationSettings())
    np.testing.assert_allclose(session.estimator.friction.parameters, session.arm.friction_scale)


def test_saved_estimates_of_this_description_and_of_another(make, worn_description, worn_arm, tools):
    session = make(thresholds=HealthThresholds(excitation=1.0), working_range=2e-3)
    assert session.adapted('2024-05-01') is session.description is worn_description
    assert (session.monitor.thresholds.excitation, session.monitor.working_range) == (1.0, 2e-3)
    feed(session, 120)
    session.estimator.friction.reset([1.3, 0.01])
    saved = session.adapted('2024-05-01')
    again = make(saved=saved)
    assert 'continues from the saved estimates' in again.remarks and again.base == session.base
    assert [run['date'] for run in again.history] == ['2024-05-01']
    np.testing.assert_allclose(again.arm.friction_scale, np.tile([1.3, 0.01], (6, 1)))
    feed(again, 60)
    dates = [run['date'] for run in again.adapted('2024-05-02').document['provenance']['estimator']['runs']]
    assert dates == ['2024-05-01', '2024-05-02']
    again.reset()
    assert again.history == [] and again.description is worn_description
    np.testing.assert_array_equal(again.estimator.friction.parameters, worn_arm.friction_scale)
    np.testing.assert_allclose(again.monitor.reference.coefficients, worn_arm.stiffness.coefficients)
    assert again.estimator.arm is again.arm
    other = tools.changed(worn_description, damping=lambda part: {'value': part['value'] + 1.0})
    passed = make(description=other, saved=saved)
    assert 'the saved estimates belong to another dynamics description and are not used' in passed.remarks
    assert passed.history == []
    np.testing.assert_array_equal(passed.arm.friction_scale, Arm.from_description(worn_arm.robot, other).friction_scale)


def test_the_reference_of_the_health_is_what_a_description_keeps(make, worn_description, worn_arm, tools):
    kept = tools.changed(worn_description)
    stiffness = np.arange(12.0).reshape(6, 2) + 1e4
    notes = {name: {'stiffness': row.tolist()} for name, row in zip(worn_arm.joint_names, stiffness, strict=True)}
    kept.document['provenance'] = {'estimator': {'reference': notes}}
    np.testing.assert_array_equal(make(description=kept).monitor.reference.coefficients, stiffness)
    new = make(working_range=2e-3, thresholds=HealthThresholds(excitation=7.0)).monitor
    np.testing.assert_array_equal(new.reference.coefficients, worn_arm.stiffness.coefficients)
    assert (new.working_range, new.thresholds) == (2e-3, HealthThresholds(excitation=7.0))


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
    # at most one more order is kept
    assert after - before < 8 * 200**2


def test_an_overflow_gives_no_warning():
    with np.errstate(all='raise'):
        found = MotorReflection(MotorSide(gear_ratio=100.0), JOINTS).reflected(
            'motor_torque', JOINTS, [1e308] * len(JOINTS)
        )
    assert not np.isfinite(found).any()
