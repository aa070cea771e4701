"""The compiled kernels of a control step against the array forms beside which they stand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joint_dynamics.arm import Arm, Transmission
from joint_dynamics.arm.validity import Validity
from joint_dynamics.control import ControlLoop, available, create
from joint_dynamics.control.friction import FrictionCompensation
from joint_dynamics.control.interface import ControllerSetup
from joint_dynamics.control.loop_settings import LoopSettings
from joint_dynamics.control.plausibility import Jumps
from joint_dynamics.control.safety import SafetyGate
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

#: Some twenty operations, and functions that numpy and the kernel may round differently in the last place.
ROUNDING = 1e-14
N = 6
ODD = st.sampled_from([0.0, 1.0, -1.0, 0.3, 5.0, -7.0, 1e9, np.nan, np.inf, -np.inf])


@pytest.fixture(scope='module')
def arm():
    """The UR5e with everything that the kernel of the friction has, in numbers that differ from joint to joint."""
    robot = RobotModel.load(ur5e_urdf())
    rng = np.random.default_rng(0)

    def joint(k):
        table = (2e-4 * (1.5 + rng.random(40))).tolist()
        return {
            'drive_gain': {'value': 10.0 + k},
            'rotor_inertia': {'value': 1.0 + 0.1 * k},
            'damping': {'value': 20.0},
            'friction': {
                'parameters': {
                    'F_C0': 6.0 + k, 'F_S': 7.5, 'V_S': 0.1 + 0.01 * k, 'mu': 1.0 + 0.2 * k, 'F_Cl': 0.02, 'F_C1': 1e-4,
                    'tau_max': 40.0, 'F_V1': 8.0 - k, 'F_V2': -0.6, 'F_V3': 0.1, 'F_T0': 0.5, 'F_T1': -0.02,
                    'T_0': 35.0, 'T_min': 10.0, 'T_max': 80.0, 'offset': 0.1 * k,
                },
                'maxwell_slip': {'operators': 4, 'presliding': {'values': table}},
            },
            'stiffness': {'coefficients': [15000.0 - 1000 * k, 1e9]},
            'kinematic_error': {'type': 'table', 'values': table},
            'validity': {'speed': 1.0 + 0.1 * k, 'load': 30.0, 'temperature': [10.0, 60.0]},
        }  # fmt: skip

    names = list(robot.joint_names)
    document = {'robot': {'joint_names': names}, 'joints': {name: joint(k) for k, name in enumerate(names)}}
    return Arm.from_description(robot, DynamicsDescription(document))


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.lists(ODD, min_size=N, max_size=N)),
            st.lists(ODD, min_size=N, max_size=N),
            st.sampled_from([0.0, -1.0, 0.001, 0.01, 1.0, np.nan]),
            st.booleans(),
        ),
        max_size=20,
    )
)
def test_the_gate(steps):
    """Bit for bit: with commands that are missing, not finite, too large, with faults and periods of all kinds."""
    limit = 1.0 + np.arange(N)
    fast, plain = (SafetyGate(limit, 50 * limit, 0.5) for _ in range(2))
    plain.compiled = False
    for each in (fast, plain):
        each.open()
    for command, safe, period, fallback in steps:
        given = None if command is None else np.array(command)
        # What cannot be reached needs not be told.
        told = None if fast.follows and given is not None and not fallback else np.array(safe)
        outs = [
            fast.step(given, told, period, fallback=fallback),
            plain.step(given, np.array(safe), period, fallback=fallback),
        ]
        assert np.array_equal(*outs)
        assert np.array_equal(fast.limited, plain.limited)
        assert (fast.weight, fast.failure) == (plain.weight, plain.failure)
        assert np.array_equal(fast.last, plain.last)
    assert np.array_equal(list(fast.close(0.01)), list(plain.close(0.01)))


@given(st.lists(st.tuples(st.lists(ODD, min_size=3, max_size=3), st.floats(0, 2)), max_size=12))
def test_positions_that_have_not_jumped(samples):
    """What `accept_all` takes is what `accept` takes whole."""
    speed = np.array([1.0, 2.0, 3.0])
    fast, plain = Jumps(speed, 0.01), Jumps(speed, 0.01)
    time, every = 0.0, np.arange(3)
    fast.accept(every, np.zeros(3), time, None)
    plain.accept(every, np.zeros(3), time, None)
    for q, period in samples:
        time += period
        q = np.array(q)
        taken = fast.accept_all(q, time)
        accepted = plain.accept(every, q, time, None)
        assert not taken or accepted.all()
        if not taken:
            fast.accept(every, q, time, None)
        assert np.array_equal(fast.suspect, plain.suspect)


def moved(loop, arm, k, rng):
    """Write one sample of a motion, now and then one that is missing, old, not finite or not plausible."""
    now = 1e-3 * k
    phase = 0.01 * k + np.arange(arm.n)
    q, dq, ddq = 0.4 * np.sin(phase), 4.0 * np.cos(phase) * 0.1, -0.4 * np.sin(phase)
    odd = rng.integers(0, 60)
    measured = {'position': q + 1e-4, 'velocity': dq, 'motor_position': q, 'motor_velocity': dq}
    desired = dict(zip(loop.reference.quantities, (q, dq, ddq, -dq, q), strict=True))
    j = rng.integers(arm.n)
    if odd in (1, 2, 3):
        values = {1: measured['velocity'], 2: desired['position'], 3: desired['acceleration']}[odd]
        values[j] = (np.nan, np.inf, 50.0)[rng.integers(3)]
    for quantity, values in measured.items():
        if not (odd == 4 and quantity == 'velocity'):
            loop.state.write(quantity, values, now - (0.2 if odd == 5 and quantity == 'position' else 0.0))
    for quantity, values in desired.items():
        loop.reference.write(quantity, values, now - (0.2 if odd == 6 else 0.0))
    loop.state.write('temperature', np.full(arm.n, 30.0 + 5 * np.sin(0.001 * k)), now)
    loop.state.write('friction_scale', np.full(arm.n, 1.0 + 0.2 * np.sin(0.002 * k)), now)
    loop.state.write('viscous_excess', np.full(arm.n, 0.01), now)
    loop.state.write('torque', np.zeros(arm.n), now)
    return now


@pytest.mark.parametrize('law', sorted(set(available()) & {'computed_torque', 'adaptive_friction', 'flexible_joint'}))
def test_a_whole_loop(arm, law):
    """Commands, reasons and what the watch has seen, over a motion with every kind of fault."""
    fast, plain = (ControlLoop(create(law), arm, LoopSettings(ramp_time=0.1), {}) for _ in range(2))
    plain.checks.compiled = plain.gate.compiled = plain.controller.friction.compiled = False
    plain.controller.transmission.compiled = False
    for each in (fast, plain):
        each.activate()
    reasons = set()
    for k in range(1500):
        for each in (fast, plain):
            now = moved(each, arm, k, np.random.default_rng(k))
        commands = [each.step(now, 1e-3) for each in (fast, plain)]
        # The largest command, as the sum of larger ones; deformations are cleared of it by the hysteresis' slope, up to
        # 1 per 1e-6 rad, where numpy and the kernel round φ (some 1e-3 rad) differently.
        np.testing.assert_allclose(*commands, rtol=0, atol=1e-8)
        assert fast.fallback_reason == plain.fallback_reason
        reasons.add(fast.fallback_reason.split(' ')[0])
    assert len(reasons) > 2
    assert fast.beyond == plain.beyond
    assert law == 'computed_torque' or fast.beyond


@pytest.mark.parametrize('rest_gain', [1.0, 0.4])
@pytest.mark.parametrize('watched', [True, False])
@pytest.mark.parametrize('error', [True, False])
def test_friction(arm, rest_gain, watched, error):
    friction = arm.friction
    if not error:
        document = [friction.maxwell_slip.to_dict(j) for j in range(arm.n)]
        slip = MaxwellSlip.from_dicts(document, None)
        friction = FrictionModel(friction.parameters, slip, joints=arm.n)
    own = replace(arm, friction=friction, validity=arm.validity if watched else None)
    fast, plain = (
        FrictionCompensation(
            own, 'hysteresis', gain=np.linspace(0.5, 1.0, arm.n), rest_gain=rest_gain, viscous_share=0.5
        )
        for _ in range(2)
    )
    assert fast.compiled
    plain.compiled = False
    rng = np.random.default_rng(1)
    theta = np.zeros(arm.n)
    for k in range(400):
        speed = np.where(rng.random(arm.n) < 0.1, 0.0, rng.normal(size=arm.n))
        theta = theta + 1e-4 * speed
        load = 20.0 * rng.normal(size=arm.n)
        if k % 50 == 0:
            temperature, scale, excess = 20.0 + 30.0 * rng.random(N), 1.0 + 0.1 * rng.random(N), 0.02 * rng.random(N)
            for each in (fast, plain):
                each.warm(temperature)
                each.adapt(scale, excess)
        a, b = (each.torque(theta, theta, speed, load) for each in (fast, plain))
        np.testing.assert_allclose(a, b, rtol=0, atol=ROUNDING * 100)
    assert fast.watch.extent() == plain.watch.extent()
    assert bool(fast.watch.extent()) == watched
    speed[0] = np.nan
    assert np.isnan(fast.torque(theta, theta, speed, load)[0])


def test_what_the_kernel_of_the_friction_has_not_goes_by_arrays(arm):
    quadrants = {name: np.full(arm.n, 1.0) for name in ('a_m', 'b_m', 'c_m', 'd_m', 'a_g', 'b_g', 'c_g', 'd_g')}
    quadrants |= {'dq_s': np.full(arm.n, 0.5), 'F_V': np.full(arm.n, 1.0), 'tau_off': np.zeros(arm.n)}
    friction = FrictionModel(arm.friction.parameters, arm.friction.maxwell_slip, joints=arm.n, quadrants=quadrants)
    assert not FrictionCompensation(replace(arm, friction=friction), 'hysteresis').compiled
    assert not FrictionCompensation(arm, 'static').compiled


@pytest.mark.parametrize('watched', [True, False])
@pytest.mark.parametrize('error', [True, False])
def test_the_motor_torque_of_a_rigid_law(arm, watched, error):
    """In one call what three array forms do: angle of the motors, friction there, rotors."""
    own = replace(
        arm, kinematic_error=arm.kinematic_error if error else None, validity=arm.validity if watched else None
    )
    fast, plain = (create('computed_torque') for _ in range(2))
    for each in (fast, plain):
        each.on_configure(ControllerSetup.of(each, own, friction='hysteresis'))
    plain.transmission.compiled = plain.friction.compiled = False
    rng = np.random.default_rng(4)
    phase = rng.uniform(0, 6, N)
    for k in range(300):
        motion = np.array([0.3 * np.sin(0.02 * k + phase), np.cos(0.02 * k + phase), -2.0 * np.sin(0.02 * k + phase)])
        a, b = (each.feedforward(motion) for each in (fast, plain))
        # φ rounds differently: an angle of 1 rad to 1e-16, times the slope of the hysteresis, 10 N·m in 1e-5 rad.
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8)
    assert fast.beyond == plain.beyond
    assert bool(fast.beyond) == watched


@pytest.mark.parametrize('coefficients', [[15000.0], [15000.0, 0.0], [15000.0, 1e9]])
def test_the_motion_of_the_motors(arm, coefficients):
    own = replace(
        arm, stiffness=TorsionalStiffness([[(1.0 + 0.1 * j) * each for each in coefficients] for j in range(N)])
    )
    fast, plain = (create('flexible_joint') for _ in range(2))
    for each in (fast, plain):
        each.on_configure(ControllerSetup.of(each, own))
    plain.transmission.compiled = False
    rng = np.random.default_rng(5)
    for _ in range(100):
        motion = rng.normal(size=(5, N)) * np.array([1.0, 1.0, 3.0, 10.0, 100.0])[:, None]
        for a, b in zip(fast.motor_motion(motion), plain.motor_motion(motion), strict=True):
            # Some ten operations on numbers up to the largest of the motion.
            np.testing.assert_allclose(a, b, rtol=0, atol=ROUNDING * np.abs(motion).max())


def test_a_softening_transmission_goes_by_arrays(arm):
    own = replace(arm, stiffness=TorsionalStiffness(np.tile([15000.0, -1e6], (N, 1))))
    for name in ('computed_torque', 'flexible_joint'):
        law = create(name)
        law.on_configure(ControllerSetup.of(law, own, friction='hysteresis'))
        assert own.transmission.packed is None
        assert np.isfinite(law.feedforward(np.zeros((law.DERIVATIVES + 1, N)))).all()


@pytest.mark.parametrize('cubic', [1e9, 0.0, -1e6])
@pytest.mark.parametrize('error', [True, False])
def test_the_motor_angle(cubic, error):
    rng = np.random.default_rng(2)
    stiffness = TorsionalStiffness([[10000.0 + 500 * j, cubic] for j in range(N)])
    maps = PeriodicMap.stack([PeriodicMap(1e-4 * rng.normal(size=20)) for _ in range(N)]) if error else None
    fast, plain = Transmission(stiffness, maps), Transmission(stiffness, maps)
    plain.compiled = False
    for _ in range(200):
        q, tau = 3.0 * rng.normal(size=N), 50.0 * rng.normal(size=N)
        a, b = (each.motor_angle(q, tau) for each in (fast, plain))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-14 * (1.0 + np.abs(q)).max())


def test_the_range_watch_takes_what_the_kernel_has_seen(arm):
    assert isinstance(arm.validity, Validity)
    compensation = FrictionCompensation(arm, 'hysteresis')
    for _ in range(2):
        compensation.torque(np.zeros(N), np.zeros(N), np.full(N, -9.0), np.full(N, 99.0))
    assert np.array_equal(compensation.watch.largest, [np.full(N, 9.0), np.full(N, 99.0)])
    compensation.reset()
    assert not compensation.watch.largest.any()
