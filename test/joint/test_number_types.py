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

"""Whole numbers, single precision and lists count as the numbers they are; results are in double precision.

Drivers publish single precision, documents hold whole numbers: a square taken in either would round or overflow.
"""

import numpy as np
import pytest

from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.joint.friction_documents import polynomial_stiffness
from joint_dynamics.joint.maps import FourierSeries
from joint_dynamics.joint.stiffness import loads_of

TABLE = PeriodicMap(1e-4 * np.sin(np.arange(24)))


def friction():
    return FrictionModel({'F_C0': 5.1, 'F_Cl': 0.1, 'F_C1': 2e-3, 'F_V2': 0.4, 'F_T2': 2e3}, MaxwellSlip(1, 0.7))


def started(x):
    slip = MaxwellSlip(len(x), 0.7)
    slip.reset(x, np.sign(x))
    slip.state = slip.state + np.array(x)[:, None]
    return np.concatenate([slip.output[:, None], slip.state], axis=1)


#: Functions of an array x (N,) of numbers from −40 to 40, none of them zero; one of each way to take numbers.
FUNCTIONS = {
    'static': lambda x: friction().static(x, x, x),
    'slip with a map': lambda x: MaxwellSlip(1, PeriodicMap([0.7, 0.9]), kinematic_error=TABLE).run(x),
    'deformations': lambda x: MaxwellSlip(1, 0.7).relative_deformation(x),
    'reset': started,
    'points of a table': lambda x: PeriodicMap(x)(0.3 * np.arange(9)),
    'fit of a series': lambda x: FourierSeries.fit(np.arange(len(x)), x, 2).cosine,
    'deformation': TorsionalStiffness([2e2, 3.1]).deformation,
    'elastic coefficients': lambda x: TorsionalStiffness(np.abs(x)).torque(np.array([0.3])),
    'loads': loads_of,
    'operators': lambda x: polynomial_stiffness(np.sort(np.abs(x))),
}


def given(kind):
    rng = np.random.default_rng(12)
    if kind in ('whole', 'list'):
        whole = rng.integers(1, 40, 30) * rng.choice([-1, 1], 30)
        return (whole if kind == 'whole' else whole.tolist()), whole.astype(float)
    single = (rng.uniform(0.1, 40.0, 30) * rng.choice([-1, 1], 30)).astype(np.float32)
    return single, single.astype(float)


@pytest.mark.parametrize('kind', ['whole', 'list', 'single'])
@pytest.mark.parametrize('function', FUNCTIONS.values(), ids=FUNCTIONS)
def test_results_are_independent_of_the_number_type(function, kind):
    x, double = given(kind)
    found, expected = function(x), function(double)
    assert np.asarray(found).dtype == float
    # Every operation on the same numbers in the same order.
    np.testing.assert_array_equal(found, expected)
