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

"""Impossible joints are refused in one line with the field and the value found."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import FourierSeries, FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.joint.stiffness import check_range

TURN = np.linspace(0, 6, 500)
SERIES = FourierSeries(1.0, [1.0, 2.0], [3.0, 4.0], 2.5).to_dict()
SLIP = {'presliding': 1e-3}
ONE = {'parameters': {'F_C0': 1}}
THREE_MAPS = PeriodicMap.stack([PeriodicMap([1.0])] * 3)


def friction(**fields):
    return FrictionModel.from_dict({**ONE, **fields})


def model(**parameters):
    return FrictionModel({'F_C0': 1, **parameters})


def stiff(curve, working):
    check_range(TorsionalStiffness([[2e4, 3e9], curve]), ('a', 'b'), np.array([np.inf, working]))


#: Calls, and the places and values that their error names.
REFUSED = [
    (lambda: model(F_C0=np.nan), 'F_C0', 'nan'),
    (lambda: model(V_S=0), 'V_S', '0'),
    (lambda: model(mu=-1), 'mu', '-1'),
    (lambda: model(tau_max=-1), 'tau_max', '-1'),
    (lambda: model(tau_max=np.nan), 'tau_max', 'nan'),
    (lambda: model(T_min=0), 'T_min', '0.', '80'),
    (lambda: model(T_min=30, T_max=30), 'T_min', '30.'),
    (lambda: model(T_0=200), 'T_0', '200'),
    (lambda: FrictionModel({'F_C0': [1, 2], 'F_V1': [1, 2, 3]}), '[2, 3]'),
    (lambda: FrictionModel({'F_C0': [1, 2]}, MaxwellSlip(3)), '[2, 3]'),
    (lambda: model(F_X=1), 'F_X'),
    (lambda: FrictionModel({}), 'F_C0'),
    (lambda: model().reset(), 'Maxwell-slip'),
    (lambda: model().step(0.0, 0.1), 'Maxwell-slip'),
    (lambda: friction(colour=1), 'colour'),
    (lambda: FrictionModel.from_dict({}), 'parameters'),
    (lambda: friction(maxwell_slip={'operators': 4}), 'maxwell_slip.presliding'),
    (lambda: FrictionModel.from_dicts([{**ONE, 'maxwell_slip': SLIP}, ONE]), 'one of'),
    (lambda: friction(quadrants={'c_m': 4.0}), 'dq_s', 'c_m'),
    (lambda: friction(quadrants={'dq_s': 0.1, 'e_m': 4.0}), 'e_m'),
    (lambda: friction(quadrants={'dq_s': 0.0}), 'dq_s', '0.0'),
    (lambda: FourierSeries.fit(TURN / 1e4, 0 * TURN), '6 harmonics'),
    (lambda: FourierSeries.fit(TURN, 0 * TURN, 13), '13'),
    (lambda: FourierSeries(0, [1, 2], [1]), '2 and 1'),
    (lambda: PeriodicMap([1.0], period=0.0), 'period', '0.0'),
    (lambda: PeriodicMap.stack([]), 'none'),
    (lambda: THREE_MAPS(np.zeros((4, 2))), '3)'),
    (lambda: PeriodicMap.from_dict({'values': [1], 'colour': 1}), 'colour'),
    (lambda: PeriodicMap.from_dict({'type': 'table', 'period': 1}), 'values'),
    (lambda: PeriodicMap.from_dict({'type': 'spline'}), 'spline'),
    (lambda: PeriodicMap.from_dict({'values': [np.inf]}), 'values', 'inf'),
    (lambda: PeriodicMap.from_dict({'values': [True]}), 'values', 'True'),
    (lambda: FourierSeries.from_dict({**SERIES, 'mean': 'x'}), 'mean', 'x'),
    (lambda: FourierSeries.from_dict({**SERIES, 'sine': [0.0, np.nan]}), 'sine', 'nan'),
    (lambda: MaxwellSlip(joints=0), '0 and 4'),
    (lambda: MaxwellSlip(2, THREE_MAPS), '2', '3'),
    (lambda: MaxwellSlip(presliding=-1e-3), '-0.001'),
    (lambda: MaxwellSlip(limits=[0.5, 0.4]), 'Delta', '0.4'),
    (lambda: MaxwellSlip(stiffness=[1, 1, 1, 1]), 'k_i'),
    (lambda: MaxwellSlip(2).run(np.zeros((5, 3))), '(5, 3)'),
    (lambda: MaxwellSlip.from_dicts([{**SLIP, 'operators': 3}, SLIP]), 'operators'),
    (lambda: TorsionalStiffness([np.nan]), 'coefficients'),
    (lambda: TorsionalStiffness([[1.0], [2.0]]).torque(np.zeros(3)), '(3,)'),
    (lambda: TorsionalStiffness([1e4, -1e9]).deformation(1.0), '-1000000000.0'),
    (lambda: TorsionalStiffness([1.0], np.nan), 'reach', 'nan'),
    (lambda: TorsionalStiffness.from_dict({}), 'coefficients'),
    (lambda: stiff([2e4, -3e9], np.inf), 'b', '19.88'),
    # softer than a twentieth of itself though not at its end yet
    (lambda: stiff([2e4, -3e9], 19.87), 'b', '19.87', '19.88'),
    (lambda: stiff([0.0, 0.0], 5.0), 'b', '5', 'inf'),
]


@pytest.mark.parametrize('case', REFUSED)
def test_impossible_joints_are_refused(case):
    build, *named = case
    with pytest.raises(JointDynamicsError) as caught:
        build()
    assert '\n' not in str(caught.value)
    assert all(word in str(caught.value) for word in named), str(caught.value)
