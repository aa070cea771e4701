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

"""Public docstrings name every parameter, shape and unit of arrays, and errors raised."""

import ast
import inspect
import re
import textwrap

import pytest

import joint_dynamics
from joint_dynamics.settings import Settings

ARRAY = re.compile(r'FloatArray|BoolArray|IntArray|ArrayLike|NDArray|\bArray\b')
DIMENSION = r'(?:…|\d*[A-Za-z]|\d+|samples|joints|parameters|len\(\w+\))(?: ?[-+] ?\w+)?'
SHAPE = re.compile(rf'\({DIMENSION}(?:, ?{DIMENSION})*,?\)|[Ss]ame shape')
UNIT = re.compile(
    r'rad|N·m|°C|\bHz\b|\bkg\b|%|\bSI\b|\bns\b|\bA\b|\bs\b|\bm\b|\bbool\b|\bindices\b|without unit', re.UNICODE
)
OURS = ('JointDynamicsError', 'NotReliableError')


def described():
    """Yield name, function, its docstring and that of its class, of every public name.

    Fields of settings and dataclasses are documented by their class.
    """
    for name in joint_dynamics.__all__:
        found = getattr(joint_dynamics, name)
        if inspect.isfunction(found):
            yield name, found, inspect.getdoc(found), ''
        if not inspect.isclass(found):
            continue
        for attribute in sorted({name for cls in found.__mro__ if cls is not Settings for name in vars(cls)}):
            cls = next(cls for cls in found.__mro__ if attribute in vars(cls))
            value = vars(cls)[attribute]
            function = value.fget if isinstance(value, property) else getattr(value, '__func__', value)
            if not (inspect.isfunction(function) and cls.__module__.startswith('joint_dynamics.')) or cls is Settings:
                continue
            about = inspect.getdoc(cls) or ''
            if attribute == '__init__' and not hasattr(cls, '__dataclass_fields__'):
                yield name, function, about, about
            elif not attribute.startswith('_'):
                yield f'{name}.{attribute}', function, inspect.getdoc(function) or '', about


def raises(function):
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and any(ours in ast.dump(node) for ours in OURS) for node in ast.walk(tree))


def missing(function, own, about):
    """Return the omissions of a docstring."""
    found = [
        f'parameter {name}'
        for name in inspect.signature(function).parameters
        if name not in ('self', 'cls') and not re.search(rf'(?<!\w){name}(?!\w)', own + about)
    ]
    arrays = [name for name, kind in function.__annotations__.items() if ARRAY.search(str(kind))]
    if arrays and not SHAPE.search(own):
        found.append(f'shape of {", ".join(arrays)}')
    if arrays and not UNIT.search(own):
        found.append(f'unit of {", ".join(arrays)}')
    if raises(function) and not re.search(r'\b[Rr]aises?\b', own + about):
        found.append('what it raises')
    return found


PUBLIC = list(described())


@pytest.mark.parametrize(('function', 'own', 'about'), [item[1:] for item in PUBLIC], ids=[item[0] for item in PUBLIC])
def test_docstring_names_parameters_shapes_units_and_errors(function, own, about):
    assert missing(function, own, about) == []
