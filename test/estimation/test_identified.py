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

"""From identification to estimation, with the description as it was written and nothing in between."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.estimation.torques import ROTOR_INERTIA_SPREAD, estimate_of
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.recording import Recording
from joint_dynamics.simulation import FlexibleJointRobot, ModelErrors, Payload, TrajectoryPoints, play
from joint_dynamics.simulation.drives import plausible_drives

REACH = np.array([1.5e-3] * 3 + [1e-3] * 3)
"""rad, deformation over which the maps are compared, at a torque of a fifth to a tenth of the limit."""


def robot():
    """A flexible arm with a tool, whose transmissions have next to no play and no kinematic error.

    Nothing that `identify` does not know of.
    """
    drives = plausible_drives(FlexibleJointRobot(seed=1).limits.effort, 1, ModelErrors.none())
    drives = drives.with_backlash(0.02 * drives.backlash)._replace(kinematic_error=0.02 * drives.kinematic_error)
    found = FlexibleJointRobot(seed=1, rate=500.0, temperature=35.0, errors=ModelErrors.none(), drives=drives)
    found.attach_payload(Payload(5.0, (0.06, 0.0, 0.08)))
    return found


@pytest.fixture(scope='module')
def identified():
    """Description, as identification of a 40 s recording gives it."""
    arm = robot()
    t = np.arange(0.0, 40.0, 0.004)
    k = 2 * np.pi * 0.1 * np.arange(1, 6)
    amplitude = np.random.default_rng(1).normal(size=(5, arm.n)) * 0.68 / k[:, None]
    swing = (np.sin(np.outer(t, k)) @ amplitude) * np.minimum(t / 3, 1)[:, None] ** 2 * np.array([1, 0.7, 1, 1, 1, 1])
    q = arm.truth.position + swing
    samples = play(arm, TrajectoryPoints(t, q, np.gradient(q, t, axis=0)))
    signals = {name: getattr(samples, name) for name in ('current', 'theta', 'temperature')}
    recording = Recording(arm.joint_names, samples.time - samples.time[0], samples.q, **signals, name='excitation')
    gains = dict(zip(arm.joint_names, arm.drives.nominal_gain, strict=True))
    return identify(arm.model, [recording], settings=IdentificationSettings(drive_gains=gains)).description


@pytest.mark.slow
@pytest.mark.xfail(
    strict=True,
    reason='shoulder lift: a kinematic error of 0.1 mrad is identified that is not there (0.03 stated), and the learnt '
    'map is 6.8 % off with 0.5 % stated',
)
def test_stiffness_is_learnt_from_what_identify_wrote(identified, tools, nrmse):
    parts = [identified.joint(name) for name in identified.joint_names]
    assert all({'stiffness', 'kinematic_error'} <= set(part) for part in parts)
    arm = robot()
    described = Arm.from_description(arm.model, identified)
    estimator = JointEstimator(described, arm.period)
    time, q = tools.waypoint_motion(2)
    samples = play(arm, TrajectoryPoints(time, q, np.gradient(q, time, axis=0)))
    load = np.zeros(arm.n)
    for k in range(len(samples.q)):
        if k % 200 == 0:
            estimator.set_temperature(samples.temperature[k])
        if estimator.update(samples.q[k], samples.current[k], samples.theta[k]):
            load = np.maximum(load, np.abs(estimator.torque_link))
    assert estimator.stiffness.reliable.all()
    # Wrist 3 carries 3.4 N·m at most, and is deformed by 0.75 mrad: beyond, a cubic is extrapolated, not learnt.
    reach = np.minimum(REACH, load / arm.truth.stiffness[:, 0])
    assert (reach[:5] > 0.95 * REACH[:5]).all()
    missed = [
        100.0 - nrmse(estimator.stiffness.coefficients[j], arm.truth.stiffness[j], reach[j]) for j in range(arm.n)
    ]
    # 5 % [M3], or two of the deviations that the estimator states of itself
    deviation = 100.0 * np.sqrt(estimator.stiffness.variance(reach)) / estimator.stiffness.torque(reach)
    assert (np.array(missed) <= np.maximum(5.0, 2.0 * deviation)).all(), (missed, deviation)


def test_an_unidentifiable_rotor_is_uncertain(identified):
    """Of the first two joints the regressor shows ZZR alone.

    The sum is right, and the rotor near the truth by the URDF's inertials.
    """
    model = robot().model
    rotors = [identified.joint(name)['rotor_inertia'] for name in identified.joint_names]
    shown = [f'Ia_{k + 1}' in model.base_parameters().names for k in range(model.n)]
    assert [part.get('identifiable', True) for part in rotors] == shown
    assert [part.get('std') is not None for part in rotors] == shown
    assert shown == [False, False, True, True, True, True]
    arm = Arm.from_description(model, identified)
    truth = robot().truth
    # The URDF lacks the tool, whose mass is that of the forearm.
    np.testing.assert_allclose(arm.rotor_inertia, truth.rotor_inertia, rtol=ROTOR_INERTIA_SPREAD)
    np.testing.assert_array_equal(arm.rotor_identifiable, shown)
    settings = EstimationSettings()
    known = replace(arm, rotor_identifiable=np.ones(model.n, dtype=bool))
    deviations, none = (estimate_of(one, settings)['rotor_inertia_deviation'] for one in (arm, known))
    np.testing.assert_allclose(deviations, np.where(shown, 0.0, ROTOR_INERTIA_SPREAD * arm.rotor_inertia))
    assert not none.any()
