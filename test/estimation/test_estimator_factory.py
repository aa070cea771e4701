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

"""The learning parts made from description and settings; health and adapted description, number by number."""

import inspect
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import (
    EstimationSettings,
    FrictionEstimator,
    PayloadEstimator,
    StiffnessEstimator,
    estimator_factory,
)
from joint_dynamics.estimation.description_update import (
    adapted_description,
    fingerprint,
    is_adapted_copy,
    notes_of,
    reference_of,
)
from joint_dynamics.estimation.estimator_factory import gain_of, make_friction, make_payload, make_stiffness, remarks_of
from joint_dynamics.estimation.health import JointHealth
from joint_dynamics.joint import FrictionModel, MaxwellSlip, TorsionalStiffness

PERIOD = 0.01
DATE = '2024-05-01T12:00:00+00:00'


@pytest.fixture(scope='module')
def arm(worn_arm):
    return worn_arm


@pytest.fixture(scope='module')
def description(worn_description):
    return worn_description


@pytest.fixture
def given(monkeypatch):
    """Arguments of the last estimator made, by name."""
    arguments = {}

    def watched(kind):
        class Watched(kind):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                arguments.clear()
                arguments.update(inspect.signature(kind).bind(*args, **kwargs).arguments)

        return Watched

    for kind in (FrictionEstimator, StiffnessEstimator, PayloadEstimator):
        monkeypatch.setattr(estimator_factory, kind.__name__, watched(kind))
    return arguments


def test_the_adaptive_law_begins_at_the_described_scale(arm, given):
    use = EstimationSettings(
        friction_rate=(0.5, 0.25), friction_lower=(0.3, -1.0), friction_upper=(3.0, 1e-3), viscous_share=0.4,
        information=0.03, omega_min=0.02,
    )  # fmt: skip
    made = make_friction(arm, use, PERIOD)
    assert isinstance(made, FrictionEstimator)
    viscous = 0.4 * np.abs(arm.friction.viscous(np.ones(6)))
    assert viscous.min() < 1.0 < viscous.max() and viscous.min() > 1e-3
    np.testing.assert_array_equal(made.parameters, np.tile([0.9, 0.02], (6, 1)))
    np.testing.assert_array_equal(made.lower, np.stack([np.full(6, 0.3), np.minimum(-1.0, -viscous)], axis=1))
    np.testing.assert_array_equal(made.upper, np.stack([np.full(6, 3.0), viscous], axis=1))
    np.testing.assert_array_equal(made.rate, np.tile([0.5, 0.25], (6, 1)))
    assert (made.joints, made.period, made.omega_min, made.information) == (6, PERIOD, 0.02, 0.03)
    coulomb = np.maximum(0.3 * arm.friction.parameters['F_C0'], 1e-2)
    np.testing.assert_allclose(given['floor'], np.stack([coulomb**2, np.full(6, 0.04)], axis=1))
    assert make_friction(arm, replace(use, friction='none'), PERIOD) is None
    assert make_friction(replace(arm, friction=None), use, PERIOD) is None


def test_the_initial_covariance_of_a_stiffness(arm, given):
    use = EstimationSettings(stiffness_order=3, stiffness_scale=5e-3, stiffness_memory=6.0)
    described = np.arange(6) != 4
    one = replace(arm, stiffness_described=described)
    made = make_stiffness(one, use, PERIOD)
    known = arm.stiffness.coefficients
    expected = np.hstack([np.where(described[:, None], known, 0.0), np.zeros((6, 3 - known.shape[1]))])
    np.testing.assert_allclose(made.coefficients, expected)
    unit = 5e-3 ** np.array([1, 3, 5])
    expected_covariance = np.where(described[:, None], np.maximum((0.3 * expected * unit / 0.1) ** 2, 1.0), 1e4)
    np.testing.assert_allclose(np.diagonal(made.covariance, axis1=1, axis2=2) * unit**2, expected_covariance)
    np.testing.assert_allclose(made.scale, 5e-3)
    assert made.mu == pytest.approx(1.0 - PERIOD / 6.0) and (made.joints, made.order, made.period) == (6, 3, PERIOD)
    np.testing.assert_allclose(given['gate'], 1e-3)
    np.testing.assert_array_equal(given['keep'], described)
    # one that bends over within its range has no tangent to go on with
    two = TorsionalStiffness([[1e4, 1e9], [1e4, -1e10]] * 3, 1e-3)
    reach = make_stiffness(replace(arm, stiffness=two), EstimationSettings(), PERIOD).reach
    np.testing.assert_array_equal(reach, [1e-3, np.inf] * 3)
    make_stiffness(arm, replace(use, stiffness_gate=5e-4), PERIOD)
    np.testing.assert_allclose(given['gate'], 5e-4)


def test_a_stiffness_has_at_least_the_described_terms(arm):
    use, known = EstimationSettings(stiffness_order=1, stiffness_scale=5e-3), arm.stiffness.coefficients
    assert make_stiffness(arm, use, PERIOD).order == known.shape[1] > 1
    bare = make_stiffness(replace(arm, stiffness=None, stiffness_described=None), use, PERIOD)
    assert bare.order == 1 and not bare.coefficients.any()
    np.testing.assert_allclose(bare.covariance[:, 0, 0] * 5e-3**2, 1e4)


def test_no_stiffness_is_learnt_without_described_friction(arm):
    """The motor side contains the friction of such a joint, which would count as stiffness."""
    described = np.arange(6) != 2
    made = make_stiffness(replace(arm, friction_described=described), EstimationSettings(), PERIOD)
    made.update(np.full(6, 2e-3), np.full(6, 10.0))
    np.testing.assert_array_equal(made.excited, described)


def test_payload_has_the_memory_that_is_set(arm, given):
    made = make_payload(arm.rigid, EstimationSettings(payload_memory=9.0), PERIOD)
    assert given['memory'] == 9.0 and made.body is arm.rigid and made.period == PERIOD


@pytest.fixture
def learnt(arm):
    """An estimator that has learnt friction, the stiffness of two joints and a payload."""
    friction = FrictionEstimator(6, PERIOD, initial=[1.25, -0.01])
    stiffness = SimpleNamespace(
        reliable=np.arange(6) < 2, coefficients=np.arange(12.0).reshape(6, 2) + 1e3,
        standard_deviation=np.arange(12.0).reshape(6, 2) + 0.5,
    )  # fmt: skip
    payload = SimpleNamespace(known=True, mass=2.5, first_moments=np.array([0.1, 0.2, 0.3]),
                              covariance=np.diag([0.04, 0.01, 0.09, 0.16]))  # fmt: skip
    return SimpleNamespace(
        arm=arm, friction=friction, stiffness=stiffness, payload=payload,
        friction_scale=lambda: (friction.parameters, friction.covariance),
    )  # fmt: skip


@pytest.fixture
def adapted(description, learnt):
    """A function (history, reference) -> adapted description."""
    health = [JointHealth('ok', 'x', 0.9 + 0.01 * j, None) for j in range(6)]
    given = {'base': fingerprint(description), 'date': DATE, 'health': health}
    return partial(adapted_description, description, learnt, **given)


def test_learnt_values_replace_the_described_ones(description, arm, adapted):
    before = description.to_yaml()
    found = adapted(history=[]).document
    assert description.to_yaml() == before
    for j, name in enumerate(arm.joint_names):
        part, old = found['joints'][name], description.document['joints'][name]
        assert part['friction'] == {**old['friction'], 'scale': [1.25, -0.01]}
        if j < 2:
            learnt = {'coefficients': [1e3 + 2 * j, 1e3 + 2 * j + 1], 'method': 'online'}
            assert part['stiffness'] == {**learnt, 'standard_deviations': [2 * j + 0.5, 2 * j + 1.5]}
        else:
            assert part['stiffness'] == old['stiffness']
    assert found['payload'] == {
        'mass': {'value': 2.5, 'std': 0.2}, 'first_moments': [0.1, 0.2, 0.3],
        'std': [0.2, 0.1, 0.3, 0.4], 'attached': True,
    }  # fmt: skip


def test_an_adapted_description_states_runs_and_reference(description, arm, adapted):
    found = adapted(history=[{'date': str(k)} for k in range(200)], reference=arm.stiffness)
    notes = found.document['provenance']['estimator']
    assert (notes['base'], notes['date'], len(notes['runs'])) == (fingerprint(description), DATE, 200)
    assert notes['runs'][-2] == {'date': '199'} and notes['runs'][0] == {'date': '1'}
    ratios = {name: {'stiffness': 0.9 + 0.01 * j, 'friction': None} for j, name in enumerate(arm.joint_names)}
    assert notes['runs'][-1] == {'date': DATE, 'joints': ratios}
    rows = zip(arm.joint_names, arm.stiffness.coefficients, strict=True)
    assert notes['reference'] == {name: {'stiffness': row.tolist()} for name, row in rows}


def test_the_first_learnt_stiffness_is_the_reference(description, arm, adapted):
    again = adapted(history=[])
    joints = again.document['joints']
    learnt = {name: {'stiffness': joints[name]['stiffness']['coefficients']} for name in arm.joint_names[:2]}
    assert again.document['provenance']['estimator']['reference'] == learnt
    assert reference_of(again, arm).coefficients == pytest.approx(arm.stiffness.coefficients)
    assert reference_of(description, replace(arm, stiffness_described=np.arange(6) > 0)) is None


def test_an_adapted_copy_names_its_base(description, adapted):
    again, base = adapted(history=[]), fingerprint(description)
    assert is_adapted_copy(again, description) and not is_adapted_copy(description, description)
    assert notes_of(None) == notes_of(description) == {} and notes_of(again)['base'] == base
    assert fingerprint(again) != base and len(base) == 16


def test_unknown_values_are_omitted(description, learnt, adapted):
    learnt.payload.known = False
    assert 'payload' not in adapted(history=[]).document
    learnt.stiffness = learnt.payload = learnt.friction = None
    assert adapted(history=[]).document['joints'] == description.document['joints']


def test_the_gain_follows_from_the_measured_effort(arm):
    gains, gap = arm.drive_gain, np.array([8.0, 9.0, np.nan, np.inf, 7.0, 6.0])
    for effort, gain, expected in (
        ('current', gains, gains), (None, gains, gains), ('torque', gains, None), (None, gap, None),
        ('torque', gap, None),
    ):  # fmt: skip
        np.testing.assert_equal(gain_of(replace(arm, drive_gain=gain), effort), expected)
    for effort, named in (('current', arm.joint_names[2]), ('power', 'power')):
        with pytest.raises(JointDynamicsError) as refused:
            gain_of(replace(arm, drive_gain=gap), effort)
        assert named in str(refused.value)


def test_a_described_scale_beyond_its_bounds(arm):
    model = FrictionModel({'F_C0': np.full(6, 7.0), 'F_V1': np.full(6, 5.0)}, MaxwellSlip(6, 5e-4))
    scale = np.tile([1.0, 0.0], (6, 1))
    scale[2] = 3.0, -0.01
    use = EstimationSettings(viscous_share=0.0)
    one = Arm(arm.robot, friction=model, friction_scale=scale)
    (remark,) = remarks_of(one, make_friction(one, use, PERIOD), True)
    for part in (f'joints.{arm.joint_names[2]}.friction.scale: [3.0, -0.01]', 'bounds of α', '[2.5, -0.01] is used'):
        assert part in remark
