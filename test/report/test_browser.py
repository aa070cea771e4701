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

"""The pages in a browser: no error, nothing asked of the network, figures drawn, all of it by keys as well."""

import numpy as np
import pytest

NAMES = ('identification', 'excitation', 'joint')
WIDE = 1180  # pixels, a window on a desk
PHONE = 390  # pixels


def opened(browser, page, **how):
    """Show a page, every figure of it drawn."""
    browser.problems.clear()
    browser.show(page, **how)
    browser.run('document.querySelectorAll("details").forEach(part => { part.open = true; })')
    count = browser.run('document.querySelectorAll("figure").length')
    browser.until(f'document.querySelectorAll("figure.live").length === {count}')
    return count


#: How many colours stand in a canvas: one is none drawn.
COLOURS = """(canvas => { const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set(); for (let k = 0; k < data.length; k += 4) if (data[k + 3] > 0)
  seen.add((data[k] << 16) + (data[k + 1] << 8) + data[k + 2]); return seen.size; })"""


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize(('width', 'colours'), [(WIDE, 'light'), (WIDE, 'dark'), (PHONE, 'light')])
def test_every_figure_is_drawn_and_nothing_complains(browser, pages, name, width, colours):
    count = opened(browser, pages[name], width=width, colours=colours)
    assert count >= {'joint': 1}.get(name, 4)
    drawn = browser.run(f'[...document.querySelectorAll("canvas")].map({COLOURS})')
    assert len(drawn) >= count
    # Grid and at least one line, with what lies between them and the ground.
    assert min(drawn) > 3
    assert browser.problems == []
    # Nothing sticks out of the page; wider parts scroll by themselves.
    assert browser.run('document.documentElement.scrollWidth') <= width


def boxes(selector):
    """Expression: left and right edge and height of every such part, in pixels of CSS."""
    return (
        f'[...document.querySelectorAll("{selector}")].map(part => part.getBoundingClientRect())'
        '.map(box => [box.left, box.right, box.height])'
    )


@pytest.mark.parametrize('name', NAMES)
def test_a_phone_cuts_no_text_off(browser, pages, name):
    """Numbers of a wide table are reached by swiping; words about it are read without."""
    opened(browser, pages[name], width=PHONE)
    for selector in ('h1', 'h2', 'p', 'caption', 'figcaption', '.head > *', '.joints > *', 'button'):
        for left, right, _ in browser.run(boxes(selector)):
            assert left >= 0 and right <= PHONE, selector
    # One line per joint: value and speed side by side.
    assert all(height < 25 for _, _, height in browser.run(boxes('.joints .value')))
    # No row is as high as the page because a column has no room.
    assert max((height for _, _, height in browser.run(boxes('tr'))), default=0) < 300


#: Whether lines of a table's names end within a word: a word of `text` that has two tops.
BROKEN = """(cell => { const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  for (let node; (node = walker.nextNode());) for (const word of node.data.matchAll(/[^_\\s]+_?/g)) {
    const range = document.createRange(); range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) found.push(word[0]); }
  return found; })"""


@pytest.mark.parametrize('name', ['identification', 'joint'])
@pytest.mark.parametrize('width', [WIDE, PHONE])
def test_no_name_is_broken_within_a_word(browser, pages, name, width):
    opened(browser, pages[name], width=width)
    assert browser.run(f'[...document.querySelectorAll("th, td:first-child")].flatMap({BROKEN})') == []


#: Pixels of CSS between the margins of a page of A4.
PAPER = 718, 1040


@pytest.mark.parametrize('name', ['identification', 'joint'])
def test_paper_has_the_figures_in_light_colours(browser, pages, name):
    opened(browser, pages[name], colours='light')
    line = 'getComputedStyle(document.documentElement).colorScheme + page.colour("first")'
    light = browser.run(line)
    opened(browser, pages[name], width=PAPER[0], height=PAPER[1], colours='dark')
    dark = browser.run(line)
    browser.run('dispatchEvent(new Event("beforeprint"))')
    browser.call('Emulation.setEmulatedMedia', media='print')
    try:
        assert browser.run(line).endswith(light.split('rgb')[1]) and not dark.endswith(light.split('rgb')[1])
        assert browser.run('document.documentElement.scrollWidth') <= PAPER[0]
        for left, right, height in browser.run(boxes('.plot canvas, .robot canvas')):
            assert left >= 0 and right <= PAPER[0] and height < PAPER[1] / 2
        assert min(browser.run(f'[...document.querySelectorAll("canvas")].map({COLOURS})')) > 3
        assert browser.printed().startswith(b'%PDF')
    finally:
        browser.call('Emulation.setEmulatedMedia', media='')
    browser.colours('dark')
    browser.run('dispatchEvent(new Event("afterprint"))')
    assert browser.run(line) == dark
    assert browser.problems == []


def test_a_loop_is_drawn_in_time(browser, pages):
    opened(browser, pages['joint'])
    # Both branches are seen halfway along the axis of the angle, and nothing between them.
    rows = browser.run(
        '(() => { const c = document.querySelector(".plot canvas"), d = c.getContext("2d").getImageData('
        'Math.round(c.width * 0.37), 0, 1, c.height).data; const found = [];'
        ' for (let k = 0; k < c.height; k++) if (Math.abs(d[4 * k] - d[4 * k + 2]) > 60) found.push(k / c.height);'
        ' return found; })()'
    )
    assert min(rows) < 0.35 and max(rows) > 0.6
    assert not [row for row in rows if 0.4 < row < 0.55]
    assert browser.problems == []


def scales(figure=0):
    """Expression: the visible ranges of the axes of time of a figure, by what its axes show."""
    return (
        f'[...document.querySelectorAll("figure.chart.live")[{figure}].querySelectorAll(".plot")].map(p => p.range())'
    )


def test_zooming_one_axis_of_time_zooms_all_of_them(browser, pages, identified):
    opened(browser, pages['identification'])
    before = browser.run(scales())
    assert len(before) == 2 * len(identified.problem.model.joint_names)
    box = browser.run(
        '(() => { const b = document.querySelector(".plot .u-over"); b.scrollIntoView({block: "center"});'
        ' const r = b.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()'
    )
    left, top, width, height = box
    browser.drag([(left + share * width, top + 0.5 * height) for share in (0.25, 0.4, 0.5)])
    browser.until(f'{scales()}[0][1] < {before[0][1] - 0.1}')
    after = browser.run(scales())
    length = before[0][1] - before[0][0]
    for low, high in after:
        # A pixel either way.
        assert low == pytest.approx(before[0][0] + 0.25 * length, abs=1.5 * length / width)
        assert high == pytest.approx(before[0][0] + 0.5 * length, abs=1.5 * length / width)
    assert browser.problems == []


def test_a_figure_is_worked_by_keys(browser, pages, identified):
    opened(browser, pages['identification'])
    browser.run('document.querySelector(".plot").focus()')
    (low, high), *_ = browser.run(scales())
    output = 'document.querySelector("figure.chart output").textContent'
    browser.press('ArrowRight')
    first = browser.run(output)
    assert 'measured' in first and 'predicted' in first
    browser.press('ArrowRight')
    assert browser.run(output) != first
    browser.press('+')
    zoomed = browser.run(scales())
    assert all(b - a == pytest.approx((high - low) / 2, rel=0.01) for a, b in zoomed)
    browser.press('ArrowRight', shift=True)
    assert browser.run(scales())[0][0] > zoomed[0][0]
    browser.press('0')
    assert browser.run(scales())[-1] == pytest.approx([low, high])
    # The cursor reads the measured value.
    time = float(browser.run(output).split()[1])
    fit = identified.validation[0].full
    value = float(browser.run(output).split('measured ')[1].split()[0].replace('−', '-'))
    near = np.abs(fit.time - time) <= 5e-4 * max(time, 1.0) + 1e-9
    assert np.abs(fit.tau[near, 0] - value).min() <= 0.02 + 5e-4 * abs(value)


def test_the_robot_moves_by_slider_play_and_figure(browser, pages):
    opened(browser, pages['excitation'])
    shown = 'document.querySelector(".robot canvas").toDataURL()'
    stand = 'document.querySelector(".joints .value").textContent'
    slider = 'document.querySelector(".robot input")'
    first, posture = browser.run(shown), browser.run(stand)
    assert browser.run('+document.querySelector(".robot").dataset.faces') > 200
    browser.run(f'{slider}.focus()')
    for _ in range(40):
        browser.press('ArrowRight')
    time = float(browser.run(f'{slider}.value'))
    assert time > 0.5
    assert browser.run(shown) != first
    assert browser.run(stand) != posture
    # The figures read the same time.
    assert browser.run('document.querySelector("figure.chart.live output").textContent').startswith('time ')
    browser.run('document.querySelector(".robot .play").focus()')
    browser.press('Enter')
    browser.until(f'+{slider}.value > {time}')
    browser.press('Enter')
    # Reading a figure takes the robot along.
    browser.run(f'{slider}.value = 0; {slider}.dispatchEvent(new Event("input"))')
    browser.run('document.querySelector("figure.chart.live .plot").focus()')
    browser.press('ArrowRight')
    assert float(browser.run(f'{slider}.value')) > 0
    assert browser.problems == []
