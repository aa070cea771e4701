"""A loop from parameters by name: of the law, its arm and the gate.

The `feedforward` node and the controller plugin both build their loop here, so that a parameter file means the same in
both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.control.interface import Controller, load
from joint_dynamics.control.loop import ControlLoop
from joint_dynamics.control.safety import LoopSettings
from joint_dynamics.control.shipped_laws import SHIPPED
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import Parameter, ParameterValues

#: A parameter whose default differs from law to law has this one, which stands for the law's own.
OWN_DEFAULT = 'default'


class GivenValues(ParameterValues):
    """Parameters by name from a mapping, as ROS has them: `<name>`, and `<name>.<joint>` of one per joint.

    Parameters
    ----------
    parameters : iterable of Parameter
        the declared parameters, with defaults.
    given
        values by name; unknown names are ignored, see `misspelt`.
    joint_names
        joints of the per-joint parameters.

    Raises
    ------
    JointDynamicsError
        For a value that is not allowed.
    """

    def __init__(self, parameters: Iterable[Parameter], given: Mapping[str, Any], joint_names: Sequence[str]):
        rows = {
            name: row
            for row in parameters
            for name in ([f'{row.name}.{joint}' for joint in joint_names] if row.per_joint else [row.name])
        }
        values = {name: row.value(given.get(name, row.default), name) for name, row in rows.items()}
        super().__init__(values, joint_names)
        #: What was given and is not known, with the name that it looks like.
        self.misspelt = self.similar(given)


def _shipped() -> tuple[Parameter, ...]:
    rows: dict[str, Parameter] = {}
    for law in SHIPPED:
        for parameter in law.PARAMETERS:
            known = rows.setdefault(parameter.name, parameter)
            if known.default != parameter.default:
                choices = (OWN_DEFAULT, *parameter.choices)
                rows[parameter.name] = replace(known, default=OWN_DEFAULT, choices=choices)
    return tuple(rows.values())


#: Of the shipped laws.
LAW_PARAMETERS = _shipped()
#: Which law, and what the arm carries.
ARM_PARAMETERS = (
    Parameter(
        'law', 'computed_torque', 'name of an installed controller (entry-point group `joint_dynamics.controllers`)'
    ),
    Parameter('payload_mass', 0.0, 'mass at the last link that the model does not have yet', 'kg', 0, 1000),
    Parameter(
        'payload_center',
        [0.0, 0.0, 0.0],
        'its centre in the frame of the last joint',
        'm',
        element=float,
        check=lambda value: None if len(value) == 3 else '3 numbers',
    ),
)
#: Of the loop and its gate.
GATE_PARAMETERS = (
    Parameter.of(LoopSettings, 'effort_limit', upper=1e5, per_joint=True, infinite=False),
    Parameter.of(LoopSettings, 'effort_rate', upper=1e7, per_joint=True, infinite=False),
    Parameter.of(LoopSettings, 'ramp_time'),
    Parameter.of(LoopSettings, 'safe', name='safe_command'),
    Parameter.of(LoopSettings, 'timeout'),
    Parameter.of(LoopSettings, 'slow_timeout', default=30.0),
    Parameter.of(
        LoopSettings,
        'tracking',
        name='tracking_tolerance',
        description='streaming: largest distance of the link from the desired position',
    ),
    Parameter.of(LoopSettings, 'velocity_margin'),
    Parameter.of(LoopSettings, 'position_margin'),
    Parameter.of(LoopSettings, 'jump_margin'),
)
CHECK_COMPENSATION = Parameter(
    'check_compensation',
    True,
    'whether activating is refused when the friction compensation would make a joint run away',
)
#: All that a loop is built from.
LOOP_PARAMETERS = (*ARM_PARAMETERS, *GATE_PARAMETERS, CHECK_COMPENSATION, *LAW_PARAMETERS)


def foreign_parameters(law: str, kind: type[Controller]) -> list[Parameter]:
    """Return the parameters of a law that is not shipped as `<law>_<parameter>`, so that they clash with no other."""
    return [] if kind in SHIPPED else [row.replaced(name=f'{law}_{row.name}') for row in kind.PARAMETERS]


def law_values(
    parameters: ParameterValues, law: str, kind: type[Controller], joint_names: Iterable[str]
) -> dict[str, Any]:
    """Return the parameters of a law by their own names; those left at `default` are left out."""
    prefix = '' if kind in SHIPPED else f'{law}_'
    values = {}
    for row in kind.PARAMETERS:
        name = prefix + row.name
        value = parameters.per_joint(name, tuple(joint_names)) if row.per_joint else parameters[name]
        if not (row.choices and value == OWN_DEFAULT):
            values[row.name] = value
    return values


def loop_settings(values: ParameterValues, arm: Arm, gravity: bool) -> LoopSettings:
    """Return the settings of loop and gate; gravity: whether the command includes it."""
    limit, rate = (np.array(values.per_joint(name, arm.joint_names)) for name in ('effort_limit', 'effort_rate'))
    limit = np.where(limit > 0, limit, arm.effort_limit)
    settings = {'safe_command': 'safe', 'tracking_tolerance': 'tracking'}
    return LoopSettings(
        effort_limit=tuple(limit),
        effort_rate=tuple(np.where(rate > 0, rate, 50.0 * np.minimum(limit, arm.effort_limit))),
        holds_gravity=gravity,
        **{settings.get(row.name, row.name): values[row.name] for row in GATE_PARAMETERS if not row.per_joint},
    )


def build_loop(values: ParameterValues, robot: RobotModel, description: DynamicsDescription | None) -> ControlLoop:
    """Return the loop around the law that the parameters name, on the arm as described, or as the URDF alone has it.

    values: by the names of `LOOP_PARAMETERS` and of those of the law. Raises JointDynamicsError when one part does not
    fit the other.
    """
    arm = Arm(robot) if description is None else Arm.from_description(robot, description)
    if values['payload_mass'] > 0:
        arm = arm.with_payload(values['payload_mass'], values['payload_center'])
    law = values['law']
    kind = load(law)
    chosen = law_values(values, law, kind, arm.joint_names)
    return ControlLoop(kind(), arm, loop_settings(values, arm, bool(chosen.get('gravity', True))), chosen)
