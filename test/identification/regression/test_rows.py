"""Torque of whole recordings, and how far links may be off."""

import math
from types import SimpleNamespace

import numpy as np

from joint_dynamics.identification.regression.rows import prior_spread
from joint_dynamics.robot import INERTIAL, StandardParameters


def test_how_far_links_may_be_off_is_a_share_of_mass_gyration_and_inertia():
    rng = np.random.default_rng(4)
    prior = StandardParameters(np.zeros(28), 2)
    prior.links[:] = rng.normal(size=(2, 10))
    prior.links[1] = 0.0
    names = [f'{kind}_{j}' for j in (1, 2) for kind in (*INERTIAL, 'Ia', 'Fv', 'Fc', 'off')]
    found = StandardParameters(prior_spread(SimpleNamespace(standard_names=names), prior.values), 2)
    largest = []
    for link, off in zip(prior.links, found.links, strict=True):
        mass = max(link[9], 1e-3)
        inertia = max(0.5 * (abs(link[0]) + abs(link[3]) + abs(link[5])), 1e-6)
        largest.append(inertia)
        np.testing.assert_allclose(off, [*[0.3 * inertia] * 6, *[0.3 * math.sqrt(mass * inertia)] * 3, 0.3 * mass])
    np.testing.assert_allclose(found.rotor_inertia, 30.0 * max(largest))
