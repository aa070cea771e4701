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

"""Kinematic error, backlash and Maxwell-slip from slow reversals of a joint with another hysteresis."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.hysteresis import HysteresisSettings, identify_hysteresis
from joint_dynamics.identification.joint_tests.transmission_maps import fit_transmission_maps, travel_since_reversal
from joint_dynamics.joint import FrictionModel, PeriodicMap, TorsionalStiffness

GRID = np.linspace(0, 2 * np.pi, 1500)


@pytest.fixture(scope='module')
def turn(make_joint, motions):
    joint = make_joint(seed=8)
    data = joint.data(motions.reciprocating())
    return joint, data, identify_hysteresis([data], HysteresisSettings(estimation_fraction=0.25))


def test_kinematic_error_map_within_five_percent_of_its_amplitude(turn):
    joint, _, result = turn
    truth = joint.kinematic_error(GRID)
    found = PeriodicMap.from_dict(result.document['kinematic_error'])(GRID)
    assert np.max(np.abs(found - truth)) < 0.05 * np.ptp(truth) / 2


def test_backlash_map_is_half_the_width_not_all_of_it(turn):
    joint, _, result = turn
    found = PeriodicMap.from_dict(result.document['backlash'])(GRID)
    assert np.max(np.abs(found / joint.width(GRID) - 1)) < 0.02
    assert result.quality['coverage'] == 1


def test_the_order_of_the_four_ways_on_data_not_used_for_the_fit(turn):
    # Section 4 of the methods: static < linear spacing < polynomial law < linear regression on polynomial spacing ≈
    # nonlinear regression.
    _, _, result = turn
    score = {item['method']: item['validation_percent'] for item in result.quality['maxwell_slip']}
    assert score['static'] < score['lr_linear'] < score['law'] < score['lr_polynomial']
    assert score['nlr'] > score['lr_polynomial'] - 0.2
    for method in ('lr_linear', 'law', 'lr_polynomial', 'nlr'):
        assert score[method] > score['static'] + 1
    assert result.reliable


def test_coulomb_level_and_document(turn):
    joint, data, result = turn
    model = FrictionModel.from_dict(
        result.document['friction'], PeriodicMap.from_dict(result.document['kinematic_error'])
    )
    # The slow motion stays within the Stribeck range: the level lies between F_C and F_S.
    assert joint.F_C < model.level()[0] < joint.F_S
    assert result.quality['method'] in ('lr_polynomial', 'nlr')
    predicted = model.run(data.theta, 0.0)
    assert np.corrcoef(predicted, data.tau)[0, 1] > 0.97


def test_fourier_series_instead_of_tables(turn):
    joint, data, _ = turn
    result = identify_hysteresis([data], HysteresisSettings(harmonics=5, methods=('law',)))
    assert result.document['kinematic_error']['type'] == 'fourier'
    truth = joint.kinematic_error(GRID)
    assert (
        np.max(np.abs(PeriodicMap.from_dict(result.document['kinematic_error'])(GRID) - truth))
        < 0.02 * np.ptp(truth) / 2
    )


def test_deviations_of_the_maps_cover_their_errors(turn):
    joint, data, _ = turn
    maps = fit_transmission_maps([data])
    grid = np.arange(240) * 2 * np.pi / 240
    ratio = (maps.kinematic_error.tables[0] - joint.kinematic_error(grid)) / maps.kinematic_error_std
    assert np.mean(np.abs(ratio) < 2) > 0.9


def test_part_of_a_turn_is_said(make_joint, motions, says):
    result = identify_hysteresis(
        [make_joint().data(motions.reciprocating(turn=0.25))], HysteresisSettings(methods=('static', 'law'))
    )
    share = says(
        r'both directions cover (\d+) % of a turn; elsewhere the maps only go on smoothly', result.warnings
    ).group(1)
    assert int(share) == pytest.approx(100 * result.quality['coverage'], abs=0.5)
    assert 0.2 < result.document['backlash']['coverage'] < 0.3


def test_separate_recordings_for_fit_and_validation(make_joint, motions):
    joint = make_joint()
    runs = [joint.data(motions.reciprocating(turn=0.1, start=start)) for start in (0.0, 0.3)]
    result = identify_hysteresis(runs, HysteresisSettings(methods=('static', 'law')))
    score = {item['method']: item['validation_percent'] for item in result.quality['maxwell_slip']}
    assert score['law'] > score['static']


def test_one_direction_only_and_swapped_signs_are_refused(make_joint, motions):
    joint = make_joint()
    with pytest.raises(NotReliableError, match='both directions'):
        identify_hysteresis([joint.data(motions.trapezoids([0.1], hold=6.0))])
    data = joint.data(motions.reciprocating(turn=0.1))
    with pytest.raises(NotReliableError, match='sign'):
        identify_hysteresis([replace(data, q=2 * data.theta - data.q)])
    with pytest.raises(JointDynamicsError, match='motor-side angle'):
        identify_hysteresis([replace(data, two_sided=False)])


def test_torque_without_friction_is_not_reliable(make_joint, motions, says):
    data = make_joint().data(motions.reciprocating(turn=0.1))
    noise = replace(data, tau=0.3 * np.random.default_rng(0).standard_normal(data.samples) - 1e-3 * np.sign(data.omega))
    result = identify_hysteresis([noise], HysteresisSettings(methods=('law',)))
    assert any('F_C0' in reason for reason in result.reasons)
    with pytest.raises(NotReliableError, match='no Coulomb friction'):
        identify_hysteresis([replace(data, tau=-data.tau)], HysteresisSettings(methods=('law',)))
    maps_only = identify_hysteresis([replace(data, tau=None)])
    says('no motor torque recorded: maps only, no Maxwell-slip', maps_only.warnings)
    assert 'friction' not in maps_only.document


def test_friction_known_already_is_taken_off_and_its_level_kept(make_joint, motions):
    joint = make_joint(F_S=6.0, ripple=0.0)
    data = joint.data(motions.reciprocating(turn=0.1))
    known = FrictionModel(
        {'F_C0': joint.F_C, 'F_V1': joint.F_V1, 'F_V2': joint.F_V2, 'F_V3': joint.F_V3, 'T_0': joint.T_0}
    )
    result = identify_hysteresis([data], HysteresisSettings(methods=('lr_polynomial',)), known)
    assert result.document['friction']['parameters'] == {}
    assert abs(result.parameters['F_C0'].value / joint.F_C - 1) < 0.03


T = 1e-3 * np.arange(12000)


def test_maps_and_operators_field_by_field(signals, reversing):
    theta, H, width = reversing
    rng = np.random.default_rng(5)
    tau = 6.0 * H + 4.0 * np.gradient(theta, 1e-3) + 0.05 * rng.normal(size=len(T))
    data = signals(theta - width * H, theta, tau=tau)
    found = identify_hysteresis([data], HysteresisSettings(methods=('static', 'law', 'lr_polynomial'), points=60))
    assert set(found.parameters) == {'kinematic_error_amplitude', 'backlash_mean', 'F_C0'}
    assert [item.unit for item in found.parameters.values()] == ['rad', 'rad', 'N·m']
    assert found.parameters['backlash_mean'].value == pytest.approx(width, rel=0.02)
    assert found.parameters['F_C0'].value == pytest.approx(6.0, rel=0.05)
    quality = found.quality
    assert set(quality) == {
        'coverage', 'map_residual_rms', 'backlash_range', 'settled_samples', 'maxwell_slip', 'method',
    }  # fmt: skip
    assert quality['backlash_range'][0] <= width * 1.02 and quality['backlash_range'][1] >= width * 0.98
    assert [entry['method'] for entry in quality['maxwell_slip']] == ['static', 'law', 'lr_polynomial']
    for entry in quality['maxwell_slip']:
        assert set(entry) == {
            'method', 'estimation_percent', 'validation_percent', 'F_C', 'limits', 'stiffness',
        }  # fmt: skip
        assert (entry['limits'] is None) == (entry['method'] == 'static') == (entry['stiffness'] is None)
    slip = found.document['friction']['maxwell_slip']
    assert slip['operators'] == 4 and 'standard_deviations' not in slip['presliding']
    assert found.document['friction']['parameters'] == {'F_C0': found.parameters['F_C0'].value}
    assert found.document['friction']['standard_deviations'] == {'F_C0': found.parameters['F_C0'].std}
    titles = [(plot.title, plot.x_label, plot.y_label) for plot in found.plots]
    assert titles == [
        ('j: transmission deformation and kinematic error', 'motor angle θ [rad]', '[rad]'),
        ('j: backlash, half the width', 'motor angle θ [rad]', '[rad]'),
        ('j: hysteresis on validation data', 'corrected motor angle [rad]', 'friction torque [N·m]'),
    ]
    labels = [[one.label for one in plot.series] for plot in found.plots]
    assert labels[0] == ['φ, ω > 0', 'φ, ω < 0', 'kinematic error'] and labels[1] == ['half the difference', 'map']
    assert labels[2] == ['measured', quality['method'], 'static map']
    assert [one.kind for one in found.plots[2].series] == ['points', 'line', 'line']
    own = HysteresisSettings(methods=('law',), points=60, operators=3, r_Delta=3.0, r_k=1.5)
    law = identify_hysteresis([data], own)
    slip = dict(law.document['friction']['maxwell_slip'])
    slip.pop('presliding')
    assert slip == {'operators': 3, 'r_Delta': 3.0, 'r_k': 1.5}
    static = identify_hysteresis([data], HysteresisSettings(methods=('static',), points=60))
    assert 'F_C0' not in static.parameters and 'friction' not in static.document
    known = identify_hysteresis(
        [data], HysteresisSettings(methods=('law',), points=60), FrictionModel({'F_C0': 6.0, 'F_V1': 4.0})
    )
    assert known.document['friction']['parameters'] == {} == known.document['friction']['standard_deviations']


def test_maps_of_kinematic_error_and_backlash_come_back_exactly(of_speed):
    """Both are tables of the same points, so that their fit is exact; a known load's deformation is taken off."""
    rng, points = np.random.default_rng(3), 12
    grid = np.arange(points) * 2 * np.pi / points
    error, width = 1e-3 * np.sin(grid + 0.4), 1e-4 * (2.0 + np.cos(grid))
    stiffness = TorsionalStiffness([1e4])

    def table(values, theta):
        return np.interp(np.mod(theta, 2 * np.pi), np.append(grid, 2 * np.pi), np.append(values, values[0]))

    load = rng.normal(size=1600)
    omega = np.repeat([1.7, -1.7], 800)
    data = of_speed(
        omega, q=lambda theta, w: theta - table(error, theta) - np.sign(w) * table(width, theta) - load / 1e4,
        tau_J=load,
    )  # fmt: skip
    direction, travel = travel_since_reversal(data)
    np.testing.assert_array_equal(direction, np.sign(omega))
    np.testing.assert_allclose(travel, np.abs(data.theta - np.where(omega > 0, 0.0, data.theta[800])))
    maps = fit_transmission_maps([data], points, settle=1e-3, stiffness=stiffness)
    np.testing.assert_allclose(maps.kinematic_error.tables[0], error, atol=2e-6)
    np.testing.assert_allclose(maps.backlash.tables[0], width, atol=2e-6)
    assert maps.covered.all() and maps.residual_rms < 1e-6
    np.testing.assert_array_equal(maps.engaged[0], travel > 1e-3)
    assert fit_transmission_maps([data], points, settle=1e-3).residual_rms > 5e-5
    # engaged later than asked for where the backlash found is wider than that
    wide = fit_transmission_maps([data], points, settle=1e-5, stiffness=stiffness)
    assert travel[wide.engaged[0]].min() > 2.0 * width.max()
    with pytest.raises(NotReliableError, match=r'^j: the motion never settles in both directions \(0.004 rad past a'):
        fit_transmission_maps([of_speed(omega[:800], q=lambda theta, w: theta)])
