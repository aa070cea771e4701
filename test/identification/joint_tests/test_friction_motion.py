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

"""Friction from any motion, by least squares of its rows."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification.joint_tests.friction_motion import identify_friction_from_motion
from joint_dynamics.identification.joint_tests.result import nrmse_percent
from joint_dynamics.signals.filtering import zero_phase_lowpass


def test_friction_from_any_motion_by_least_squares_of_its_rows(refused, solved, rms):
    rng = np.random.default_rng(2)
    t = 1e-3 * np.arange(8000)
    omega = np.sin(1.7 * t) + 0.5 * np.sin(0.9 * t)
    alpha = 1.7 * np.cos(1.7 * t) + 0.45 * np.cos(0.9 * t)
    tau = 6.0 * np.sign(omega) + 4.0 * omega + 0.8 * alpha + 0.3 + 0.2 * rng.normal(size=t.size)
    data = SimpleNamespace(
        joint='j', rate=1000.0, cutoff=10.0, samples=8000, omega=omega, alpha=alpha, friction=lambda: tau,
        load_source='none',
    )  # fmt: skip
    found = identify_friction_from_motion([data], 0.05, bins=5)
    smooth = zero_phase_lowpass(tau, 10.0, 1000.0)

    def kept(step):
        index = np.arange(100, 7900, step)
        return index[np.abs(omega[index]) > 0.05]

    rows = kept(25)
    columns = {'F_C': np.sign(omega[rows]), 'F_V1': omega[rows], 'inertia': alpha[rows], 'offset': np.ones(rows.size)}
    fit = solved(columns, smooth[rows])
    residual = smooth[rows] - sum(fit[name] * column for name, column in columns.items())
    for name, value in fit.items():
        assert found.parameters[name].value == pytest.approx(value, rel=1e-8)
    quality = found.quality
    assert (quality['method'], quality['rows'], quality['directions']) == ('motion', rows.size, 2)
    assert quality['residual_rms'] == pytest.approx(rms(residual))
    assert quality['fit_percent'] == pytest.approx(nrmse_percent(smooth[rows], smooth[rows] - residual))
    speeds = np.abs(omega[rows])
    assert quality['speed_range'] == [speeds.min(), speeds.max()]
    dense, points = kept(2), []
    for side in (-1, 1):
        own = dense[np.sign(omega[dense]) == side]
        v = np.abs(omega[own])
        edges = np.linspace(v.min(), v.max(), 6)
        for low, high in pairwise(edges):
            inside = own[(v >= low) & ((v < high) | (high == edges[-1]))]
            if inside.size >= 3:
                spread = np.std(residual) / np.sqrt(max(1.0, inside.size / 10))
                std = np.hypot(spread, found.parameters['F_C'].std)
                mean = np.mean(smooth[inside] - fit['inertia'] * alpha[inside])
                points.append((omega[inside].mean(), mean, std, inside.size))
    assert len(quality['points']) == len(points) == 10
    for told, (speed, mean, std, count) in zip(quality['points'], points, strict=True):
        assert told == {
            'speed': pytest.approx(speed), 'torque': pytest.approx(mean), 'std': pytest.approx(std, rel=1e-6),
            'samples': count,
        }  # fmt: skip
    document = {'F_C0': fit['F_C'], 'F_V1': fit['F_V1'], 'offset': fit['offset']}
    assert found.document['friction']['parameters'] == pytest.approx(document)
    assert found.document['friction']['range'] == {'speed': quality['speed_range']}
    one = SimpleNamespace(**{**vars(data), 'omega': np.abs(omega) + 0.1})
    alone = identify_friction_from_motion([one], 0.05)
    assert set(alone.parameters) == {'F_C', 'F_V1', 'inertia'} and alone.quality['directions'] == 1
    assert alone.reasons[0] == (
        'one direction only: Coulomb friction cannot be told from a torque offset or an error in gravity'
    )
    fastest = np.sort(np.abs(omega[np.arange(100, 7900, 25)]))[-8]
    assert refused(NotReliableError, identify_friction_from_motion, [data], fastest) == (
        f'j moves faster than {fastest:g} rad/s in only 7 samples'
    )
