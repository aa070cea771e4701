"""What the plugin declares is what stands here: its two written files, and its presets."""

from pathlib import Path

import pytest
import yaml

from joint_dynamics.control import hosted_parameters
from joint_dynamics.control.hosted_parameters import (
    PARAMETERS_FILE,
    TABLE_FILE,
    library_yaml,
    main,
    parameters_of,
    table_rst,
    to_declare,
)
from joint_dynamics.control.interface import ControllerParameter
from joint_dynamics.errors import JointDynamicsError

PACKAGE = Path(__file__).parents[2] / 'ros2_control'
PRESETS = sorted((PACKAGE / 'config').glob('*.yaml'))


def test_the_written_files_are_up_to_date():
    assert (PACKAGE / PARAMETERS_FILE).read_text(encoding='utf-8') == library_yaml()
    assert (PACKAGE / TABLE_FILE).read_text(encoding='utf-8') == table_rst()


def test_they_are_written_into_a_package_only(tmp_path):
    with pytest.raises(JointDynamicsError, match='expected the folder of a package'):
        main([str(tmp_path)])
    (tmp_path / 'package.xml').touch()
    for folder in ('src', 'doc'):
        (tmp_path / folder).mkdir()
    assert main([str(tmp_path)]) == 0
    assert (tmp_path / PARAMETERS_FILE).read_text(encoding='utf-8') == library_yaml()


def test_the_library_gets_types_bounds_and_choices():
    rows = yaml.safe_load(library_yaml())['feedforward_controller']
    assert rows['joints']['validation'] == {'unique<>': None, 'size_gt<>': [0]}
    assert rows['ramp_time'] == {
        'type': 'double',
        'default_value': 0.5,
        'description': 'time from a fault to the safe command [s]',
        'validation': {'bounds<>': [0.01, 10.0]},
    }
    assert rows['safe_command']['validation'] == {'one_of<>': [['gravity', 'zero']]}
    assert rows['payload_center']['type'] == 'double_array'
    # One per joint is no parameter of the library.
    assert 'friction_gain' not in rows


@pytest.mark.parametrize('path', PRESETS, ids=lambda path: path.stem)
def test_a_preset_names_what_exists(path):
    document = yaml.safe_load(path.read_text(encoding='utf-8'))['/**']
    manager = document['controller_manager']['ros__parameters']
    values = document['feedforward_controller']['ros__parameters']
    trajectory = document['feedforward_trajectory_controller']['ros__parameters']
    assert manager['feedforward_controller']['type'] == values.pop('type')
    assert trajectory['command_joints'] == [f'feedforward_controller/{joint}' for joint in values['joints']]
    rows = {row.name: row for row in parameters_of(values['law'])}
    for name, value in values.items():
        if name in ('fallback_controllers', 'use_sim_time'):
            continue
        given = value.values() if rows[name].per_joint else (value,)
        if rows[name].per_joint:
            assert list(value) == values['joints']
        for item in given:
            rows[name].value(item)


def test_there_are_presets():
    assert [path.stem for path in PRESETS] == ['gazebo', 'generic', 'ur']


def test_parameters_of_a_foreign_law_are_declared_beside_the_library(monkeypatch):
    class Foreign:
        PARAMETERS = (ControllerParameter('pull', 2.0, 'how hard'),)

    monkeypatch.setattr(hosted_parameters, 'load', lambda law: {'strange': Foreign}[law])
    own = to_declare('')
    assert all(per_joint for *_, per_joint in own)
    assert to_declare('strange') == [*own, ('strange_pull', 2.0, 'how hard', False)]
