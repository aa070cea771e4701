"""The figures `identify` states are those of the document it writes, whatever was chosen for which joint."""

import itertools

import numpy as np
import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.identification import IdentificationSettings, identify, validate_description
from joint_dynamics.identification.regression.residuals import predict
from joint_dynamics.identification.selection.candidate_terms import WIDTHS

CHOICES = {
    'none': [], 'hysteresis': [{'hysteresis': 1e-3}], 'narrowest hysteresis': [{'hysteresis': min(WIDTHS)}],
    'stribeck': [{'stribeck': 0.1}], 'root': [{'friction': 'F_T0'}], 'cubic': [{'friction': 'F_V3'}],
    'load': [{'friction': 'F_Cl'}], 'load squared': [{'friction': 'F_C1'}],
    'quadrants': [{'friction': 'load_gain'}, {'friction': 'load_sign'}],
    'hysteresis of everything': [{'hysteresis': 3e-3}, {'stribeck': 0.1}, {'friction': 'F_Cl'}, {'friction': 'F_T0'}],
    'spring': [{'fourier': 2}],
}  # fmt: skip


@pytest.fixture(scope='module')
def robot(two_links, true_robot_of):
    made = true_robot_of(two_links)
    return two_links, [made.record(seed, duration=8.0, rate=100.0, noise=0.01) for seed in (1, 2)]


@pytest.mark.parametrize('choice', list(itertools.product(CHOICES, repeat=2)), ids=' and '.join)
def test_both_figures_are_one_for_every_choice_of_terms_per_joint(robot, choice):
    model, (run, unseen) = robot
    chosen = {name: CHOICES[kind] for name, kind in zip(model.joint_names, choice, strict=True)}
    settings = IdentificationSettings(selection=False, terms=terms_from_config(chosen))
    result = identify(model, [run], [unseen], settings)
    document = DynamicsDescription.from_yaml(result.description.to_yaml())
    for fit, again in zip(
        (*result.training, *result.validation), validate_description(document, [run, unseen], settings), strict=True
    ):
        np.testing.assert_allclose(again.predicted, fit.predicted, rtol=0, atol=1e-9 * np.abs(fit.tau).max())
        assert again.residual_percent()[1] == pytest.approx(fit.residual_percent()[1], rel=1e-9)
    for j, (name, entries) in enumerate(chosen.items()):
        kinds = {key for entry in entries for key in entry}
        friction = document.joint(name)['friction']
        # Of the narrowest the joint has the one of two things that the larger share of its friction does.
        slides = entries != CHOICES['narrowest hysteresis'] or result.problem.state.share[j] >= 0.5
        assert ('maxwell_slip' in friction) == ('hysteresis' in kinds and slides)
        assert ('F_S' in friction['parameters']) == ('stribeck' in kinds)
    # What was fitted, away from where friction turns over.
    (fit,), fitted = result.training, [predict(block, result.solution.chi).T for block in result.problem.blocks()]
    away = np.abs(fit.dq) > 0.3
    error = np.where(away, fit.predicted - np.concatenate(fitted), 0.0)
    assert np.linalg.norm(error) < 0.01 * np.linalg.norm(fit.tau)
