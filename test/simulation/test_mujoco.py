"""Links by MuJoCo: the same physics as the plant's own kernels and pinocchio's, with contacts and pushes on top."""

import numpy as np
import pinocchio
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation import Command, FlexibleJointRobot, Laws, ModelErrors, Payload, Sensors, play
from joint_dynamics.simulation.links import links_of, spread, standard_parameters, with_payload, workspace
from joint_dynamics.simulation.rigid_body import forward_dynamics

mujoco = pytest.importorskip('mujoco', reason='the extra mujoco is not installed')

from joint_dynamics.simulation.mujoco_bodies import MujocoBodies  # noqa: E402

TOOL = Payload(2.5, (0.05, -0.03, 0.1), np.diag([0.01, 0.02, 0.015]))


def test_its_inverse_dynamics_is_pinocchios_and_its_forward_dynamics_our_own(model):
    links = with_payload(spread(links_of(model), 0.2, seed=4), TOOL)
    bodies = MujocoBodies(model, links_of(model), 2.5e-4)
    bodies.load_inertials(links)
    zero = np.zeros(model.n)
    parameters = standard_parameters(links, zero, zero, zero)
    work = workspace(model.n)
    one, other = np.empty(model.n), np.empty(model.n)
    for q, dq, ddq in np.random.default_rng(5).normal(scale=2.0, size=(20, 3, model.n)):
        d = bodies.data
        d.qpos[:], d.qvel[:], d.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(bodies.model, d)
        expected = model.inverse_dynamics(q, dq, ddq, parameters)
        np.testing.assert_allclose(d.qfrc_inverse, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
        for outside, out in ((None, one), (bodies.outside, other)):
            forward_dynamics(links, q, dq, expected, out, work, outside)
            np.testing.assert_allclose(out, ddq, rtol=1e-7, atol=1e-7)


def test_without_payload_it_is_pinocchios_own_tree(model):
    bodies = MujocoBodies(model, links_of(model), 2.5e-4)
    data = model.pinocchio.createData()
    for q, dq, ddq in np.random.default_rng(6).normal(size=(5, 3, model.n)):
        d = bodies.data
        d.qpos[:], d.qvel[:], d.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(bodies.model, d)
        expected = pinocchio.rnea(model.pinocchio, data, q, dq, ddq)
        np.testing.assert_allclose(d.qfrc_inverse, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize('laws', [Laws(), Laws.drawn(3)], ids=str)
def test_the_same_motion_comes_out_of_both(laws, waves):
    """Both integrate the same equations: they differ by rounding, far below the error of integration (halved steps)."""
    found = {}
    for name, options in {'own': {}, 'halved': {'max_step': 1.25e-4}, 'mujoco': {'dynamics': 'mujoco'}}.items():
        robot = FlexibleJointRobot(
            seed=1, laws=laws, errors=ModelErrors(inertia=0.2), sensors=Sensors.ideal(), **options
        )
        robot.attach_payload(TOOL)
        robot.place(robot.truth.position)
        found[name] = play(robot, waves(robot.truth.position, 2.0, size=0.8))
        energy = robot.energy
        assert abs(energy.error) < 1e-4 * energy.throughput
    for quantity in ('true_q', 'true_theta', 'transmission_torque'):
        own, halved, other = (getattr(found[name], quantity) for name in ('own', 'halved', 'mujoco'))
        assert np.abs(own - halved).max() > 0.0
        assert np.abs(other - own).max() < np.abs(own - halved).max()


def lowering(height, dynamics='mujoco'):
    """The arm stretched out flat, its shoulder lowered onto a floor and pressed on."""
    flat, ideal = [0.0, -0.1, 0.0, -1.5, 0.0, 0.0], {'errors': ModelErrors.none(), 'sensors': Sensors.ideal()}
    robot = FlexibleJointRobot(seed=2, dynamics=dynamics, floor=height, position=flat, **ideal)
    goal = robot.truth.position.copy()
    ticks = 2500
    way = np.tile(goal, (ticks, 1))
    way[:, 1] += 0.35 * np.clip(np.arange(ticks) / 2000.0, 0.0, 1.0)
    return robot, robot.run(Command.track(way))


def test_a_floor_stops_the_arm_and_shows_as_external_torque():
    floating, free = lowering(-5.0)
    touching, stopped = lowering(0.0)
    assert floating.contacts == 0
    assert touching.contacts > 0
    assert free.true_q[-1, 1] - stopped.true_q[-1, 1] > 0.05
    # Before the floor is reached nothing differs; then it carries the arm: the shoulder is pushed up, against q.
    first = np.flatnonzero(np.abs(stopped.external_torque[:, 1]) > 0.0)[0]
    assert first > 100
    np.testing.assert_array_equal(stopped.true_q[:first], free.true_q[:first])
    assert stopped.external_torque[-1, 1] < -5.0
    assert np.abs(free.external_torque).max() < 1e-9
    # Standing, the joint's torque is gravity less what the floor carries.
    q = stopped.true_q[-1]
    balance = touching.model.gravity(q) - stopped.external_torque[-1] - stopped.transmission_torque[-1]
    assert np.abs(balance).max() < 0.05 * np.abs(touching.model.gravity(q)).max()
    energy = touching.energy
    assert energy.contact < 0.0


def test_a_push_at_a_body_is_the_jacobians_torque_and_is_carried_by_the_joints():
    robot = FlexibleJointRobot(seed=2, dynamics='mujoco', errors=ModelErrors.none(), sensors=Sensors.ideal())
    hold = Command.track(np.tile(robot.truth.position, (1500, 1)))
    before = robot.run(hold)
    force, point = np.array([10.0, -5.0, -20.0]), np.array([0.0, 0.02, 0.1])
    robot.push(-1, force, point)
    q = robot.truth.position
    pin = robot.model.pinocchio
    data = pin.createData()
    J = pinocchio.computeJointJacobian(pin, data, q, pin.njoints - 1)
    pinocchio.forwardKinematics(pin, data, q)
    pose = data.oMi[pin.njoints - 1]
    inside = pose.rotation.T @ force
    expected = J.T @ np.concatenate([inside, np.cross(point, inside)])
    samples = robot.run(hold)
    np.testing.assert_allclose(samples.external_torque[5], expected, atol=0.02 * np.abs(expected).max())
    # A standing arm carries the push by its joints, up to what still moves.
    change = samples.transmission_torque[-200:].mean(axis=0) - before.transmission_torque[-1]
    np.testing.assert_allclose(change, -expected, atol=0.02 * np.abs(expected).max())
    robot.push(-1, np.zeros(3))
    assert np.abs(robot.run(hold).external_torque[5:]).max() < 1e-9


def test_what_only_mujoco_can_is_refused_elsewhere():
    with pytest.raises(JointDynamicsError, match='dynamics: expected one of own, mujoco, found'):
        FlexibleJointRobot(dynamics='bullet')
    with pytest.raises(JointDynamicsError, match='floor: expected'):
        FlexibleJointRobot(floor=0.0)
    with pytest.raises(JointDynamicsError, match='expected dynamics mujoco to push a body'):
        FlexibleJointRobot().push(-1, [0, 0, 1])
    robot = FlexibleJointRobot(dynamics='mujoco')
    with pytest.raises(JointDynamicsError, match='expected a force and a point of 3 finite numbers'):
        robot.push(-1, [0, 0, np.nan])


def test_where_mujoco_is_missing_one_line_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(JointDynamicsError, match=r'expected the package mujoco, not found \(pip install joint_'):
        FlexibleJointRobot(dynamics='mujoco')
