# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""One declaration per setting gives the check, the conversion and the table."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Settings, declarations, setting
from joint_dynamics.settings.documentation import settings_table


@dataclass(frozen=True)
class Inner(Settings):
    mass: float = setting(1.0, 'of the body', 'kg', above=0)


@dataclass(frozen=True)
class Example(Settings):
    SECTION = 'example'
    window: float = setting(0.1, 'length of the smoother', 's', above=0, upper=10)
    count: int = setting(3, 'how many', lower=1)
    kind: str = setting('taper', 'shape', choices=('taper', 'flat'))
    on: bool = setting(True, 'whether')
    limit: float | None = setting(None, 'largest value; none: no limit', 'N·m', lower=0)
    pair: tuple[float, ...] = setting((0.4, -0.05), 'bounds', length=2)
    gain: float | Mapping[str, float] = setting(0.0, 'of all joints, or by name', lower=0, below=1)
    names: Sequence[str] = setting((), 'names')
    memory: float = setting(5.0, 'time after which it has forgotten', 's', above=0, infinite=True)
    inner: Inner = setting(Inner(), 'a part')
    free: Any = setting(None, 'anything')

    def check(self) -> None:
        if self.pair[0] < self.pair[1]:
            raise JointDynamicsError(f'{self.SECTION}.pair: expected the larger first, found {self.pair}')


def test_defaults_are_as_declared():
    settings = Example()
    assert (settings.window, settings.count, settings.pair, settings.inner) == (0.1, 3, (0.4, -0.05), Inner())
    with pytest.raises(FrozenInstanceError):
        settings.window = 2.0
    names = ['window', 'count', 'kind', 'on', 'limit', 'pair', 'gain', 'names', 'memory', 'inner', 'free']
    assert list(declarations(Example)) == names


@pytest.mark.parametrize(
    ('name', 'value', 'kept'),
    [
        ('window', 1, 1.0),
        ('window', np.float32(0.5), 0.5),
        ('count', 7.0, 7),
        ('limit', None, None),
        ('limit', 0, 0.0),
        ('pair', [2, 1], (2.0, 1.0)),
        ('pair', np.array([2.0, 1.0]), (2.0, 1.0)),
        ('gain', 0.5, 0.5),
        ('gain', {'a': 0}, {'a': 0.0}),
        ('names', ['a'], ('a',)),
        ('memory', math.inf, math.inf),
        ('inner', {'mass': 2}, Inner(2.0)),
        ('free', object, object),
    ],
)
def test_values_get_the_declared_type(name, value, kept):
    found = getattr(Example(**{name: value}), name)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ('name', 'value', 'place'),
    [
        ('window', 0, 'window'),
        ('window', '1', 'window'),
        ('window', math.nan, 'window'),
        ('window', math.inf, 'window'),
        ('window', True, 'window'),
        ('window', None, 'window'),
        ('count', 0, 'count'),
        ('count', 1.5, 'count'),
        ('kind', 'round', 'kind'),
        ('on', 1, 'on'),
        ('limit', -1, 'limit'),
        ('pair', [1], 'pair'),
        ('pair', 'ab', 'pair'),
        ('pair', [1, 'x'], 'pair[1]'),
        ('pair', [1, 2], 'pair'),
        ('gain', 1, 'gain'),
        ('gain', {'a': 2}, 'gain.a'),
        ('names', [1], 'names[0]'),
        ('memory', math.nan, 'memory'),
        ('inner', {'mass': 0}, 'inner.mass'),
        ('inner', 3, 'inner'),
        ('inner', {'mas': 1}, 'inner'),
    ],
)
def test_error_names_the_place_of_a_wrong_value(name, value, place):
    with pytest.raises(JointDynamicsError) as refused:
        Example(**{name: value})
    assert str(refused.value).startswith(f'example.{place}: ')


def test_unknown_keys_are_refused_with_the_nearest_name():
    assert Example.from_mapping({'window': 2}).window == 2.0
    assert Example.from_mapping(None) == Example()
    assert Example().replaced(count=5).count == 5
    for make in (lambda: Example.from_mapping({'widow': 2}), lambda: Example().replaced(widow=2)):
        with pytest.raises(JointDynamicsError, match=r"'widow'.*window\?"):
            make()
    for make in (lambda: Example.from_mapping(3, 'part'), lambda: Example().replaced(count=-5)):
        with pytest.raises(JointDynamicsError):
            make()


@examples(max_examples=50)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    st.sampled_from([name for name in declarations(Example) if name != 'free']),
)
def test_any_value_is_kept_or_refused_in_one_line(value, name):
    settings = None
    with contextlib.suppress(JointDynamicsError):
        settings = Example(**{name: value})
    if settings is not None:
        assert Example(**{name: getattr(settings, name)}) == settings
        return
    with pytest.raises(JointDynamicsError, match=r'\Aexample\.[^\n]*: expected [^\n]*, found [^\n]*\Z'):
        Example(**{name: value})


def test_the_table_has_a_row_per_setting():
    rows = settings_table(Example).splitlines()
    assert len(rows) == 2 + 11
    assert '| `window` | `0.1` | > 0 and ≤ 10 s | length of the smoother |' in rows
    assert '| `on` | `true` |  | whether |' in rows
    assert '| `pair` | `[0.4, -0.05]` | 2 values | bounds |' in rows
