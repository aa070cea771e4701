"""The whole chain in one process, without ROS: excite, record, identify, estimate, feed forward.

Nothing of the simulated truth goes into it: the robot is commanded, recorded, and looked at by its sensors; its maker's
data sheet gives the drive gains.
The truth is only what the figures are compared with at the end.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pinocchio

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.control import ControlLoop, create
from joint_dynamics.demo import ChainSettings, scenario
from joint_dynamics.demo.comparison import ChainRun, map_nrmse
from joint_dynamics.demo.scenario import FLOOR, GAIN_DEVIATION, HEATING_TIME, REST_GAIN, WEAR, demo_robot, heating
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.estimation import EstimationSettings, JointEstimator, choose_friction_method
from joint_dynamics.excitation import MotionSamples
from joint_dynamics.excitation.plan import Plan, PlanSettings, plan
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.friction import FrictionSettings
from joint_dynamics.identification.joint_tests.identify_joint import merged_description, run_test
from joint_dynamics.identification.joint_tests.load import LoadSettings
from joint_dynamics.identification.joint_tests.result import JointTestResult
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import (
    Command,
    Drives,
    FlexibleJointRobot,
    TrajectoryPoints,
    play,
    recording_of,
    ur5e_urdf,
)

#: Ticks between looks of the estimator at the temperature.
WARM_EVERY = 100
#: Pushes: one in so many seconds, so long [s], so strong [N].
PUSH_EVERY, PUSH_LONG, PUSH_FORCE = 1.5, 0.3, 25.0


def new_chain(settings: ChainSettings | None = None, drives: Drives | None = None) -> ChainRun:
    """Return the chain before its first stage: a robot of the settings' seed, and nothing known of it yet.

    drives: the robot's, with laws of their own; None: those of the seed.
    """
    use = settings or ChainSettings()
    robot = demo_robot(use.seed, scenario.cycle().q[0], drives=drives)
    return ChainRun(use, robot, RobotModel.load(ur5e_urdf()))


def run_chain(settings: ChainSettings | None = None, drives: Drives | None = None) -> ChainRun:
    """Run all stages of `new_chain`; raise JointDynamicsError where one refuses."""
    chain = new_chain(settings, drives)
    for stage in STAGES:
        stage(chain)
    return chain


@lru_cache(maxsize=4)
def exciting_motion(period: float, repeats: int, starts: int) -> Plan:
    """Return the exciting motion, planned from the URDF alone, so one for all robots of it; always the same."""
    work = scenario.cycle()
    lower, upper = scenario.working_range(work)
    return plan(
        RobotModel.load(ur5e_urdf()),
        PlanSettings.from_config(
            {
                'posture': work.q[0].tolist(),
                'limits': {'lower': lower, 'upper': upper, 'floor': FLOOR},
                'fourier': {
                    'period': period,
                    'repeats': repeats,
                    'starts': starts,
                    'candidates': 2,
                    'samples_per_cycle': 10,
                    'processes': 1,
                },
            }
        ),
    )


def record(chain: ChainRun) -> None:
    """Play the exciting motion, constant speeds and the work, and record what the sensors say."""
    use, robot, work = chain.settings, chain.robot, scenario.cycle()
    points = exciting_motion(use.period, use.repeats, use.starts).trajectory.sample(100.0)
    speeds = scenario.constant_speeds(work.q[0])
    for name, motion in (('exciting', points), ('speeds', speeds), ('work', work)):
        samples = play(robot, TrajectoryPoints(motion.time, motion.q, motion.dq, motion.ddq), hold=0.5)
        chain.recordings.append(recording_of(samples, name=name))


def identify_all(chain: ChainRun) -> None:
    """Identify the robot from the first two recordings, validated by the third, then its joints."""
    sheet = dict(zip(chain.robot.joint_names, map(float, chain.robot.nominal_gains), strict=True))
    chain.result = identify(
        chain.model,
        chain.recordings[:2],
        chain.recordings[2:],
        IdentificationSettings(drive_gains=sheet, drive_gain_deviation=GAIN_DEVIATION),
    )
    chain.description = identify_joints(chain.result.description, chain.recordings[:2])


def identify_joints(
    description: DynamicsDescription,
    recordings: Sequence[Recording],
    progress: Callable[[float, str], None] = lambda share, name: None,
) -> DynamicsDescription:
    """Put the friction of every joint over speed and load into the robot's description; return the whole.

    By the tests that `joint-dynamics identify-joint` runs.
    recordings: the exciting motion, constant speeds, of which the latter show the friction. What a test cannot tell
    from its data is left out, as its own reasons say; presliding, stiffness, kinematic error and backlash are what the
    robot's identification has of them, or nothing. Nothing is put in that was not measured.
    """
    robot = description.robot_model()
    arm = Arm.from_description(robot, description)
    gains = {name: description.joint(name)['drive_gain']['value'] for name in robot.joint_names}
    rough = _without_friction(description)
    for k, name in enumerate(robot.joint_names):
        progress(k / robot.n, name)
        data = joint_data(recordings[1], name, drive_gains=gains, arm=arm)
        rough, _ = merged_description(robot.joint_names, _loaded_friction(data, rough, name), rough)
    return rough


def _loaded_friction(constant_speeds: JointData, description: DynamicsDescription, name: str) -> JointTestResult:
    load = run_test('load', [constant_speeds], LoadSettings(form='quadratic'), {})
    part = {key: value for key, value in description.joint(name).items() if key != 'friction'}
    if load.reliable and load.parameters['F_C1'].value > 0.0:
        part['friction'] = {'parameters': {key: load.parameters[key].value for key in ('F_C0', 'F_C1')}}
    friction = _friction(constant_speeds, part)
    if 'friction' in part:
        friction.document['friction']['parameters']['F_C1'] = load.parameters['F_C1'].value
    return friction


def _friction(data: JointData, part: dict[str, Any]) -> JointTestResult:
    """The speed map with the most terms that the data determine."""
    result = run_test('friction', [data], FrictionSettings(), part)
    for model in ('cubic', 'viscous'):
        if result.reliable:
            break
        result = run_test('friction', [data], FrictionSettings(model=model), part)
    return result


def _without_friction(description: DynamicsDescription) -> DynamicsDescription:
    """The description with the robot's linear friction taken out.

    The tests of the joints put a better one in its place.
    """
    document = copy.deepcopy(description.document)
    for part in document['joints'].values():
        presliding = part.pop('friction', {}).get('maxwell_slip')
        part.pop('terms', None)
        if presliding is not None:
            # A Coulomb level follows with the map over speed; the shape of presliding stays as it was identified.
            part['friction'] = {'parameters': {'F_C0': 0.0}, 'maxwell_slip': presliding}
    return DynamicsDescription(document)


def _estimator(chain: ChainRun, description: DynamicsDescription) -> JointEstimator:
    arm = Arm.from_description(chain.model, description)
    arm, settings, _ = choose_friction_method(arm, EstimationSettings())
    return JointEstimator(arm, chain.robot.period, settings)


def estimate(chain: ChainRun) -> None:
    """Let the estimators learn from the work, started from the descriptions as they were written."""
    assert chain.result is not None and chain.description is not None
    chain.estimator, chain.untaught = _estimator(chain, chain.description), _estimator(chain, chain.result.description)
    work = scenario.cycle()
    for _ in range(chain.settings.cycles):
        samples = play(chain.robot, _trajectory(work))
        for k in range(len(samples)):
            for estimator in (chain.estimator, chain.untaught):
                if k % WARM_EVERY == 0:
                    estimator.set_temperature(samples.temperature[k])
                if (
                    estimator.update(samples.q[k], samples.current[k], samples.theta[k])
                    and estimator is chain.estimator
                ):
                    chain.contacts += bool(estimator.contact.any())
                    chain.learned += 1


def wear_out(chain: ChainRun) -> None:
    """Wear and warm the joints at work, let the estimator follow, and feed forward without and with what it learnt."""
    assert chain.description is not None and chain.estimator is not None and chain.estimator.stiffness is not None
    robot, work = chain.robot, scenario.cycle()
    chain.keep_figures()
    robot.place(work.q[0])
    chain.estimator.reset_signals()
    robot.set_wear(WEAR, HEATING_TIME)
    robot.set_heating(heating(chain.model.limits.effort))
    _follow(chain, work)
    robot.set_heating(0.0)
    for motion in (scenario.constant_speeds(work.q[0]), work):
        _follow(chain, motion)
    arm = Arm.from_description(chain.model, chain.description)
    for law, parameters in (
        ('nominal', {'rest_gain': REST_GAIN, 'alpha_lower': [1.0, 0.0], 'alpha_upper': [1.0, 0.0]}),
        ('adaptive', {'rest_gain': REST_GAIN}),
    ):
        loop = ControlLoop(create('adaptive_friction'), arm, parameters=parameters)
        chain.worn_tracking[law], chain.worn_torque[law] = _run(chain, loop, law == 'adaptive')
    truth = robot.truth.as_document()
    chain.worn_stiffness = map_nrmse(chain.estimator.stiffness, chain.model, work, truth)


def _trajectory(motion: MotionSamples) -> TrajectoryPoints:
    return TrajectoryPoints(motion.time, motion.q, motion.dq, motion.ddq)


def _follow(chain: ChainRun, motion: MotionSamples) -> None:
    """Play a motion and let the estimator learn from it."""
    assert chain.estimator is not None
    samples = play(chain.robot, _trajectory(motion))
    for k in range(len(samples)):
        if k % WARM_EVERY == 0:
            chain.estimator.set_temperature(samples.temperature[k])
        chain.estimator.update(samples.q[k], samples.current[k], samples.theta[k])


def push(chain: ChainRun) -> None:
    """Push the last link at work, in random directions, and count the pushes that the estimator feels."""
    assert chain.estimator is not None
    robot, estimator, path = chain.robot, chain.estimator, scenario.cycle_path()
    reference = path.sample(np.arange(0.0, path.end, robot.period))
    rng = np.random.default_rng([chain.settings.seed, 0xF0])
    every, long = (round(seconds * robot.rate) for seconds in (PUSH_EVERY, PUSH_LONG))
    noticed_pushes = total = 0
    robot.place(reference[0, 0])
    estimator.reset_signals()
    for start in range(0, len(reference) - every, every):
        force = rng.normal(size=3)
        for first, ticks, part in (
            (start, every - long, 0.0),
            (start + every - long, long, PUSH_FORCE / np.linalg.norm(force)),
        ):
            _touch(robot, part * force)
            samples = robot.run(Command.track(reference[first : first + ticks, 0], reference[first : first + ticks, 1]))
            noticed = False
            for k in range(ticks):
                if estimator.update(samples.q[k], samples.current[k], samples.theta[k]):
                    noticed |= bool(estimator.contact.any())
            if part:
                total, noticed_pushes = total + 1, noticed_pushes + noticed
    _touch(robot, np.zeros(3))
    chain.pushes = noticed_pushes, total


def _touch(robot: FlexibleJointRobot, force: FloatArray) -> None:
    """Push the last link's origin with `force` (3,) [N], base frame, as torques of the joints."""
    arm = robot.model.pinocchio
    data = arm.createData()
    jacobian = pinocchio.computeJointJacobian(arm, data, robot.truth.position, arm.njoints - 1)
    robot.set_external_torque(jacobian[:3].T @ (data.oMi[arm.njoints - 1].rotation.T @ force))


def feed_forward(chain: ChainRun) -> None:
    """Run the work under the robot's own controller alone, with static and with adaptive friction fed forward."""
    assert chain.description is not None
    arm = Arm.from_description(chain.model, chain.description)
    static = {'friction': 'static', 'friction_smoothing': 0.02}
    loops = {
        'none': None,
        'static': ControlLoop(create('computed_torque'), arm, parameters=static),
        'adaptive': ControlLoop(create('adaptive_friction'), arm, parameters={'rest_gain': REST_GAIN}),
    }
    for law, loop in loops.items():
        chain.tracking[law], chain.torque[law] = _run(chain, loop, law == 'adaptive')


def _run(chain: ChainRun, loop: ControlLoop | None, adaptive: bool) -> tuple[FloatArray, FloatArray]:
    """Return mean squares (n,) over one cycle of position error [rad²] and torque left to the controller [(N·m)²]."""
    robot, path = chain.robot, scenario.cycle_path()
    reference = path.sample(np.arange(0.0, path.end, robot.period))
    robot.place(reference[0, 0])
    feedforward = np.zeros((len(reference), robot.n))
    if loop is not None:
        feedforward[:] = _along(chain, loop, reference, adaptive)
    robot.shift_integral(-feedforward[0])
    samples = robot.run(Command.track(reference[:, 0], reference[:, 1], feedforward))
    error, left = samples.q - reference[:, 0], samples.effort - feedforward
    return np.mean(error**2, axis=0), np.mean(left**2, axis=0)


def _along(chain: ChainRun, loop: ControlLoop, reference: FloatArray, adaptive: bool) -> FloatArray:
    """Return the law's torque (N, n) along the reference (N, 5, n), at the temperatures measured last."""
    estimator, robot = chain.estimator, chain.robot
    assert estimator is not None
    inputs = {'temperature': estimator.temperature}
    if adaptive:
        scale, _ = estimator.friction_scale()
        inputs |= {'friction_scale': scale[:, 0], 'viscous_excess': scale[:, 1]}
    for quantity, values in inputs.items():
        loop.state.write(quantity, values, 0.0)
    return np.array([loop.evaluate_along(row, 0.0, robot.period) for row in reference])


STAGES = (record, identify_all, estimate, feed_forward, push, wear_out)
