"""Arrays come back from a page as they went in, but for the rounding that is stated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from joint_dynamics.report.figure_html import STEPS, Packer, unpack


def round_trip(*given_arrays, resolution=0.0):
    packer = Packer()
    entries = [packer.add(values, resolution) for values in given_arrays]
    text = packer.text()
    return [unpack(entry, text) for entry in entries], entries


FLOATS = st.one_of(st.just(np.nan), st.floats(-1e6, 1e6, allow_subnormal=False))


@given(arrays.arrays(float, st.integers(1, 60), elements=FLOATS))
def test_an_array_comes_back_to_half_a_step_of_its_range(values):
    (found,), (entry,) = round_trip(values)
    assert np.array_equal(np.isnan(found), np.isnan(values))
    # Beside half a step, what adding start and step · code rounds.
    bound = 0.5 * entry['step'] + 4 * np.finfo(float).eps * np.nanmax(np.abs(values), initial=0.0)
    finite = np.isfinite(values)
    if entry['kind'] == 'ramp':
        bound = 0.011 * entry['step']
    assert np.all(np.abs(found - values)[finite] <= bound)
    if finite.any() and entry['kind'] == 'codes':
        assert entry['step'] <= max(np.ptp(values[finite]) / STEPS, 1.0 if np.ptp(values[finite]) == 0 else 0.0)


def test_several_arrays_share_one_text_and_the_same_one_is_held_once():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=500), rng.uniform(size=300)
    (a, b, c), entries = round_trip(first, second, first)
    assert entries[0] is entries[2]
    assert np.array_equal(a, c)
    assert np.abs(a - first).max() <= 0.5 * entries[0]['step'] * (1 + 1e-9)
    assert np.abs(b - second).max() <= 0.5 * entries[1]['step'] * (1 + 1e-9)


def test_even_times_take_no_room():
    _, (entry,) = round_trip(np.linspace(3.0, 63.0, 60_001))
    assert entry == {'kind': 'ramp', 'n': 60_001, 'start': 3.0, 'step': pytest.approx(1e-3)}


def test_a_coarser_resolution_is_kept_to_and_makes_the_text_shorter():
    values = np.random.default_rng(1).normal(size=20_000)
    (found,), (entry,) = round_trip(values, resolution=0.02)
    assert entry['step'] == 0.02
    assert np.abs(found - values).max() <= 0.01 * (1 + 1e-9)
    coarse, fine = Packer(), Packer()
    coarse.add(values, 0.02)
    fine.add(values)
    assert len(coarse.text()) < 0.75 * len(fine.text())
