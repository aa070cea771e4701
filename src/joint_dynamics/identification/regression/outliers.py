"""Gross outliers of the measured torque, taken out before the filters.

A parallel filter spreads each spike over all rows within its reach: with one sample in ten wrong, every row is. So
spikes are detected at the full rate against the predicted torque, and replaced by the prediction plus the mean residual
of the good samples around them. Alternately estimating and replacing is an EM iteration, whose result does not depend
on the replaced values.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.residuals import full_rate_torque

GROSS = 5.0
"""Residual beyond which a sample counts as grossly wrong, in robust deviations."""
MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


def find_outliers(problem: Problem, chi: FloatArray, gross: float = GROSS) -> tuple[list[BoolArray], list[FloatArray]]:
    """Return, per observation, which samples are gross outliers, (samples, n) bool, and the residuals [N·m].

    The deviation of a joint is that of all observations together, robustly: more than half of the samples have to be
    good.
    """
    residuals = [observation.tau - full_rate_torque(problem, observation, chi) for observation in problem.observations]
    pooled = np.concatenate(residuals)
    deviation = MAD * np.median(np.abs(pooled), axis=0)
    # data without noise: what is left is rounding, and nothing stands out
    floor = 1e-6 * np.sqrt(
        np.mean([np.mean(observation.tau**2, axis=0) for observation in problem.observations], axis=0)
    )
    return [np.abs(residual) > gross * np.maximum(deviation, floor) for residual in residuals], residuals


def cleaned(problem: Problem, chi: FloatArray, gross: float = GROSS) -> tuple[Problem, list[BoolArray]]:
    """Return the problem with gross outliers of the torque replaced, and where: (samples, n) bool per observation.

    Observations without a parallel filter are not changed: their rows are samples, and weights are sufficient.
    """
    wrong, residuals = find_outliers(problem, chi, gross)
    wrong = [
        np.zeros_like(mask) if observation.decimator is None else mask
        for mask, observation in zip(wrong, problem.observations, strict=True)
    ]
    if not any(mask.any() for mask in wrong):
        return problem, wrong
    from scipy.ndimage import uniform_filter1d  # here, as `identify` imports this module and mostly has no outliers

    torques = []
    for mask, residual, observation in zip(wrong, residuals, problem.observations, strict=True):
        size = 3 if observation.decimator is None else observation.decimator.half + 1
        good = uniform_filter1d((~mask).astype(float), size, axis=0)
        near = uniform_filter1d(np.where(mask, 0.0, residual), size, axis=0) / np.maximum(good, 1.0 / size)
        torques.append(np.where(mask, observation.tau - residual + near, observation.tau))
    return problem.with_torque(torques), wrong
