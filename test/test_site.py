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

"""The site of docs/ builds without a warning and without the network, and every page of it stands by itself."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

# A mark: launch_testing's collector imports every module beside test/launch, and a module that skips itself there takes
# that folder along.
pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ('sphinx', 'myst_parser', 'furo'))), reason='the extra docs is not installed'
)

DOCS = Path(__file__).parents[1] / 'docs'
PAGES = sorted(str(path.relative_to(DOCS).with_suffix('.html')) for path in DOCS.rglob('*.md'))
# Fails whoever looks up a name or connects; Sphinx is started in this interpreter's environment.
OFFLINE = """
import sys

def watch(event, arguments):
    if event in ('socket.getaddrinfo', 'socket.connect'):
        raise PermissionError(f'the network is not to be asked: {event} {arguments}')

sys.addaudithook(watch)
"""


def build(source, out):
    """Build as `make docs` does; return the process."""
    command = [sys.executable, '-m', 'sphinx', '-q', '-E', '-W', '--keep-going', '-n', '-d', out / 'doctrees', source]
    hook = out / 'hook'
    hook.mkdir(parents=True)
    (hook / 'sitecustomize.py').write_text(OFFLINE, encoding='utf-8')
    environment = {**os.environ, 'PYTHONPATH': f'{hook}{os.pathsep}{os.environ.get("PYTHONPATH", "")}'}
    return subprocess.run(
        [*command, out / 'site'], capture_output=True, text=True, check=False, env=environment, cwd=out
    )


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp('site')
    done = build(DOCS, out)
    assert done.returncode == 0, done.stderr
    return {name: (out / 'site' / name).read_text(encoding='utf-8') for name in PAGES}


@pytest.mark.slow
def test_every_page_is_on_the_site(site):
    assert len(site) > 45
    assert all('</html>' in page for page in site.values())


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere(site):
    loaded = {
        address
        for page in site.values()
        for address in re.findall(r'<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="([^"]+)"', page)
    }
    assert loaded
    assert sorted(address for address in loaded if re.match(r'(https?:)?//', address)) == []


@pytest.mark.slow
def test_formulas_are_set_by_the_build(site):
    assert '<mfrac>' in site['explanation/errata.html']
    # MyST names MathJax in a class, so that it leaves the page alone; what must not be there is its script
    assert not any('\\frac' in page or re.search(r'<script[^>]*mathjax', page.lower()) for page in site.values())


def test_dead_links_and_wrong_formulas_fail_the_build(tmp_path):
    source = tmp_path / 'docs'
    (source / 'static').mkdir(parents=True)
    (source / 'conf.py').write_text((DOCS / 'conf.py').read_text(encoding='utf-8') + '\nCONTENTS = {"": ["other"]}\n')
    (source / 'static' / 'site.css').write_text('')
    (source / 'other.md').write_text('# Other\n')
    wrong = '[file](gone.md), [anchor](#nowhere), [anchor](other.md#absent)\n\n$$\\nonsense{x}$$\n'
    (source / 'index.md').write_text(f'# Index\n\n{wrong}')
    done = build(source, tmp_path)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert [word for word in ('gone.md', 'nowhere', 'absent', 'nonsense') if word not in said] == []
