"""An encoder that stays at a reading where the motion reverses: nothing jumps, but the torque goes on."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.preparation.observations import filter_plan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

RATE = 100.0


def told(model, recording):
    settings = IdentificationSettings()
    observation = observe(recording, filter_plan([recording], settings))
    problem = Problem(model, [observation], rest_speed=settings.rest_speed)
    return {reason.code: reason.text for reason in check_training(problem, [recording]).reasons}


def from_reversal(recording, joint):
    """A recording in which a joint's position stays from the reversal on that is next to the middle."""
    q = recording.q.copy()
    turns = np.flatnonzero(np.diff(np.sign(np.diff(q[:, joint]))) != 0) + 1
    first = turns[np.argmin(np.abs(turns - len(q) // 2))]
    q[first:, joint] = q[first, joint]
    return replace(recording, q=q)


@pytest.mark.parametrize('joint', [0, 1, 2])
def test_an_encoder_stuck_from_a_reversal_on_is_told(true_robot, joint):
    """Before, its rows counted as rest, at which friction may be anything, whatever the torque did."""
    found = told(true_robot.model, from_reversal(true_robot.record(2, rate=RATE), joint))
    assert f'joint_{joint + 1} reads at rest from' in found['stuck']


def resting(robot, joint, held, later=True):
    """A recording in which a joint stands for a half and friction holds ±`held` times its Coulomb level there."""
    t, q, dq, ddq = robot.motion(np.random.default_rng(0), 20.0, RATE)
    # the joint stops at, or starts from, a reversal
    turns = np.flatnonzero(np.diff(np.sign(dq[:, joint])) != 0) + 1
    turn = turns[np.argmin(np.abs(turns - 1000))]
    still = slice(turn, None) if later else slice(None, turn)
    q[still, joint], dq[still, joint], ddq[still, joint] = q[turn, joint], 0.0, 0.0
    tau = robot.torque(q, dq, ddq)
    tau[still, joint] += held * robot.standard[joint, 12] * np.sin(2 * np.pi * 0.3 * t[still])
    tau += 0.02 * np.sqrt((tau**2).mean(axis=0)) * np.random.default_rng(100).normal(size=tau.shape)
    return Recording(robot.model.joint_names, t, q, tau=tau, name='run')


def test_what_friction_can_hold_at_rest_is_no_fault(true_robot):
    """A joint may hold twice its Coulomb level, one way and the other; what it cannot hold is told."""
    assert told(true_robot.model, resting(true_robot, 3, 2.0)) == {}
    assert 'stuck' in told(true_robot.model, resting(true_robot, 3, 6.0))


def test_a_joint_that_has_not_slipped_yet_may_hold_anything(true_robot):
    """Brakes just released: recorded joints hold up to 4.4 times their Coulomb level there."""
    assert 'stuck' not in told(true_robot.model, resting(true_robot, 3, 6.0, later=False))


def test_the_recorded_tx40_whose_encoder_stays_at_a_reversal_is_told(data):
    """Seed 2 of the bench, which passed and changed the prediction of another motion by 9 %."""
    model = RobotModel.load(data / 'tx40' / 'mdh.yaml')
    recording = Recording.load(data / 'tx40' / 'exciting_traj').select(model.joint_names)
    q = recording.q
    speed = np.gradient(q[:, 1], recording.period)
    half = len(q) // 2
    turns = np.flatnonzero(np.diff(np.sign(speed)) != 0)
    stuck = turns[np.argmin(np.abs(turns - half))]
    kinds = [kind for kind in ('q', 'dq', 'theta', 'dtheta') if getattr(recording, kind) is not None]
    values = {kind: getattr(recording, kind).copy() for kind in kinds}
    for kind, array in values.items():
        array[stuck:, 1] = array[stuck, 1] if kind in ('q', 'theta') else 0.0
    assert 'reads at rest from' in told(model, replace(recording, **values))['stuck']
