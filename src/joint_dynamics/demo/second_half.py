"""The second half of the demonstration.

The joints wear and warm up, the estimator follows, the feedforward makes use of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.demo import scenario
from joint_dynamics.demo.comparison import friction_errors, map_nrmse, mean_squares, reductions
from joint_dynamics.demo.context import INPUTS, DemoContext
from joint_dynamics.demo.scenario import HEATING_TIME, REST_GAIN, WEAR, heating
from joint_dynamics.joint import TorsionalStiffness

#: Simulated seconds between sending a motion and its start. The feedforward works through all of it before; so that
#: this holds on a busy machine as well, simulated time all but stands meanwhile.
LEAD, STANDING = 3.0, 0.02
#: α that the estimator may find and the feedforward may use: a worn joint is beyond the region of [M6 eq 27].
ALPHA_LOWER, ALPHA_UPPER = [0.4, -5.0], [2.5, 5.0]
PLAIN = {'law': 'computed_torque', 'friction': 'static', 'friction_smoothing': 0.02}
HYSTERESIS = {'law': 'adaptive_friction', 'friction': 'default', 'rest_gain': REST_GAIN}
NOMINAL = {**HYSTERESIS, 'alpha_lower': [1.0, 0.0], 'alpha_upper': [1.0, 0.0]}
ADAPTIVE = {**HYSTERESIS, 'alpha_lower': ALPHA_LOWER, 'alpha_upper': ALPHA_UPPER}


def start_estimator(demo: DemoContext) -> None:
    """Start estimator and feedforward from the description."""
    from joint_dynamics.demo.robot import ArrayHistory

    with demo.display.stage('Start the estimator') as step:
        description = str(demo.folder / 'dynamics.yaml')
        demo.node(
            'estimator',
            {
                **INPUTS,
                'use_sim_time': True,
                'description_file': description,
                'friction_lower': ALPHA_LOWER,
                'friction_upper': ALPHA_UPPER,
                'torque_rate': 50.0,
                'save_period': 0.0,
                'resume': False,
                'output_folder': str(demo.folder / 'estimated'),
            },
        )
        demo.node(
            'feedforward',
            {
                **INPUTS,
                'use_sim_time': True,
                'autostart': False,
                'description_file': description,
                'timeout': 5.0,
                'slow_timeout': 3600.0,
                'plan_period': 0.004,
                'interpolation': 'as_given',
                'check_compensation': False,
            },
            {
                '~/joint_trajectory': '/simulator/joint_trajectory',
                'friction_parameters': '/estimator/friction_parameters',
            },
        )
        robot = demo.the_robot
        demo.results['alpha'] = ArrayHistory(demo.client, robot, '/estimator/friction_parameters')
        demo.results['stiffness'] = ArrayHistory(demo.client, robot, '/estimator/stiffness_parameters')
        demo.results['runs'] = {}
        demo.client.until_active('/estimator')
        step(1.0, 'stiffness and friction of every joint, sample by sample; simulated time waits for it')


def wear(demo: DemoContext) -> None:
    """Let the robot work, first new, then worn and warm, with the feedforward of the new robot and the estimator."""
    robot = demo.the_robot
    with demo.display.stage('Work, new and cold') as step:
        play_cycle(demo, 'new', PLAIN, step)
        _compare_estimates(demo, 'new')
    with demo.display.stage('Wear and warm the joints') as step:
        power = heating(demo.model.limits.effort)
        robot.command(wear_duration=HEATING_TIME)
        robot.command(
            **{f'wear__{joint}': WEAR for joint in robot.joint_names},
            **{f'heating__{joint}': float(watt) for joint, watt in zip(robot.joint_names, power, strict=True)},
        )
        play_cycle(demo, 'wearing', PLAIN, step)
        step(1.0, f'Coulomb friction and stiffness change, {np.mean(robot.truth["temperature"]):.0f} °C')
    robot.command(**{f'heating__{joint}': 0.0 for joint in robot.joint_names})
    with demo.display.stage('Exercise the worn joints') as step:
        # The work hardly deforms the shoulder pan, which gravity does not load: its stiffness shows where it is
        # accelerated.
        motion = scenario.constant_speeds(demo.work.q[0])
        robot.wait(robot.play(motion.time, motion.q, motion.dq, motion.ddq), step)
        step(1.0, 'sharp accelerations, for the stiffness of joints that the work does not load')


def compensate(demo: DemoContext) -> None:
    """Run the same motion with the feedforward of the new robot, without and with hysteresis, and adapted."""
    for name, words, parameters in (
        ('plain', 'Plain feedforward', PLAIN),
        ('nominal', 'The same with hysteresis', NOMINAL),
        ('adaptive', 'Adaptive feedforward', ADAPTIVE),
    ):
        with demo.display.stage(words) as step:
            run = play_cycle(demo, name, parameters, step)
            step(
                1.0,
                f'tracking {1e3 * np.sqrt(np.mean(run["tracking_mse"])):.2f} mrad rms, feedforward off by '
                f'{np.sqrt(np.mean(run["torque_mse"])):.2f} N·m rms',
            )
    _compare_estimates(demo, 'worn')
    runs, states = demo.results['runs'], demo.results['states']
    demo.summary['stiffness_map_nrmse'] = float(np.mean(states['worn']['stiffness_nrmse']))
    demo.summary['stiffness_map_nrmse_new'] = float(np.mean(states['new']['stiffness_nrmse']))
    demo.summary['feedforward'] = {
        f'{first}_to_{second}': {
            quantity: reductions(runs[first][f'{quantity}_mse'], runs[second][f'{quantity}_mse'])
            for quantity in ('torque', 'tracking')
        }
        for first, second in (('plain', 'adaptive'), ('plain', 'nominal'), ('nominal', 'adaptive'))
    }
    for quantity, reduction in demo.summary['feedforward']['plain_to_adaptive'].items():
        demo.summary[f'{quantity}_mse_reduction_percent'] = reduction['mean_of_ratios_percent']
    demo.summary['runs'] = {
        name: {key: value.tolist() for key, value in run.items() if key.endswith('mse')} for name, run in runs.items()
    }
    demo.summary['estimates'] = {
        name: {key: value if isinstance(value, dict) else np.asarray(value).tolist() for key, value in state.items()}
        for name, state in states.items()
    }


def play_cycle(demo: DemoContext, name: str, parameters: dict[str, Any], step: Any) -> dict[str, FloatArray]:
    """Let the feedforward play one cycle under a law.

    Record it, and return mean squared errors (n,) of torque [(N·m)²] and position [rad²].
    """
    from joint_dynamics.demo.robot import StateRecorder, efforts_of

    client, robot, motion = demo.client, demo.the_robot, demo.work
    if client.state('/feedforward') == 'active':
        client.transition('/feedforward', 'deactivate')
        client.transition('/feedforward', 'cleanup')
    client.set_parameters('/feedforward', **parameters)
    for verb in ('configure', 'activate'):
        client.transition('/feedforward', verb)
    # A trajectory that comes before temperatures and α are there is filled with those of the description.
    client.until_ok('/feedforward: law')
    # And it must have heard where the robot stands.
    robot.wait(robot.time + 0.5)
    robot.command(real_time_factor=STANDING)
    begin = robot.time + LEAD
    sent = robot.refer('/feedforward/reference', begin, motion.time, motion.q, motion.dq, motion.ddq)
    robot.command(real_time_factor=demo.settings.speed)
    times, effort = efforts_of(sent)
    recorder = StateRecorder(client)
    robot.wait(begin + float(motion.time[-1]) + 1.0, step)
    time, q, current = recorder.stop()
    gain = np.array(robot.data_sheet['drive_gain'])
    run = mean_squares(time - begin, q, current * gain, motion, times, effort)
    demo.results['runs'][name] = run
    return run


def _compare_estimates(demo: DemoContext, name: str) -> None:
    """Compare the present estimates with the present truth."""
    robot = demo.the_robot
    robot.wait(robot.time + 1.0)
    truth, alpha, stiffness = robot.truth, demo.results['alpha'].last, demo.results['stiffness'].last
    description = demo.results['description']
    described = Arm.from_description(demo.model, description).stiffness
    assert described is not None
    state = {
        'time': robot.time,
        'alpha': alpha,
        'stiffness': stiffness,
        'stiffness_reach': described.reach,
        'true_spring': truth['spring_curve'],
        'speed': truth['friction_curve']['speed'],
        'temperature': truth['temperature'],
        'stiffness_nrmse': map_nrmse(TorsionalStiffness(stiffness, described.reach), demo.model, demo.work, truth),
        **friction_errors(description, alpha, truth),
    }
    demo.results.setdefault('states', {})[name] = state


SECOND_HALF = (start_estimator, wear, compensate)
