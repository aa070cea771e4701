"""Feedforward laws in-process: time per step, and what they are worth on the simulated UR5e (known truth, model errors on, drive gains known)."""
import sys
import time
from itertools import pairwise

import numpy as np

from joint_dynamics.control import ArmModel, ControlLoop, Path, available, create, fill_effort
from joint_dynamics.estimation.joint_estimator import JointEstimator
from joint_dynamics.estimation.joint_model import JointModel
from joint_dynamics.excitation.whole_arm import WAYPOINTS
from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.simulation import Command, FlexibleJointRobot, ModelErrors, Payload

POINTS = np.radians(WAYPOINTS)
PAYLOAD = (7.5, (0.0, 0.0, 0.04))
START = (0.47, 0.04)
ERRORS = ModelErrors(drive_gain=0.0, drive_gain_per_kelvin=0.0)


def rest_to_rest(points, durations, pause=0.0):
    """A smooth motion through points, at rest (for `pause` s) at each."""
    q, t = [points[0]], [0.0]
    for point, duration in zip(points[1:], durations, strict=True):
        for target, step in ((point, duration), (point, pause)):
            if step:
                q.append(target)
                t.append(t[-1] + step)
    zero = np.zeros((len(t), len(q[0])))
    return Path(t, q, zero, zero)


def cycle(repeats, speed=np.pi, acceleration=np.pi / 3):
    """The waypoint cycle of [M6 table 1], every way a polynomial of seventh degree.

    At half the paper's acceleration: its first posture holds 7.5 kg at full reach, where the simulated shoulder has little torque left.
    """
    points = [POINTS[k % len(POINTS)] for k in range(repeats * len(POINTS) + 1)]
    ways = [np.abs(b - a).max() for a, b in pairwise(points)]
    return rest_to_rest(points, [max(2.1875 * way / speed, np.sqrt(7.5132 * way / acceleration)) for way in ways])


def reversals(up=10.0, down=5.0, duration=2.0, pause=0.3, count=9):
    """The shoulder from the vertical towards the horizontal, turning round again and again [M6 fig 8]."""
    points = [np.array([0, -np.pi / 2, 0, -np.pi / 2, 0, 0.0])]
    for _ in range(count):
        for step in (up, -down):
            points.append(points[-1] + np.eye(6)[1] * np.radians(step))
    return rest_to_rest(points, [duration] * (2 * count), pause)


def truth_of(robot):
    """The arm as a perfect identification of the model's structure would give it; what is beyond the structure stays unknown."""
    truth, drives, n = robot.truth, robot.truth.drives, robot.n
    turn = np.repeat(np.linspace(0, 2 * np.pi, 720, endpoint=False)[:, None], n, axis=1)
    backlash, error = (PeriodicMap.stack([PeriodicMap(values) for values in table(turn).T]) for table in (truth.backlash, truth.kinematic_error))
    friction = FrictionModel({
        'F_C0': drives.coulomb, 'F_C1': drives.coulomb_load, 'F_S': drives.static, 'V_S': drives.stribeck_speed, 'mu': drives.stribeck_shape,
        'F_V1': drives.viscous, 'F_V2': drives.viscous_square, 'F_V3': drives.viscous_cubic, 'F_T1': drives.temperature_linear,
        'F_T2': drives.temperature_cubic, 'T_0': 35.0, 'T_min': 10.0, 'T_max': 80.0}, MaxwellSlip(n, backlash, kinematic_error=error))
    return ArmModel(robot.model, truth.parameters, drives.rotor_inertia, drives.nominal_gain, friction, None,
                    TorsionalStiffness(truth.stiffness), drives.damping, error)


def estimator_of(robot, arm, alpha):
    model = JointModel(robot.model, arm.parameters, None, arm.rotor_inertia, arm.damping, arm.friction, alpha, arm.stiffness, arm.kinematic_error)
    return JointEstimator(model, robot.period)


def play(robot, path, law=None, alpha=(1.0, 0.0), adapt=False, side='link', **parameters):
    """Run the joint PID along `path` with the law's torque beside it; return link error, measured and fed-forward torque, (N, n) each, and α."""
    arm = truth_of(robot)
    motion = path.sample(np.arange(0.0, path.end, robot.period))
    loop = None if law is None else ControlLoop(create(law), arm, parameters=parameters)
    estimator = estimator_of(robot, arm, alpha) if adapt else None
    scale = np.tile(alpha, (robot.n, 1))
    error, measured, fed = np.zeros((3, len(motion), robot.n))
    warm = np.full(robot.n, 25.0)
    for k, desired in enumerate(motion):
        q, dq = desired[:2]
        if loop is not None:
            for quantity, values in (('temperature', warm), ('friction_scale', scale[:, 0]), ('viscous_excess', scale[:, 1])):
                loop.state.write(quantity, values, 0.0)
            fed[k] = loop.law_along(desired, 0.0, robot.period)
            if k == 0:
                robot.shift_integral(-fed[0])
            if side == 'motor':
                q, dq, _ = loop.controller.motor_reference(desired)
        samples = robot.run(Command.track(q, dq, fed[k]))
        error[k], measured[k], warm = samples.true_q[0] - desired[0], samples.effort[0], samples.temperature[0]
        if estimator is not None:
            if k % 100 == 0:
                estimator.set_temperature(warm)
            if estimator.update(samples.q[0], samples.effort[0], samples.theta[0]):
                scale = estimator.friction.parameters
    return error, measured, fed, scale


def simulated(path, payload=PAYLOAD, **options):
    robot = FlexibleJointRobot(seed=1, position=path.at(0.0)[0], errors=ERRORS, rate=500.0, **options)
    if payload:
        robot.attach_payload(Payload(*payload))
    return robot


def reduction(before, after):
    """Percent, as mean of the joints' ratios and as ratio of the means."""
    return 100 * (1 - np.mean(after / before)), 100 * (1 - after.mean() / before.mean())


def steps():
    robot = simulated(cycle(1))
    arm, path = truth_of(robot), cycle(1)
    motion = path.at(1.0)
    print(f'{"law":<24} {"law alone [µs]":>15} {"99 %":>7} {"with checks and gate":>22} {"99 %":>7}')
    for name in available():
        loop = ControlLoop(create(name), arm)
        loop.activate()
        values = {'position': motion[0], 'velocity': motion[1], 'motor_position': motion[0], 'motor_velocity': motion[1],
                  'temperature': np.full(6, 30.0), 'friction_scale': np.ones(6), 'viscous_excess': np.zeros(6)}
        for quantity, value in values.items():
            loop.state.write(quantity, value, 0.0)
        for quantity, value in zip(loop.reference.quantities, motion, strict=True):
            loop.reference.write(quantity, value, 0.0)
        loop.step(0.0, 1e-3)
        assert not loop.doubt, loop.doubt
        columns = []
        for call in (lambda loop=loop: loop.controller.update(0.0, 1e-3), lambda loop=loop: loop.step(0.0, 1e-3)):
            seconds = []
            for _ in range(5000):
                begin = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - begin)
            columns += [np.median(seconds) * 1e6, np.percentile(seconds, 99) * 1e6]
        print(f'{name:<24} {columns[0]:>15.0f} {columns[1]:>7.0f} {columns[2]:>22.0f} {columns[3]:>7.0f}', flush=True)
    for name in ('adaptive_friction', 'flexible_joint'):
        begin = time.perf_counter()
        filled = fill_effort(ControlLoop(create(name), arm), path)
        print(f'trajectory mode, {name}: {path.end:.1f} s of motion in {time.perf_counter() - begin:.2f} s, {filled.steps} steps, '
              f'{len(filled.time)} points')


def adaptation(cycles=5):
    path = cycle(cycles)
    print(f'\nwaypoint cycle with 7.5 kg, friction α = {START} at the start, last two of {cycles} cycles; joint PID and …')
    results = {}
    for name, law, options in (('nothing', None, {}), ('computed torque', 'computed_torque', {}),
                               ('adaptive friction, not adapting', 'adaptive_friction', {'alpha': START}),
                               ('adaptive friction', 'adaptive_friction', {'alpha': START, 'adapt': True})):
        error, measured, fed, scale = play(simulated(path), path, law, **options)
        last = slice(len(error) * (cycles - 2) // cycles, None)
        results[name] = np.mean(error[last] ** 2, axis=0), np.mean((measured - fed)[last] ** 2, axis=0)
        print(f'  {name:<34} tracking MSE {results[name][0].mean():.3g} rad², torque MSE {results[name][1].mean():.3g} (N·m)²', flush=True)
    print(f'  α1 at the end {np.round(scale[:, 0], 3).tolist()}')
    before, after = results['adaptive friction, not adapting'], results['adaptive friction']
    for what, paper, k in (('torque', 84, 1), ('tracking', 20, 0)):
        mean, ratio = reduction(before[k], after[k])
        print(f'  {what} MSE by adaptation −{mean:.1f} % (mean of ratios), −{ratio:.1f} % (ratio of means); the paper −{paper} %')


def hysteresis():
    print('\nreversals under load, 7.5 kg: sgn-based friction against the hysteresis (the same parameters)')
    for duration in (2.0, 1.0):
        path = reversals(duration=duration)
        rows = []
        for law, kind in (('computed_torque', 'static'), ('adaptive_friction', 'hysteresis')):
            error, measured, fed, _ = play(simulated(path), path, law, friction=kind)
            rows.append((np.mean(error ** 2, axis=0), np.mean((measured - fed) ** 2, axis=0)))
        (e0, t0), (e1, t1) = rows
        print(f'  {duration:g} s per way: shoulder tracking MSE {e0[1]:.3g} → {e1[1]:.3g} rad² (× {e0[1] / e1[1]:.2f}), '
              f'torque × {t0[1] / t1[1]:.2f}; '
              f'all joints tracking × {e0.mean() / e1.mean():.2f}, torque × {t0.mean() / t1.mean():.2f}', flush=True)


def fast_move():
    home = np.array([0, -1.2, 1.4, -1.7, -1.5, 0.3])
    return rest_to_rest([home, home + np.array([1.0, 0.6, -0.8, 0.7, 0.7, 0.8]), home], [0.8, 0.8], 0.5)


def soft_drives(path):
    stiff = simulated(path, None).drives
    return stiff._replace(stiffness=stiff.stiffness / 5, stiffness_cubic=stiff.stiffness_cubic / 5, damping=stiff.damping / np.sqrt(5))


def flexibility():
    print('\nfast move (2.6 rad/s, 11 rad/s²), transmissions five times softer: rms of the link-side error [mrad]')
    path = fast_move()
    for feedback in ('motor', 'link'):
        values = []
        for law in ('adaptive_friction', 'flexible_joint'):
            side = 'motor' if law == 'flexible_joint' and feedback == 'motor' else 'link'
            error = play(simulated(path, None, drives=soft_drives(path), feedback=feedback), path, law, side=side)[0]
            values.append(1e3 * np.sqrt(np.mean(error ** 2)))
        print(f'  the robot\'s loop on the {feedback} side: rigid law {values[0]:.2f}, flexible_joint {values[1]:.2f} '
              f'(× {values[0] / values[1]:.2f})', flush=True)


def streaming():
    """The law closes the loop itself: torque commands, gains scaled by the inertia."""
    print('\nthe law closes the loop (torque commands, kp 400 1/s², kd 40 1/s), fast move, five times softer: rms of the link-side error [mrad]')
    path = fast_move()
    for law, side, gain in (('adaptive_friction', 'link', 1.0), ('flexible_joint', 'link', 1.0), ('flexible_joint', 'motor', 1.0),
                            ('joint_torque_feedback', 'motor', 1.0), ('flexible_joint', 'motor', 0.5), ('joint_torque_feedback', 'motor', 0.5)):
        options = {} if law == 'adaptive_friction' else {'feedback_side': side}
        robot = simulated(path, None, drives=soft_drives(path))
        loop = ControlLoop(create(law), truth_of(robot), parameters={'feedback': True, 'kp': 400.0, 'kd': 40.0, 'friction_gain': gain, **options})
        loop.activate()
        samples, error = robot.step(), []
        for k, desired in enumerate(path.sample(np.arange(-1.0, path.end, robot.period))):
            now = k * robot.period
            for quantity, value in (('position', samples.q), ('velocity', samples.dq), ('motor_position', samples.theta),
                                    ('motor_velocity', samples.dtheta), ('temperature', samples.temperature)):
                loop.state.write(quantity, value[0], now)
            for quantity, value in zip(loop.reference.quantities, desired, strict=True):
                loop.reference.write(quantity, value, now)
            samples = robot.run(Command.torque(loop.step(now, robot.period)))
            error.append(samples.true_q[0] - desired[0])
        moving = np.array(error)[int(1.0 / robot.period):]
        friction = 'friction compensated' if gain == 1 else 'half of the friction compensated'
        print(f'  {law:<24} on the {side:<6} {friction:<34} {1e3 * np.sqrt(np.mean(moving ** 2)):6.2f} {loop.doubt}', flush=True)


def main():
    parts = {'steps': steps, 'adaptation': adaptation, 'hysteresis': hysteresis, 'flexibility': flexibility, 'streaming': streaming}
    for name in [word for word in sys.argv[1:] if word in parts] or parts:
        parts[name]()


if __name__ == '__main__':
    main()
