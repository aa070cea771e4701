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

"""Named changes of load, stiffness and friction of a simulated UR5e."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest

pytest.importorskip('numba', reason='the simulated robot is compiled by numba')

from joint_dynamics.arm import Arm
from joint_dynamics.estimation import EstimationSettings, JointEstimator, PayloadEstimator
from joint_dynamics.estimation.change_test import BODY, begin_block, last_link_rows, take
from joint_dynamics.estimation.changes import WINDOW, Change, ChangeDetector
from joint_dynamics.robot.newton_euler import WORK_PER_LINK, inverse_dynamics
from joint_dynamics.simulation import Command, FlexibleJointRobot, Payload, TrajectoryPoints

PERIOD = 2e-3  # s
BEFORE = 40.0  # s of motion before a change
AFTER = 8.0  # s of motion after it


@pytest.fixture(scope='module')
def run(tools, true_description):
    """Return a function for the estimates while something changes after 40 s of the waypoint cycle.

    change(robot); from then on softer: (n,) factor of the stiffness, rougher: (n,) N·m of friction more.
    carried: a payload that the estimator has to weigh from the beginning. pushes: (n,) N·m each, 0.6 s every 1.5 s.
    offset: (n,) N·m that the current shows too much all the time. points: time and q of another motion.
    """

    def play(change=None, after=AFTER, softer=None, rougher=None, carried=None, pushes=(), offset=0.0, points=None):
        time, q = tools.waypoint_motion(4, speed=2.0) if points is None else points
        trajectory = TrajectoryPoints(time, q, np.gradient(q, time, axis=0))
        robot = FlexibleJointRobot(seed=4, rate=1.0 / PERIOD, temperature=30.0)
        arm = Arm.from_description(robot.model, true_description(robot))
        estimator = JointEstimator(arm, PERIOD, EstimationSettings(payload=carried is not None))
        if carried is not None:
            robot.attach_payload(carried)
        robot.place(trajectory.sample(0.0).q[0])
        tick, out = 0, SimpleNamespace(estimator=estimator, robot=robot, alpha=[], named=[])
        steps = [(BEFORE, change or (lambda robot: None)), (BEFORE + after, None)]
        for k, torque in enumerate(pushes):
            for start, now in ((1.5 * k, torque), (1.5 * k + 0.6, 0.0)):
                steps.insert(-1, (BEFORE + start, partial(FlexibleJointRobot.set_external_torque, torque=now)))
        for until, act in steps:
            reference = trajectory.sample(np.arange(tick, round(until / PERIOD)) * PERIOD)
            samples = robot.run(Command.track(reference.q, reference.dq, reference.effort))
            theta = samples.theta.copy()
            if softer is not None and act is None:
                # the same torque bends it more
                theta = samples.q + (theta - samples.q) / softer
            current = samples.current + offset / arm.drive_gain
            if rougher is not None and act is None:
                current = current + rougher * np.sign(np.gradient(theta, axis=0)) / arm.drive_gain
            for k in range(len(samples.q)):
                if k % 500 == 0:
                    estimator.set_temperature(samples.temperature[k])
                known = len(estimator.named)
                estimator.update(samples.q[k], current[k], theta[k])
                for one in estimator.named[known:]:
                    out.named.append(((tick + k) * PERIOD - BEFORE, one.kind, one.joint))
                if k % 50 == 0:
                    out.alpha.append(((tick + k) * PERIOD - BEFORE, estimator.friction.parameters[:, 0].copy()))
            tick = round(until / PERIOD)
            if until == BEFORE:
                out.usual = estimator.changes.square.copy()
            if act is not None:
                act(robot)
        return out

    return play


def test_a_load_that_is_taken_up_is_named_and_weighed(run):
    """3 kg: named as such, once, and nothing else, within 5 % after 5 s; friction returns to its old value."""
    out = run(lambda robot: robot.attach_payload(Payload(3.0, (0.02, 0.0, 0.08))), after=5.0)
    assert [one[1:] for one in out.named] == [('load', -1)]
    assert out.estimator.payload.known
    assert out.estimator.payload.mass == pytest.approx(3.0, rel=0.05)
    before = [alpha for when, alpha in out.alpha if when < 0.0][-1]
    # α follows its work by some 10 % on this arm; 3 kg would be 20 N·m to the lift, three times its friction
    assert np.abs(out.alpha[-1][1] - before).max() < 0.15


def test_a_named_load_restores_the_friction(run):
    """Also in the block in which it came, a quarter of a second, in which α₁ wanders by less than a hundredth."""
    out = run(lambda robot: robot.attach_payload(Payload(5.0, (0.02, 0.0, 0.08))), after=5.0)
    named = next(when for when, kind, _ in out.named if kind == 'load')
    before = [alpha for when, alpha in out.alpha if when < 0.0][-1]
    since = next(alpha for when, alpha in out.alpha if when > named)
    assert np.abs(since - before).max() < 0.01


def test_only_a_load_is_named_while_what_is_carried_is_not_known(tools, true_description):
    """An unknown load resembles friction of the wrist; it is named once the mass is known."""
    time, q = tools.waypoint_motion(3, speed=2.0)
    trajectory = TrajectoryPoints(time, q, np.gradient(q, time, axis=0))
    robot = FlexibleJointRobot(seed=4, rate=1.0 / PERIOD, temperature=30.0)
    arm = Arm.from_description(robot.model, true_description(robot))
    estimator, asked = JointEstimator(arm, PERIOD, EstimationSettings(payload=True)), []
    estimator.changes.find = lambda: asked.append(estimator.payload.known) or Change('friction', 3, 1.5, 6)
    robot.place(trajectory.sample(0.0).q[0])
    reference = trajectory.sample(np.arange(0.0, time[-1], PERIOD))
    samples = robot.run(Command.track(reference.q, reference.dq, reference.effort))
    for sample in zip(samples.q, samples.current, samples.theta, strict=True):
        estimator.update(*sample)
        if estimator.named:
            break
    assert asked == [False] * (len(asked) - 1) + [True], asked
    assert len(asked) > 2
    assert estimator.friction.parameters[3, 0] == pytest.approx(1.5)


def test_a_stiffness_that_drops_is_named_and_learnt(run):
    """The elbow at 70 %: named within 10 s, within 5 % up to 1 mrad at the end; nothing else is named or felt."""
    out = run(softer=np.array([1.0, 1.0, 0.7, 1.0, 1.0, 1.0]))
    assert [one[1:] for one in out.named] == [('stiffness', 2)]
    assert out.estimator.stiffness.changes.tolist() == [0, 0, 1, 0, 0, 0]
    phi = np.linspace(5e-5, 1e-3, 20)[:, None] * np.ones(6)
    learnt, true = out.estimator.stiffness.torque(phi)[:, 2], 0.7 * out.robot.truth.spring_torque(phi)[:, 2]
    assert learnt @ true / (true @ true) == pytest.approx(1.0, abs=0.05)
    assert not out.estimator.contact.any()


def test_friction_that_jumps_is_named_once_and_taken_in(run):
    """Half as much Coulomb friction again at the elbow: α₁ is there when it is named, and stays."""
    out = run(rougher=np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0]), after=10.0)
    assert [one[1:] for one in out.named] == [('friction', 2)]
    expected = 1.0 + 3.0 / out.estimator.arm.friction.parameters['F_C0'][2]
    named = out.named[0][0]
    since = [alpha[2] for when, alpha in out.alpha if when > named + 0.2]
    # α₁ follows its work by some 10 % on this arm
    np.testing.assert_allclose(since, expected, atol=0.15)


def test_nothing_is_named_where_nothing_changes(run):
    out = run()
    assert out.named == [] and out.estimator.payload is None


def test_a_constant_torque_error_is_no_change_of_friction(run):
    """2 N·m too much at a lift that goes up for 6 s and down for 6 s: α₁ takes it up, now this way, now that."""
    time, q = np.arange(0.0, 62.0, 0.004), np.tile([0.0, -1.4, 1.0, -1.5, -1.5, 0.0], (15500, 1))
    q[:, 1] += 0.6 * np.cos(2.0 * np.pi * time / 12.0)
    out = run(after=20.0, offset=np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0]), points=(time, q))
    assert np.ptp([alpha[1] for when, alpha in out.alpha if when > -20.0]) > 0.25
    assert out.named == []


def test_a_push_is_no_load(run):
    """Constant torques of 25 N·m at the lift and 10 N·m at the elbow, until the end: no body within reach does that."""
    out = run(lambda robot: robot.set_external_torque([0.0, 25.0, -10.0, 0.0, 0.0, 0.0]), after=3.0)
    assert [one for one in out.named if one[1] == 'load'] == []


def test_a_series_of_pushes_is_nothing_that_changed(run):
    """Nor a long one: ordinary errors, payload and friction learn nothing."""
    rng = np.random.default_rng(0)
    pushes = rng.uniform(-1.0, 1.0, (8, 6)) * [12.0, 12.0, 8.0, 4.0, 4.0, 1.0]
    out = run(after=16.0, carried=Payload(2.0, (0.0, 0.0, 0.08)), pushes=pushes)
    assert out.named == []
    assert out.estimator.payload.mass == pytest.approx(2.0, abs=0.05)
    before = [alpha for when, alpha in out.alpha if when < 0.0][-1]
    # α follows its work by some 10 % on this arm
    assert np.abs(out.alpha[-1][1] - before).max() < 0.15
    assert np.all(out.estimator.changes.square < 4.0 * out.usual)


def test_friction_that_jumps_does_not_spoil_a_load_that_is_known(run):
    """2 kg weighed beforehand: friction is named, the load keeps its name and mass."""
    out = run(rougher=np.array([0.0, 0.0, 6.0, 0.0, 0.0, 0.0]), carried=Payload(2.0, (0.0, 0.0, 0.08)))
    assert [one[1:] for one in out.named] == [('friction', 2)]
    assert out.estimator.payload.mass == pytest.approx(2.0, abs=0.05)


def found_in(
    blocks, draw, carried=0.0, felt=(), taken=lambda block: np.zeros(3), unknown=lambda block: np.zeros(3), noise=0.2
):
    """Return the named changes, block by block, of 3 slipping joints with described springs of 20 N·m/rad.

    draw(block, rng): of its samples a body more than the one of `carried` kg, deformations rad, and N·m of errors.
    felt: blocks with a contact, in the only postures that tell of the load. taken(block): (3,) N·m, of the lost motion
    that loads take up; unknown(block): likewise, by the deviation of the kinematic error. noise: N·m, 0.2 stated.
    """
    rng, n, body, weight, found = np.random.default_rng(0), 3, np.zeros(BODY), np.full(3, 5.0), []
    detector, body[-1] = ChangeDetector(n, 8e-3, np.ones(n)), carried
    for block in range(blocks):
        begin_block(detector.blocks, body, np.tile([1.0, 0.0], (n, 1)))
        added, deformation, error = draw(block, rng)
        for phi in deformation:
            # of a body that is moved by up to 1 g, held in other postures
            rows = rng.normal(size=(n, BODY)) * [*[0.1] * 6, *[3.0] * 3, 5.0]
            rows *= 0.01 if felt and block not in felt else 1.0
            errors, omega = rng.normal(0.0, noise, (2, n)), rng.normal(size=n)
            motor = np.stack([np.sign(omega) + rows @ added + errors[0], np.sign(omega), omega, 0.0 * weight, weight])
            torque = rows @ added - 20.0 * phi + error + errors[1]
            spring = np.stack([torque, -20.0 * phi, taken(block), unknown(block), weight])
            take(detector.blocks, rows, np.stack([motor, spring]), block in felt)
        detector.complete()
        found.append(detector.find())
    return [(block, one.kind, one.joint) for block, one in enumerate(found) if one is not None]


@pytest.mark.parametrize(
    ('carried', 'mass', 'named'), [(0.0, 0.5, 'load'), (0.0, -0.3, None), (1.0, -1.0, 'load'), (1.0, -1.3, 'load')]
)
def test_a_negative_mass_is_no_load(carried, mass, named):
    """A model error that ten parameters explain, too, were they of a body of −0.3 kg; of a body carried 0.4 kg less."""

    def draw(block, rng):
        return np.eye(BODY)[-1] * mass * (block >= WINDOW // 2), rng.normal(size=(31, 3)), 0.0

    assert {kind for _, kind, _ in found_in(WINDOW, draw, carried)} == (set() if named is None else {named})


@pytest.mark.parametrize(('factor', 'named'), [(0.89, set()), (0.8, {('stiffness', 1)})])
def test_the_smallest_change_is_2_5_deviations_of_the_drift(factor, named):
    """Springs wander by 5 % over their range: by 11 % for long, however clear, is not named."""

    def draw(block, rng):
        phi = rng.normal(0.0, 0.3, 3) + rng.normal(0.0, 0.002, (31, 3))
        return np.zeros(BODY), phi, [0.0, (1.0 - factor) * 20.0 * phi[0, 1] * (block >= 48), 0.0]

    assert {one[1:] for one in found_in(66, draw)} == named


def test_a_push_that_is_over_is_no_load():
    """Half a second in which a body of 0.5 kg explains a push; the postures since do not tell of one."""

    def draw(block, rng):
        return np.eye(BODY)[-1] * 0.5 * (block in felt), rng.normal(size=(31, 3)), 0.0

    felt = 3, 4
    assert found_in(WINDOW, draw, felt=felt) == []


def test_levels_of_the_torque_show_a_softer_spring():
    """A joint at 80 % whose torque varies from posture to posture only, beside joints with errors in each posture."""

    def draw(block, rng):
        phi, error = rng.normal(0.0, 0.1, 3) + rng.normal(0.0, 0.002, (31, 3)), rng.normal(0.0, 0.4, 3)
        error[1] = 0.2 * 20.0 * phi[0, 1] * (block >= 48)
        return np.zeros(BODY), phi, error

    found = found_in(66, draw)
    assert found and {one[1:] for one in found} == {('stiffness', 1)}


def test_a_daily_error_is_no_softer_spring():
    """Lost motion that is not described takes 60 % of a wrist's torque, now this way and now that, for 2 s each."""

    def draw(block, rng):
        phi = rng.normal(0.0, 0.05, 3) + rng.normal(0.0, 0.002, (31, 3))
        way = 1.0 if block // 8 % 2 else -1.0
        return np.zeros(BODY), phi, [0.0, 0.6 * way * 20.0 * phi[0, 1], 0.0]

    assert found_in(96, draw) == []


def test_lasting_errors_are_no_softer_spring():
    """A torque error of its own in every posture, held for 3 s each: 12 blocks have it, not one."""
    held = np.random.default_rng(1).normal(0.0, 0.4, (80, 3))

    def draw(block, rng):
        return np.zeros(BODY), 0.2 + rng.normal(0.0, 0.002, (31, 3)), held[block // 12]

    assert found_in(960, draw) == []


def test_lost_motion_beyond_the_model_is_no_softer_spring():
    """A joint comes under load, now this way and now that, and a quarter is left of the play that it takes up."""

    def way(block):
        return (block >= 48) * (1.0 if block // 2 % 2 else -1.0)

    def taken(block):
        return np.array([0.0, 1.6 * way(block), 0.0])

    def draw(block, rng):
        phi = 0.1 * way(block) + rng.normal(0.0, 0.01, (31, 3))
        return np.zeros(BODY), phi, 0.25 * taken(block)

    assert {one[1:] for one in found_in(96, draw)} == {('stiffness', 1)}
    assert found_in(96, draw, taken=taken) == []


def test_an_unknown_kinematic_error_is_no_softer_spring():
    """A joint comes to angles that were not recorded and stays there, under a load that bends it 40 % more."""

    def there(block):
        return np.array([0.0, 1.0 * (block >= 48), 0.0])

    def draw(block, rng):
        phi = 0.1 + rng.normal(0.0, 0.01, (31, 3))
        return np.zeros(BODY), phi, 0.8 * there(block)

    assert {one[1:] for one in found_in(96, draw)} == {('stiffness', 1)}
    assert found_in(96, draw, unknown=lambda block: 0.8 * there(block)) == []


def test_a_varying_kinematic_error_is_no_softer_spring():
    """Its deviation states its size, no more: in other angles, half a second later, it has the other sign."""

    def way(block):
        return (block >= 48) * (1.0 if block // 2 % 2 else -1.0)

    def draw(block, rng):
        phi = 0.1 * way(block) + rng.normal(0.0, 0.01, (31, 3))
        return np.zeros(BODY), phi, np.array([0.0, 0.8 * way(block), 0.0])

    assert {one[1:] for one in found_in(96, draw)} == {('stiffness', 1)}
    assert found_in(96, draw, unknown=lambda block: np.array([0.0, 0.8, 0.0])) == []


def test_a_daily_lost_motion_error_hides_no_softer_spring():
    """Half of the assumed lost motion remains, with changing sign; then a joint is at 75 %."""

    def taken(block):
        return np.array([0.0, 0.8 if block // 2 % 4 < 2 else -0.8, 0.0])

    def draw(block, rng):
        phi = rng.normal(0.0, 0.1, 3) + rng.normal(0.0, 0.01, (31, 3))
        return np.zeros(BODY), phi, 0.5 * taken(block) + [0.0, 0.25 * 20.0 * phi[0, 1] * (block >= 96), 0.0]

    found = found_in(108, draw, taken=taken)
    assert found and {one[1:] for one in found} == {('stiffness', 1)}


def test_a_slow_softer_spring_teaches_no_ordinary_errors():
    """A joint at 70 % that is bent so little that most of the six seconds are needed: it does not hide itself."""

    def draw(block, rng):
        phi = rng.normal(0.0, 0.04, 3) + rng.normal(0.0, 0.002, (31, 3))
        return np.zeros(BODY), phi, [0.0, 0.3 * 20.0 * phi[0, 1] * (block >= 96), 0.0]

    found = found_in(120, draw)
    assert found and {one[1:] for one in found} == {('stiffness', 1)}


def test_late_errors_are_no_softer_spring():
    """A quarter of the stated ones for 30 s; then those of a spring of 85 %, three quarters of the stated ones."""

    def draw(block, rng):
        phi = rng.normal(0.0, 0.05, 3) + rng.normal(0.0, 0.002, (31, 3))
        return np.zeros(BODY), phi, [0.0, 0.15 * 20.0 * phi[0, 1] * (block >= 120), 0.0]

    assert found_in(140, draw, noise=0.05) == []


def test_an_error_that_stays_for_a_block_is_little_of_a_payload(arm):
    """A body turns, and each joint has a torque error of its own in each block: less of a mass than taken as noise."""
    rng, detector, masses = np.random.default_rng(2), ChangeDetector(6, 8e-3, np.ones(6)), []
    usual, every = detector.constant.copy(), list(range(WINDOW))
    for _ in range(20):
        for _ in every:
            begin_block(detector.blocks, np.zeros(BODY), np.tile([1.0, 0.0], (6, 1)))
            error = rng.normal(0.0, 1.0, 6)
            for _ in range(detector.per_block):
                rows, omega = rng.normal(size=(6, BODY)) * [*[0.1] * 6, *[3.0] * 3, 5.0], rng.normal(size=6)
                motor = np.stack([np.sign(omega) + error, np.sign(omega), omega, np.zeros(6), np.ones(6)])
                take(detector.blocks, rows, np.stack([motor, np.zeros((5, 6))]), False)
            detector.complete()
        for stays in (usual, 1e-9 * usual):
            detector.constant, payload = stays, PayloadEstimator(arm.rigid_body(), 8e-3)
            payload.add(*detector.motor_information(every, 0))
            masses.append(payload.mass)
    known, unknown = np.sqrt(np.mean(np.square(np.reshape(masses, (-1, 2))), axis=0))
    assert known < 0.5 * unknown


def test_rows_of_the_last_link_are_those_of_pinocchio(worn_arm):
    rng = np.random.default_rng(3)
    model = worn_arm.robot.pinocchio
    links, work, rows, torque = worn_arm.constants.links, np.zeros((6, WORK_PER_LINK)), np.empty((6, 10)), np.empty(6)
    order = [-6, -5, -3, -4, -2, -1, -9, -8, -7, -10]
    for q, dq, ddq in rng.uniform(-2, 2, (5, 3, 6)):
        inverse_dynamics(links, q, dq, ddq, work, torque)
        last_link_rows(links, q, work, rows)
        expected = pinocchio.computeJointTorqueRegressor(model, model.createData(), q, dq, ddq)[:, order]
        np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-9)
