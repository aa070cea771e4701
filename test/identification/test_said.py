"""What an identification refuses and remarks, in whole sentences: where, what was expected, what was found."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.display import as_html, summary_line
from joint_dynamics.identification.drive_gains.estimate import identify_drive_gains, poorly_determined_gains
from joint_dynamics.identification.drive_gains.payload import identify_payload
from joint_dynamics.identification.drive_gains.payload_runs import known_payload
from joint_dynamics.identification.examine import examine
from joint_dynamics.identification.findings import Findings
from joint_dynamics.identification.joint_tests.data import joint_data
from joint_dynamics.identification.preparation.averaging import with_mean_periods
from joint_dynamics.identification.preparation.observations import FilterPlan
from joint_dynamics.identification.regression.base_rows import spans
from joint_dynamics.identification.regression.methods import least_squares
from joint_dynamics.identification.regression.presliding import presliding
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import BandSquares
from joint_dynamics.identification.regression.resting_entry import presliding_notes
from joint_dynamics.identification.regression.stiction import resting_torque
from joint_dynamics.identification.reliability.motor_side import motor_side_reasons
from joint_dynamics.identification.reliability.verdict import Reason
from joint_dynamics.identification.resting_validation import resting_document, resting_of_description
from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL

NAMES = ('a', 'b')
PLAN = FilterPlan(1.0, 5.0, 2.0, None, 0.2)


def refused(call, *given, **more):
    """The sentence that a call is refused with."""
    with pytest.raises(JointDynamicsError) as told:
        call(*given, **more)
    return str(told.value)


def recorded(samples=200, **signals):
    t = 0.01 * np.arange(samples)
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    return Recording(NAMES, t, q, name='run', **{name: value(q) for name, value in signals.items()})


def test_nothing_to_identify_from(ur, two_links, observed):
    assert refused(identify, ur, []) == 'identify: expected at least one recording, found none'
    with pytest.raises(JointDynamicsError) as told:
        identify(
            ur,
            [Recording(ur.joint_names, 0.01 * np.arange(400), np.random.default_rng(0).normal(size=(400, 6)),
                       current=np.ones((400, 6)), name='run')],
            settings=IdentificationSettings(method='tls'),
        )  # fmt: skip
    assert str(told.value) == (
        'tls: expected the weighed mass of the payload (--payload-mass, or payload.mass in the configuration), found '
        'none'
    )
    run = observed(1, 9)
    problem = Problem(two_links, [run])
    assert refused(least_squares, Problem(two_links, [observed(1, 5)]), 'wls') == (
        f'identify: expected more rows than the {problem.columns} parameters, found 10 (a stay at rest counts as one): '
        'record a longer motion of all joints'
    )
    for still, said in (([0, 1], 'joint_1, joint_2 never move'), ([1], 'joint_2 never moves')):
        speed = np.where(np.isin([0, 1], still), 0.0, 1.0)
        held = replace(observed(1, 5), dtheta=np.ones((5, 2)) * speed)
        assert refused(least_squares, Problem(two_links, [held]), 'ols') == (
            f'identify: expected more rows than the {problem.columns} parameters, found 10 (a stay at rest counts as '
            f'one); {said}: record a longer motion of all joints'
        )


def test_terms_of_no_joint_and_observations_without_a_filter(two_links, observed):
    run = observed(1, 20)
    terms = terms_from_config({'elbow': [{'fourier': 1}]})
    assert refused(Problem, two_links, [run], terms) == "terms: expected a joint of joint_1, joint_2, found 'elbow'"
    with pytest.raises(ValueError, match=r'^an observation without a parallel filter has no spans$'):
        next(spans(run))
    problem = Problem(two_links, [run])
    zeros = np.zeros(problem.columns)
    assert refused(resting_torque, problem, zeros, np.diag(zeros), np.ones(2)) == (
        'resting torque: expected a problem that looks at rest (rest_speed above 0), found none'
    )


def test_presliding_of_other_shapes():
    slip = MaxwellSlip(2, 1e-3)
    shape = 'presliding: expected theta of shape (N, 2), found '
    for theta in (np.zeros(5), np.zeros((5, 3)), np.zeros((0, 2))):
        assert refused(presliding, theta, slip) == f'{shape}{theta.shape}'
    for wrong in (-1.0, np.inf):
        assert refused(presliding, np.zeros((5, 2)), slip, wrong) == (
            f'presliding: expected a resolution of 0 rad or more, found {wrong!r}'
        )


def test_whether_presliding_is_used_is_noted_by_reason():
    def found(**changes):
        return {'length': 1e-3, 'used': False, 'encoder_step': 1e-5, 'steps': 50.0, **changes}

    joints = {
        'a': found(length=None),
        'b': found(used=True),
        'c': found(encoder_step=None),
        'd': found(steps=None),
        'e': found(steps=3.456),
        'f': found(),
        'g': found(used=True),
        'h': found(steps=10.0),
    }
    assert presliding_notes({'presliding': joints}) == [
        'at rest, b, g: presliding narrows their interval of torque',
        'at rest, c: presliding is not used: no step of their readings shows (`encoder_step` states it)',
        'at rest, d: presliding is not used: recordings are means of periods (`period: 0` keeps these apart)',
        'at rest, e: presliding is not used: their readings resolve 3.5 steps of its length, 10 are needed',
        'at rest, f, h: presliding is not used: their stays in training are too few or do not bear it out',
    ]


def test_rest_of_a_description_that_is_none():
    arm = SimpleNamespace(joint_names=NAMES)
    start = 'dynamics description: provenance.resting: expected what `identify` writes there, found '
    good = {'residual_deviation': {'a': 1.0, 'b': 2.0}, 'first_breakaway_ratio': None, 'breakaway_ratio': 1.1}
    for key, value, what in (
        ('residual_deviation', {'a': 1.0}, "KeyError('b')"), ('breakaway_ratio', 'x', 'ValueError('),
        ('breakaway_ratio', None, 'TypeError('),
    ):  # fmt: skip
        assert refused(resting_of_description, arm, {**good, key: value}, None, None).startswith(start + what)
    summary = {'training': {'breakaway_ratio': 1.25, 'first_breakaway_ratio': None}}
    assert resting_document(summary, [0.12345678, 2.0], NAMES) == {
        'breakaway_ratio': 1.25, 'first_breakaway_ratio': None, 'residual_deviation': {'a': 0.123457, 'b': 2.0},
    }  # fmt: skip
    assert resting_document({'training': {}}, [], ())['breakaway_ratio'] == 1.0


def test_payloads_that_cannot_be(two_links):
    names = ', '.join(INERTIAL)
    assert refused(known_payload, {'mass': 1.0}) == f"payload: expected one of {names}, found 'mass'"
    for value in (0.0, -1.0, np.inf, True, '4'):
        assert refused(known_payload, {'M': value}) == f'payload.M: expected a mass above 0 kg, found {value!r}'
    for value in (np.nan, None, False):
        assert refused(known_payload, {'MX': value}) == f'payload.MX: expected a finite number, found {value!r}'
    assert refused(identify_payload, None, np.zeros(3), []) == (
        'payload: expected at least one recording of the loaded robot, found none'
    )
    assert refused(identify_payload, None, np.zeros(3), ['run'], dict.fromkeys(INERTIAL, 1.0)) == (
        'payload: expected at least one parameter to identify, found all ten known'
    )


def test_drive_gains_that_cannot_be_found(two_links):
    run = recorded(current=lambda q: q)
    assert refused(identify_drive_gains, two_links, [run], [], {'M': 1.0}, PLAN) == (
        'drive gains: expected at least one recording of the loaded robot, found none'
    )
    other = recorded(tau=lambda q: q)
    assert refused(identify_drive_gains, two_links, [run], [other], {'M': 1.0}, PLAN) == (
        'drive gains: expected currents in all recordings or in none, found both'
    )
    assert refused(identify_drive_gains, two_links, [run], [run], {'M': 1.0}, PLAN, solver='magic') == (
        "drive gains: expected one of mixed, tls, wls, found 'magic'"
    )


def test_signals_of_a_joint_that_were_not_measured():
    data = joint_data(recorded(), 'a')
    assert refused(data.need, 'theta') == 'run: a: expected a motor-side angle (theta), found only q'
    assert (
        refused(data.need, 'tau') == 'run: a: expected a motor torque (tau, or current with a drive gain), found none'
    )
    assert refused(data.need, 'temperature') == 'run: a: expected a joint temperature, found none'
    assert refused(data.friction).startswith('run: a: expected a motor torque')
    assert refused(data.need, 'tau_J') == (
        'run: a: expected a load torque (column load, or --robot with inertial parameters), found none'
    )
    assert refused(joint_data, recorded(), 'c') == 'run: expected a joint of a, b, found c'


def test_a_period_with_which_nothing_repeats():
    run = recorded(400)
    assert refused(with_mean_periods, [run], 1.2345, 5.0, 0.1) == (
        'period: expected a recording in which the motion repeats every 1.2345 s, found none'
    )
    assert with_mean_periods([run], 0, 5.0, 0.1) == [run]


@pytest.mark.parametrize(
    ('ratio', 'what'),
    [(-1.05, 'turns the other way'), (100.0, 'is not reflected to the joint side'), (0.85, 'is not reflected to the '
     'joint side'), (-1.2, 'is not reflected to the joint side')],
)  # fmt: skip
def test_a_motor_on_its_own_side_is_told_with_its_ratio(ratio, what):
    run = recorded(theta=lambda q: q * [ratio, 1.09] + 3.0)
    (reason,) = motor_side_reasons(run)
    assert (reason.code, reason.text) == (
        'motor_side',
        f'run: the motor of a turns {ratio:.4g} rad per rad of the joint, expected 1 on the joint side: it {what}; '
        'state recording.motor_states.gear_ratio',
    )
    assert list(motor_side_reasons(replace(run, q=run.q * 0.1 / np.ptp(run.q, axis=0)))) == []
    assert list(motor_side_reasons(recorded())) == []


def test_where_no_torque_was_recorded_the_rest_is_told_all_the_same(two_links):
    """Motor side, temperatures, one direction: what could be found, and what not."""
    t = 0.01 * np.arange(400)
    q = np.stack([t, np.sin(4 * t)], axis=1)
    names = two_links.joint_names
    found = examine(two_links, Recording(names, t, q, name='run'))
    assert found.result is None and found.able == ()
    assert found.odd == (
        'no measured speeds: time stamps in a wrong unit show less clearly',
        'neither torque nor current: nothing can be identified',
    )
    assert found.unable[0].startswith('dynamics of the robot: ')
    assert found.unable[1:] == (
        'stiffness, kinematic error, backlash: expected motor positions, found none',
        'friction over temperature: expected joint temperatures, found none',
        f'Coulomb friction apart from an offset, in one direction only: {names[0]}',
    )
    first, second = found.joints
    assert (first.name, first.travel, first.resting) == (names[0], pytest.approx(t[-1]), 0.0)
    assert first.fastest == pytest.approx(1.0)
    for figures in found.joints:
        assert np.isnan([figures.effort, figures.left, figures.scale, figures.scale_std]).all()
    speed = np.abs(np.gradient(q[:, 1], 0.01))
    assert second.fastest == pytest.approx(np.quantile(speed, 0.99))
    assert second.resting == pytest.approx(np.mean(speed <= 0.01))
    warm = np.stack([20.0 + 0.5 * t, 20.0 + 0.7 * t], axis=1)
    both = examine(two_links, Recording(names, t, q, theta=q, temperature=warm, name='run'))
    assert both.able == (
        'stiffness, kinematic error and backlash, where joints are loaded (motor positions are there)',
    )
    assert both.unable[1] == 'friction over temperature: expected a change of 3 °C, found 2.8 °C at most'
    warmer = examine(two_links, Recording(names, t, q, temperature=2 * warm, name='run'))
    assert warmer.able == ('friction over temperature (a joint warms by 5.59 °C)',)


def result(**changes):
    squares = BandSquares(*(np.array([9 * value**2]) for value in (0.5, 4.0, 0.5, 4.0)), 9)
    fits = [SimpleNamespace(name='run <1>', dq=np.ones((3, 1)), moving_speed=0.0, residual=np.full((3, 1), 0.5),
                            tau=np.full((3, 1), 4.0), band=3.0, full=SimpleNamespace(band=10.0),
                            band_squares=squares)]  # fmt: skip
    values = {
        'problem': SimpleNamespace(base=SimpleNamespace(count=2)), 'names': ['p<', 'q'], 'validation': [],
        'training': fits, 'settings': SimpleNamespace(method='wls'), 'samples': 321, 'reasons': [],
        'solution': SimpleNamespace(chi=np.array([1.23456, -2.0])), 'deviation': np.array([0.0123, 0.5]),
        'expressions': ['a & b', 'c'], **changes,
    }  # fmt: skip
    return SimpleNamespace(**values)


WITH_BANDS = '12.5 % below 3 Hz (12.5 %, 0.5 N·m RMS below 10 Hz)'


def test_a_result_in_one_line():
    assert summary_line(result()) == (
        f'wls: 2 base parameters from 321 samples, training residual {WITH_BANDS}, reliable'
    )
    one = Reason('delay', 'late')
    whole = result(names=['p', 'q', 'r'], reasons=[one], validation=result().training)
    assert summary_line(whole) == (
        f'wls: 2 base parameters and 1 further from 321 samples, validation residual {WITH_BANDS}, not reliable for 1'
        ' reason'
    )
    none = SimpleNamespace(**{**vars(result().training[0]), 'tau': np.zeros((3, 1))})
    assert summary_line(result(training=[none], reasons=[one, one])) == (
        'wls: 2 base parameters from 321 samples, training without torque, not reliable for 2 reasons'
    )


def test_a_result_as_a_notebook_shows_it():
    found = result(reasons=[Reason('delay', 'x < y')], validation=result().training)
    head = f'wls: 2 base parameters from 321 samples, validation residual {WITH_BANDS}, not reliable for 1 reason'
    assert as_html(found) == (
        f'<div><p><b>{head}</b></p><ul><li>x &lt; y</li></ul>'
        '<table><tr><th>recording</th><th>residual [%] and band</th></tr>'
        f'<tr><td>run &lt;1&gt; (training)</td><td>{WITH_BANDS}</td></tr>'
        f'<tr><td>run &lt;1&gt; (validation)</td><td>{WITH_BANDS}</td></tr></table>'
        '<details><summary>2 parameters</summary>'
        '<table><tr><th>parameter</th><th>value</th><th>σ</th><th>σ [%]</th><th>made of</th></tr>'
        '<tr><td>p&lt;</td><td>1.2346</td><td>0.012</td><td>1</td><td>a &amp; b</td></tr>'
        '<tr><td>q</td><td>-2</td><td>0.5</td><td>25</td><td>c</td></tr></table></details></div>'
    )


def test_a_gain_that_the_loaded_recordings_do_not_show():
    gains = {
        'a': {'value': 10.0, 'std': 0.9}, 'b': {'value': 10.0, 'std': None}, 'c': {'value': -10.0, 'std': 1.1},
    }  # fmt: skip
    assert [(reason.code, reason.text) for reason in poorly_determined_gains(gains)] == [
        (
            'drive_gain_deviation',
            f'the loaded recording does not show the drive gain of {name}: deviation {deviation}, expected at '
            'most 10 %',
        )
        for name, deviation in (('b', 'infinite'), ('c', '11 %'))
    ]
    assert poorly_determined_gains({'a': gains['a']}) == []


def test_the_summary_has_every_figure_under_its_name():
    """As summary.json has it: plain keys, None for what is no finite number."""
    fits = [SimpleNamespace(**vars(result().training[0]), summary=lambda: {'recording': 'run'})]
    plan = FilterPlan(1.5, 7.5, 3.0, None, 0.2)
    solution = SimpleNamespace(chi=np.array([1.25, 0.0]), condition_number=np.inf, sigma=np.array([0.1, 0.2]))
    problem = SimpleNamespace(base=SimpleNamespace(count=2), model=SimpleNamespace(joint_names=NAMES))
    found = result(
        training=fits, validation=fits, plan=plan, solution=solution, problem=problem, verdict='line',
        reasons=[Reason('delay', 'late')], poorly_determined=['q'], seconds=1.5, notes=('n',), extras={'more': 1},
        deviation=np.array([0.05, np.inf]),
    )  # fmt: skip
    fixed = {'band_hz': 10.0, 'residual_percent': 12.5, 'moving_residual_percent': 12.5, 'rms': 0.5}
    assert Findings.summary(found) == {
        'method': 'wls', 'samples': 321, 'base_parameters': 2, 'columns': 2, 'condition_number': None,
        'verdict': 'not reliable', 'verdict_line': 'line', 'believable': False,
        'reasons': [{'code': 'delay', 'text': 'late'}], 'doubtful_parameters': ['q'], 'seconds': 1.5,
        'filters': {'f_dyn': 1.5, 'position_cutoff': 7.5, 'parallel_cutoff': 3.0, 'decimation': None, 'trim': 0.2},
        'training': [{'recording': 'run'}], 'training_overall_percent': 12.5, 'training_moving_overall_percent': 12.5,
        'validation': [{'recording': 'run'}], 'validation_overall_percent': 12.5,
        'validation_moving_overall_percent': 12.5, 'training_fixed_band': fixed, 'validation_fixed_band': fixed,
        'residual_deviation': {'a': 0.1, 'b': 0.2},
        'parameters': [
            {'name': 'p<', 'expression': 'a & b', 'value': 1.25, 'std': 0.05, 'relative_std_percent': 4.0},
            {'name': 'q', 'expression': 'c', 'value': 0.0, 'std': None, 'relative_std_percent': None},
        ],
        'notes': ['n'], 'more': 1,
    }  # fmt: skip
    alone = Findings.summary(SimpleNamespace(**{**vars(found), 'validation': []}))
    assert alone['validation_overall_percent'] is None and alone['validation_moving_overall_percent'] is None
    assert alone['validation_fixed_band'] is None
