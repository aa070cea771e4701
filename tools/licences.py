"""Write docs/reference/licences.md: the licence of every package that `make env` installs, from its own metadata.

`python tools/licences.py` (make licences), in the environment that `make env` has made.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution, requires
from pathlib import Path
from xml.etree import ElementTree

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PAGE = ROOT / 'docs' / 'reference' / 'licences.md'
NOTHING = 'not stated in its metadata'
SHIPPED = (
    "| uPlot 1.6.32 (`report/page/`) | MIT, text in every report | draws the reports' figures, no network: 51 kB,"
    " plotly's smallest is 1 MB |"
)
HEADER = f"""# Licences

joint_dynamics is under the [Apache License 2.0](../../LICENSE). Of others it ships uPlot alone; what it needs is
installed beside it, each under its own licence, as the package's metadata (of ROS: its manifest) state it. Written by
`make licences`; exact versions: `constraints.txt`.

## Shipped with it
| library and place | licence | why |
| --- | --- | --- |
{SHIPPED}

## Asked for by joint_dynamics
| package | licence | for |
| --- | --- | --- |
"""
FURTHER = """
## Brought by those
| package | licence |
| --- | --- |
"""


def canonical(name: str) -> str:
    """Return a name as indices compare it."""
    return re.sub(r'[-_.]+', '-', name).lower()


def licence(found: Distribution) -> str:
    """Return what the metadata of a package say of its licence."""
    metadata = found.metadata
    if expression := metadata.get('License-Expression'):
        return expression
    classifiers = [
        line.rpartition(' :: ')[2]
        for line in metadata.get_all('Classifier') or ()
        if line.startswith('License ::') and line.count('::') > 1
    ]
    text = (metadata.get('License') or '').strip()
    # Some put the whole text there.
    short = text.splitlines()[0].strip() if text else ''
    if classifiers:
        return ', '.join(classifiers)
    if short and len(short) < 80:
        return short
    return in_manifest(canonical(metadata['Name'])) or NOTHING


def in_manifest(name: str) -> str:
    """Return the licence in the manifest of a ROS package, whose metadata for Python have none; empty: no manifest."""
    package = name.removeprefix('ros-').removeprefix('jazzy-').replace('-', '_')
    manifest = Path(sys.prefix) / 'share' / package / 'package.xml'
    if not name.startswith('ros-') or not manifest.is_file():
        return ''
    return ', '.join((item.text or '').strip() for item in ElementTree.parse(manifest).iterfind('license'))


def direct() -> dict[str, list[str]]:
    """Return what joint_dynamics asks for by name, each with the extras that need it ('' : always)."""
    found: dict[str, list[str]] = {}
    for line in requires('joint_dynamics') or ():
        requirement = Requirement(line)
        extra = re.search(r"extra == '([^']*)'|extra == \"([^\"]*)\"", str(requirement.marker or ''))
        found.setdefault(canonical(requirement.name), []).append((extra.group(1) or extra.group(2)) if extra else '')
    return found


def locked() -> list[str]:
    """Return the names of all packages in constraints.txt."""
    text = (ROOT / 'constraints.txt').read_text(encoding='utf-8')
    return sorted({line.partition('==')[0] for line in text.splitlines() if '==' in line})


def page() -> str:
    """Return the page for what is installed here."""
    asked = direct()
    rows = [f'| {name} | {licence(distribution(name))} | {purpose(asked[name])} |\n' for name in sorted(asked)]
    further = []
    for name in locked():
        try:
            if name not in asked:
                further.append(f'| {name} | {licence(distribution(name))} |\n')
        except PackageNotFoundError:
            continue  # of another Python than this
    return HEADER + ''.join(rows) + FURTHER + ''.join(further)


def purpose(extras: list[str]) -> str:
    """Return in words what a package is for."""
    return 'always' if '' in extras else ', '.join(f'extra `{extra}`' for extra in sorted(set(extras)))


def main() -> int:
    """Write the page; return the exit status."""
    PAGE.write_text(page(), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
