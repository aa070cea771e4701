"""What no joint can have is refused with one line: what was expected, what was found."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FourierSeries, FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.joint.stiffness import check_range

TURN = np.linspace(0, 6, 500)
SERIES = FourierSeries(1.0, [1.0, 2.0], [3.0, 4.0], 2.5).to_dict()
SLIP = {'presliding': 1e-3}
ONE = {'parameters': {'F_C0': 1}}


def friction(**fields):
    return FrictionModel.from_dict({**ONE, **fields})


def model(**parameters):
    return FrictionModel({'F_C0': 1, **parameters})


def stiff(curve, working):
    check_range(TorsionalStiffness([[2e4, 3e9], curve]), ('a', 'b'), np.array([np.inf, working]))


REFUSED = [
    (lambda: FrictionModel({'F_C0': np.nan}), '^F_C0: expected finite numbers, found .nan'),
    (lambda: model(F_T2=np.inf), '^F_T2: expected finite numbers'),
    (lambda: model(V_S=0), '^V_S: expected values > 0'),
    (lambda: model(mu=-1), '^mu: expected values > 0'),
    (lambda: model(tau_max=-1), '^tau_max: expected values >= 0, found .-1'),
    (lambda: model(tau_max=np.nan), '^tau_max: expected values >= 0, found .nan'),
    (lambda: FrictionModel({'F_C0': 1}, quadrants={'dq_s': 0.1, 'c_m': np.inf}), '^c_m: expected finite numbers'),
    (lambda: model(T_min=0), '0 < T_min < T_max in °C, found .0.. and .80'),
    (lambda: model(T_min=-1), '0 < T_min < T_max in °C, found .-1.. and .80'),
    (lambda: model(T_min=30, T_max=30), '0 < T_min < T_max in °C, found .30.. and .30'),
    (lambda: model(T_0=200), r'^T_0: expected within \[T_min, T_max\], found .200'),
    (lambda: model(T_min=26), r'^T_0: expected within \[T_min, T_max\], found .25'),
    (lambda: model(T_max=24), r'^T_0: expected within \[T_min, T_max\], found .25'),
    (lambda: FrictionModel({'F_C0': [1, 2], 'F_V1': [1, 2, 3]}), r'one or 3 joints, found sizes \[2, 3\]'),
    (lambda: FrictionModel({'F_C0': [1, 2]}, MaxwellSlip(3)), r'one or 3 joints, found sizes \[2, 3\]'),
    (lambda: FrictionModel({'F_C0': 1, 'F_X': 1}), "expected a known parameter, found 'F_X'"),
    (lambda: FrictionModel({}), 'expected the parameter F_C0, found none'),
    (lambda: FrictionModel({'F_C0': 1}).reset(), r'expected a model with a Maxwell-slip part, .* or use static\(\)'),
    (lambda: friction(colour=1), "expected a known field, found 'colour'"),
    (lambda: friction(parameters={'F_C0': 1, 'F_Y': 1}), "expected a known parameter, found 'F_Y'"),
    (lambda: friction(parameters={}), 'expected the parameter F_C0, found none'),
    (lambda: FrictionModel.from_dict({}), 'expected the field parameters, found'),
    (lambda: friction(maxwell_slip={'operators': 4}), r'^maxwell_slip\.presliding: expected the presliding length'),
    (lambda: FrictionModel.from_dicts([{**ONE, 'maxwell_slip': SLIP}, ONE]), 'of every joint or of none, found one of'),
    (lambda: friction(quadrants={'c_m': 4.0}), 'expected the quadrant parameter dq_s, found c_m'),
    (lambda: friction(quadrants={'dq_s': 0.1, 'e_m': 4.0}), "expected a known quadrant parameter, found 'e_m'"),
    (lambda: friction(quadrants={'dq_s': 0.0}), r'dq_s: expected values > 0, found \[0.0'),
    (lambda: FrictionModel({'F_C0': 1}, quadrants={'c_m': 4}), 'expected the quadrant parameter dq_s, found c_m'),
    (lambda: FrictionModel({'F_C0': 1}, quadrants={'dq_s': 1, 'e_m': 4}), "a known quadrant parameter, found 'e_m'"),
    (lambda: FrictionModel({'F_C0': [1, 2]}, quadrants={'dq_s': [1, 1, 1]}), r'found sizes \[2, 3\]'),
    (lambda: FourierSeries.fit(TURN / 1e4, 0 * TURN), r'enough of a turn for 6 harmonics, found too few \(rank \d+ of'),
    (lambda: FourierSeries.fit(TURN, 0 * TURN, 13), 'expected 1 to 12 harmonics, found 13'),
    (lambda: FourierSeries.fit(TURN, 0 * TURN, 0), 'expected 1 to 12 harmonics, found 0'),
    (lambda: FourierSeries(0, np.zeros(13), np.zeros(13)), '1 to 12 cosine and as many sine coefficients, found 13'),
    (lambda: FourierSeries(0, [1, 2], [1]), '1 to 12 cosine and as many sine coefficients, found 2 and 1'),
    (lambda: PeriodicMap([1.0], period=0.0), 'expected a period > 0 rad, found 0.0'),
    (lambda: PeriodicMap.stack([]), 'each of one joint, found none'),
    (lambda: PeriodicMap.stack([PeriodicMap.stack([PeriodicMap([1.0])] * 2)]), 'each of one joint, found 2 joints'),
    (lambda: PeriodicMap.stack([PeriodicMap([1.0])] * 3)(np.zeros((4, 2))), r'\(…, 3\)'),
    (lambda: PeriodicMap.from_dict({'values': [1], 'colour': 1}), "expected a known field, found 'colour'"),
    (lambda: PeriodicMap.from_dict({'type': 'table', 'period': 1}), 'expected the field values, found type, period'),
    (lambda: PeriodicMap.from_dict({'type': 'spline'}), "expected type table or fourier, found 'spline'"),
    (lambda: PeriodicMap.from_dict({'type': 'fourier', 'mean': 0, 'sine': [1]}), 'expected the field cosine, found'),
    (lambda: PeriodicMap.from_dict({'values': [np.inf]}), "a finite number in values, found 'inf'"),
    (lambda: PeriodicMap.from_dict({'values': False}), "a list of numbers in values, found 'False'"),
    (lambda: PeriodicMap.from_dict({'values': [True]}), "a finite number in values, found 'True'"),
    (lambda: PeriodicMap.from_dict({'values': ['1']}), "a finite number in values, found '1'"),
    (lambda: PeriodicMap.from_dict({'values': [1], 'period': '3'}), "a finite number in period, found '3'"),
    (lambda: FourierSeries.from_dict({**SERIES, 'mean': 'x'}), "a finite number in mean, found 'x'"),
    (lambda: FourierSeries.from_dict({**SERIES, 'period': 10**400}), "a finite number in period, found '10{39}'"),
    (lambda: FourierSeries.from_dict({**SERIES, 'cosine': 1.0}), "a list of numbers in cosine, found '1.0'"),
    (lambda: FourierSeries.from_dict({**SERIES, 'sine': [0.0, np.nan]}), "a finite number in sine, found 'nan'"),
    (lambda: MaxwellSlip(joints=0), 'joints >= 1 and operators >= 1, found 0 and 4'),
    (lambda: MaxwellSlip(operators=0), 'joints >= 1 and operators >= 1, found 1 and 0'),
    (lambda: MaxwellSlip(2, PeriodicMap.stack([PeriodicMap([1.0])] * 3)), 'expected a map of 2 joints, found 3'),
    (lambda: MaxwellSlip(presliding=0.0), 'a presliding length > 0 everywhere, found 0.0'),
    (lambda: MaxwellSlip(presliding=-1e-3), 'a presliding length > 0 everywhere, found -0.001'),
    (lambda: MaxwellSlip(limits=[0.5, 0.4]), 'limits 0 < Delta_1 < … < Delta_M, found'),
    (lambda: MaxwellSlip(limits=[0.0, 1.0]), 'limits 0 < Delta_1 < … < Delta_M, found'),
    (lambda: MaxwellSlip(limits=[0.5, np.inf]), 'limits 0 < Delta_1 < … < Delta_M, found'),
    (lambda: MaxwellSlip(stiffness=[1, 1, 1, 1]), 'sum k_i'),
    (lambda: MaxwellSlip(2).run(np.zeros(4)), r'a recording theta of shape \(N, 2\), found \(4,\)'),
    (lambda: MaxwellSlip(2).run(np.zeros((5, 3))), r'\(N, 2\), found \(5, 3\)'),
    (lambda: MaxwellSlip.from_dicts([{'colour': 1}]), "^maxwell_slip: expected a known field, found 'colour'"),
    (lambda: MaxwellSlip.from_dicts([{**SLIP, 'operators': 3}, SLIP]), 'the same number of operators for every joint'),
    (lambda: MaxwellSlip.from_dicts([{**SLIP, 'limits': [0.5, 1], 'stiffness': [1]}]), 'limits and stiffness alike'),
    (lambda: TorsionalStiffness([np.nan]), 'finite coefficients'),
    (lambda: TorsionalStiffness([]), r'finite coefficients of shape \(P,\) or \(n, P\), found shape \(0,\)'),
    (lambda: TorsionalStiffness(np.ones((2, 2, 2))), r'found shape \(2, 2, 2\)'),
    (lambda: TorsionalStiffness([[1.0], [2.0]]).torque(1.0), r'expected shape \(…, 2\), found \(\)'),
    (lambda: TorsionalStiffness([[1.0], [2.0]]).torque(np.zeros(3)), r'expected shape \(…, 2\), found \(3,\)'),
    (lambda: TorsionalStiffness([1e4, -1e9]).deformation(1.0), r'\(monotone\), found \[10000.0, -1000000000.0\]'),
    (lambda: TorsionalStiffness([[1.0], [0.0]]).deformation([1.0, 1.0]), r'\(monotone\), found \[\[1.0\], \[0.0\]\]'),
    (lambda: TorsionalStiffness([1.0], np.nan), 'a reach > 0 rad, found nan'),
    (lambda: TorsionalStiffness.from_dict({}), '^stiffness: expected the field coefficients, found none'),
    (lambda: stiff([2e4, -3e9], np.inf), 'of b that stays positive up to its torque limit of inf N·m, .* up to 19.88'),
    (lambda: stiff([2e4, -3e9], 19.9), '19.9 N·m, .* up to 19.88 N·m'),
    # softer than a twentieth of itself though not at its end yet
    (lambda: stiff([2e4, -3e9], 19.87), '19.87 N·m, .* up to 19.88 N·m'),
    (lambda: stiff([0.0, 0.0], 5.0), '5 N·m, .* up to inf N·m'),
    (lambda: stiff([-5e3, 1e9], 5.0), '5 N·m, .* up to -4.303 N·m'),
]


@pytest.mark.parametrize(('build', 'message'), REFUSED)
def test_it_is_refused_and_said(build, message):
    with pytest.raises(JointDynamicsError, match=message):
        build()
