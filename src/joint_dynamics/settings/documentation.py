"""The tables of settings in docs/, from the declarations.

`python -m joint_dynamics.settings.documentation docs` writes them anew. A table stands between
`<!-- settings identification.IdentificationSettings -->` (module and class within `joint_dynamics`) and `<!-- end -->`.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings.base import Settings
from joint_dynamics.settings.table import settings_table

_MARKED = re.compile(r'(<!-- settings (\S+) -->\n)(.*?)(<!-- (\w+)[^\n]*-->|\Z)', re.DOTALL)


def named(page: str) -> list[str]:
    """Return the classes whose tables stand in a page, as `module.Class`."""
    return [match.group(2) for match in _MARKED.finditer(page)]


def filled(page: str) -> str:
    """Return the page with every table of settings as declared. Raises JointDynamicsError for a wrong marker."""

    def table(match: re.Match[str]) -> str:
        if match.group(5) != 'end':
            raise JointDynamicsError(f'<!-- settings {match.group(2)} -->: expected <!-- end --> after it, found none')
        return f'{match.group(1)}\n{settings_table(_settings(match.group(2)))}\n\n{match.group(4)}'

    return _MARKED.sub(table, page)


def _settings(name: str) -> type[Settings]:
    module, _, cls = name.rpartition('.')
    try:
        found = getattr(importlib.import_module(f'joint_dynamics.{module}'), cls)
    except (ImportError, AttributeError):
        found = None
    if not (isinstance(found, type) and issubclass(found, Settings)):
        raise JointDynamicsError(
            f'<!-- settings {name} -->: expected module.Class of settings, found none of that name'
        )
    return found


def main(arguments: list[str] | None = None) -> int:
    """Write the tables of all pages of a folder; return the exit status."""
    (folder,) = sys.argv[1:] if arguments is None else arguments
    for path in sorted(Path(folder).rglob('*.md')):
        page = path.read_text(encoding='utf-8')
        if (new := filled(page)) != page:
            path.write_text(new, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
