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

"""Generate the tables of settings in docs/ from the declarations of the settings.

`python -m joint_dynamics.settings.documentation docs` rewrites all tables. A table stands between the markers
`<!-- settings identification.IdentificationSettings -->` (module and class within `joint_dynamics`) and `<!-- end -->`.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings.base import Settings
from joint_dynamics.settings.declaration import Declaration, declarations, default_of
from joint_dynamics.settings.parameter import Parameter

#: of a parameter without bounds, unit or choices; the default shows that it is a text or true or false
_KINDS = {float: 'a number', int: 'a whole number', bool: '', str: ''}


def settings_table(cls: type[Settings]) -> str:
    """Return the settings of a class as a Markdown table."""
    lines = ['| setting | default | allowed | meaning |', '| --- | --- | --- | --- |']
    for name, (item, declared) in declarations(cls).items():
        default = default_of(item)
        meaning = declared.meaning + (f'; null: {declared.none}' if declared.none else '')
        lines.append(f'| `{name}` | {_default(default)} | {_allowed(declared, default)} | {_cell(meaning)} |')
    return '\n'.join(lines)


def parameter_cells(row: Parameter) -> tuple[str, str, str, str]:
    """Return name, default, allowed values and meaning of a parameter, as cells of a Markdown table."""
    is_list = isinstance(row.default, list)
    kind = row.element if is_list else type(row.default)
    allowed = _rule(row.declared) or _KINDS[kind]
    if is_list:
        allowed = f'list; {allowed}' if allowed else 'list'
    return (
        f'`{row.name}.<joint>`' if row.per_joint else f'`{row.name}`',
        _default(row.default),
        allowed,
        _cell(row.description),
    )


def _default(default: Any) -> str:
    if default is ...:
        return 'needed'
    if isinstance(default, Settings):
        return 'section'
    words = {None: 'null', True: 'true', False: 'false'}
    if default is None or isinstance(default, bool):
        return f'`{words[default]}`'
    if isinstance(default, float):
        return f'`{float(f"{default:.6g}")!r}`'
    return f'`{list(default) if isinstance(default, tuple) else default!r}`'


def _allowed(declared: Declaration, default: Any) -> str:
    rule = ('true, false, ' if isinstance(default, bool) and declared.choices else '') + _rule(declared)
    if declared.length:
        rule = f'{declared.length} values' + (f', {rule}' if rule else '')
    return _cell(rule)


def _rule(declared: Declaration) -> str:
    return ', '.join(declared.choices) or declared.rule or declared.unit


def _cell(text: str) -> str:
    return text.replace('|', '\\|')


_MARKED = re.compile(r'(<!-- settings (\S+) -->\n)(.*?)(<!-- (\w+)[^\n]*-->|\Z)', re.DOTALL)


def named(page: str) -> list[str]:
    """Return the names in the `settings` markers of a page, as `module.Class`."""
    return [match.group(2) for match in _MARKED.finditer(page)]


def filled(page: str) -> str:
    """Return the page with regenerated tables of settings. Raises JointDynamicsError for a wrong marker."""

    def table(match: re.Match[str]) -> str:
        if match.group(5) != 'end':
            raise JointDynamicsError(f'<!-- settings {match.group(2)} -->: expected <!-- end --> after it, found none')
        return f'{match.group(1)}\n{settings_table(_settings(match.group(2)))}\n\n{match.group(4)}'

    return _MARKED.sub(table, page)


def _settings(name: str) -> type[Settings]:
    module, _, cls = name.rpartition('.')
    try:
        settings = getattr(importlib.import_module(f'joint_dynamics.{module}'), cls)
    except (ImportError, AttributeError):
        settings = None
    if not (isinstance(settings, type) and issubclass(settings, Settings)):
        raise JointDynamicsError(f'<!-- settings {name} -->: expected module.Class of settings, found no such class')
    return settings


def main(arguments: list[str] | None = None) -> int:
    """Rewrite the tables in all pages of a folder; return the exit status."""
    (folder,) = sys.argv[1:] if arguments is None else arguments
    for path in sorted(Path(folder).rglob('*.md')):
        page = path.read_text(encoding='utf-8')
        if (new := filled(page)) != page:
            path.write_text(new, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
