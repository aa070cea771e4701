"""What goes wrong with recordings is named; what is right is not. All robots: `make test-nightly`."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.preparation.observations import filter_plan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import overall_residual
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel

spec = importlib.util.spec_from_file_location('reliability_corruptions', Path(__file__).with_name('corruptions.py'))
table = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)

NAMED = 0.9
SEEDS = 20
# of docs/explanation/verdict.md: what good data could look like as well
UNTOLD = {
    'ur': set(),
    '7r': set(),
    'tx40': {'currents for torques'},
    'kr300': {'torque of joint 2 doubled'},
    'gen3': {'torque sign of the last joint', 'sign of joint 2 in one recording'},
}


def thinned(recording, factor):
    """Every so many samples, enough for the bandwidth of the motion: the test is faster by as much."""
    values = {kind: getattr(recording, kind)[::factor] for kind in recording.quantities}
    return replace(recording, time=recording.time[::factor], **values)


@pytest.fixture(scope='module')
def good(request, ur_table, pa10_table, true_robot_of):
    """Return a function: name -> (model, good recordings)."""

    def found(name):
        if name in ('ur', '7r'):
            model = RobotModel.from_mdh(ur_table if name == 'ur' else pa10_table)
            return model, [true_robot_of(model).record(1, duration=20.0, rate=200.0)]
        if name == 'gen3':
            return request.getfixturevalue('gen3')
        data = request.getfixturevalue('data') / name
        if name == 'tx40':
            return RobotModel.load(data / 'mdh.yaml'), [thinned(Recording.load(data / 'exciting_traj'), 5)]
        model = RobotModel.load(data / f'{name}.urdf')
        return model, [Recording.load(data / run).select(model.joint_names) for run in ('FF_A', 'FF_B')]

    return found


def reasons(model, recordings):
    settings = IdentificationSettings()
    plan = filter_plan(recordings, settings)
    problem = Problem(model, [observe(recording, plan) for recording in recordings], rest_speed=settings.rest_speed)
    return check_training(problem, recordings).reasons


def codes(model, recordings):
    try:
        return {reason.code for reason in reasons(model, recordings)}
    except JointDynamicsError:
        return {'refused'}


def missed(model, recordings, corruptions):
    """Names of the corruptions that are not named rightly."""
    found = set()
    for corruption in corruptions:
        said = codes(*corruption.apply(model, recordings, np.random.default_rng(1)))
        if not (said & set(corruption.codes) if corruption.codes else said):
            found.add(corruption.name)
    return found


def assert_named(name, good, corruptions=table.CORRUPTIONS):
    model, recordings = good(name)
    assert not reasons(model, recordings)
    found = missed(model, recordings, corruptions)
    assert len(found) <= (1 - NAMED) * len(corruptions), found
    assert found <= UNTOLD[name]


def test_there_are_enough_corruptions():
    assert len({corruption.name for corruption in table.CORRUPTIONS}) >= 40


@pytest.mark.slow
@pytest.mark.parametrize(('name', 'step'), [('ur', 2), ('tx40', 3)])
def test_corruptions_are_named(name, step, good):
    assert_named(name, good, table.CORRUPTIONS[1::step])


@pytest.mark.nightly
@pytest.mark.parametrize('name', ['ur', '7r', 'tx40', 'kr300', 'gen3'])
def test_corruptions_are_named_on_every_robot(name, good):
    assert_named(name, good)


def assert_no_false_alarm(name, good, true_robot_of, seeds):
    model, recordings = good(name)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        if name in ('ur', '7r'):
            pieces = [true_robot_of(model).record(100 + seed, duration=20.0, rate=200.0)]
        else:
            pieces = [
                part.window(rng.uniform(0, 0.15) * part.duration, rng.uniform(0.85, 1) * part.duration)
                for part in recordings
            ]
            pieces = [
                replace(
                    part, tau=part.tau + 0.02 * np.sqrt((part.tau**2).mean(axis=0)) * rng.normal(size=part.tau.shape)
                )
                for part in pieces
            ]
        assert not reasons(model, pieces), seed


@pytest.mark.parametrize('name', ['ur', 'tx40', 'kr300'])
def test_good_recordings_are_accepted(name, good, true_robot_of):
    assert_no_false_alarm(name, good, true_robot_of, range(4))


@pytest.mark.nightly
@pytest.mark.parametrize('name', ['ur', '7r', 'tx40', 'kr300', 'gen3'])
def test_good_recordings_are_accepted_with_every_seed(name, good, true_robot_of):
    assert_no_false_alarm(name, good, true_robot_of, range(SEEDS))


@pytest.mark.parametrize(
    ('name', 'code'),
    [
        ('torque sign of joint 2', 'torque_sign'),
        ('mounted on the ceiling', 'mounting'),
        ('torques 200 ms late', 'delay'),
        ('payload in half', 'payload_mixed'),
    ],
)
def test_identify_says_so(name, code, good):
    """End to end: reasons, summary and the line that comes first."""
    corruption = next(item for item in table.CORRUPTIONS if item.name == name)
    model, recordings = corruption.apply(*good('ur'), np.random.default_rng(1))
    result = identify(model, recordings, settings=IdentificationSettings(selection=False))
    assert code in {reason.code for reason in result.reasons}
    summary = result.summary()
    assert summary['verdict'] == 'not reliable' and summary['believable'] is False
    assert {'code', 'text'} <= set(summary['reasons'][0]) <= {'code', 'text', 'mend', 'variants'}
    assert result.verdict.startswith(f'not reliable, because {result.reasons[0]}')


@pytest.mark.parametrize('factor', [1e3, 1e-3])
def test_stamps_in_another_unit_are_named_where_nothing_can_be_identified(factor, good):
    """In thousandths no joint moves, in thousands all of it is over at once: only `longer motion` was asked for."""
    model, (recording,) = good('ur')
    short = replace(recording.window(0, 5), time=recording.window(0, 5).time * factor)
    with pytest.raises(
        JointDynamicsError, match=r'^(?=.*expected)(?=.*(unit of the time stamps|time stamps are in)).*$'
    ):
        identify(model, [short])


@pytest.mark.parametrize('share', [1.5, 4.0])
def test_what_no_friction_explains_is_always_a_reason(share, good):
    """An arm that drags on the floor: random forces at the tip, against the motion and as large as the torque."""
    model, (recording,) = good('ur')
    recording = thinned(recording, 2)
    rng = np.random.default_rng(3)
    size = np.sqrt((recording.tau**2).mean(axis=0))
    steps = rng.uniform(0.0, 2.0, size=(recording.samples // 25 + 1, model.n)).repeat(25, axis=0)[: recording.samples]
    drag = share * size * steps * np.sign(np.gradient(recording.q, axis=0))
    result = identify(model, [replace(recording, tau=recording.tau + drag)], settings=IdentificationSettings())
    left = overall_residual(result.training, moving=True)[1]
    assert left > 25
    assert result.reasons


def test_the_delay_is_estimated(good):
    """Torques moved by a known time are found there, within three of the stated deviations."""
    model, recordings = good('ur')
    for seconds in (0.0, 0.05, -0.1):
        moved = table.delayed(recordings, seconds)
        result = identify(model, moved, settings=IdentificationSettings(selection=False))
        entry = result.summary()['delay']
        assert abs(entry['seconds'] - seconds) < 3 * entry['std'] + 1e-4
        assert any(reason.code == 'delay' for reason in result.reasons) == (seconds != 0.0)
