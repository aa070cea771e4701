"""The whole chain in one process on a robot whose laws are not the methods'; no truth gets into what it writes."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from joint_dynamics.arm import Arm, with_reversal
from joint_dynamics.control import ControlLoop, LoopSettings, create
from joint_dynamics.demo import ChainSettings, scenario
from joint_dynamics.demo import chain as stages
from joint_dynamics.demo.comparison import map_nrmse
from joint_dynamics.demo.scenario import GAIN_DEVIATION, unknown_tool
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification.observations import observe
from joint_dynamics.identification.validate import predicted_torque


def test_the_robot_is_not_the_methods_model(chain):
    urdf = np.array([body.mass for body in list(chain.model.pinocchio.inertias)[1:]])
    assert np.abs(chain.robot.truth.links.mass[:-1] / urdf[:-1] - 1).max() > 0.05
    assert chain.robot.truth.links.mass[-1] > urdf[-1] + 1.5


def test_it_is_identified(chain):
    assert not chain.result.reasons
    figures = chain.figures()
    # Linear friction columns on other laws, ± 20 % bodies and an unknown tool: the torque of a motion not trained on,
    # moving joints.
    assert figures['work_residual_percent'] < 3.0
    assert figures['median_error_percent'] < 15.0


def test_friction_is_known_and_stiffness_is_right_where_the_work_loads_it(chain):
    figures = chain.figures()
    assert figures['friction_identified_percent'].max() < 25.0
    assert np.median(figures['stiffness_nrmse']) > 90.0


def test_stiffness_is_learnt_from_what_identify_wrote(chain):
    """Nothing but `identify` between the recordings and the estimator, on a play that no model describes."""
    missed = 100.0 - chain.figures()['stiffness_untaught_nrmse']
    # What is learnt has taken the place of what was described, with what it states of itself; drive gains are off their
    # data sheet, which neither recordings nor estimator show.
    joints, stiffness = chain.result.description.document['joints'].values(), chain.untaught.stiffness
    reach = np.array([joint['stiffness']['range'][1] for joint in joints])
    deviation = 100.0 * np.hypot(GAIN_DEVIATION, np.sqrt(stiffness.variance(reach)) / stiffness.torque(reach))
    # Two deviations in the mean; at a joint, a play of another law shifts the deformation by all of itself at most.
    play = 100.0 * np.array([joint['backlash']['mean'] for joint in joints]) / reach
    assert missed.mean() < 2.0 * deviation.mean()
    assert (missed < 2.0 * deviation + play).all()


def test_adaptation_makes_no_joint_of_the_worn_robot_worse(chain):
    figures = chain.figures()
    assert (figures['worn_torque_left_percent'] < 100.0).all()
    assert (figures['worn_tracking_left_percent'] < 100.0).all()


def test_the_estimator_follows_the_stiffness_of_the_worn_robot(chain):
    """What its map misses is, in the mean, less than a quarter of what the one found when new does; half at a joint."""
    described = Arm.from_description(chain.model, chain.description).stiffness
    ignored = 100.0 - map_nrmse(described, chain.model, scenario.cycle(), chain.robot.truth.as_document())
    followed = 100.0 - chain.figures()['worn_stiffness_nrmse']
    assert (ignored > 20.0).all()
    assert followed.mean() < 0.25 * ignored.mean()
    assert (followed < 0.5 * ignored).all()


def test_figures_of_the_new_robot_stay_its_own_when_it_wears(chain):
    described = Arm.from_description(chain.model, chain.description).stiffness
    worn = map_nrmse(described, chain.model, scenario.cycle(), chain.robot.truth.as_document())
    assert (chain.figures()['stiffness_described_nrmse'] > worn + 10.0).all()


def test_feedforward_of_what_was_found_is_worth_it(chain):
    alone, static, adaptive = (chain.tracking[law].mean() for law in ('none', 'static', 'adaptive'))
    assert static < 0.5 * alone
    assert adaptive < 0.5 * alone
    assert chain.torque['adaptive'].mean() < 0.1 * chain.torque['none'].mean()


def test_the_law_plays_the_torque_that_the_description_predicts(chain):
    """Along the recorded work, its link side alone: the law has no motor encoder to look at."""
    work = replace(chain.recordings[-1], theta=None, dtheta=None).window(0.0, 4.0)
    sheet = dict(zip(chain.robot.joint_names, map(float, chain.robot.nominal_gains), strict=True))
    observation = observe(work.select(chain.model.joint_names), chain.result.plan, sheet)
    # a law lets friction that is described without hysteresis turn over within a tenth of a milliradian
    arm, _ = with_reversal(Arm.from_description(chain.model, chain.description))
    predicted = predicted_torque(arm, observation)
    loop = ControlLoop(create('adaptive_friction'), arm, LoopSettings(effort_limit=1e5))
    loop.controller.on_activate()
    zero, played = np.zeros(arm.n), []
    for k, (q, dq, ddq) in enumerate(zip(observation.q, observation.dq, observation.ddq, strict=True)):
        if observation.temperature is not None:
            loop.state.write('temperature', observation.temperature[k], 0.0)
        played.append(loop.evaluate_along(np.array([q, dq, ddq, zero, zero]), 0.0, chain.robot.period))
    # rounding of torques below 200 N·m is a thousand times less
    np.testing.assert_allclose(np.array(played), predicted, rtol=0, atol=1e-9)


def test_nothing_touches_the_arm_unfelt_and_nothing_is_felt_where_nothing_touches(chain):
    felt, pushes = chain.pushes
    assert pushes >= 5
    assert felt >= 0.7 * pushes
    assert chain.contacts <= 0.02 * chain.learned


def test_the_short_way_from_the_first_motion_to_the_description():
    """One period of the exciting motion, on our own engine: excited, recorded and identified, quickly."""
    short = stages.new_chain(ChainSettings(seed=1, repeats=1))
    stages.record(short)
    stages.identify_all(short)
    assert not short.result.reasons
    assert short.result.summary()['validation_moving_overall_percent'] < 3.0
    assert short.comparison().median_error_percent < 15.0
    assert Arm.from_description(short.model, short.description).stiffness is not None


def test_a_seed_draws_the_tool():
    assert unknown_tool(5).mass != unknown_tool(6).mass


# No shortcut between plant and model.


class Outside(SimpleNamespace):
    """A robot as its buyer knows it: names, sampling, data sheet. Whoever asks for more gets an AttributeError."""


def test_the_description_comes_from_the_recordings_and_the_data_sheet_alone(chain):
    seen = Outside(
        joint_names=chain.robot.joint_names,
        n=chain.robot.n,
        nominal_gains=chain.robot.nominal_gains,
        period=chain.robot.period,
    )
    again = stages.ChainRun(chain.settings, seen, chain.model, list(chain.recordings))
    stages.identify_all(again)
    assert measured(again.description.document) == measured(chain.description.document)


def measured(document):
    document = copy.deepcopy(document)
    document['provenance'].pop('date')
    return document


def numbers(document, path=''):
    """Every number of a document with its path."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from numbers(value, f'{path}.{key}')
    elif isinstance(document, (list, tuple)):
        for index, value in enumerate(document):
            yield from numbers(value, f'{path}[{index}]')
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield path, float(document)


def digits(value):
    """Significant decimal digits of a number."""
    return len(f'{value:.15e}'.split('e')[0].replace('.', '').replace('-', '').rstrip('0'))


#: Round numbers that belong to the method, not to a robot: the form of what it writes, the widths that its presliding
#: term tries, the lags that its lost motion tries, and temperatures, which the sensor rounds to a tenth of a degree.
OWN = {'period', 'operators', 'limits', 'presliding', 'T_0', 'tau_max', 'exponent', 'temperature', 'load_lag'}
TRIED = {1e-3, 3e-3}


def suspicious(document, truth):
    """Paths of numbers in a description's joints that are the truth's own, or too round to have been measured."""
    secret = {value for _, value in numbers(truth) if digits(value) > 6}
    found = []
    for path, value in numbers(document['joints']):
        name = path.replace(']', '').replace('[', '.').split('.')
        if value in (0.0, 1.0) or OWN & set(name) or value in TRIED or 'drive_gain' in name:
            continue
        if any(abs(value - other) <= 1e-9 * abs(other) for other in secret) or digits(value) <= 4:
            found.append(path)
    return found


def everything(chain):
    """All the truth there is, wear and temperature aside: the constants of drives and links."""
    drives = chain.robot.drives
    constants = {
        name: np.ravel(getattr(drives, name)).tolist()
        for name in drives._fields
        if name != 'nominal_gain' and np.size(getattr(drives, name)) < 100
    }
    links = {name: np.ravel(getattr(chain.robot.truth.links, name)).tolist() for name in ('mass', 'com', 'inertia')}
    return {**chain.robot.truth.as_document(), **constants, **links}


def test_no_number_of_the_truth_is_in_the_description(chain):
    assert suspicious(chain.description.document, everything(chain)) == []
    # Inertials that no motion shows stay the URDF's; those are not the true ones either.
    secret = {value for _, value in numbers(everything(chain)) if digits(value) > 6}
    assert not secret & {value for _, value in numbers(chain.description.document['inertial'])}


def with_part(chain, **part):
    document = copy.deepcopy(chain.description.document)
    document['joints'][chain.robot.joint_names[2]] |= part
    return document


def test_the_search_finds_what_does_not_belong_there(chain):
    truth, name = everything(chain), chain.robot.joint_names[2]
    for part in (
        {'backlash': {'type': 'table', 'values': [5e-4]}},
        {'damping': {'value': float(chain.robot.drives.damping[2])}},
        {'stiffness': {'coefficients': [truth['stiffness'][2]]}},
        {
            'friction': {
                'parameters': {'F_C0': 5.123456789},
                'maxwell_slip': {'operators': 4, 'r_Delta': 4.0, 'r_k': 2.0},
            }
        },
    ):
        found = suspicious(with_part(chain, **part), truth)
        assert found
        assert all(path.startswith(f'.{name}.') for path in found)


def test_the_description_is_one_that_every_reader_takes(chain, tmp_path):
    chain.description.save(tmp_path / 'dynamics.yaml')
    read = DynamicsDescription.load(tmp_path / 'dynamics.yaml')
    assert measured(read.document) == measured(chain.description.document)
