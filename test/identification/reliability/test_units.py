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

"""Efforts that are currents, or in another unit, by the inertials and limits of the robot file."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.identification.reliability.evidence import regressor_columns
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.identification.reliability.residual_reasons import check_units

UNKNOWN = np.full(2, np.nan)


@pytest.fixture
def seen(two_links):
    """Samples of two links; `of(torque, parameters)` are alternatives with these."""
    rng = np.random.default_rng(6)
    arrays = {name: rng.normal(size=(2, 900)) for name in ('q', 'dq', 'ddq')}
    weight = np.where(rng.random((2, 900)) < 0.3, 0.4, 1.0)
    arrays |= {'dtheta': arrays['dq'], 'ddtheta': arrays['ddq'], 'sign': np.sign(arrays['dq'])}
    names = two_links.parameter_names
    parameters = np.zeros(len(names))
    for name, value in {'ZZ_1': 0.5, 'MX_1': 1.5, 'M_1': 5.0, 'ZZ_2': 0.25, 'MX_2': 0.9, 'M_2': 2.0}.items():
        parameters[names.index(name)] = value
    bare = FilteredSamples(**arrays, tau=np.zeros((2, 900)), weight=weight, part=np.zeros(900, dtype=int))
    every = np.arange(len(names))
    stated = np.einsum('jps,p->js', regressor_columns(bare, two_links, independent=every), parameters)

    def of(factor, parameters=parameters, noise=0.2, count=500.0):
        own = stated * np.reshape(factor, (2, 1)) + 3.0 * arrays['sign'] + 2.0 * arrays['dq'] - 4.0
        tau = own + noise * np.random.default_rng(7).normal(size=own.shape)
        model = SimpleNamespace(
            n=2, chain=two_links.chain, coupling=None, parameters=parameters, parameter_names=names,
            pinocchio=two_links.pinocchio, columns=two_links.columns, base_parameters=two_links.base_parameters,
        )  # fmt: skip
        samples = FilteredSamples(**arrays, tau=tau, weight=weight, part=np.zeros(900, dtype=int))
        found = SimpleNamespace(model=model, samples=samples, names=two_links.joint_names, count=np.full(2, count))
        factors = []
        for j in range(2):
            A = np.stack([stated[j], arrays['ddq'][j], arrays['dq'][j], arrays['sign'][j], np.ones(900)], axis=1)
            factors.append(np.linalg.lstsq(A * weight[j][:, None], tau[j] * weight[j], rcond=None)[0][0])
        return found, factors

    return of


def test_efforts_far_below_the_robots_inertials_are_currents(seen, two_links):
    """The factor is that of a regression on the file's torque, rotor inertia, friction and offset."""
    found, factors = seen([0.1, 0.2])
    listed = ', '.join(f'{name} {value:.3g}' for name, value in zip(two_links.joint_names, factors, strict=True))
    (reason,) = check_units(found, UNKNOWN)
    assert reason.code == 'current' and f'{listed};' in reason.text
    # the median of 0.2 and 0.45 is below a third, that of 0.2 and 0.5 is not
    assert check_units(seen([0.2, 0.45])[0], UNKNOWN) and not check_units(seen([0.2, 0.5])[0], UNKNOWN)
    for factor in (1.0, 5.0, -0.1, [0.1, -0.1], [0.1, 0.0]):
        assert check_units(seen(np.broadcast_to(factor, 2))[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], None)[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], np.zeros(28))[0], UNKNOWN) == []
    # of few samples, and where most of the torque is something else, nothing is said
    assert check_units(seen([0.1, 0.1], count=5.0)[0], UNKNOWN) == []
    assert check_units(seen([0.1, 0.1], noise=3.0)[0], UNKNOWN) == []


def test_efforts_far_below_their_limits_are_currents(seen):
    found, _ = seen([1.0, 1.0])
    largest = np.quantile(np.abs(found.samples.tau), 0.99, axis=1)
    (reason,) = check_units(found, largest / [0.0299, 0.01])
    assert reason.code == 'current' and 'reaches 3 % of its limit' in reason.text and 'drive gains' in reason.text
    for rated in (largest / [0.0301, 0.01], [np.nan, 1e6]):
        assert check_units(found, np.asarray(rated)) == []
