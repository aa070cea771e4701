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

"""What the verdict says: good recordings accepted, corrupted ones named.

On simulated arms and (where they are there) real ones.

Of each corruption: by how much the prediction of another motion changes, as a share of the
torque. That motion is a random series within the positions and speeds recorded; both predictions are those of
parameters identified alike, from the recordings as they are and corrupted. Environment: ROBOTS (names, separated by
commas) for some of them only; MORE: a YAML file of further robots, {name: {robot: file, recordings: [files]}}, the
files as seen from its folder; WHOLE=1: the verdict of all of `identify`, with its choice of terms, in the place of that
of the checks of the training alone; PARTS: corruptions, alarms, splits; draw (by itself): as many of all robots, seeds,
corruptions and good recordings as MINUTES (10) hold, drawn by SEED (1), or every corruption with the seeds of SEEDS
(as 1,2,3) one after the other (GOOD=1: windows of good recordings instead, of 70 to 100 % and of 60 to 70 %), one line
of JSON each in KEEP (reliability.jsonl), where those that are there already are not run again.
"""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml
from helpers import from_tests

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.observations import filter_plan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import overall_residual
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.identification.reliability.signals import faults
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

ROOT = Path(__file__).parents[1]
SEEDS = 20
HALF = np.pi / 2
UR = ((0, 0, 0.1625), (HALF, 0, 0), (0, -0.425, 0), (0, -0.3922, 0.1333), (HALF, 0, 0.0997), (-HALF, 0, 0.0996))
PA10 = ((0, 0, 0.317), (-HALF, 0, 0), (HALF, 0, 0.45), (-HALF, 0, 0), (HALF, 0, 0.48), (-HALF, 0, 0), (HALF, 0, 0.07))


TESTS = from_tests('identification/conftest.py')
GEN3 = TESTS.GEN3


def cases(data, true_robot):
    """Yield (name, model, recordings, seed -> good recordings)."""
    for name, rows in (('ur', UR), ('7r', PA10)):
        table = {'joints': [dict(zip(('alpha', 'a', 'd'), row, strict=True), theta=0.0) for row in rows]}
        model = RobotModel.from_mdh(table)
        robot = true_robot(model)
        yield (
            name,
            model,
            [robot.record(1, rate=200.0)],
            lambda seed, robot=robot: [robot.record(100 + seed, rate=200.0)],
        )
    for name, file, runs in (
        ('tx40', 'mdh.yaml', ('exciting_traj',)),
        ('kr300', 'kr300.urdf', ('FF_A', 'FF_B')),
        ('gen3', 'gen3.urdf', GEN3),
    ):
        if not (data / name).is_dir():
            continue
        model = RobotModel.load(data / name / file)
        recordings = [Recording.load(data / name / run).select(model.joint_names) for run in runs]
        yield name, model, recordings, lambda seed, recordings=recordings: windows(recordings, seed)
    if os.environ.get('MORE'):
        yield from further(Path(os.environ['MORE']))


def further(path):
    """Yield the robots of a file as `cases` does."""
    for name, entry in yaml.safe_load(path.read_text()).items():
        model = RobotModel.load(path.parent / entry['robot'])
        recordings = []
        for file in entry['recordings']:
            # columns of a CSV file are numbered, and those of a bag have names
            names = model.joint_names if '.csv' in file else None
            recordings.append(Recording.load(f'{path.parent / file}', None, names).select(model.joint_names))
        yield name, model, recordings, lambda seed, recordings=recordings: windows(recordings, seed)


def windows(recordings, seed):
    """Return windows of 70 to 100 %, with noise of 2 % of the torque."""
    rng = np.random.default_rng(seed)
    parts = [run.window(rng.uniform(0, 0.15) * run.duration, rng.uniform(0.85, 1) * run.duration) for run in recordings]
    return [
        replace(part, tau=part.tau + 0.02 * np.sqrt((part.tau**2).mean(axis=0)) * rng.normal(size=part.tau.shape))
        for part in parts
    ]


def named_by(reasons):
    """Return the codes of reasons, each once."""
    return list(dict.fromkeys(reason.code for reason in reasons))


def codes(model, recordings):
    """Return the codes of the reasons."""
    if os.environ.get('WHOLE') == '1':
        try:
            return named_by(identify(model, recordings).reasons)
        except JointDynamicsError as error:
            # behind the recording's name, which says more where periods were averaged
            found = [reason for run in recordings for reason in faults(run)]
            said = [reason.code for reason in found if str(reason).split(': ', 1)[1] in str(error)]
            return list(dict.fromkeys(['refused', *said]))
    settings = IdentificationSettings()
    try:
        plan = filter_plan(recordings, settings)
        problem = Problem(model, [observe(run, plan) for run in recordings], rest_speed=settings.rest_speed)
        return named_by(check_training(problem, recordings).reasons)
    except JointDynamicsError:
        return ['refused']


def another_motion(recordings, seconds=60.0, rate=50.0):
    """Return q, dq, ddq (samples, n) of a random series with extent and speed (rms) of the recordings by joint."""
    rng = np.random.default_rng(7)
    q, dq = (
        np.concatenate(
            [
                getattr(run, kind) if getattr(run, kind) is not None else np.gradient(run.q, run.period, axis=0)
                for run in recordings
            ]
        )
        for kind in ('q', 'dq')
    )
    t = np.arange(0, seconds, 1 / rate)
    low, high = np.quantile(q, (0.01, 0.99), axis=0)
    phase = rng.uniform(0, 2 * np.pi, (5, 1, q.shape[1]))
    frequency = 2 * np.pi * rng.uniform(0.3, 1.7, (5, 1, q.shape[1]))
    wave = np.sin(frequency * t[None, :, None] + phase).mean(axis=0)
    amplitude = 0.5 * (high - low) / np.abs(wave).max(axis=0)
    pace = np.sqrt((dq**2).mean(axis=0)) / np.maximum(
        amplitude * np.sqrt((np.gradient(wave, 1 / rate, axis=0) ** 2).mean(axis=0)), 1e-9
    )
    wave = np.stack(
        [np.sin(frequency[:, :, j] * pace[j] * t + phase[:, :, j]).mean(axis=0) for j in range(q.shape[1])], axis=1
    )
    q = 0.5 * (low + high) + amplitude * wave
    dq = np.gradient(q, 1 / rate, axis=0)
    return q, dq, np.gradient(dq, 1 / rate, axis=0)


def predicted(model, recordings, motion):
    """Return the torque (samples, n) of a motion with the parameters identified from recordings."""
    found = identify(model, recordings, settings=IdentificationSettings(selection=False))
    base = model.base_parameters()
    return model.regressor(*motion)[:, :, base.independent] @ found.solution.chi[: base.count]


def changes(before, after):
    """Return the change of a prediction in percent of its torque.

    Overall, and (joint number, percent) where it is largest.
    """
    joints = 100 * np.sqrt(((after - before) ** 2).mean(axis=0) / (before**2).mean(axis=0))
    worst = int(np.argmax(joints))
    return 100 * np.sqrt(((after - before) ** 2).sum() / (before**2).sum()), worst + 1, joints[worst]


def splits(data):
    """Yield (name, model, training, validation) of good recordings."""

    def load(robot, run):
        return Recording.load(data / robot / run)

    if (data / 'tx40').is_dir():
        model, run = RobotModel.load(data / 'tx40' / 'mdh.yaml'), load('tx40', 'exciting_traj')
        d = run.duration
        for name, first, second in (
            ('first 60 %', (0, 0.6 * d), (0.6 * d, None)),
            ('last 60 %', (0.4 * d, None), (0, 0.4 * d)),
            ('halves', (0, d / 2), (d / 2, None)),
            ('halves, the other way', (d / 2, None), (0, d / 2)),
        ):
            yield f'tx40 {name}', model, [run.window(*first)], [run.window(*second)]
    if (data / 'gen3').is_dir():
        model = RobotModel.load(data / 'gen3' / 'gen3.urdf')
        yield 'gen3 unseen', model, [load('gen3', run) for run in GEN3], [load('gen3', 'opti_traj_testing1')]
    if (data / 'kr300').is_dir():
        model = RobotModel.load(data / 'kr300' / 'kr300.urdf')
        a, b = (load('kr300', run) for run in ('FF_A', 'FF_B'))
        for name, share in (('60', 0.6), ('75', 0.75)):
            yield (
                f'kr300 first {name} %',
                model,
                [part.window(0, share * part.duration) for part in (a, b)],
                [part.window(share * part.duration, None) for part in (a, b)],
            )


def everything(robots, corruptions, rng):
    """Return [(robot, what, seed)] in random order, all robots alike, as many good recordings as corruptions first.

    what: the name of a corruption, `good` or `narrow` (windows of 60 to 70 %). Seeds of real recordings are those of
    `windows`, 0 the recordings as they are.
    """
    found = []
    for robot in robots:
        bad = [(robot, corruption.name, seed) for corruption in corruptions for seed in range(SEEDS)]
        good = [(robot, what, seed) for what in ('good', 'narrow') for seed in range(1, SEEDS + 1)]
        rng.shuffle(bad)
        rng.shuffle(good)
        found += [(case, place) for part in (bad, good) for place, case in enumerate(part)]
    return [tuple(case) for case, _ in sorted(found, key=lambda item: (item[1], rng.random()))]


def in_order(robots, corruptions, seeds):
    """Return [(robot, what, seed)]: every corruption (GOOD: good windows) with the first seed, then with the next."""
    if os.environ.get('GOOD') == '1':
        return [(robot, what, seed) for seed in seeds for robot in robots for what in ('good', 'narrow')]
    return [(robot, corruption.name, seed) for seed in seeds for robot in robots for corruption in corruptions]


def narrow(recordings, seed):
    """Return windows of 60 to 70 % at other places."""
    rng = np.random.default_rng(1000 + seed)
    first = [rng.uniform(0, 0.3) * run.duration for run in recordings]
    return [
        run.window(start, start + rng.uniform(0.6, 0.7) * run.duration)
        for start, run in zip(first, recordings, strict=True)
    ]


def drawn(data, true_robot, corruptions):
    """Run what MINUTES hold of `everything`, keep it in KEEP, and print the shares of all that is kept there."""
    wanted = os.environ.get('ROBOTS', '').split(',')
    known = {name: rest for name, *rest in cases(data, true_robot) if wanted == [''] or name in wanted}
    by_name = {corruption.name: corruption for corruption in corruptions}
    path = Path(os.environ.get('KEEP', 'reliability.jsonl'))
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row['robot'], row['what'], row['seed']) for row in rows}
    until = time.monotonic() + 60 * float(os.environ.get('MINUTES', '10'))
    seeds = [int(seed) for seed in os.environ.get('SEEDS', '').split(',') if seed]
    wanted_cases = (
        in_order(known, corruptions, seeds)
        if seeds
        else everything(known, corruptions, np.random.default_rng(int(os.environ.get('SEED', '1'))))
    )
    for robot, what, number in wanted_cases:
        seed = int(number)
        if time.monotonic() > until:
            break
        if (robot, what, seed) in done:
            continue
        model, recordings, good = known[robot]
        if what == 'narrow':
            recordings = narrow(recordings, seed)
        elif seed:
            recordings = good(seed)
        row = {'robot': robot, 'what': str(what), 'seed': seed}
        if what in by_name:
            corruption = by_name[what]
            other, corrupted = corruption.apply(model, recordings, np.random.default_rng(seed + 1))
            row['said'] = said = codes(other, corrupted)
            row['right'] = bool(set(said) & set(corruption.codes)) if corruption.codes else bool(said)
            if not said:
                motion = another_motion(recordings)
                try:
                    after = predicted(other, corrupted, motion)
                    row['effect'] = float(changes(predicted(model, recordings, motion), after)[0])
                except JointDynamicsError:
                    row['said'] = ['refused']
        else:
            row['said'] = codes(model, recordings)
        rows.append(row)
        with path.open('a') as file:
            file.write(json.dumps(row) + '\n')
    for robot in known:
        own = [row for row in rows if row['robot'] == robot]
        bad, fine = ([row for row in own if (row['what'] in by_name) == wanted] for wanted in (True, False))
        print(
            f'{robot:8s}named {sum(row["right"] for row in bad)} of {len(bad)}, passed and > 5 % changed '
            f'{sum(row.get("effect", 0.0) > 5 for row in bad)}, false alarms {sum(bool(row["said"]) for row in fine)} '
            f'of {len(fine)}'
        )
        for row in bad:
            if not row['right']:
                print(f'    {row["what"]} ({row["seed"]}): {", ".join(row["said"]) or row["effect"]}')


def main():
    data = Path(os.environ.get('JOINT_DYNAMICS_DATA') or ROOT.parent / 'shared' / 'data')
    wanted, parts = (
        os.environ.get('ROBOTS', '').split(','),
        os.environ.get('PARTS', 'corruptions,alarms,splits').split(','),
    )
    corruptions = from_tests('identification/reliability/corruptions.py').CORRUPTIONS
    true_robot = TESTS.TrueRobot
    if 'draw' in parts:
        drawn(data, true_robot, corruptions)
        return
    rates = []
    for name, model, recordings, good in cases(data, true_robot):
        if wanted != [''] and name not in wanted:
            continue
        print(f'\n-- {name}: as it is: {codes(model, recordings) or "reliable"}')
        named = passed = alarms = None
        if 'corruptions' in parts:
            named, passed = table(model, recordings, corruptions)
        if 'alarms' in parts:
            alarms = sum(bool(codes(model, good(seed))) for seed in range(SEEDS))
        rates.append((name, named, passed, alarms))
    print(f'\n{"robot":8s}{"named":>12s}{"passed, > 5 % changed":>24s}{"false alarms":>16s}')
    for name, named, passed, alarms in rates:
        print(f'{name:8s}{named!s:>5s} of {len(corruptions)}{passed!s:>24s}{alarms!s:>10s} of {SEEDS}')
    if 'splits' in parts:
        print(
            f'\n{"good splits":30s}{"training %":>12s}{"validation %":>14s}{"deviation %":>13s}{"CPU s":>8s}  verdict'
        )
        for name, model, training, validation in splits(data):
            started = time.process_time()
            found = identify(model, training, validation)
            summary, used = found.summary(), time.process_time() - started
            own, other = (overall_residual(fits, moving=True)[1] for fits in (found.training, found.validation))
            print(
                f'{name:30s}{own:12.3g}{other:14.3g}{summary["validation_deviation_percent"]:13.3g}{used:8.1f}'
                f'  {", ".join(reason.code for reason in found.reasons) or "reliable"}',
                flush=True,
            )


def table(model, recordings, corruptions):
    """Print what is said of each corruption.

    Return how many are named rightly, and how many pass that change a prediction by more than 5 %.
    """
    motion = another_motion(recordings)
    before = predicted(model, recordings, motion)
    named = passed = 0
    for corruption in corruptions:
        other, corrupted = corruption.apply(model, recordings, np.random.default_rng(1))
        said = codes(other, corrupted)
        right = said[0] in corruption.codes if said and corruption.codes else bool(said) and not corruption.codes
        named += right
        try:
            overall, joint, worst = changes(before, predicted(other, corrupted, motion))
        except JointDynamicsError:
            effect = 'refused'
        else:
            passed += not said and overall > 5
            effect = f'{overall:8.3g} %, joint {joint} {worst:8.3g} %'
        print(
            f'{"" if right else "MISSED":7s}{corruption.name:34s}{effect:32s}{", ".join(said) or "reliable"}',
            flush=True,
        )
    return named, passed


if __name__ == '__main__':
    main()
