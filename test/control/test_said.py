"""What is refused and remarked, in whole sentences: where, what was expected, what was found, and the remedy."""

import gc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.control import (
    Controller,
    ControlLoop,
    Follower,
    InterfaceConfiguration,
    Path,
    Points,
    SafetyGate,
    create,
    registry,
)
from joint_dynamics.control.applied import AppliedCompensation
from joint_dynamics.control.compensation import check_compensation, check_direction
from joint_dynamics.control.effort_gains import effort_gains
from joint_dynamics.control.elastic_loop import ElasticJoints, elastic_joints
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.hosted_loop import HostedLoop
from joint_dynamics.control.hosted_parameters import main
from joint_dynamics.control.inputs import AgedInterfaces
from joint_dynamics.control.path import order_joints
from joint_dynamics.control.preflight import refuse_run_away
from joint_dynamics.control.trajectory import check_motion
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FrictionModel, MaxwellSlip
from joint_dynamics.simulation import ur5e_urdf

AB = ('a', 'b')
HERE = np.array([0.1, 0.2])
ZERO = np.zeros((2, 1))


def refused(call, *given, **more):
    """The sentence that a call is refused with."""
    with pytest.raises(JointDynamicsError) as told:
        call(*given, **more)
    return str(told.value)


# ---- paths and points


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (([0.0, 1.0], ZERO, None, ZERO), 'trajectory: expected velocities where accelerations are given, found none'),
        (
            ([0.0], [[0.0]]),
            'trajectory: expected at least two points with as many rows of every quantity, found time (1,) and (1, 1)',
        ),
        (
            ([0.0, 1.0], ZERO, np.zeros((3, 1))),
            'trajectory: expected at least two points with as many rows of every quantity, found time (2,) and (2, 1), '
            '(3, 1)',
        ),
        (
            ([[0.0, 1.0]], ZERO),
            'trajectory: expected at least two points with as many rows of every quantity, found time (1, 2) and '
            '(2, 1)',
        ),
        (([1.0, 1.0], ZERO), 'trajectory: expected finite times that increase from point to point, found [1.0, 1.0]'),
        (
            ([0.0, np.inf], ZERO),
            'trajectory: expected finite times that increase from point to point, found [0.0, inf]',
        ),
        (([0.0, 1.0], [[0.0], [np.nan]]), 'trajectory: expected finite positions, found nan'),
        (([0.0, 1.0], ZERO, [[np.inf], [0.0]]), 'trajectory: expected finite velocities, found inf'),
        (([0.0, 1.0], ZERO, ZERO, [[0.0], [-np.inf]]), 'trajectory: expected finite accelerations, found -inf'),
        (
            ([0.0, 1.0], ZERO, [[0.0], [0.5]]),
            'trajectory: expected the last point at rest (to 1e-06 rad/s), found velocities [0.5]',
        ),
    ],
)
def test_points_of_no_path(arguments, said):
    assert refused(Path, *arguments) == said


def test_long_times_are_told_by_their_beginning():
    times = [float(k) for k in range(100)] + [0.0]
    said = refused(Path, times, np.zeros((101, 1)))
    start = 'trajectory: expected finite times that increase from point to point, found '
    assert said == start + str(times)[:80]


@pytest.mark.parametrize(
    ('points', 'position', 'said'),
    [
        (
            Points(AB, [1.0, 2.0], [[0.0, 0.0]]), HERE,
            'trajectory: expected 2 values of every quantity at every point, found (1, 2) for 2 points',
        ),
        (
            Points(AB, [1.0], [[0.0, 0.0]], [[0.0]]), HERE,
            'trajectory: expected 2 values of every quantity at every point, found (1, 2), (1, 1) for 1 points',
        ),
        (
            Points(AB, [-1.0], [[0.0, 0.0]]), HERE,
            'trajectory: expected points with finite times >= 0, found [-1.0]',
        ),
        (
            Points(AB, [], np.zeros((0, 2))), HERE,
            'trajectory: expected points with finite times >= 0, found none',
        ),
        (
            Points(AB, [1.0], [[0.0, 0.0]]), [np.nan, 0.0],
            'trajectory: expected to know where the robot is, found no position',
        ),
        (
            Points(AB, [0.0, 1.0], [[0.1, 0.5], [0.0, 0.0]]), HERE,
            'trajectory: expected it to start within 0.1 rad of where the robot is, found b at 0.5 rad, from 0.2 rad',
        ),
        (
            Points(['a', 'c'], [1.0], [[0.0, 0.0]]), HERE,
            'trajectory: expected each of the joints a, b once, found a, c',
        ),
        (Points([], [1.0], [[]]), HERE, 'trajectory: expected each of the joints a, b once, found none'),
    ],
)  # fmt: skip
def test_points_that_nobody_can_follow(points, position, said):
    assert refused(Follower(AB).plan, points, 0.0, np.array(position)) == said


def test_set_points_of_another_size():
    follower = Follower(AB)
    for k, name in enumerate(('positions', 'velocities', 'accelerations')):
        given = [np.zeros(3 if k == row else 2) for row in range(3)]
        assert refused(follower.set_point, AB, *given, 0.0) == f'set point: expected 2 {name}, found 3'
    assert follower.motion(0.0) is None


def test_joints_twice_missing_or_foreign():
    start = 'trajectory: expected each of the joints a, b once, found '
    for names in (['a', 'a'], ['a'], ['a', 'b', 'b'], ['a', 'b', 'c']):
        assert refused(order_joints, AB, names) == start + ', '.join(names)
    assert order_joints(AB, ['b', 'a']) == [1, 0]


def test_how_smooth_a_motion_has_to_be():
    rough = Path([0.0, 1.0], [[0.0], [1.0]], smooth=False)
    assert rough.derivatives == 1
    law = SimpleNamespace(arm=SimpleNamespace(n=1), references=('position', 'velocity', 'acceleration'))
    with pytest.raises(JointDynamicsError, match=r'^trajectory: expected a motion that is \S+ times'):
        check_motion(SimpleNamespace(controller=SimpleNamespace(DERIVATIVES=2), **vars(law)), rough)


# ---- gate, jumps, interfaces


def test_gates_that_cannot_be():
    limits = 'gate: expected finite torque limits > 0 of every joint (effort in the URDF, or a parameter), found '
    assert refused(SafetyGate, [1.0, 0.0], [1.0, 1.0], 1.0) == limits + '[1.0, 0.0]'
    assert refused(SafetyGate, [1.0, np.inf], [1.0, 1.0], 1.0) == limits + '[1.0, inf]'
    assert refused(SafetyGate, [1.0], [1.0, 1.0], 1.0) == limits + '[1.0]'
    assert refused(SafetyGate, 1.0, 1.0, 1.0) == limits + '1.0'
    for ramp, longest in ((0.0, 0.02), (np.inf, 0.02), (1.0, 0.0), (1.0, np.nan)):
        said = refused(SafetyGate, [1.0], [9.0], ramp, max_period=longest)
        assert said == f'gate: expected ramp_time and max_period > 0 s, found {ramp} and {longest}'
    said = refused(SafetyGate, [1.0, 2.0], [4.0, 7.9], 0.5)
    assert said == (
        'gate: expected rate limits of at least 2 limit / ramp_time, so that the ramp ends in time: [4.0, 8.0], found '
        '[4.0, 7.9]'
    )
    made = SafetyGate([1, 2], [4, 8], 0.5)
    assert made.limited.dtype == bool and not made.limited.any()
    assert made.limit.dtype == made.rate.dtype == float


def test_a_command_that_is_no_number_is_shown():
    gate = SafetyGate([1.0, 2.0], [40.0, 80.0], 0.5)
    gate.open()
    gate.step(np.array([0.5, np.nan]), np.zeros(2), 0.01)
    assert gate.failure == 'the law gave a command that is not finite: [0.5, nan]'
    gate.fail('something later')
    assert gate.failure.startswith('the law gave')
    gate.open()
    assert gate.failure == '' and not gate.limited.any()


def test_a_jump_is_told_by_its_size_and_what_was_allowed():
    states = AgedInterfaces(AB, {'position': 1.0}, ('position', 'velocity'), reach=[2.0, 3.0], margin=0.01)
    states.write('position', np.zeros(2), 1.0)
    assert states.why_invalid(('position',), 1.0, 'state') == ''
    states.write('position', np.array([0.0, 0.2]), 1.05)
    assert states.why_invalid(('position',), 1.05, 'state') == (
        'state position of b jumped by 0.2 rad in 0.05 s, allowed are 3 rad/s and 0.01 rad: not accepted until it has '
        'gone on for 0.1 s without a jump'
    )
    states.clear()
    states.write('position', np.array([0.0, 0.2]), 1.05)
    assert states.why_invalid(('position',), 1.05, 'state') == ''


def test_claims_that_do_not_exist():
    claim = InterfaceConfiguration.individual(AB, ('effort',), ('temperature',))
    assert claim.names == ('a/effort', 'b/effort') and claim.optional == ('a/temperature', 'b/temperature')
    assert claim.quantities(AB, ('effort', 'temperature')) == (('effort',), ('temperature',))
    start = 'interface: expected <joint>/<quantity> with a joint of a, b and a quantity of effort, current, found '
    for names in (('c/effort',), ('a/speed',), ('effort',)):
        for wrong in (InterfaceConfiguration(names), InterfaceConfiguration((), names)):
            assert refused(wrong.quantities, AB, ('effort', 'current')) == f'{start}{names[0]!r}'
    said = refused(InterfaceConfiguration(('a/effort',)).quantities, AB, ('effort',))
    assert said == "interface 'effort': expected it to be claimed for every joint, not found for b"


# ---- laws


class Plain(Controller):
    """A law that does nothing."""

    claimed = ('effort',)

    def on_configure(self, setup):
        self._joint_names = setup.arm.joint_names

    def command_interface_configuration(self):
        return InterfaceConfiguration.individual(self.joint_names, self.claimed)

    def state_interface_configuration(self):
        return InterfaceConfiguration()

    def update(self, time, period):
        self.command[self.claimed[0]] = 0.0


def test_laws_that_claim_no_command_or_a_current_without_gains(arm, make_arm):
    for claimed in ((), ('effort', 'current')):
        law = Plain()
        law.claimed = claimed
        assert refused(ControlLoop, law, arm) == (
            f'controller: expected it to claim one command, effort or current, found {claimed}'
        )
    law = Plain()
    law.claimed = ('current',)
    gains = np.array([1.0, 2.0, np.nan, 4.0, np.inf, 6.0])
    assert refused(ControlLoop, law, make_arm(drive_gain=gains)) == (
        f'output: expected a drive gain of every joint for a command in A, found none for {arm.joint_names[2]}'
    )


def test_a_law_of_another_package_has_no_remarks_of_its_own_nor_a_motor_side(arm):
    loop = ControlLoop(Plain(), arm)
    assert loop.remarks == arm.remarks and loop.beyond == () and loop.fallback_reason == 'not active'
    assert refused(loop.controller.motor_reference, np.zeros((5, 6))) == (
        'Plain: expected a law that knows the motor side, such as flexible_joint, found one that does not'
    )
    loop.activate()
    assert loop.fallback_reason == 'just activated'
    loop.step(0.0, 0.0)
    assert loop.fallback_reason == 'time does not go on: 0.0 s since the last step'
    list(loop.deactivate())
    assert loop.fallback_reason == 'not active'


def test_what_a_law_lacks(make_arm, make_loop):
    bare = make_arm(friction=None)
    names = bare.joint_names
    assert refused(make_loop, 'flexible_joint', make_arm(stiffness=None)) == (
        'flexible_joint: expected the stiffness of the transmissions in the dynamics description, found none'
    )
    assert refused(make_loop, 'computed_torque', bare, friction='static') == (
        "friction: expected a friction model in the dynamics description for 'static', found none"
    )
    gains = np.array([1.0, 2.0, 3.0, np.nan, 5.0, 6.0])
    assert refused(make_loop, 'computed_torque', make_arm(drive_gain=gains), output='current') == (
        f'output: expected a drive gain of every joint for a command in A, found none for {names[3]}'
    )


def test_what_of_the_friction_is_not_used_is_remarked(make_arm):
    names = make_arm().joint_names

    def remarks(kind, arm, **more):
        return FrictionCompensation(arm, kind, **more).remarks

    assert remarks('static', make_arm()) == ['joints.*.friction.maxwell_slip: not used (friction is static)']
    assert remarks('hysteresis', make_arm()) == []
    assert remarks('none', make_arm()) == [
        'joints.*.friction, inertial.coupling: friction is not compensated (friction is none)'
    ]
    assert remarks('none', make_arm(friction=None)) == []
    scale = np.tile([1.0, 0.0], (6, 1))
    scale[1], scale[4] = (3.0, 0.01), (1.0, -0.2)
    found = remarks('hysteresis', make_arm(friction_scale=scale))
    assert found == [
        f'joints.{names[1]}.friction.scale: [3.0, 0.01] is beyond the bounds of α, [2.5, 0.01] is used',
        f'joints.{names[4]}.friction.scale: [1.0, -0.2] is beyond the bounds of α, [1.0, -0.05] is used',
    ]
    wide = remarks('hysteresis', make_arm(friction_scale=scale), viscous_share=0.5)
    assert wide == found[:1]
    for bounds in (([1.0], [2.0]), ([0.5, 0.1], [2.0, 0.0])):
        lower, upper = (np.array(one) for one in bounds)
        assert refused(FrictionCompensation, make_arm(), 'static', alpha_bounds=bounds) == (
            f'alpha bounds: expected two numbers each, lower <= upper, found {lower} and {upper}'
        )


class Point:
    """An entry point."""

    def __init__(self, value, found):
        self.name, self.value, self._found = 'own', value, found

    def load(self):
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


class Asks(Plain):
    def __init__(self, more):
        self.more = more


def test_laws_by_name(monkeypatch):
    points = []
    monkeypatch.setattr(registry, 'entry_points', lambda group: points)
    assert refused(registry.load, 'own') == ("law: expected one of none (no controller is installed), found 'own'")
    points[:] = [Point('p:Plain', Plain)]
    assert registry.load('own') is Plain and registry.available() == {'own': 'p:Plain'}
    assert refused(registry.load, 'other') == "law: expected one of own, found 'other'"
    points[:] = [Point('q:B', Plain), Point('p:A', Plain)]
    assert refused(registry.load, 'own') == "law: expected one controller 'own', found p:A and q:B"
    points[:] = [Point('p:A', ImportError('no module'))]
    assert refused(create, 'own') == "law: expected 'own' (p:A) to load, found ImportError: no module"
    for wrong in (dict, 5):
        points[:] = [Point('p:A', wrong)]
        assert refused(registry.load, 'own') == (
            f'law: expected p:A to be a subclass of joint_dynamics.control.Controller, found {wrong!r}'
        )
    points[:] = [Point('p:A', Asks)]
    said = refused(create, 'own')
    assert said.startswith("law: expected 'own' to be made without arguments, found TypeError: ")


# ---- trajectories and hosts


def test_a_law_that_measures_or_gives_no_number_has_no_trajectory(arm, path):
    class Measures(Plain):
        OPEN_LOOP = False

    class Wrong(Plain):
        value = None

        def update(self, time, period):
            if self.value is None:
                raise ValueError('no')
            self.command['effort'] = self.value

    motion = path.at(0.5)
    assert refused(ControlLoop(Measures(), arm).law_along, motion, 0.0, 0.01) == (
        'Measures: expected a law that needs no measurement for a trajectory, found one that does (use it in streaming '
        'mode)'
    )
    law = Wrong()
    loop = ControlLoop(law, arm)
    assert refused(loop.law_along, motion, 0.0, 0.01) == 'law: expected a command, found ValueError: no'
    law.value = np.array([1.0, np.nan, 0, 0, 0, 0])
    assert refused(loop.law_along, motion, 0.0, 0.01) == (
        'law: expected a finite command, found [1.0, nan, 0.0, 0.0, 0.0, 0.0]'
    )


def test_slow_inputs_that_are_not_there_are_named(make_loop, arm):
    loop = make_loop('computed_torque', friction='static')
    said = f'temperature of {arm.joint_names[0]} is missing or old: going on without'
    assert loop.look(0.0) == said == loop.warning
    loop.state.write('temperature', np.full(6, 30.0), 0.0)
    assert loop.look(0.0) == '' == loop.warning
    loop.state.write('temperature', [31.0] * 5, 9.0, [name for name in arm.joint_names if name != arm.joint_names[2]])
    assert loop.look(11.0) == said.replace(arm.joint_names[0], arm.joint_names[2])


def test_a_host_refuses_what_ros2_control_does_not_have(monkeypatch, arm):
    robot = ur5e_urdf().read_text()
    try:
        monkeypatch.setattr(Plain, 'reference_interface_configuration', lambda self: (
            InterfaceConfiguration.individual(self.joint_names, ('position', 'jerk', 'snap'))
        ))  # fmt: skip
        monkeypatch.setattr(registry, 'entry_points', lambda group: [Point('p:Plain', Plain)])
        assert refused(HostedLoop, robot, '', {'law': 'own', 'use_description': False}) == (
            'law: expected one that needs position, velocity, acceleration at most, as ros2_control has them, found '
            'own, which needs jerk and snap (the feedforward node has them in its trajectories)'
        )
        monkeypatch.undo()

        class Fails(Plain):
            def update(self, time, period):
                raise ValueError('cold')

        monkeypatch.setattr(registry, 'entry_points', lambda group: [Point('p:Fails', Fails)])
        assert refused(HostedLoop, robot, '', {'law': 'own', 'use_description': False}) == (
            'law: expected one that gives a torque at rest, found that the law raised ValueError: cold'
        )
        monkeypatch.setattr(registry, 'entry_points', lambda group: [Point('p:Plain', Plain)])
        made = HostedLoop(robot, '', {'law': 'own', 'use_description': False})
        assert (made.reason, made.warning) == ('not active', '')
        assert np.isnan(made.state).all() and np.isnan(made.state_time).all() and np.isnan(made.reference).all()
        made.activate()
        assert made.reason == 'just activated'
        made.deactivate()
        assert made.reason == 'not active' and not made.loop.gate.is_open
        made.deactivate()
    finally:
        gc.enable()
        gc.unfreeze()


def test_the_files_of_the_plugin_go_into_its_package_only(tmp_path):
    assert refused(main, [str(tmp_path)]) == (
        f'hosted_parameters: expected the folder of a package, found none in {tmp_path}'
    )


# ---- compensation and gains


def test_compensations_that_cannot_be_checked(arm):
    identified = SimpleNamespace(name='elbow')
    for limit in (0.0, -1.0, np.inf, np.nan):
        assert refused(check_direction, identified, None, 'positive', limit) == (
            f'elbow: expected a speed limit > 0 rad/s, found {limit}'
        )
    name = arm.joint_names[1]
    assert refused(check_compensation, arm, {'elbow': {}}) == (
        'elbow: expected its friction in the description, found none'
    )
    applied = {name: {'parameters': {'F_C0': 1.0, 'F_V1': 1.0}}}
    described = replace(arm, friction_described=np.ones(6, dtype=bool))
    assert refused(check_compensation, described, applied, {}) == (
        f'{name}: expected speed_limit (rad/s) in the applied file or the description, found none'
    )
    # those that are given take the place of the robot's
    (found,) = check_compensation(described, applied, {name: 0.7})
    assert found.positive.speed[-1] == pytest.approx(0.7)
    (found,) = check_compensation(described, applied)
    assert found.positive.speed[-1] == pytest.approx(arm.robot.limits.velocity[1])


@pytest.mark.parametrize(
    ('given', 'said'),
    [
        ({'F_C0': 1.0}, "j: expected a mapping with parameters, found {'F_C0': 1.0}"),
        (3, 'j: expected a mapping with parameters, found 3'),
        (
            {'colour': 3},
            'j: expected the keys parameters, directions, smoothing, speed_limit, spring, inertia, temperatures, found '
            "'colour'",
        ),
        ({'spring': -3}, 'j.spring: expected a number above 0, found -3'),
        ({'spring': 0}, 'j.spring: expected a number above 0, found 0'),
        ({'inertia': True}, 'j.inertia: expected a number above 0, found True'),
        ({'inertia': 0.0}, 'j.inertia: expected a number above 0, found 0.0'),
        ({'speed_limit': np.inf}, 'j.speed_limit: expected a number above 0, found inf'),
        ({'speed_limit': '1'}, "j.speed_limit: expected a number above 0, found '1'"),
        ({'smoothing': -0.1}, 'j.smoothing: expected a number above 0, found -0.1'),
        ({'temperatures': 20}, 'j.temperatures: expected a list of °C, found 20'),
        ({'temperatures': [20, 'x']}, "j.temperatures: expected a list of °C, found [20, 'x']"),
        (
            {'directions': {'up': {'F_C': 1.0, 'F_V1': 1.0}}},
            "j.directions: expected positive and negative with F_C and F_V1, found up: {'F_C': 1.0, 'F_V1': 1.0}",
        ),
        (
            {'directions': {'positive': {'F_C': 1.0}}},
            "j.directions: expected positive and negative with F_C and F_V1, found positive: {'F_C': 1.0}",
        ),
        ({'directions': {'negative': 5}}, 'j.directions: expected positive and negative with F_C and F_V1, found '
         'negative: 5'),
    ],
)  # fmt: skip
def test_what_no_applied_compensation_is(given, said):
    whole = isinstance(given, dict) and 'F_C0' not in given
    document = {'parameters': {'F_C0': 1.0, 'F_V1': 1.0}, **given} if whole else given
    assert refused(AppliedCompensation, 'j', document) == f'applied: joints.{said}'


def test_an_applied_compensation_keeps_its_fields():
    own = {'F_C': 3.0, 'F_S': 4.0, 'F_V1': 0.5}
    document = {'parameters': {'F_C0': 1.0, 'F_V1': 2.0, 'offset': 0.3}, 'smoothing': 0, 'speed_limit': 1.5,
                'spring': 20.0, 'inertia': 0.1, 'temperatures': [0, 30.0], 'directions': {'negative': own}}  # fmt: skip
    found = AppliedCompensation('j', document)
    assert (found.speed_limit, found.spring, found.inertia, found.temperatures) == (1.5, 20.0, 0.1, (0, 30.0))
    assert found.loads == (0.0,)
    np.testing.assert_allclose(found.torque(np.array([1.0, 2.0])), [3.3, 5.3])
    # far above V_S nothing is left of F_S
    np.testing.assert_allclose(found.torque(np.array([-5.0, -6.0])), [-5.5, -6.0], atol=1e-6)
    bare = AppliedCompensation('j', {'parameters': {'F_C0': 1.0}})
    assert (bare.speed_limit, bare.spring, bare.inertia, bare.temperatures) == (None, None, None, ())
    soft = AppliedCompensation('j', {'parameters': {'F_C0': 1.0}, 'smoothing': 0.5})
    np.testing.assert_allclose(soft.torque(np.array([0.5, 1.0])), np.tanh([1.0, 2.0]))


def test_a_law_that_runs_away_is_told_by_joint_direction_and_excess(make_arm, make_loop):
    n = 6
    friction = FrictionModel({'F_C0': np.full(n, 7.0), 'F_V1': np.full(n, 6.0)}, MaxwellSlip(n, 5e-4))
    arm = make_arm(friction=friction, kinematic_error=None)
    gain = np.ones(n)
    gain[2] = 1.2
    loop = make_loop('computed_torque', arm, friction='hysteresis', friction_gain=gain.tolist())
    limit = arm.robot.limits.velocity[2]
    excess = 0.2 * (7.0 + 6.0 * limit)
    each = [
        f'{arm.joint_names[2]} in {side} direction: {excess:.3g} N·m more than friction at {limit:.3g} rad/s (over)'
        for side in ('positive', 'negative')
    ]
    assert refused(refuse_run_away, loop.controller) == (
        f'friction compensation: expected none that would run away, found {"; ".join(each)} (lower friction_gain, or '
        'set check_compensation to false)'
    )
    refuse_run_away(make_loop('computed_torque', arm, friction='hysteresis').controller)


def test_gains_that_cannot_be(robot, make_arm):
    arm = Arm(robot)
    for name, upper in (('period', 1), ('ratio', 1), ('damping', 10)):
        for value in (0.0, float(upper), np.nan):
            given = {'period': 0.002, name: value}
            assert refused(effort_gains, arm, **given) == (
                f'gains: expected {name} between 0 and {upper}, found {value!r}'
            )
    for delay in (-0.001, 0.0201):
        assert refused(effort_gains, arm, 0.002, delay=delay) == (
            f'gains: expected a delay of 0 to 10 periods, found {delay!r} s'
        )
    turned = replace(arm, rotor_inertia=np.full(6, -5.0))
    assert refused(effort_gains, turned, 0.002) == (
        'gains: expected an inertia matrix that is positive in every posture, found one that is not; use the URDF, or '
        'identify with physical consistency (docs/explanation/robust_and_physical.md)'
    )
    soft = ElasticJoints(np.full(6, 50.0), np.zeros(6), np.zeros(6), 0.5 * np.eye(6))
    assert refused(effort_gains, arm, 0.002, joints=[soft]) == (
        'gains: expected flexible joints that bear some gain, found that all make them ring; close the loop on the '
        'motor side, or state more damping (docs/reference/commands/gains.md)'
    )


def test_flexible_joints_that_cannot_be(robot, make_arm):
    arm = make_arm()
    for share in (0.0, 1.0, np.nan):
        assert refused(elastic_joints, arm, damping_ratio=share) == (
            f'gains: expected a damping ratio between 0 and 1, found {share!r}'
        )
    assert refused(elastic_joints, arm, [1e4] * 5) == 'gains: expected 6 values of stiffness, found 5'
    for wrong in (0.0, -1.0):
        assert refused(elastic_joints, arm, [1e4, 2e4, wrong, 1e4, 1e4, 1e4]) == (
            f'gains: expected stiffness above 0 N·m/rad, found [10000.0, 20000.0, {wrong}, 10000.0, 10000.0, 10000.0]'
        )
    rotors = np.array([0.9, 0.0, 0.9, 0.2, 0.2, 0.2])
    assert refused(elastic_joints, make_arm(rotor_inertia=rotors), [1e4] * 6) == (
        'gains: expected a rotor inertia above 0 for every joint, without which a flexible joint cannot be judged, '
        'found [0.9, 0.0, 0.9, 0.2, 0.2, 0.2]; a URDF has none, a description does'
    )
    known = np.array([True, False, True, True, False, True])
    assert refused(elastic_joints, make_arm(stiffness_described=known)) == (
        f'gains: expected a described stiffness for every joint, found none for {arm.joint_names[1]}, '
        f'{arm.joint_names[4]}; state one for all (--stiffness)'
    )
    assert elastic_joints(Arm(robot)) == ()
