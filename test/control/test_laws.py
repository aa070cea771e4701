"""The shipped laws: identities first, then the plant they invert, and what they do on the simulated arm."""

import importlib.util
import sys
from pathlib import Path as File

import numpy as np
import pytest

from joint_dynamics.control import ControllerSetup, available, create
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import REVERSAL, FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.joint.stiffness import SOFTEST
from joint_dynamics.simulation import ModelErrors

LAWS = ('computed_torque', 'adaptive_friction', 'flexible_joint', 'joint_torque_feedback')


def along(loop, path, feed, times, **state):
    """Commands of a loop whose gate has opened long ago."""
    out = []
    for time in times:
        motion = path.at(time)
        feed(loop, motion, time, **state)
        out.append(loop.law_now(time, 1e-3))
    return np.array(out)


@pytest.mark.parametrize('law', LAWS)
def test_gravity_off_takes_gravity_off_and_nothing_else(make_loop, path, feed, law):
    times = np.arange(0.5, 1.5, 0.01)
    loops = [make_loop(law, gravity=gravity) for gravity in (True, False)]
    with_it, without = (along(loop, path, feed, times) for loop in loops)
    gravity = np.array([loops[0].arm.rigid.gravity(path.at(t)[0]) for t in times])
    np.testing.assert_allclose(with_it - without, gravity, atol=1e-9)
    assert np.abs(gravity).max() > 10


@pytest.mark.parametrize('law', LAWS)
def test_current_is_torque_over_drive_gain(make_loop, path, feed, law):
    times = np.arange(0.5, 1.5, 0.01)
    effort, current = (make_loop(law, output=output) for output in ('effort', 'current'))
    np.testing.assert_allclose(
        along(effort, path, feed, times), along(current, path, feed, times) * effort.arm.drive_gain, atol=1e-12
    )
    assert (effort.output, current.output) == ('effort', 'current')


def test_computed_torque_is_inverse_dynamics_with_rotors(make_loop, path, feed):
    loop = make_loop('computed_torque')
    u = along(loop, path, feed, [1.1])[0]
    q, dq, ddq = path.at(1.1)[:3]
    parameters = loop.arm.parameters.reshape(-1, 14).copy()
    parameters[:, 10] = loop.arm.rotor_inertia
    np.testing.assert_allclose(u, loop.arm.robot.inverse_dynamics(q, dq, ddq, parameters.ravel()), atol=1e-9)


def test_flexible_joint_with_infinite_stiffness_is_the_rigid_law(make_arm, make_loop, path, feed):
    arm = make_arm(stiffness=TorsionalStiffness([1e16]), kinematic_error=None)
    times = np.arange(0.0, 5.2, 0.005)
    flexible = along(make_loop('flexible_joint', arm), path, feed, times)
    rigid = along(make_loop('adaptive_friction', arm), path, feed, times)
    np.testing.assert_allclose(flexible, rigid, atol=1e-9)


def test_joint_torque_feedback_is_feedforward_where_the_torque_is_as_desired(make_loop, path, feed):
    times = np.arange(0.5, 1.0, 0.01)
    plain = make_loop('flexible_joint')
    loop = make_loop('joint_torque_feedback', torque_source='interface', torque_gain=0.8)
    for time in times:
        motion = path.at(time)
        desired = loop.arm.rigid.inverse_dynamics(*motion[:3])
        feed(plain, motion, time)
        u = plain.law_now(time, 1e-3)
        feed(loop, motion, time, torque=desired)
        np.testing.assert_allclose(loop.law_now(time, 1e-3), u, atol=1e-9)
        feed(loop, motion, time, torque=desired - 2.0)
        np.testing.assert_allclose(loop.law_now(time, 1e-3), u + 1.6, atol=1e-9)
    feed(loop, motion, time, torque=desired - 1e6)
    np.testing.assert_allclose(loop.law_now(time, 1e-3), u + 0.3 * loop.arm.effort_limit, atol=1e-9)


def test_the_set_point_of_the_torque_loop_includes_what_the_pid_asks_for(make_loop, path, feed):
    motion = path.at(1.1)
    state = {'position': motion[0] + 1e-3, 'torque': make_loop().arm.rigid.inverse_dynamics(*motion[:3])}
    gains = {'feedback': True, 'kp': 400.0, 'kd': 40.0}
    plain, pid = (
        along(make_loop('flexible_joint', **options), path, feed, [1.1], **state)[0] for options in ({}, gains)
    )
    loop = make_loop('joint_torque_feedback', torque_source='interface', torque_gain=0.3, **gains)
    np.testing.assert_allclose(along(loop, path, feed, [1.1], **state)[0] - plain, 1.3 * (pid - plain), atol=1e-9)


def test_torque_from_deformation_is_that_of_the_transmission(make_loop, arm, path, feed):
    """u = u_FF + K_τJ (τ_J,d − τ̂_J): what a second loop without the gain has less tells τ̂_J."""
    motion = path.at(1.0)
    phi = np.array([1e-3, -2e-3, 5e-4, 1e-4, 0, -1e-4])
    theta = motion[0] + phi
    for _ in range(20):
        theta = motion[0] + phi + arm.kinematic_error(theta)
    commands = []
    for gain in (0.0, 0.3):
        loop = make_loop('joint_torque_feedback', torque_gain=gain, torque_limit=1.0)
        feed(loop, motion, 0.0, motor_position=theta, motor_velocity=motion[1] + 0.1)
        loop.refresh_inputs(0.0)
        commands.append(loop.law_now(0.0, 0.001))
    torque = arm.link_torque(*motion[:3]) - (commands[1] - commands[0]) / 0.3
    np.testing.assert_allclose(torque, arm.stiffness.torque(phi) + arm.damping * 0.1, atol=1e-6)


def test_adaptation_scales_coulomb_and_viscous_friction_within_bounds(make_loop, path, feed):
    time = 1.1
    loops = {}
    for name, state in {
        'nominal': {},
        'nan': {'friction_scale': np.full(6, np.nan), 'viscous_excess': np.full(6, np.nan)},
        'half': {'friction_scale': np.full(6, 0.5), 'viscous_excess': np.full(6, 0.02)},
        'least': {'friction_scale': np.full(6, 0.4), 'viscous_excess': np.full(6, 0.05)},
        'beyond': {'friction_scale': np.full(6, -9.0), 'viscous_excess': np.full(6, np.inf)},
    }.items():
        loop = make_loop('adaptive_friction', viscous_share=0.0)
        along(loop, path, feed, np.arange(0.9, time, 0.001))
        loops[name] = along(loop, path, feed, [time], **state)[0]
    np.testing.assert_array_equal(loops['nan'], loops['nominal'])
    np.testing.assert_array_equal(loops['beyond'], loops['least'])
    motion = path.at(time)
    level = loop.arm.friction.level(loop.arm.rigid.inverse_dynamics(*motion[:3]))
    moving = np.abs(motion[1]) > 0.1
    expected = -0.5 * level * np.sign(motion[1]) + 0.02 * motion[1]
    np.testing.assert_allclose((loops['half'] - loops['nominal'])[moving], expected[moving], rtol=1e-9)
    assert moving.sum() > 3


def test_the_region_of_the_viscous_part_grows_with_the_viscous_friction(make_loop, path, feed):
    wide = make_loop('adaptive_friction')
    along(wide, path, feed, [1.1], friction_scale=np.ones(6), viscous_excess=np.array([9, 1.0, 0.5, -0.5, -1.0, -9]))
    # 6 N·m·s/rad in the model, a share of 0.5.
    np.testing.assert_allclose(wide.controller.friction.alpha[:, 1], [3.0, 1.0, 0.5, -0.5, -1.0, -3.0])
    fixed = make_loop('adaptive_friction', alpha_lower=[1.0, 0.0], alpha_upper=[1.0, 0.0])
    along(fixed, path, feed, [1.1], friction_scale=np.full(6, 0.7), viscous_excess=np.full(6, 0.5))
    np.testing.assert_array_equal(fixed.controller.friction.alpha, np.tile([1.0, 0.0], (6, 1)))


def test_pid_is_an_acceleration_scaled_by_the_inertia(make_loop, path, feed):
    motion = path.at(1.1)
    error, rate = np.full(6, 1e-3), np.full(6, -1e-2)
    state = {'position': motion[0] + error, 'velocity': motion[1] + rate}
    plain = along(make_loop('computed_torque'), path, feed, [1.1])[0]
    loop = make_loop('computed_torque', feedback=True, kp=400.0, kd=40.0)
    M = loop.arm.rigid.mass_matrix(motion[0]) + np.diag(loop.arm.rotor_inertia)
    np.testing.assert_allclose(
        along(loop, path, feed, [1.1], **state)[0] - plain, M @ (-40 * rate - 400 * error), atol=1e-9
    )
    loop = make_loop('computed_torque', feedback=True, kp=400.0, kd=40.0, ki=100.0, integral_limit=0.05)
    out = along(loop, path, feed, np.full(1000, 1.1), **state) - plain - M @ (-40 * rate - 400 * error)
    np.testing.assert_allclose(out[0], M @ -np.full(6, 100 * 1e-3 * 1e-3), atol=1e-12)
    np.testing.assert_allclose(out[400], M @ -np.full(6, 401 * 100 * 1e-3 * 1e-3), atol=1e-9)
    np.testing.assert_allclose(out[-1], M @ -np.full(6, 0.05), atol=1e-9)


def test_flexible_feedforward_alone_moves_a_flexible_arm_along_the_motion(make_arm, path):
    """Open loop, exact plant without friction.

    B θ̈ + τ = u, M q̈ + C q̇ + g = τ = τ_E(θ − q), fourth-order Runge-Kutta.
    """
    arm = make_arm(
        stiffness=TorsionalStiffness(np.outer([1, 1, 1, 0.2, 0.2, 0.2], [4e3, 4e7])),
        damping=None,
        friction=None,
        kinematic_error=None,
    )
    law = create('flexible_joint')
    law.on_configure(ControllerSetup.of(law, arm, friction='none'))
    theta, omega, _ = law.motor_reference(path.at(0.0))
    x = np.concatenate([path.at(0.0)[0], path.at(0.0)[1], theta, omega])

    def rate(x, u):
        q, dq, th, w = x.reshape(4, 6)
        tau = arm.stiffness.torque(th - q)
        ddq = np.linalg.solve(arm.rigid.mass_matrix(q), tau - arm.rigid.bias(q, dq))
        return np.concatenate([dq, ddq, w, (u - tau) / arm.rotor_inertia])

    h, time = 5e-4, 0.0
    worst = 0.0
    while time < 0.8:
        u = [law.feedforward(path.at(time + s)) for s in (0, h / 2, h)]
        k1 = rate(x, u[0])
        k2 = rate(x + h / 2 * k1, u[1])
        k3 = rate(x + h / 2 * k2, u[1])
        k4 = rate(x + h * k3, u[2])
        x, time = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), time + h
        worst = max(worst, np.abs(x[:6] - path.at(time)[0]).max())
    assert np.abs(path.at(0.8)[0] - path.at(0.0)[0]).max() > 0.1
    assert worst < 2e-6


def test_what_an_arm_lacks_is_said(make_arm, make_loop):
    for law, changes, parameters, expected in [
        ('adaptive_friction', {'friction': None}, {}, 'friction model'),
        ('flexible_joint', {'stiffness': None}, {}, 'stiffness'),
        (
            'computed_torque',
            {'drive_gain': [9.0, 9.0, np.nan, 9.0, 9.0, 9.0]},
            {'output': 'current'},
            'for elbow_joint',
        ),
        ('computed_torque', {}, {'output': 'volts'}, 'one of effort, current'),
        ('computed_torque', {}, {'kp': -1.0}, 'kp'),
        ('computed_torque', {}, {'feedback': True, 'kd': 40.0}, 'kp 0, kd 40, ki 0 of shoulder_pan_joint'),
        (
            'computed_torque',
            {},
            {'feedback': True, 'kp': 400.0, 'kd': [40.0] * 5 + [0.0]},
            'kp > 0 and kd kp > ki of every joint, found kp 400, kd 0, ki 0 of wrist_3_joint',
        ),
    ]:
        with pytest.raises(JointDynamicsError, match=expected):
            make_loop(law, make_arm(**changes), **parameters)
    with pytest.raises(JointDynamicsError, match=r'shoulder_pan_joint\.rotor_inertia >= 0'):
        make_loop('computed_torque', make_arm(rotor_inertia=-np.ones(6)))


def test_friction_without_hysteresis_turns_over_within_a_tenth_of_a_milliradian_and_that_is_said(
    make_arm, make_loop, path, feed
):
    parameters = {'F_C0': np.full(6, 5.0), 'F_V1': 2.0}
    bare = make_arm(friction=FrictionModel(parameters), stiffness=None, kinematic_error=None)
    loop = make_loop('adaptive_friction', bare, rest_gain=1.0)
    assert any('no hysteresis in the dynamics description' in remark for remark in loop.remarks)
    narrow = make_arm(
        friction=FrictionModel(parameters, MaxwellSlip(6, REVERSAL, operators=1)), stiffness=None, kinematic_error=None
    )
    instants = np.linspace(0.0, 5.0, 301)
    expected = along(make_loop('adaptive_friction', narrow, rest_gain=1.0), path, feed, instants)
    np.testing.assert_allclose(along(loop, path, feed, instants), expected, atol=1e-12)


def test_a_payload_is_a_point_mass_on_the_last_link(arm, robot):
    center = np.array([0.02, -0.01, 0.08])
    loaded = arm.with_payload(7.5, center)
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 6))
    # The same mass by d'Alembert: its weight and inertia force through the Jacobian of the point.
    import pinocchio

    model, data = robot.pinocchio, robot.pinocchio.createData()
    pinocchio.forwardKinematics(model, data, q, dq, ddq)
    pinocchio.computeJointJacobians(model, data, q)
    place = data.oMi[6]
    acceleration = pinocchio.getClassicalAcceleration(model, data, 6, pinocchio.ReferenceFrame.LOCAL).linear
    v = pinocchio.getVelocity(model, data, 6, pinocchio.ReferenceFrame.LOCAL)
    a = pinocchio.getAcceleration(model, data, 6, pinocchio.ReferenceFrame.LOCAL)
    point = acceleration + np.cross(a.angular, center) + np.cross(v.angular, np.cross(v.angular, center))
    force = 7.5 * (place.rotation @ point - model.gravity.linear)
    J = pinocchio.getJointJacobian(model, data, 6, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    arm_to = place.rotation @ center
    expected = J[:3].T @ force + J[3:].T @ np.cross(arm_to, force)
    np.testing.assert_allclose(
        loaded.rigid.inverse_dynamics(q, dq, ddq) - arm.rigid.inverse_dynamics(q, dq, ddq), expected, atol=1e-9
    )
    np.testing.assert_array_equal(loaded.rotor_inertia, arm.rotor_inertia)


def test_every_shipped_law_is_documented():
    page = File(__file__).parents[2].joinpath('docs', 'explanation', 'control.md').read_text(encoding='utf-8')
    for name in LAWS:
        assert name in available()
        assert f'`{name}`' in page


def test_the_pid_of_a_flexible_joint_can_close_on_the_motor(make_loop, path, feed):
    motion = path.at(1.1)
    loop = make_loop('flexible_joint', feedback=True, kp=400.0, kd=40.0, feedback_side='motor')
    theta, omega, _ = loop.controller.motor_reference(motion)
    plain = along(make_loop('flexible_joint'), path, feed, [1.1])[0]
    M = loop.arm.rigid.mass_matrix(motion[0]) + np.diag(loop.arm.rotor_inertia)
    # Where the link is does not count then.
    state = {'motor_position': theta + 1e-3, 'motor_velocity': omega - 1e-2, 'position': motion[0] + 0.1}
    np.testing.assert_allclose(along(loop, path, feed, [1.1], **state)[0] - plain, M @ np.full(6, 0.4 - 0.4), atol=1e-9)
    state['motor_velocity'] = omega
    np.testing.assert_allclose(along(loop, path, feed, [1.1], **state)[0] - plain, M @ np.full(6, -0.4), atol=1e-9)
    claimed = loop.controller.state_interface_configuration().names
    assert 'elbow_joint/motor_position' in claimed
    assert 'elbow_joint/position' not in claimed


def test_the_hysteresis_is_driven_by_the_angle_of_the_motor(make_arm, make_loop, path, feed):
    """A joint that stands still under a changing load is carried through its hysteresis by the deformation alone."""
    stand = path.at(0.0)
    loads = {}
    for name, stiffness in (('stiff', None), ('flexible', TorsionalStiffness([2e3]))):
        loop = make_loop('adaptive_friction', make_arm(stiffness=stiffness, kinematic_error=None))
        motion = stand.copy()
        along(loop, path, feed, [0.0])
        for acceleration in np.linspace(0, 20, 200):
            motion[2, 1] = acceleration
            feed(loop, motion, 0.0)
            u = loop.law_now(0.0, 1e-3)
        loads[name] = u[1] - loop.arm.rigid.inverse_dynamics(*motion[:3])[1] - loop.arm.rotor_inertia[1] * 20
    assert loads['stiff'] == pytest.approx(0.0, abs=1e-9)
    assert loads['flexible'] > 7.0


def test_what_of_the_transmission_a_law_leaves_out_is_named(make_arm, make_loop):
    softer, one = TorsionalStiffness([2e4, 1e8]), np.arange(6) == 1
    arm = make_arm(stiffness=softer, stiffness_described=one, damping=2.0 * one)
    every, only = ', '.join(arm.joint_names), arm.joint_names[1]

    def left_out(law, arm, **parameters):
        loop = make_loop(law, arm, **parameters)
        return {remark for remark in loop.remarks if 'not used by' in remark}

    assert left_out('computed_torque', arm) == {
        f'joints.({only}).stiffness: not used by ComputedTorque',
        f'joints.({every}).kinematic_error: not used by ComputedTorque',
        f'joints.({only}).damping: not used by ComputedTorque',
    }
    # What carries the hysteresis is used for it; the damping is not.
    assert left_out('adaptive_friction', arm) == {f'joints.({only}).damping: not used by AdaptiveFriction'}
    assert left_out('flexible_joint', arm) == set()
    loose = make_arm(backlash=PeriodicMap(np.full(90, 1e-4)), kinematic_error=None, damping=None)
    assert left_out('flexible_joint', loose) == {f'joints.({every}).backlash: not used by FlexibleJoint'}


@pytest.fixture(scope='module')
def bench_control():
    """The module of the benchmark."""
    path = File(__file__).parents[2] / 'bench' / 'bench_control.py'
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.append(str(path.parent))
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_adaptation_takes_away_the_error_of_a_friction_that_is_half_of_the_true_one(bench_control):
    def cycle(count):
        return bench_control.cycle(count, acceleration=2 * np.pi / 3, points=4)

    # Lighter than the paper's payload: at twice the acceleration the shoulder has little torque left.
    (e0, t0), (e1, t1), alpha = bench_control.adapted(
        cycle, (0.5, 0.0), cycles=2, seed=2, payload=(4.0, (0.0, 0.0, 0.04)), errors=ModelErrors()
    )
    assert bench_control.reduction(t0, t1)[0] > 84
    assert bench_control.reduction(e0, e1)[0] > 50
    # The gain of the shoulder's drive is off by 3 %, which goes into its α.
    np.testing.assert_allclose(alpha[:, 0], 1.0, atol=0.35)


def test_hysteresis_is_worth_more_than_sgn_where_the_load_reverses(bench_control):
    path = bench_control.reversals(first=45.0, count=3)
    (e0, t0), (e1, t1) = bench_control.against_sgn(path, seed=2)
    assert t0[1] > 1.5 * t1[1]
    assert e0[1] > 1.5 * e1[1]
    assert e0.mean() > 1.5 * e1.mean()


@pytest.mark.parametrize(('feedback', 'side'), [('motor', 'motor'), ('link', 'speed')])
def test_the_flexible_law_halves_the_error_of_a_soft_joint_on_a_fast_move(bench_control, feedback, side):
    path = bench_control.fast_move()
    rigid, flexible = (
        np.mean(bench_control.soft(path, law, feedback, 2, of) ** 2)
        for law, of in (('adaptive_friction', 'link'), ('flexible_joint', side))
    )
    assert np.sqrt(flexible) < 0.5 * np.sqrt(rigid)


def cubic(stiffness, torque):
    """The negative α₂ whose stiffness vanishes at a torque: τ_max = (2/3) α₁ √(α₁/(3 |α₂|))."""
    return -4.0 * stiffness**3 / (27.0 * torque**2)


def test_a_flexible_law_on_a_joint_that_softens_is_the_derivative_of_itself(make_loop, make_arm, path):
    loop = make_loop(
        'flexible_joint', make_arm(stiffness=TorsionalStiffness([2e4, cubic(2e4, 200.0)]), kinematic_error=None)
    )
    law, h = loop.controller, 1e-4
    for time in (0.7, 1.9, 3.3):
        before, omega_before, _ = law.motor_reference(path.at(time - h))
        _, omega, alpha = law.motor_reference(path.at(time))
        after, omega_after, _ = law.motor_reference(path.at(time + h))
        # θ_d carries the first order of the damping, θ̇_d does not: D/k φ̇ ~ 3e-4 s of it.
        np.testing.assert_allclose((after - before) / (2 * h), omega, atol=2e-3 * np.abs(omega).max())
        np.testing.assert_allclose(
            (omega_after - omega_before) / (2 * h), alpha, rtol=1e-5, atol=1e-5 * np.abs(alpha).max()
        )


@pytest.mark.parametrize(
    ('coefficients', 'expected'),
    [
        (
            [1e4, cubic(1e4, 140.0)],
            'stiffness of shoulder_pan_joint that stays positive up to its torque limit of 150 N·m',
        ),
        ([1e4, cubic(1e4, 150.0 * (1 + 1e-6))], 'shoulder_pan_joint'),
        ([[2e4, 0.0]] * 4 + [[-5e3, 1e9]] + [[2e4, 0.0]], 'wrist_2_joint'),
        ([0.0, 0.0], 'hold up to'),
    ],
)
def test_one_that_does_not_hold_the_joint_is_refused(make_arm, make_loop, coefficients, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        make_loop('flexible_joint', make_arm(stiffness=TorsionalStiffness(coefficients)))
    assert 0 < SOFTEST < 1
