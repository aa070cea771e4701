"""Normal equations in place of QR: the same solution to 1e-8 where they are used, and QR where they would not be."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import (
    ACCURACY,
    NormalSums,
    exact_enough,
    gathered,
    triangulate,
    triangulate_long,
)
from joint_dynamics.robot.regressor import PackedRows

SAMPLES, JOINTS, COLUMNS = 4000, 3, 8


def system(rng, condition=30.0, noise=0.1, rest=True):
    """Blocks of random rows: columns of very unlike sizes that are nearly dependent, and one of each joint's own."""
    mix = np.linalg.qr(rng.standard_normal((COLUMNS, COLUMNS)))[0] * np.geomspace(1, 1 / condition, COLUMNS)
    size = np.geomspace(1e-3, 1e4, COLUMNS + JOINTS)
    rows = np.zeros((JOINTS, COLUMNS + JOINTS, SAMPLES))
    rows[:, :COLUMNS] = np.einsum('jks,ck->jcs', rng.standard_normal((JOINTS, COLUMNS, SAMPLES)), mix)
    for j in range(JOINTS):
        rows[j, COLUMNS + j] = rng.standard_normal(SAMPLES)
    rows *= size[:, None]
    tau = np.einsum('jcs,c->js', rows, 1 / size)
    tau += noise * np.array([1.0, 3.0, 10.0])[:, None] * rng.standard_normal(tau.shape)
    resting = rng.random(tau.shape) < 0.1
    scale = np.where(resting, 0.5, 1.0)
    for start in range(0, SAMPLES, 700):
        part = slice(start, start + 700)
        block = Block(rows[:, :, part], tau[:, part], tau[:, part], 0, part)
        yield replace(block, resting=resting[:, part], scale=scale[:, part]) if rest else block


def same(found, expected, accuracy):
    """Chi in its own deviations would be a weaker demand than in its own size."""
    np.testing.assert_allclose(found.chi, expected.chi, rtol=accuracy)
    np.testing.assert_allclose(found.sigma, expected.sigma, rtol=accuracy)
    np.testing.assert_allclose(found.inverse, expected.inverse, rtol=0, atol=accuracy * np.abs(expected.inverse).max())
    assert found.condition_number == pytest.approx(expected.condition_number, rel=accuracy)
    assert found.rows == expected.rows


@pytest.mark.parametrize('rest', [False, True])
@pytest.mark.parametrize('condition', [1.0, 30.0, 150.0])
def test_solutions_are_those_of_qr(condition, rest):
    blocks = list(system(np.random.default_rng(0), condition, rest=rest))
    assert exact_enough(*gathered(blocks, NormalSums))
    found, expected = triangulate_long(lambda: blocks), triangulate(blocks)
    np.testing.assert_array_equal(found.own, expected.own)
    np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-12)
    assert np.all(np.tril(found.factors, -1) == 0)
    same(wls(found), wls(expected), ACCURACY)


@pytest.mark.parametrize(
    ('condition', 'noise', 'column'),
    [(1e5, 0.1, None), (30.0, 1e-6, None), (30.0, 0.1, 2)],
    ids=['ill', 'exact', 'none'],
)
def test_where_they_are_not_exact_enough_qr_is_taken(condition, noise, column):
    """Columns that are nearly dependent, torques that are nearly explained, a column that no sample shows."""
    blocks = list(system(np.random.default_rng(1), condition, noise))
    if column is not None:
        for block in blocks:
            block.rows[:, column] = 0.0
    assert not exact_enough(*gathered(blocks, NormalSums))
    found, expected = triangulate_long(lambda: iter(blocks)), triangulate(blocks)
    np.testing.assert_array_equal(found.factors, expected.factors)
    np.testing.assert_array_equal(found.resting.factors, expected.resting.factors)


def test_what_is_promised_is_kept_up_to_where_it_is_refused():
    """From good to bad condition: as long as the sums are taken, the solution is that of QR to 1e-8."""
    taken = 0
    for condition in np.geomspace(10, 1e5, 9):
        blocks = list(system(np.random.default_rng(2), condition))
        if exact_enough(*gathered(blocks, NormalSums)):
            taken += 1
            same(wls(triangulate_long(lambda blocks=blocks: blocks)), wls(triangulate(blocks)), ACCURACY)
    assert 1 < taken < 9


def test_a_joint_that_never_moves_and_one_that_never_rests():
    blocks = list(system(np.random.default_rng(3)))
    for block in blocks:
        block.resting[0], block.resting[1] = True, False
    found, expected = triangulate_long(lambda: blocks), triangulate(blocks)
    same(wls(found), wls(expected), ACCURACY)


def packed(block):
    """The same block, each joint's rows without the columns that are zero for it."""
    joints, columns, samples = block.shape
    own = [np.flatnonzero(block.rows[j].any(axis=1)) for j in range(joints)]
    rows = PackedRows(np.zeros((sum(len(one) + 1 for one in own), samples)), own, columns)
    for j, (one, part) in enumerate(zip(own, rows.parts, strict=True)):
        rows.values[part] = block.rows[j, one]
    return replace(block, rows=rows)


@pytest.mark.parametrize('rest', [False, True])
def test_rows_without_their_zeros_have_the_same_sums(rest):
    """Which columns a joint has may change from block to block, as those of two recordings."""
    blocks = list(system(np.random.default_rng(4), rest=rest))
    blocks[1].rows[0, 3] = 0.0
    found, expected = gathered((packed(block) for block in blocks), NormalSums), gathered(blocks, NormalSums)
    for one, other in zip(found, expected, strict=True):
        if not rest and other is None:
            assert one is None
            continue
        # Sums of 4000 products of rounded numbers, whose sizes are those of the diagonal.
        size = np.sqrt(np.einsum('jii->ji', other.matrices))
        scale = np.einsum('ji,jk->jik', size, size)
        assert np.all(np.abs(one.matrices - other.matrices) <= 4000 * np.finfo(float).eps * scale)
        np.testing.assert_array_equal(one.counts, other.counts)
        np.testing.assert_array_equal(one.own, other.own)


def test_a_column_that_only_rows_at_rest_show_is_shown():
    rng = np.random.default_rng(0)
    sums = [NormalSums(1, 3), NormalSums(1, 3)]
    for part, columns in zip(sums, ([0, 1], [1, 2]), strict=True):
        rows = np.zeros((4, 1000))
        rows[columns] = rng.normal(size=(2, 1000))
        rows[3] = rows.sum(axis=0) + 0.1 * rng.normal(size=1000)
        part.add(0, np.arange(3), rows, 1000.0)
    assert exact_enough(*sums)
    assert not exact_enough(sums[0], None)
