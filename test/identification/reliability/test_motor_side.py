"""A motor that was recorded on its own side."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.reliability.motor_side import motor_side_reasons
from joint_dynamics.recording import Recording

NAMES = ('a', 'b')


def recorded(samples=200, **signals):
    t = 0.01 * np.arange(samples)
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    return Recording(NAMES, t, q, name='run', **{name: value(q) for name, value in signals.items()})


@pytest.mark.parametrize(
    ('ratio', 'what'),
    [(-1.05, 'turns the other way'), *((ratio, 'not reflected to the joint side') for ratio in (100.0, 0.85, -1.2))],
)
def test_a_motor_on_its_own_side_is_told_with_its_ratio(ratio, what):
    run = recorded(theta=lambda q: q * [ratio, 1.09] + 3.0)
    (reason,) = motor_side_reasons(run)
    assert reason.code == 'motor_side'
    for part in (f'motor of a turns {ratio:.4g} rad', what, 'recording.motor_states.gear_ratio'):
        assert part in reason.text
    assert list(motor_side_reasons(replace(run, q=run.q * 0.1 / np.ptp(run.q, axis=0)))) == []
    assert list(motor_side_reasons(recorded())) == []
