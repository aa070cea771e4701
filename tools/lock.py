"""Write constraints.txt: the exact version of everything that `make env` installs, for each Python given.

`python tools/lock.py python3.10 python3.11 …` (make lock). Each interpreter resolves what setup.py asks for, in an
environment of its own, by its own pip and from whatever index that is set up for; nothing is installed. What differs
between them gets a marker. No address is written.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
WANTED = '.[ros,sdp,mujoco,dask,dev,docs]'
HEADER = '# What `make env` installs, exactly, by Python version (x86-64 Linux). Written by `make lock`.\n'


def version_of(python: str) -> str:
    """Return `3.11` of an interpreter."""
    command = [python, '-c', 'import sys; print("%d.%d" % sys.version_info[:2])']
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def resolved(python: str) -> dict[str, str]:
    """Return version by name of all that WANTED needs with this interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, '-m', 'venv', folder], check=True)
        pip, report = [f'{folder}/bin/python', '-m', 'pip', 'install', '--quiet'], Path(folder) / 'report.json'
        subprocess.run([*pip, '--upgrade', 'pip'], check=True)
        subprocess.run([*pip, '--dry-run', '--report', str(report), WANTED], check=True, cwd=ROOT)
        found = [item['metadata'] for item in json.loads(report.read_text())['install']]
    names = {re.sub(r'[-_.]+', '-', item['name']).lower(): item['version'] for item in found}
    names.pop('joint-dynamics')
    return names


def lines(by_python: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return one line for each name, or for each Python where they differ."""
    written = []
    for name in sorted(set().union(*by_python.values())):
        versions = {python: found[name] for python, found in by_python.items() if name in found}
        if len(versions) == len(by_python) and len(set(versions.values())) == 1:
            written.append(f'{name}=={next(iter(versions.values()))}')
        else:
            written += [f"{name}=={version} ; python_version == '{python}'" for python, version in versions.items()]
    return written


def main() -> int:
    """Resolve and write; return the exit status."""
    by_python = {}
    for python in sys.argv[1:]:
        version = version_of(python)
        print(f'resolving for Python {version} ...', flush=True)
        by_python[version] = resolved(python)
    ordered = dict(sorted(by_python.items(), key=lambda item: tuple(map(int, item[0].split('.')))))
    (ROOT / 'constraints.txt').write_text(HEADER + '\n'.join(lines(ordered)) + '\n', encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
