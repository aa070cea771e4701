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

"""Reports to look at, and a browser to look at them with.

The browser has no window and is told what to do by its own protocol over a pipe: no driver, no socket, no network.
"""

import base64
import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.excitation import PlanSettings, plan
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.joint_tests.result import JointTestResult, Plot, Value
from joint_dynamics.identification.joint_tests.result import Series as Line
from joint_dynamics.recording import Recording
from joint_dynamics.report.excitation import excitation_report
from joint_dynamics.report.identification import identification_report
from joint_dynamics.report.joint import joint_report
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
QUIET = (
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
    '--hide-scrollbars',
)  # fmt: skip
LIGHT = 'light'
#: s; what takes longer does not come.
PATIENCE = 120.0


def executable():
    """Path of a browser, None where there is none; $BROWSER_FOR_TESTS goes first."""
    given = os.environ.get('BROWSER_FOR_TESTS')
    return given or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with one page; a context manager. `problems`: errors of the console, and requests to anywhere."""

    def __init__(self, folder: Path):
        self._ids = itertools.count(1)
        self.problems = []
        self._events = []
        here, there = os.pipe(), os.pipe()
        command = [executable(), *QUIET, f'--user-data-dir={folder}', '--remote-debugging-pipe', 'about:blank']

        def descriptors():
            # The browser reads from 3 and writes to 4.
            os.dup2(here[0], 103)
            os.dup2(there[1], 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self._process = subprocess.Popen(
            command, preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(here[0])
        os.close(there[1])
        self._out, self._in = os.fdopen(here[1], 'wb', buffering=0), os.fdopen(there[0], 'rb', buffering=0)
        self._rest = b''
        target = next(item for item in self._call('Target.getTargets')['targetInfos'] if item['type'] == 'page')
        self._session = None
        self._session = self._call('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        with contextlib.suppress(OSError, EOFError):
            self._call('Browser.close')
        self._process.wait(PATIENCE)
        self._out.close()
        self._in.close()

    def call(self, method, **parameters):
        """Return the answer to one command of the protocol, to the page."""
        return self._call(method, self._session, **parameters)

    def _call(self, method, session=None, **parameters):
        number = next(self._ids)
        message = {'id': number, 'method': method, 'params': parameters}
        if session is not None:
            message['sessionId'] = session
        self._out.write(json.dumps(message).encode() + b'\0')
        while True:
            answer = self._read()
            if answer.get('id') == number:
                assert 'error' not in answer, f'{method}: {answer["error"]}'
                return answer['result']
            self._note(answer)

    def _read(self):
        while b'\0' not in self._rest:
            part = self._in.read(1 << 16)
            if not part:
                raise EOFError('expected the browser to go on, found that it ended')
            self._rest += part
        line, _, self._rest = self._rest.partition(b'\0')
        return json.loads(line)

    def _note(self, event):
        method, about = event.get('method'), event.get('params', {})
        if method == 'Runtime.exceptionThrown':
            details = about['exceptionDetails']
            self.problems.append(details.get('exception', {}).get('description', details['text']))
        elif method == 'Runtime.consoleAPICalled' and about['type'] in ('error', 'warning', 'assert'):
            self.problems.append(' '.join(str(item.get('value', item)) for item in about['args']))
        elif method == 'Log.entryAdded' and about['entry']['level'] in ('error', 'warning'):
            self.problems.append(about['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            url = about['request']['url']
            if not url.startswith(('file:', 'data:', 'about:', 'blob:')):
                self.problems.append(f'asked for {url}')
        elif method == 'Page.loadEventFired':
            self._events.append(method)

    def show(self, page: Path, width=1180, height=900, colours=LIGHT, scale=1.0):
        """Open a file in a window of that size and in these colours, and wait until it is loaded."""
        self.size(width, height, scale)
        self.colours(colours)
        self._events.clear()
        self.call('Page.navigate', url=page.resolve().as_uri())
        while not self._events:
            self._note(self._read())

    def size(self, width, height, scale=1.0):
        """Set the size of the window in pixels of CSS; narrow ones are phones."""
        self.call(
            'Emulation.setDeviceMetricsOverride',
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )

    def colours(self, colours):
        """Set the preference of the system: light or dark, and no motion by itself."""
        wanted = {'prefers-color-scheme': colours, 'prefers-reduced-motion': 'reduce'}
        features = [{'name': name, 'value': value} for name, value in wanted.items()]
        self.call('Emulation.setEmulatedMedia', features=features)

    def run(self, script):
        """Return the value of an expression in the page; a promise is waited for."""
        answer = self.call('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
        assert 'exceptionDetails' not in answer, answer['exceptionDetails']
        return answer['result'].get('value')

    def until(self, condition):
        """Wait until an expression in the page is true; looked at whenever the page is drawn."""
        said = json.dumps(f'expected {condition}')
        self.run(
            f'(async () => {{ const late = Date.now() + {1e3 * PATIENCE}; while (!({condition})) {{'
            f' if (Date.now() > late) throw new Error({said});'
            ' await new Promise(done => setTimeout(done, 20)); } })()'
        )

    def press(self, key, shift=False):
        """Press and let go a key, by its name in the DOM."""
        text = key if len(key) == 1 else {'Enter': '\r'}.get(key)
        more = {'text': text} if text else {}
        codes = {'ArrowLeft': 37, 'ArrowRight': 39, 'Tab': 9, 'Enter': 13, 'Escape': 27, ' ': 32}
        common = {'key': key, 'modifiers': 8 if shift else 0, 'windowsVirtualKeyCode': codes.get(key, ord(key[0]))}
        self.call('Input.dispatchKeyEvent', type='keyDown', **common, **more)
        self.call('Input.dispatchKeyEvent', type='keyUp', **common)

    def drag(self, points):
        """Press the mouse at the first point (x, y), move it along the others, let go."""
        (x, y), *more = points
        self.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        self.call('Input.dispatchMouseEvent', type='mousePressed', x=x, y=y, button='left', clickCount=1)
        for x, y in more:
            self.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y, button='left', buttons=1)
        self.call('Input.dispatchMouseEvent', type='mouseReleased', x=x, y=y, button='left', clickCount=1)

    def printed(self):
        """Return a PDF of the page as it is printed."""
        return base64.b64decode(self.call('Page.printToPDF', printBackground=True)['data'])


@pytest.fixture(scope='session')
def browser(tmp_path_factory):
    """A browser, one for all tests of a worker; skipped where there is none."""
    if executable() is None:
        pytest.skip(f'no browser: none of {", ".join(NAMES)} is installed, and $BROWSER_FOR_TESTS names none')
    with Browser(tmp_path_factory.mktemp('browser')) as browser:
        yield browser


#: N·m/rad of every joint of the identified arm.
STIFFNESS = 2e4


@pytest.fixture(scope='session')
def identified(ur, moving_arm):
    """The identification of an arm with two encoders per joint, from 6 s of its motion, and validated on 2 s."""
    t, q, tau = moving_arm
    dq = np.gradient(q, t, axis=0)
    # What bodies take, without the friction that the motor alone feels (3 N·m and 5 N·m·s/rad, see `moving_arm`).
    theta = q + (tau - 3 * np.sign(dq) - 5 * dq) / STIFFNESS
    names = ur.joint_names
    train, check = (
        Recording(names, t[part], q[part], tau=tau[part], theta=theta[part], name=name)
        for name, part in (('train', slice(0, 1200)), ('check', slice(1200, None)))
    )
    return identify(ur, [train], [check], IdentificationSettings(selection=False))


@pytest.fixture(scope='session')
def planned():
    """(robot, plan): the least search that finds an exciting motion for a UR5e."""
    model = RobotModel.load(ur5e_urdf())
    config = {'limits': {'acceleration': 4.0}, 'fourier': {'period': 6.0, 'harmonics': 3, 'starts': 1, 'candidates': 1}}
    return model, plan(model, PlanSettings.from_config(config))


@pytest.fixture(scope='session')
def turning():
    """The report of a test of one joint: its hysteresis over 4,000 samples, back and forth."""
    t = np.linspace(0.0, 6.0, 4000)
    angle = np.sin(2 * np.pi * t / 3) * np.exp(-t / 8)
    rate = np.gradient(angle, t)
    noise = 0.1 * np.random.default_rng(2).standard_normal(t.size)
    loop = 6 * np.tanh(8 * rate) + 2 * angle
    result = JointTestResult('hysteresis', 'elbow_joint')
    result.parameters['F_C'] = Value(6.0, 0.02, 'N·m')
    result.quality['speed_range'] = [-1 / 3, 2 / 3]
    series = (Line('measured', angle, loop + noise, 'line'), Line('Maxwell-slip', angle, loop, 'line'))
    title = 'elbow_joint: hysteresis on validation data'
    result.plots.append(Plot(title, 'corrected motor angle [rad]', 'friction torque [N·m]', series))
    return result


@pytest.fixture(scope='session')
def unpack():
    """Function (entry, text): the array of an entry of `Packer.add`, NaN where a value is missing."""

    def unpack(entry, text):
        n = entry['n']
        if entry['kind'] == 'ramp':
            return entry['start'] + entry['step'] * np.arange(n)
        data = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).astype(np.uint16)
        low, high = data[entry['at'] :][: 2 * n].reshape(2, n)
        codes = np.cumsum(low + (high << 8), dtype=np.uint16).view(np.int16).astype(float)
        return np.where(codes == -32768, np.nan, entry['start'] + entry['step'] * codes)

    return unpack


@pytest.fixture(scope='session')
def held():
    """Function (page): specification and packed arrays of its first figure."""

    def held(page):
        specification = re.search(r'class="specification">(.*?)</script>', page, re.S).group(1)
        return json.loads(specification), re.search(r'class="arrays">(.*?)</script>', page, re.S).group(1)

    return held


@pytest.fixture(scope='session')
def pages(identified, planned, turning, tmp_path_factory):
    """Reports by name, as files."""
    folder = tmp_path_factory.mktemp('pages')
    reports = {
        'identification': identification_report(identified),
        'excitation': excitation_report(*planned),
        'joint': joint_report(turning, ['sweep']),
    }
    for name, report in reports.items():
        report.save(folder / f'{name}.html')
    return {name: folder / f'{name}.html' for name in reports}
