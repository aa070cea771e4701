"""Every method through `identify` itself: what it leaves in the summary and in the description."""

import json
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.regression.methods import least_squares
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.report.identification import identification_report


@pytest.mark.parametrize(('settings', 'keys'), [
    ({'method': 'ols'}, ()), ({'method': 'wls'}, ('selection',)), ({'method': 'irls'}, ('selection', 'irls')),
    ({'method': 'i-irls'}, ('i_irls',)), ({'essential': True, 'selection': False}, ('essential',)),
    ({'essential': 'f', 'selection': False}, ('essential',)),
])  # fmt: skip
def test_every_method_reports(true_robot, settings, keys):
    run, unseen = (true_robot.record(seed, duration=seconds, rate=200.0) for seed, seconds in ((5, 12.0), (6, 8.0)))
    result = identify(true_robot.model, [run], [unseen], IdentificationSettings(**settings))
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert {'training', 'parameters', 'diagnostics', *keys} <= set(summary)
    description = result.description
    assert DynamicsDescription.from_yaml(description.to_yaml()).document == description.document
    assert result.validation[0].residual_percent()[1] < 10
    if 'essential' in keys:
        # where nothing is held back, a recording decides all parameters
        assert sum(summary['diagnostics']['leverage'].values()) == pytest.approx(len(result.names), rel=1e-6)
        assert 'Leverage' in identification_report(result).to_html()


@pytest.mark.parametrize(
    ('still', 'said'),
    [((), 'counts as one\\)'), ((0, 1), 'joint_1, joint_2 never move'), ((1,), 'joint_2 never moves')],
)
def test_fewer_rows_than_parameters_are_refused_with_the_joints_that_never_move(two_links, observed, still, said):
    speed = np.where(np.isin([0, 1], still), 0.0, 1.0)
    problem = Problem(two_links, [replace(observed(1, 5), dtheta=np.ones((5, 2)) * speed)])
    message = f'more rows than the {problem.columns} parameters, found 10 .*{said}: record a longer motion'
    for method in ('ols', 'wls'):
        with pytest.raises(JointDynamicsError, match=message):
            least_squares(problem, method)
