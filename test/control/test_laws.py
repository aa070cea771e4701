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

"""The shipped laws: identities, and the plant of which they are the inverse."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import REVERSAL, FrictionModel, MaxwellSlip, TorsionalStiffness
from joint_dynamics.joint.stiffness import SOFTEST

LAWS = ('computed_torque', 'adaptive_friction', 'flexible_joint')
WARM = np.full(6, 30.0)
UNKNOWN = np.full((6, 2), np.nan)


@pytest.mark.parametrize('law', LAWS)
def test_gravity_off_subtracts_gravity_alone(make_law, path, law):
    motion = path.sample(np.arange(0.5, 1.5, 0.01))
    with_it, without = (make_law(law, gravity=gravity) for gravity in (True, False))
    gravity = np.array([with_it.arm.rigid.gravity(q) for q in motion[:, 0]])
    np.testing.assert_allclose(with_it.effort_along(motion) - without.effort_along(motion), gravity, atol=1e-9)
    assert np.abs(gravity).max() > 10


@pytest.mark.parametrize('law', LAWS)
def test_current_is_torque_over_drive_gain(make_law, path, law):
    motion = path.sample(np.arange(0.5, 1.5, 0.01))
    effort, current = (make_law(law, output=output) for output in ('effort', 'current'))
    np.testing.assert_allclose(
        effort.effort_along(motion), current.effort_along(motion) * effort.arm.drive_gain, atol=1e-12
    )
    assert (effort.output, current.output) == ('effort', 'current')


@pytest.mark.parametrize('law', LAWS)
def test_pieces_of_a_motion_give_the_effort_of_the_whole(make_law, path, law):
    motion = path.sample(np.arange(0.0, 5.0, 0.01))
    whole, pieces = make_law(law), make_law(law)
    parts = [pieces.effort_along(motion[k : k + 70]) for k in range(0, len(motion), 70)]
    np.testing.assert_array_equal(whole.effort_along(motion), np.concatenate(parts))


def test_computed_torque_is_inverse_dynamics_with_rotors(make_law, path):
    law = make_law('computed_torque')
    q, dq, ddq = path.at(1.1)[:3]
    parameters = law.arm.parameters.reshape(-1, 14).copy()
    parameters[:, 10] = law.arm.rotor_inertia
    expected = law.arm.robot.inverse_dynamics(q, dq, ddq, parameters.ravel())
    np.testing.assert_allclose(law.effort_along(path.sample([1.1]))[0], expected, atol=1e-9)


def test_infinite_stiffness_makes_the_flexible_law_rigid(make_arm, make_law, path):
    arm = make_arm(stiffness=TorsionalStiffness([1e16]), kinematic_error=None)
    motion = path.sample(np.arange(0.0, 5.2, 0.005))
    flexible, rigid = (make_law(law, arm).effort_along(motion) for law in ('flexible_joint', 'adaptive_friction'))
    np.testing.assert_allclose(flexible, rigid, atol=1e-9)


def test_adaptive_friction_alone_adapts(make_law, path):
    law, other = make_law('computed_torque', friction='static'), make_law('computed_torque', friction='static')
    law.adapt(WARM, np.tile([0.5, 0.02], (6, 1)))
    other.adapt(WARM, UNKNOWN)
    motion = path.sample([1.1])
    np.testing.assert_array_equal(law.effort_along(motion), other.effort_along(motion))
    adaptive, halved = make_law('adaptive_friction'), make_law('adaptive_friction')
    halved.adapt(WARM, np.tile([0.5, 0.02], (6, 1)))
    assert (
        np.abs(adaptive.effort_along(path.sample([1.0, 1.1])) - halved.effort_along(path.sample([1.0, 1.1]))).max() > 1
    )
    assert law.inputs == ('temperature',) and make_law('computed_torque').inputs == ()
    assert make_law('adaptive_friction').inputs == ('temperature', 'friction_scale')


def test_bounds_of_alpha_grow_with_the_viscous_friction(make_law):
    wide = make_law('adaptive_friction')
    wide.adapt(WARM, np.stack([np.ones(6), [9, 1.0, 0.5, -0.5, -1.0, -9]], axis=1))
    # 6 N·m·s/rad in the model, a share of 0.5.
    np.testing.assert_allclose(wide.friction.alpha[:, 1], [3.0, 1.0, 0.5, -0.5, -1.0, -3.0])
    fixed = make_law('adaptive_friction', alpha_lower=[1.0, 0.0], alpha_upper=[1.0, 0.0])
    fixed.adapt(WARM, np.tile([0.7, 0.5], (6, 1)))
    np.testing.assert_array_equal(fixed.friction.alpha, np.tile([1.0, 0.0], (6, 1)))


def rate(arm, x, u):
    """ẋ of x = (q, q̇, θ, θ̇) without friction: B θ̈ + τ = u, M q̈ + C q̇ + g = τ = τ_E(θ − q)."""
    q, dq, theta, omega = x.reshape(4, 6)
    tau = arm.stiffness.torque(theta - q)
    ddq = np.linalg.solve(arm.rigid.mass_matrix(q), tau - arm.rigid.bias(q, dq))
    return np.concatenate([dq, ddq, omega, (u - tau) / arm.rotor_inertia])


def runge_kutta(arm, x, u, h):
    """State after a fourth-order Runge-Kutta step; u: torques (3, n) at its start, middle and end."""
    k1 = rate(arm, x, u[0])
    k2 = rate(arm, x + h / 2 * k1, u[1])
    k3 = rate(arm, x + h / 2 * k2, u[1])
    k4 = rate(arm, x + h * k3, u[2])
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def test_flexible_feedforward_moves_a_flexible_arm_open_loop(make_arm, make_law, path):
    arm = make_arm(
        stiffness=TorsionalStiffness(np.outer([1, 1, 1, 0.2, 0.2, 0.2], [4e3, 4e7])),
        damping=None,
        friction=None,
        kinematic_error=None,
    )
    law, h, steps = make_law('flexible_joint', arm, friction='none'), 5e-4, 1600
    motion = path.sample(h / 2 * np.arange(2 * steps + 1))
    efforts = law.effort_along(motion)
    theta, omega, _ = law.motor_motion(motion[:1])[0]
    x = np.concatenate([motion[0, 0], motion[0, 1], theta, omega])
    worst = 0.0
    for k in range(steps):
        x = runge_kutta(arm, x, efforts[2 * k : 2 * k + 3], h)
        worst = max(worst, np.abs(x[:6] - motion[2 * k + 2, 0]).max())
    assert np.abs(motion[-1, 0] - motion[0, 0]).max() > 0.1
    assert worst < 2e-6


@pytest.mark.parametrize(
    ('law', 'changes', 'parameters', 'named'),
    [
        ('adaptive_friction', {'friction': None}, {}, 'friction'),
        ('flexible_joint', {'stiffness': None}, {}, 'stiffness'),
        ('computed_torque', {'drive_gain': [9, 9, np.nan, 9, 9, 9]}, {'output': 'current'}, 'elbow_joint'),
        ('computed_torque', {}, {'output': 'volts'}, 'volts'),
        ('computed_torque', {'rotor_inertia': -np.ones(6)}, {}, r'shoulder_pan_joint\.rotor_inertia'),
    ],
)
def test_a_field_that_the_arm_lacks_is_named(make_arm, make_law, law, changes, parameters, named):
    with pytest.raises(JointDynamicsError, match=named):
        make_law(law, make_arm(**changes), **parameters)


def test_friction_without_hysteresis_gets_a_narrow_one(make_arm, make_law, path):
    parameters = {'F_C0': np.full(6, 5.0), 'F_V1': 2.0}
    bare, narrow = (
        make_law(
            'adaptive_friction',
            make_arm(friction=FrictionModel(parameters, *slip), stiffness=None, kinematic_error=None),
        )
        for slip in ((), (MaxwellSlip(6, REVERSAL, operators=1),))
    )
    assert any('no hysteresis' in remark for remark in bare.remarks)
    motion = path.sample(np.linspace(0.0, 5.0, 301))
    np.testing.assert_allclose(bare.effort_along(motion), narrow.effort_along(motion), atol=1e-12)


def test_the_hysteresis_is_driven_by_the_angle_of_the_motor(make_arm, make_law, path):
    """A joint that stands still under a changing load is carried through its hysteresis by the deformation alone."""
    motion = np.tile(path.at(0.0), (201, 1, 1))
    motion[1:, 2, 1] = np.linspace(0, 20, 200)
    friction = {}
    for name, stiffness in (('stiff', None), ('flexible', TorsionalStiffness([2e3]))):
        law = make_law('adaptive_friction', make_arm(stiffness=stiffness, kinematic_error=None))
        rigid = law.arm.rigid.inverse_dynamics(*motion[-1, :3])[1] + law.arm.rotor_inertia[1] * 20
        friction[name] = law.effort_along(motion)[-1, 1] - rigid
    assert friction['stiff'] == pytest.approx(0.0, abs=1e-9)
    assert friction['flexible'] > 7.0


def cubic(stiffness, torque):
    """The negative α₂ whose stiffness vanishes at a torque: τ_max = (2/3) α₁ √(α₁/(3 |α₂|))."""
    return -4.0 * stiffness**3 / (27.0 * torque**2)


def test_motor_motion_of_a_softening_joint_is_consistent(make_law, make_arm, path):
    law = make_law(
        'flexible_joint', make_arm(stiffness=TorsionalStiffness([2e4, cubic(2e4, 200.0)]), kinematic_error=None)
    )
    h = 1e-4
    for time in (0.7, 1.9, 3.3):
        (before, speed_before, _), (_, speed, alpha), (after, speed_after, _) = law.motor_motion(
            path.sample([time - h, time, time + h])
        )
        # θ_d carries the first order of the damping, θ̇_d does not: D/k φ̇ ~ 3e-4 s of it.
        np.testing.assert_allclose((after - before) / (2 * h), speed, atol=2e-3 * np.abs(speed).max())
        np.testing.assert_allclose(
            (speed_after - speed_before) / (2 * h), alpha, rtol=1e-5, atol=1e-5 * np.abs(alpha).max()
        )


@pytest.mark.parametrize(
    ('coefficients', 'named'),
    [
        ([1e4, cubic(1e4, 140.0)], 'shoulder_pan_joint.*150 N·m'),
        ([1e4, cubic(1e4, 150.0 * (1 + 1e-6))], 'shoulder_pan_joint'),
        ([[2e4, 0.0]] * 4 + [[-5e3, 1e9]] + [[2e4, 0.0]], 'wrist_2_joint'),
        ([0.0, 0.0], 'shoulder_pan_joint'),
    ],
)
def test_stiffness_that_does_not_hold_the_joint_is_refused(make_arm, make_law, coefficients, named):
    with pytest.raises(JointDynamicsError, match=named):
        make_law('flexible_joint', make_arm(stiffness=TorsionalStiffness(coefficients)))
    assert 0 < SOFTEST < 1
