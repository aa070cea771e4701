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

"""The pages as text: verdict first, everything in one file, all samples, the best known on top."""

import json
import re

import numpy as np
import pytest

from joint_dynamics.excitation import PlanSettings, plan
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.regression.diagnostics import relative_deviation_percent
from joint_dynamics.recording import Recording
from joint_dynamics.report.excitation import excitation_report
from joint_dynamics.report.identification import RESOLUTION, identification_report
from joint_dynamics.report.joint_curves import friction_samples
from joint_dynamics.robot import RobotModel


@pytest.fixture(scope='module')
def page(pages):
    return pages['identification'].read_text(encoding='utf-8').replace('<wbr>', '')


@pytest.mark.parametrize('name', ['identification', 'excitation'])
def test_a_page_needs_nothing_from_outside(pages, name):
    text = pages[name].read_text(encoding='utf-8')
    assert 'http' not in text.replace('http-equiv', '')
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert "default-src 'none'" in text
    assert 'The MIT License' in text  # of what is inlined


def test_verdict_robot_and_figures_come_before_tables(page):
    sections = re.findall(r'<h2(?: id="s\d+")?>([^<]*)</h2>', page)
    assert sections[:4] == ['Verdict', 'Torque', 'Friction', 'Stiffness']
    assert re.search(r'</h2><p class="good">', page)
    assert re.findall(r'href="#(s\d+)"', page) == re.findall(r'<h2 id="(s\d+)"', page)
    places = [page.index(text) for text in ('class="good"', 'class="robot"', '<th scope', 'class="chart', '<details>')]
    assert places == sorted(places)


def test_every_joint_has_its_verdict_in_a_row_and_on_the_robot(page, identified, held):
    specification, _ = held(page)
    colours = {'reliable': 'good', 'weak': 'weak', 'wrong': 'warn'}
    verdicts = identified.checks['joints']
    rows = re.findall(r'<tr><td class="text"><i class="dot c-(\w+)"></i>(\w+)</td><td>([^<]*)</td>', page)
    assert [name for _, name, _ in rows] == list(verdicts)
    for (colour, _, error), one in zip(rows, verdicts.values(), strict=True):
        assert colour == colours[one['state']]
        assert float(error) == pytest.approx(one['error'], rel=1e-3)
    for shape in specification['shapes']:
        if shape['link'] >= 0:
            assert shape['colour'] == rows[shape['link']][0]


def figures(page):
    """(specification, packed arrays, caption) of every figure."""
    pattern = r'<figcaption>([^<]*)</figcaption><script[^>]*specification">(.*?)</script><script[^>]*>(.*?)</script>'
    return [(json.loads(spec), text, caption) for caption, spec, text in re.findall(pattern, page, re.S)]


def test_torques_are_there_at_the_full_rate(page, identified, unpack):
    shown = [item for item in figures(page) if 'at the full rate' in item[2]]
    fits = [*identified.validation, *identified.training]
    assert len(shown) == len(fits) == 2
    for (specification, text, caption), fit in zip(shown, fits, strict=True):
        assert fit.short_name in caption
        panels = specification['panels']
        assert len(panels) == 2 * len(fit.joint_names)
        for j, (panel, below) in enumerate(zip(panels[::2], panels[1::2], strict=True)):
            assert below['series'][0]['difference'] == [0, 1]
            # Half a step each, which is a hundredth of the residual's deviation or less than the range's 1/130,000.
            step = max(
                np.std((fit.full.tau - fit.full.predicted)[:, j]) / RESOLUTION, np.ptp(fit.full.tau[:, j]) / 65534
            )
            for row, values in zip(panel['series'], (fit.full.tau, fit.full.predicted), strict=True):
                found = unpack(row['y'], text)
                assert len(found) == len(fit.full.time)
                assert np.abs(found - values[:, j]).max() <= 0.51 * step
            assert np.allclose(unpack(panel['x'], text), fit.full.time, atol=1e-6)


def test_red_parameters_are_not_told_apart_and_the_best_is_first(page, identified):
    table = page[page.index('>Parameters</h2>') :]
    row = r'<tr><td class="text">(\w+)</td><td>[^<]*</td><td class="text"><svg(.*?)</svg></td>(.*?)</tr>'
    rows = re.findall(row, table, re.S)
    assert sorted(name for name, _, _ in rows) == sorted(identified.names)
    relative = dict(
        zip(identified.names, relative_deviation_percent(identified.solution.chi, identified.deviation), strict=True)
    )
    order = [relative[name] for name, _, _ in rows]
    assert order == sorted(order)
    for name, drawn, cells in rows:
        certain = name not in identified.poorly_determined and relative[name] <= 50
        assert ('c-residual' not in drawn) == ('>yes<' in cells) == certain


def test_a_joint_test_has_rounded_numbers_with_units(pages):
    text = re.sub(r'<(script|style).*?</\1>', '', pages['joint'].read_text(encoding='utf-8'), flags=re.S).replace(
        '<wbr>', ''
    )
    assert not re.search(r'>[^<]*\d\.\d{6}', text)
    assert re.search(r'>F_C</td>.*?>N·m</td>', text)
    assert text.index('class="chart') < text.index('<table')


def test_friction_samples_follow_the_friction_that_was_there(identified):
    """3 N·m and 5 N·m·s/rad were put in (`moving_arm`): the samples lie about that line, whatever the bodies."""
    for speed, load, torque in friction_samples(identified):
        assert len(speed) > 20
        assert np.ptp(load) > 0
        error = torque - (3 * np.sign(speed) + 5 * speed)
        # The noise of the torque is 0.2 N·m before the filter; the rest is what sgn does about a reversal.
        assert np.median(np.abs(error)) < 0.4


def test_stiffness_is_shown_with_its_deviation(page, identified):
    section = page[page.index('>Stiffness</h2>') :].partition('</figure>')[0]
    shown = re.findall(r'"title">(joint_\d)</span>.*?"note">([\d.]+) ± ([\d.]+) N·m/rad<', section)
    assert shown
    for name, value, deviation in shown:
        document = identified.description.joint(name)['stiffness']
        assert float(value) == pytest.approx(document['coefficients'][0], abs=float(deviation))
        assert float(deviation) == pytest.approx(document['standard_deviations'][0], rel=0.06)


@pytest.fixture(scope='module')
def sliding_pages():
    """(excitation, identification) reports, as text, of a slide that carries a turning link."""
    body = (
        '<inertial><origin xyz="0.1 0.05 0"/><mass value="2"/>'
        '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    model = RobotModel.from_urdf(
        f'<robot name="slide"><link name="base"/><link name="car">{body}</link><link name="link">{body}</link>'
        '<joint name="car" type="prismatic"><parent link="base"/><child link="car"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="1" velocity="2" effort="100"/></joint>'
        '<joint name="link" type="revolute"><parent link="car"/><child link="link"/><axis xyz="0 1 0"/>'
        '<limit lower="-2" upper="2" velocity="2" effort="100"/></joint></robot>'
    )
    limits = {'acceleration': 4.0}
    search = {'period': 6.0, 'harmonics': 3, 'starts': 1, 'candidates': 1}
    planned = plan(model, PlanSettings.from_config({'limits': limits, 'fourier': search}))
    time = np.arange(0.0, planned.trajectory.duration, 0.01)
    q, dq, ddq = (part.T for part in planned.trajectory.motion(time))
    torque = model.inverse_dynamics(q, dq, ddq) + 5 * dq + np.random.default_rng(0).normal(0.0, 0.1, q.shape)
    recording = Recording(model.joint_names, time, q, tau=torque, name='run')
    identified = identify(model, [recording], settings=IdentificationSettings(selection=False))
    return excitation_report(model, planned).to_html(), identification_report(identified).to_html()


def test_a_slide_has_lengths_and_forces(sliding_pages):
    excitation, identification = sliding_pages
    for unit in ('[m]', '[rad]', '[m/s]', '[rad/s]', '[m/s²]', '[rad/s²]', '[N]', '[N·m]'):
        assert unit in excitation
    assert 'residual [N]' in identification
    assert 'residual [N·m]' in identification
