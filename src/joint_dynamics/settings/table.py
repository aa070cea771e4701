"""Settings and parameters as the tables of the documentation."""

from __future__ import annotations

from typing import Any

from joint_dynamics.settings.base import Settings
from joint_dynamics.settings.declaration import Declaration, declarations, default_of
from joint_dynamics.settings.parameter import Parameter

_KINDS = {float: 'a number', int: 'a whole number', bool: 'true or false', str: 'a text'}


def settings_table(cls: type[Settings]) -> str:
    """Return the settings of a class as a Markdown table."""
    lines = ['| setting | default | allowed | meaning |', '| --- | --- | --- | --- |']
    for name, (item, declared) in declarations(cls).items():
        default = default_of(item)
        meaning = declared.meaning + (f'; null: {declared.none}' if declared.none else '')
        lines.append(f'| `{name}` | {_default(default)} | {_allowed(declared, default)} | {_cell(meaning)} |')
    return '\n'.join(lines)


def parameter_cells(row: Parameter) -> tuple[str, str, str, str]:
    """Return name, default, what is allowed and meaning of a parameter, as cells of a Markdown table."""
    is_list = isinstance(row.default, list)
    kind = row.element if is_list else type(row.default)
    allowed = ('list; ' if is_list else '') + (row.declared.rule or row.unit or _KINDS[kind])
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
    if isinstance(default, bool) and not declared.choices:
        return 'true or false'
    rule = ('true, false or ' if isinstance(default, bool) else '') + (declared.rule or declared.unit)
    if declared.length:
        rule = f'{declared.length} values' + (f', {rule}' if rule else '')
    return _cell(rule or '–')


def _cell(text: str) -> str:
    return text.replace('|', '\\|')
