"""Running medians against scipy's."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import median_filter

from joint_dynamics.signals.filtering import running_median


@pytest.mark.parametrize('size', [1, 3, 5, 7, 21])
@pytest.mark.parametrize('length', [1, 2, 5, 40, 4096, 9001])
def test_it_is_the_median_of_the_neighbours(size, length):
    rng = np.random.default_rng(size + length)
    # ties, plateaus and jumps
    for x in (rng.normal(size=length), rng.integers(0, 4, length).astype(float), np.cumsum(rng.normal(size=length))):
        found = running_median(x, size)
        around = sliding_window_view(np.pad(x, size // 2, mode='edge'), size)
        assert np.array_equal(found, np.median(around, axis=1))
        if length >= size:  # scipy 1.15 gives zeros for a window longer than the signal
            assert np.array_equal(found, median_filter(x, size=size, mode='nearest'))
