"""The layouts of PlotJuggler and Foxglove show topics that the nodes have, and fields that these fill.

Neither program is needed. What they read of a layout and how they name what they plot was looked up in their sources:
PlotJuggler's and its ROS plugin's, and those of Lichtblick, the open descendant of Foxglove Studio.
"""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from sensor_msgs.msg import JointState

from joint_dynamics.nodes.framework.documentation import node_classes
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

CONFIG = Path(__file__).parents[2] / 'config'
FIELDS = JointState.get_fields_and_field_types()
JOINTS = RobotModel.load(ur5e_urdf()).joint_names
FOXGLOVE = sorted((CONFIG / 'foxglove').glob('*.json'))
PLOTJUGGLER = sorted((CONFIG / 'plotjuggler').glob('*.xml'))


#: Elements that PlotJuggler's reader asks for, with the attributes it reads or ignores; `+` those it needs.
ELEMENTS = {
    'root': '',
    'tabbed_widget': '+parent +name',
    'Tab': '+tab_name containers',
    'Container': '',
    'DockSplitter': '+orientation +count +sizes',
    'DockArea': 'name',
    'plot': '+mode style flip_x flip_y line_width',
    'limitY': 'min max',
    'curve': '+name +color',
    'currentTabIndex': '+index',
    'use_relative_time_offset': '+enabled',
    'previouslyLoaded_Streamer': '+name',
    'Plugins': '',
    'plugin': '+ID',
    **dict.fromkeys(
        (
            'use_header_stamp',
            'discard_large_arrays',
            'max_array_size',
            'boolean_strings_to_number',
            'remove_suffix_from_strings',
            'selected_topics',
        ),
        '+value',
    ),
}
#: Keys of a panel's configuration: those it has to have, and those it may have.
PANELS = {
    'Plot': (
        'paths showXAxisLabels showYAxisLabels showLegend legendDisplay showPlotValuesInLegend isSynced xAxisVal'
        ' sidebarDimension',
        'followingViewWidth minXValue maxXValue minYValue maxYValue xAxisPath xAxisLabel yAxisLabel',
    ),
    'DiagnosticSummary': ('minLevel pinnedIds hardwareIdFilter topicToRender', 'sortByLevel secondsUntilStale'),
    'Tab': ('activeTabIdx tabs', ''),
}
#: The title of a panel, by the name of Foxglove and by that of Lichtblick.
TITLES = {'foxglovePanelTitle', 'lichtblickPanelTitle'}


@pytest.fixture(scope='module')
def topics():
    """Type by full name of all that estimator and feedforward publish or hear of the robot, under their usual names."""
    found = {}
    for name in ('estimator',):
        for row in node_classes()[name].topic_rows():
            full = row.name.replace('~', f'/{name}', 1) if row.name.startswith('~') else f'/{row.name.strip("/")}'
            found[full] = row.type
    return found


def test_there_is_one_of_each_for_either_node():
    assert [path.stem for path in FOXGLOVE] == [path.stem for path in PLOTJUGGLER] == ['estimator']


@pytest.mark.parametrize('path', FOXGLOVE, ids=lambda path: path.stem)
def test_foxglove_plots_what_there_is(path, topics):
    layout = json.loads(path.read_text())
    shown = set()
    for name, panel in layout['configById'].items():
        for item in panel.get('paths', ()):
            topic, field, joint = re.fullmatch(r'(/[\w/]+)\.(\w+)\[(\d)\]', item['value']).groups()
            assert topics[topic] == 'sensor_msgs/JointState', name
            assert FIELDS[field].startswith('sequence<double>')
            assert item['label'] == f'joint {int(joint) + 1}'
            shown.add(topic)
        if name.startswith('DiagnosticSummary!'):
            assert panel['topicToRender'] in topics
    assert len(shown) >= 4
    # Every panel stands somewhere, and nothing stands there that is no panel.
    placed = re.findall(r'"([A-Z]\w+!\w+)"', json.dumps([layout['layout'], layout['configById']['Tab!joint_dynamics']]))
    assert sorted(placed) == sorted(layout['configById'])


@pytest.mark.parametrize('path', PLOTJUGGLER, ids=lambda path: path.stem)
def test_plotjuggler_plots_what_there_is_and_subscribes_to_it(path, topics):
    root = ET.parse(path).getroot()
    (selected,) = root.iter('selected_topics')
    subscribed = set(selected.get('value').split(';'))
    shown = set()
    for plot in root.iter('plot'):
        joints = []
        for curve in plot.iter('curve'):
            topic, joint, field = curve.get('name').rsplit('/', 2)
            assert topics[topic] == 'sensor_msgs/JointState'
            assert FIELDS[field].startswith('sequence<double>')
            joints.append(joint)
            shown.add(topic)
        assert joints == list(JOINTS)
    assert shown == subscribed
    for splitter in root.iter('DockSplitter'):
        areas = len(splitter.findall('DockArea'))
        assert int(splitter.get('count')) == areas == len(splitter.get('sizes').split(';'))


def test_the_estimators_layouts_show_all_that_is_asked_for():
    """Torques, external torque, α, stiffness, temperature, health."""
    for path in (CONFIG / 'foxglove' / 'estimator.json', CONFIG / 'plotjuggler' / 'estimator.xml'):
        text = path.read_text()
        for topic in (
            'joint_torques',
            'external_torques',
            'friction_torques',
            *(f'estimates/{name}' for name in ('friction_scale', 'stiffness', 'temperature', 'health')),
        ):
            assert f'/estimator/{topic}' in text


@pytest.mark.parametrize('path', PLOTJUGGLER, ids=lambda path: path.stem)
def test_plotjuggler_reads_every_element(path):
    """What its reader does not ask for it leaves out without a word."""
    root = ET.parse(path).getroot()
    for item in root.iter():
        known = ELEMENTS[item.tag].split()
        assert {name.lstrip('+') for name in known} >= set(item.keys()), item.tag
        assert {name[1:] for name in known if name.startswith('+')} <= set(item.keys()), item.tag
    # It looks a widget up by its name, splits into `count` areas and fills one per child, without asking whether they
    # are there: another name, or a child or a size too few or too many, ends the program.
    windows = [(item.get('parent'), item.get('name')) for item in root.findall('tabbed_widget')]
    assert windows == [('main_window', 'Main Window')]
    assert [int(item.get('index')) for item in root.findall('tabbed_widget/currentTabIndex')] == [0]
    for tab in root.iter('Tab'):
        assert [item.tag for item in tab] == ['Container'] and [item.tag for item in tab[0]] == ['DockSplitter']
    for splitter in root.iter('DockSplitter'):
        assert splitter.get('orientation') in ('-', '|')
        sizes = [float(size) for size in splitter.get('sizes').split(';')]
        assert int(splitter.get('count')) == len(splitter) == len(sizes)
        assert sum(sizes) == pytest.approx(1, abs=1e-3)
        assert all([part.tag for part in area] == ['plot'] for area in splitter)
    assert all(plot.get('mode') == 'TimeSeries' and plot.get('style') == 'Lines' for plot in root.iter('plot'))
    assert all(re.fullmatch('#[0-9a-f]{6}', curve.get('color')) for curve in root.iter('curve'))
    # The streamer that it offers to start, so that curves without data yet are kept, is the one that is set up.
    (streamer,) = root.findall('previouslyLoaded_Streamer')
    assert [plugin.get('ID') for plugin in root.find('Plugins')] == [streamer.get('name')] == ['ROS2 Topic Subscriber']


@pytest.mark.parametrize('path', FOXGLOVE, ids=lambda path: path.stem)
def test_foxglove_knows_every_panel_and_key(path):
    layout = json.loads(path.read_text())
    assert set(layout) == {'configById', 'globalVariables', 'userNodes', 'playbackConfig', 'layout'}
    for name, panel in layout['configById'].items():
        needed, may = (set(keys.split()) for keys in PANELS[name.partition('!')[0]])
        assert needed <= set(panel) <= needed | may | TITLES, name
        if name.startswith('Plot!'):
            assert set(panel) >= TITLES and len({panel[title] for title in TITLES}) == 1
            assert panel['legendDisplay'] in ('floating', 'top', 'left', 'none')
            assert panel['xAxisVal'] == 'timestamp'
        for item in panel.get('paths', ()):
            assert set(item) == {'value', 'enabled', 'timestampMethod', 'label', 'color'}
            assert item['timestampMethod'] in ('receiveTime', 'headerStamp')

    def visit(node):
        """A panel's name, or a split of two nodes."""
        if isinstance(node, str):
            assert node in layout['configById']
            return
        assert set(node) == {'direction', 'first', 'second', 'splitPercentage'}
        assert node['direction'] in ('row', 'column') and 0 < node['splitPercentage'] < 100
        visit(node['first'])
        visit(node['second'])

    visit(layout['layout'])
    for panel in layout['configById'].values():
        for tab in panel.get('tabs', ()):
            assert set(tab) == {'title', 'layout'}
            visit(tab['layout'])
