"""Running medians against scipy's."""

import numpy as np
import pytest
from scipy.ndimage import median_filter

from joint_dynamics.signals.median import running_median


@pytest.mark.parametrize('size', [1, 3, 5, 7, 21])
@pytest.mark.parametrize('length', [1, 2, 5, 40, 4096, 9001])
def test_it_is_the_median_of_the_neighbours(size, length):
    rng = np.random.default_rng(size + length)
    # ties, plateaus and jumps
    for x in (rng.normal(size=length), rng.integers(0, 4, length).astype(float), np.cumsum(rng.normal(size=length))):
        assert np.array_equal(running_median(x, size), median_filter(x, size=size, mode='nearest'))
