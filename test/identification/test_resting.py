"""Rest in the summary and notes of an identification, and in the document of a description."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.describe import resting_document
from joint_dynamics.identification.regression.stiction import Resting
from joint_dynamics.identification.resting import presliding_notes, resting_of_description, resting_summary

NAMES = ('a', 'b')


@pytest.mark.parametrize('first_ratio', [1.5, np.inf])
def test_rest_is_told_joint_by_joint(first_ratio):
    rng = np.random.default_rng(3)
    parts = []
    for count in (30, 50):
        shape = (3, count)
        resting, first = rng.random(shape) < 0.6, rng.random(shape) < 0.2
        resting[2] = False
        tau, expected, base, doubt = rng.normal(0, 3, shape), *rng.normal(0, 3, (2, *shape)), rng.uniform(0, 1, shape)
        low, high, level = rng.uniform(-1, 0, shape), rng.uniform(0, 1, shape), rng.uniform(0, 5, shape)
        narrow = ~first & (np.arange(count) % 3 == 0)
        ratios = 1.2, first_ratio
        parts.append(Resting('run', resting, tau, expected, base, level, low, high, doubt, first, narrow, *ratios))
    found = resting_summary(parts, ('a', 'b', 'c'))
    whole, unstated = {'count': 0, 'within': 0, 'error': 0.0, 'size': 0.0}, 0
    for j, name in enumerate('abc'):
        count, within, width, error, size = 0, 0, 0.0, 0.0, 0.0
        for part in parts:
            for k in range(part.tau.shape[1]):
                if not part.resting[j, k]:
                    continue
                if part.first[j, k] and np.isinf(first_ratio):
                    unstated += 1
                    continue
                ratio = 1.0 if part.narrow[j, k] else first_ratio if part.first[j, k] else 1.2
                held = ratio * part.level[j, k]
                lower = part.base[j, k] + held * part.low[j, k] - part.half_width[j, k]
                upper = part.base[j, k] + held * part.high[j, k] + part.half_width[j, k]
                count += 1
                within += lower <= part.tau[j, k] <= upper
                width += (upper - lower) / 2
                error += (part.tau[j, k] - part.expected[j, k]) ** 2
                size += part.tau[j, k] ** 2
        if count:
            assert found['within_percent'][name] == pytest.approx(100 * within / count)
            assert found['half_width'][name] == pytest.approx(width / count)
            assert found['residual_percent'][name] == pytest.approx(100 * math.sqrt(error / size))
        else:
            assert {found[key][name] for key in ('within_percent', 'half_width', 'residual_percent')} == {None}
        for key, value in (('count', count), ('within', within), ('error', error), ('size', size)):
            whole[key] += value
    assert (found['samples'], found['unstated']) == (whole['count'], unstated)
    assert found['within_percent']['overall'] == pytest.approx(100 * whole['within'] / whole['count'])
    assert found['residual_percent']['overall'] == pytest.approx(100 * math.sqrt(whole['error'] / whole['size']))
    assert found['breakaway_ratio'] == 1.2
    own = [found['residual_percent'][name] for name in 'abc' if found['residual_percent'][name] is not None]
    mixed = resting_summary(parts, ('a', 'b', 'c'), mixed=True)['residual_percent']
    assert mixed['overall'] == pytest.approx(math.sqrt(sum(value**2 for value in own) / len(own)))
    assert found['first_breakaway_ratio'] == (first_ratio if np.isfinite(first_ratio) else None)
    assert resting_summary([], NAMES) == {'samples': 0, 'unstated': 0}


def test_whether_presliding_is_used_is_noted_by_reason():
    def found(**changes):
        return {'length': 1e-3, 'used': False, 'encoder_step': 1e-5, 'steps': 50.0, **changes}

    used = found(used=True)
    joints = {
        'a': found(length=None), 'b': used, 'c': found(encoder_step=None), 'd': found(steps=None),
        'e': found(steps=3.456), 'f': found(), 'g': used, 'h': found(steps=10.0),
    }  # fmt: skip
    notes = presliding_notes({'presliding': joints})
    for note, parts in zip(
        notes,
        (
            ('b, g: ', 'narrows their interval'), ('c: ', 'not used', 'no step', '`encoder_step`'),
            ('d: ', 'not used', 'means of periods', '`period: 0`'), ('e: ', 'not used', '3.5 steps', '10 are needed'),
            ('f, h: ', 'not used', 'too few or do not bear it out'),
        ),
        strict=True,
    ):  # fmt: skip
        assert [part for part in parts if part not in note] == []


def test_rest_of_a_description_that_is_none():
    arm = SimpleNamespace(joint_names=NAMES)
    start = 'provenance.resting: expected what `identify` writes there, found '
    good = {'residual_deviation': {'a': 1.0, 'b': 2.0}, 'first_breakaway_ratio': None, 'breakaway_ratio': 1.1}
    for key, value, what in (
        ('residual_deviation', {'a': 1.0}, "KeyError('b')"), ('breakaway_ratio', 'x', 'ValueError('),
        ('breakaway_ratio', None, 'TypeError('),
    ):  # fmt: skip
        with pytest.raises(JointDynamicsError, match=re.escape(f'{start}{what}')):
            resting_of_description(arm, {**good, key: value}, None, None)


def test_rest_as_a_description_has_it(made_result):
    solution = replace(made_result().solution, sigma=np.array([0.12345678, 2.0]))
    training = {'breakaway_ratio': 1.25, 'first_breakaway_ratio': None}
    assert resting_document(made_result(solution=solution, resting={'training': training}))['resting'] == {
        **training, 'residual_deviation': {'a': 0.123457, 'b': 2.0},
    }  # fmt: skip
    assert resting_document(made_result(resting={'training': {}}))['resting']['breakaway_ratio'] == 1.0
    assert resting_document(made_result()) == {}
