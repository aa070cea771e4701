"""What an estimation refuses and remarks, in whole sentences; what the preset of the thesis is."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.arm.validity import Validity
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import EstimationSettings, HealthMonitor, HealthThresholds, trend
from joint_dynamics.estimation.estimator_factory import gain_of
from joint_dynamics.estimation.health import JointHealth
from joint_dynamics.estimation.remarks import remarks_of
from joint_dynamics.joint import FrictionModel, MaxwellSlip, TorsionalStiffness
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

SIMPLE = EstimationSettings(friction='coulomb_viscous')
WHY = 'not used (friction coulomb_viscous begins from F_C0 and F_V1 alone)'
ONLY = 'holds further terms alone (friction coulomb_viscous is learnt where the motion is)'


@pytest.fixture(scope='module')
def robot():
    return RobotModel.load(ur5e_urdf())


def refused(call, *given, **more):
    """The sentence that a call is refused with."""
    with pytest.raises(JointDynamicsError) as told:
        call(*given, **more)
    return str(told.value)


@pytest.mark.parametrize(
    ('name', 'shaped'),
    [
        ('F_S', 'with V_S, mu '), ('F_Cl', 'with tau_max '), ('F_C1', 'with tau_max '), ('F_V2', ''), ('F_V3', ''),
        ('F_T0', ''), ('F_T1', 'with T_0, T_min, T_max '), ('F_T2', 'with T_0, T_min, T_max '), ('offset', ''),
    ],
)  # fmt: skip
def test_what_a_coulomb_and_viscous_friction_has_no_place_for(robot, name, shaped):
    values = {'F_C0': np.full(6, 7.0), 'F_V1': np.full(6, 5.0)}
    plain = Arm(robot, friction=FrictionModel(values))
    assert remarks_of(plain, SIMPLE, True) == []
    part = np.full(6, 7.0) if name == 'F_S' else np.zeros(6)
    part[[1, 4]] = 8.0 if name == 'F_S' else 0.1
    more = Arm(robot, friction=FrictionModel({**values, name: part}))
    who = f'{robot.joint_names[1]}, {robot.joint_names[4]}'
    assert remarks_of(more, SIMPLE, True) == [f'joints.({who}).friction.parameters.{name}: {shaped}{WHY}']
    assert remarks_of(more, EstimationSettings(friction='none'), True) == []
    assert remarks_of(Arm(robot), SIMPLE, True) == []


def test_hysteresis_and_range_that_a_coulomb_and_viscous_friction_does_not_use(robot):
    names, joints = robot.joint_names, ', '.join(robot.joint_names)
    model = FrictionModel({'F_C0': np.full(6, 7.0)}, MaxwellSlip(6, 5e-4))
    found = remarks_of(Arm(robot, friction=model), SIMPLE, True)
    assert found == [f'joints.({joints}).friction.maxwell_slip: {WHY}']
    none = np.full(6, np.inf)
    speed, load, low, high = none.copy(), none.copy(), -none, none.copy()
    speed[0], load[1:3], low[3], high[3] = 1.0, 20.0, 10.0, 60.0
    rich = FrictionModel({'F_C0': np.full(6, 7.0), 'F_C1': np.full(6, 1e-3), 'F_T1': np.full(6, -0.1)})
    found = remarks_of(Arm(robot, friction=rich, validity=Validity(speed, load, low, high)), SIMPLE, True)
    assert [remark for remark in found if 'validity' in remark] == [
        f'joints.({names[0]}).validity.speed: {ONLY}',
        f'joints.({names[1]}, {names[2]}).validity.load: {ONLY}',
        f'joints.({names[3]}).validity.temperature: {ONLY}',
    ]


def test_a_described_scale_beyond_its_bounds(robot):
    model = FrictionModel({'F_C0': np.full(6, 7.0), 'F_V1': np.full(6, 5.0)}, MaxwellSlip(6, 5e-4))
    scale = np.tile([1.0, 0.0], (6, 1))
    scale[2] = 3.0, -0.01
    use = EstimationSettings(viscous_share=0.0)
    found = remarks_of(Arm(robot, friction=model, friction_scale=scale), use, True)
    assert found == [
        f'joints.{robot.joint_names[2]}.friction.scale: [3.0, -0.01] is beyond the bounds of α, [2.5, -0.01] is used'
    ]


def test_efforts_that_cannot_be_torques(robot):
    gains = np.array([8.0, 9.0, np.nan, np.inf, 7.0, 6.0])
    arm = Arm(robot, drive_gain=gains)
    assert refused(gain_of, arm, 'current') == (
        f'estimator: expected the drive gain of every joint for currents, found none of {robot.joint_names[2]}'
    )
    assert refused(gain_of, arm, 'power') == "estimator: expected the effort to be current or torque, found 'power'"
    assert gain_of(arm, None) is None and gain_of(arm, 'torque') is None
    whole = replace(arm, drive_gain=np.full(6, 8.0))
    for effort in (None, 'current'):
        np.testing.assert_array_equal(gain_of(whole, effort), np.full(6, 8.0))
    assert gain_of(whole, 'torque') is None


def test_health_is_told_by_the_worst_finding():
    stiff = TorsionalStiffness(np.array([[2e4], [1e4]]))
    monitor = HealthMonitor(stiff, 1e-3, HealthThresholds(), 0.5)
    given = {
        'stiffness': np.array([[1.6e4], [1e4]]), 'stiffness_deviation': np.array([0.01, 0.2]),
        'stiffness_excitation': np.array([9.0, 5.0]), 'friction': np.array([0.5, 0.75]),
        'friction_deviation': np.array([0.01, 0.01]), 'friction_excitation': np.array([4.9, 9.0]),
    }  # fmt: skip
    assert monitor.judge(**given) == [
        JointHealth('warning', 'stiffness -20 % against the reference', pytest.approx(0.8), 1.0),
        JointHealth('error', 'Coulomb friction +50 % against the reference', 1.0, 1.5),
    ]
    alone = monitor.judge(friction=np.array([0.5, 0.65]))
    assert alone == [
        JointHealth('ok', 'Coulomb friction +0 % against the reference', None, 1.0),
        JointHealth('warning', 'Coulomb friction +30 % against the reference', None, 1.3),
    ]
    unseen = monitor.judge(stiffness=given['stiffness'], stiffness_excitation=np.zeros(2))
    assert unseen[1] == JointHealth('unknown', 'stiffness not excited yet', 1.0, None)
    bare = HealthMonitor(None).judge(stiffness=given['stiffness'])
    assert bare == [JointHealth('unknown', 'no reference', None, None)] * 2
    assert refused(monitor.judge) == 'health: expected stiffness or friction, found neither'
    assert refused(trend, [1.0, 2.0], [1.0]) == 'trend: expected as many times as ratios, found 2 and 1'


def test_a_trend_is_a_straight_line_with_its_scatter():
    t, y = np.array([0.0, 1.0, 2.5, 4.0, 7.0]), np.array([1.0, 0.9, 0.95, 0.7, 0.6])
    (slope, _), spread = np.polyfit(t, y, 1), np.polyfit(t, y, 1, cov=True)[1]
    found = trend(t, y)
    assert found == (pytest.approx(slope), pytest.approx(np.sqrt(spread[0, 0])))
    for few in (([0.0, 1.0], [1.0, 2.0]), ([3.0, 3.0, 3.0], [1.0, 2.0, 3.0])):
        assert np.isnan(trend(*few)).all()
    slope, deviation = trend([0.0, 1.0, 3.0], [1.0, 2.0, 4.0])
    assert slope == pytest.approx(1.0) and deviation == pytest.approx(0.0, abs=1e-12)


def test_thresholds_and_bounds_in_order():
    for name in ('stiffness', 'friction'):
        said = refused(HealthThresholds, **{name: (0.3, 0.2)})
        assert said.startswith(f'health.{name}: expected ') and 'warning and error, warning ≤ error' in said
        HealthThresholds(**{name: (0.2, 0.2)})
    said = refused(EstimationSettings, friction_lower=(0.4, 0.1))
    assert said == 'friction_lower: expected numbers of at most friction_upper, (2.5, 0.05), found (0.4, 0.1)'


def test_the_thesis_is_its_own_numbers():
    assert EstimationSettings.thesis() == EstimationSettings(
        window=0.1, taper=False, information=0.0, friction_upper=(1.5, 0.05), viscous_share=0.0,
        stiffness_preset='thesis',
    )  # fmt: skip
    assert EstimationSettings.thesis(window=0.2, taper=True).window == 0.2
    assert EstimationSettings.thesis(taper=True).taper is True
