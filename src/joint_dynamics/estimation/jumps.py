"""Jumps of the prediction error of a torque: its present level compared with its usual level and with the torque.

A model error, such as friction that is 5 % wrong, is permanent and grows with the torque: it raises the usual level,
but is not a jump.
"""

from __future__ import annotations

import numpy as np

from joint_dynamics.compilation import compiled
from joint_dynamics.estimation.records import record

LEVELS = record('seen excitation short long level usual samples squares torque')
"""Levels of prediction error and torque of one joint: samples since the last jump; s of all; present and usual mean
square of the error, (N·m)², and of the torque; since the last evaluation the samples, Σ ε²/(1 + r) and Σ torque²."""


@compiled
def jumped(s, period, window, share, floor):  # type: ignore[no-untyped-def]
    """Update the levels with the samples since the last evaluation, and return whether the error has jumped.

    Parameters
    ----------
    s
        a record of `LEVELS`.
    period
        s per sample.
    window
        samples over which the present levels are averaged; the usual ones over twenty times as many.
    share
        a jump is detected where the root mean square of the error exceeds this share of that of the torque, and three
        times its own usual level; inf: never.
    floor
        (N·m)², smallest mean square of an error.
    """
    samples, squares, torque = s.samples, s.squares, s.torque
    s.samples = s.squares = s.torque = 0.0
    s.seen += samples
    s.excitation += period * samples
    count = max(s.seen, 1.0)
    present = 1.0 / min(count, window)
    s.short += present * (squares - samples * s.short)
    s.level += present * (torque - samples * s.level)
    # The usual level never learns from a jump: what one sample can add to it is bounded.
    slow = min(samples / min(count, 20.0 * window), 1.0)
    s.usual += slow * (s.level - s.usual)
    s.long += slow * (min(max(s.short, floor), 2.0 * s.long) - s.long)
    # Where little torque is transmitted, that of a friction not yet learnt is a large share of it, and no jump.
    return (
        share < np.inf
        and samples > 0.0
        and s.seen >= window
        and s.short > max(share * share * max(s.level, s.usual), 9.0 * s.long)
    )
