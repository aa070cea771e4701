"""Payloads that differ between recordings, and what one would leave over."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.identification.drive_gains.payload_difference import payload_changes, payload_differences
from joint_dynamics.identification.drive_gains.payload_runs import payload_problem, split
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.evidence import NormalEquations, effective_samples, gain
from joint_dynamics.identification.reliability.filtered_samples import row_weights


def test_payload_of_its_own_by_two_fits(two_links, two_link_runs):
    """One payload for all against another one for one recording: every figure of the sentence."""
    of, chi = two_link_runs
    problem = Problem(two_links, [of(1)])
    same = [of(3, carried=1.0), of(4, carried=1.0), of(5, carried=1.0)]
    assert payload_differences(problem, chi, same) == [] == payload_differences(problem, chi, same[:1])
    for loaded, other in (
        ([of(3, carried=1.0), of(4, carried=3.0), of(5, carried=1.0)], 1), ([same[0], of(6, carried=2.5)], 1),
    ):  # fmt: skip
        system = payload_problem(problem, loaded)
        rows, rest, tau, index, weight = [], [], [], [], []
        for block, W, W_L in split(system):
            rows.append(W_L)
            rest.append(block.tau - np.einsum('jbs,b->js', W, chi))
            tau.append(block.tau)
            index.append(np.full(block.tau.shape[1], block.observation))
        rows, rest, tau = (np.concatenate(x, axis=-1) for x in (rows, rest, tau))
        index = np.concatenate(index)
        weight = np.concatenate([row_weights(system, k) for k in range(len(loaded))], axis=1)
        given = NormalEquations(rows, weight).fit(rest)
        normal = NormalEquations(np.concatenate([rows, rows * (index == other)], axis=1), weight)
        fit = normal.fit(rest)
        value = gain(given, fit, effective_samples(normal.residuals(rest, fit.chi), weight, index))
        share = (rest**2).sum(axis=1) @ (given.unexplained - fit.unexplained) / (tau**2).sum()
        (reason,) = payload_differences(problem, chi, loaded)
        bodies = []
        for values in (fit.chi[:10] + fit.chi[10:], fit.chi[:10]):
            centre = ', '.join(f'{round(value / values[9], 3) + 0.0:g}' for value in values[6:9])
            bodies.append(f'{values[9]:.3g} kg at ({centre}) m')
        assert reason.code == 'payload_mixed'
        for part in (
            f'{loaded[other].name} about {bodies[0]}, the others {bodies[1]}, which makes',
            f'{100 * math.sqrt(share):.3g} % of the torque (log-likelihood +{value:.0f}); identify one payload',
        ):
            assert part in reason.text


def test_what_a_payload_would_leave_over(two_links, two_link_runs):
    of, chi = two_link_runs
    run = of(3, carried=1.5)
    problem = Problem(two_links, [run])
    predicted = np.concatenate([np.einsum('jbs,b->js', block.rows, chi) for block in problem.blocks()], axis=1)
    measured = np.concatenate([block.tau for block in problem.blocks()], axis=1)
    fit = SimpleNamespace(residual=(measured - predicted).T)
    ((left, code, text),) = payload_changes(problem, [fit])
    rows = np.concatenate([W_L for _, _, W_L in split(payload_problem(problem, [run]))], axis=2)
    normal = NormalEquations(rows, np.ones_like(measured))
    best = normal.fit(measured - predicted)
    assert code == 'payload_mixed'
    assert left == pytest.approx(float(np.sum(normal.residuals(measured - predicted, best.chi) ** 2)))
    assert left < 0.05 * np.sum((measured - predicted) ** 2)
    assert f'another payload than in training, mass {best.chi[9]:+.3g} kg' in text


def test_a_payload_in_one_of_two_recordings_is_looked_for_in_each(two_links, two_link_runs):
    of, chi = two_link_runs
    parts = [of(1), of(3, carried=1.5)]
    problem = Problem(two_links, parts)
    fits = [
        SimpleNamespace(name=name, residual=np.zeros((len(part.time), 2)))
        for name, part in zip(('light', 'heavy'), parts, strict=True)
    ]
    for block in problem.blocks():
        fits[block.observation].residual[block.kept] = (block.tau - np.einsum('jbs,b->js', block.rows, chi)).T
    both, light, heavy = payload_changes(problem, fits)
    whole = sum(float(np.sum(fit.residual**2)) for fit in fits)
    assert heavy[0] < 0.05 * whole < 0.9 * whole < light[0] <= whole and heavy[0] < both[0]
    assert heavy[2].startswith('the robot of heavy carries another payload than in training, mass +')
