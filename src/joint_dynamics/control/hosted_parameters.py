"""Parameters of the controller plugin of ros2_control, as generate_parameter_library reads them, and their table.

The plugin has those of the loop (`loop_parameters`), which the `feedforward` node has too, and its own.
`python -m joint_dynamics.control.hosted_parameters FOLDER` writes the YAML and the table of the package in FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.control.interface import load
from joint_dynamics.control.loop_parameters import LOOP_PARAMETERS, foreign_parameters
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.conversions import MOTOR_PARAMETERS
from joint_dynamics.robot.model import JOINTS, MOUNTING
from joint_dynamics.settings import Parameter
from joint_dynamics.settings.documentation import parameter_cells

#: References of the plugin per joint; the first three are those of `REFERENCES`, effort is added to the law's.
REFERENCE_QUANTITIES = ('position', 'velocity', 'acceleration', 'effort')
NAMESPACE = 'feedforward_controller'
PARAMETERS_FILE = Path('src') / 'feedforward_controller_parameters.yaml'
TABLE_FILE = Path('doc') / 'parameters.rst'

_INTERFACE = 'state interface of {}{}'
#: Of the plugin alone.
PLUGIN_PARAMETERS = (
    JOINTS.replaced(description='the joints, in the order of all interfaces; needed'),
    MOUNTING,
    Parameter('command_interface', 'effort', 'command interface of every joint; N·m, or A with `output: current`'),
    Parameter('position_interface', 'position', _INTERFACE.format('the link side, rad', '')),
    Parameter('velocity_interface', 'velocity', _INTERFACE.format('the link side, rad/s', '')),
    *(
        Parameter(f'{quantity}_interface', '', _INTERFACE.format(unit, '; empty: none'))
        for quantity, unit in (
            ('effort', 'the motor torque, N·m, from which it takes over when it is activated'),
            ('temperature', 'the joint temperature, °C'),
            ('motor_position', 'the motor encoder, rad'),
            ('motor_velocity', 'the motor speed, rad/s'),
            ('torque', 'the torque through the transmission, N·m'),
        )
    ),
    Parameter(
        'friction_topic',
        'estimator/friction_parameters',
        'α of the estimator, std_msgs/Float64MultiArray, rows of joints; empty: none',
    ),
    Parameter(
        'temperature_topics',
        [],
        'topics of joint temperatures, sensor_msgs/Temperature; `{joint}` stands for the joint, else `frame_id` names '
        'it',
    ),
    Parameter('use_description', True, 'whether the dynamics description is needed; else the URDF alone has to do'),
    Parameter('description_file', '', 'dynamics description (YAML); empty: the topic `dynamics_description`'),
    Parameter('description_timeout', 5.0, 'how long configuring waits for that topic', 's', 0, 60),
    Parameter(
        'step_timeout',
        0.0,
        'how long `update` waits for a step of the law; 0: half of the period of the controller',
        's',
        0,
        0.1,
    ),
    Parameter(
        'late_timeout',
        0.02,
        'a step that has been late for so long is a failure, and so is activating; until then the last command is held',
        's',
        0,
        1,
    ),
    Parameter(
        'handover_time',
        2.0,
        'how long the torque of the law takes to fade where an effort alone is commanded to this controller, by a '
        'trajectory controller with an effort PID, and the difference between them on the way back; and, when it is '
        'activated, the difference to the effort that is on the joints then (`effort_interface`, or what another '
        'controller has left on the command interface); 0: at the rate limit',
        's',
        0,
        60,
    ),
    Parameter('law_priority', 50, 'of the thread of the law, SCHED_FIFO; 0: not real-time', '', 0, 99),
    Parameter('law_cpu', -1, 'processor that thread is bound to; -1: any', '', -1, 1023),
    Parameter(
        'python',
        '',
        'interpreter whose packages are used; empty: that of the active virtual environment, else python3 of the path',
    ),
)


def parameters_of(law: str) -> tuple[Parameter, ...]:
    """Return all parameters of the plugin with this law, '' for the default.

    Raises
    ------
    JointDynamicsError
        When no such law is installed.
    """
    foreign = foreign_parameters(law, load(law)) if law else []
    return (*PLUGIN_PARAMETERS, *_shared(), *foreign)


def to_declare(law: str) -> list[tuple[str, Any, str, bool]]:
    """Return what the library cannot declare: (name, default, description, per joint).

    It knows no parameter `<name>.<joint>`, and no law of another package. Raises JointDynamicsError as `parameters_of`.
    """
    return [
        (row.name, row.default, _described(row), row.per_joint)
        for row in parameters_of(law)
        if row.per_joint or row.name not in _declared()
    ]


def _shared() -> tuple[Parameter, ...]:
    return (*LOOP_PARAMETERS, *MOTOR_PARAMETERS)


def _declared() -> dict[str, Parameter]:
    return {row.name: row for row in (*PLUGIN_PARAMETERS, *_shared()) if not row.per_joint}


def _described(row: Parameter) -> str:
    return row.description + (f' [{row.unit}]' if row.unit else '')


def library_yaml() -> str:
    """Return the parameters as generate_parameter_library reads them."""
    rows = {name: _library_row(row) for name, row in _declared().items()}
    rows['joints']['validation'] = {'unique<>': None, 'size_gt<>': [0]}
    head = (
        '# Written by `python -m joint_dynamics.control.hosted_parameters ros2_control` from the declarations there.\n'
    )
    return head + yaml.safe_dump({NAMESPACE: rows}, sort_keys=False, allow_unicode=True, width=120)


def _library_row(row: Parameter) -> dict[str, Any]:
    is_list = isinstance(row.default, list)
    kind = (type(row.default[0]) if row.default else row.element) if is_list else type(row.default)
    name = {bool: 'bool', int: 'int', float: 'double', str: 'string'}[kind] + ('_array' if is_list else '')
    entry: dict[str, Any] = {'type': name, 'default_value': row.default, 'description': _described(row)}
    rules: dict[str, Any] = {}
    if row.choices and not is_list:
        rules['one_of<>'] = [list(row.choices)]
    elif row.lower is not None and row.upper is not None and not is_list and not row.infinite:
        rules['bounds<>'] = [kind(row.lower), kind(row.upper)]
    elif not is_list and row.above is not None:
        rules['gt<>'] = [kind(row.above)]
    return {**entry, 'validation': rules} if rules else entry


def table_rst() -> str:
    """Return the parameters as a table of the documentation."""
    lines = ['.. list-table::', '   :header-rows: 1', '', '   * - parameter', '     - default', '     - allowed']
    lines.append('     - meaning')
    for row in (*PLUGIN_PARAMETERS, *_shared()):
        cells = [cell.replace('\\|', '|').replace('`', '``') for cell in parameter_cells(row)]
        lines += [f'   * - {cells[0]}', *(f'     - {cell}' for cell in cells[1:])]
    return '\n'.join(lines) + '\n'


def main(arguments: list[str] | None = None) -> int:
    """Write both files of the package in a folder; return the exit status."""
    (folder,) = sys.argv[1:] if arguments is None else arguments
    root = Path(folder)
    if not (root / 'package.xml').is_file():
        raise JointDynamicsError(f'hosted_parameters: expected the folder of a package, found none in {folder}')
    for path, text in ((PARAMETERS_FILE, library_yaml()), (TABLE_FILE, table_rst())):
        (root / path).write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
