"""What an estimation says of a description that it does not use whole."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.arm.validity import Validity
from joint_dynamics.estimation import EstimationSettings
from joint_dynamics.estimation.estimator_factory import remarks_of
from joint_dynamics.joint import FrictionModel, MaxwellSlip

SIMPLE = EstimationSettings(friction='coulomb_viscous')


@pytest.mark.parametrize(
    ('name', 'shaped'),
    [
        ('F_S', 'with V_S, mu '), ('F_Cl', 'with tau_max '), ('F_C1', 'with tau_max '), ('F_V2', ''), ('F_V3', ''),
        ('F_T0', ''), ('F_T1', 'with T_0, T_min, T_max '), ('F_T2', 'with T_0, T_min, T_max '), ('offset', ''),
    ],
)  # fmt: skip
def test_what_a_coulomb_and_viscous_friction_has_no_place_for(arm, name, shaped):
    values = {'F_C0': np.full(6, 7.0), 'F_V1': np.full(6, 5.0)}
    plain = Arm(arm, friction=FrictionModel(values))
    assert remarks_of(plain, SIMPLE, True) == []
    part = np.full(6, 7.0) if name == 'F_S' else np.zeros(6)
    part[[1, 4]] = 8.0 if name == 'F_S' else 0.1
    more = Arm(arm, friction=FrictionModel({**values, name: part}))
    who = f'{arm.joint_names[1]}, {arm.joint_names[4]}'
    (remark,) = remarks_of(more, SIMPLE, True)
    assert remark.startswith(f'joints.({who}).friction.parameters.{name}: {shaped}not used')
    assert remarks_of(more, EstimationSettings(friction='none'), True) == []
    assert remarks_of(Arm(arm), SIMPLE, True) == []


def test_hysteresis_and_range_that_a_coulomb_and_viscous_friction_does_not_use(arm):
    names, joints = arm.joint_names, ', '.join(arm.joint_names)
    model = FrictionModel({'F_C0': np.full(6, 7.0)}, MaxwellSlip(6, 5e-4))
    (remark,) = remarks_of(Arm(arm, friction=model), SIMPLE, True)
    assert remark.startswith(f'joints.({joints}).friction.maxwell_slip: not used')
    none = np.full(6, np.inf)
    speed, load, low, high = none.copy(), none.copy(), -none, none.copy()
    speed[0], load[1:3], low[3], high[3] = 1.0, 20.0, 10.0, 60.0
    rich = FrictionModel({'F_C0': np.full(6, 7.0), 'F_C1': np.full(6, 1e-3), 'F_T1': np.full(6, -0.1)})
    found = remarks_of(Arm(arm, friction=rich, validity=Validity(speed, load, low, high)), SIMPLE, True)
    assert [remark.partition(': ')[0] for remark in found if 'validity' in remark] == [
        f'joints.({names[0]}).validity.speed', f'joints.({names[1]}, {names[2]}).validity.load',
        f'joints.({names[3]}).validity.temperature',
    ]  # fmt: skip


def test_a_described_scale_beyond_its_bounds(arm):
    model = FrictionModel({'F_C0': np.full(6, 7.0), 'F_V1': np.full(6, 5.0)}, MaxwellSlip(6, 5e-4))
    scale = np.tile([1.0, 0.0], (6, 1))
    scale[2] = 3.0, -0.01
    use = EstimationSettings(viscous_share=0.0)
    (remark,) = remarks_of(Arm(arm, friction=model, friction_scale=scale), use, True)
    for part in (f'joints.{arm.joint_names[2]}.friction.scale: [3.0, -0.01]', 'bounds of α', '[2.5, -0.01] is used'):
        assert part in remark
