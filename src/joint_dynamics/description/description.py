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

"""The dynamics description: what `joint_dynamics` adds to the URDF, one YAML document per robot.

See docs/reference/dynamics_description.md.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from joint_dynamics.arrays import FloatArray
from joint_dynamics.description.identity import check_identity, identity_of
from joint_dynamics.description.schema import FORMAT, VERSION, migrated, validate
from joint_dynamics.documents import parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint import PeriodicMap
from joint_dynamics.joint.stiffness import LOAD_LAG, LOAD_SHARES
from joint_dynamics.output_files import write_atomically
from joint_dynamics.robot import INERTIAL, RobotModel


class DynamicsDescription:
    """A validated document; read it by the methods below, or as plain data by `document`.

    SI units, joint side of the gear, joint names as keys. Arrays have the joints in the order of `joint_names`, or in
    the requested order.

    Parameters
    ----------
    document
        mapping as in docs/reference/dynamics_description.md (copied). `format` and `version` may be omitted; a document
        of version 1 is migrated.

    Raises
    ------
    JointDynamicsError
        With the path of the first invalid field.

    """

    def __init__(self, document: Mapping[str, Any]):
        if not isinstance(document, Mapping):
            validate(document)
        self.document: dict[str, Any] = migrated(
            {'format': FORMAT, 'version': VERSION, **copy.deepcopy(dict(document))}
        )
        validate(self.document)
        self._identity: Mapping[str, Any] | None = None

    @classmethod
    def from_yaml(cls, text: str) -> DynamicsDescription:
        """Read YAML text, such as that of a topic.

        Raises JointDynamicsError for text that is not a description, and for YAML that is too large, deep or expanding.
        """
        document = parse_yaml(text, 'dynamics description')
        if isinstance(document, Mapping):
            for key in ('format', 'version'):
                if key not in document:
                    raise JointDynamicsError(f'dynamics description: {key}: expected this field, found nothing')
        return cls(document)

    @classmethod
    def load(cls, path: str | Path) -> DynamicsDescription:
        """Read a file."""
        text = read_text(path, f'dynamics description {path}')
        try:
            return cls.from_yaml(text)
        except JointDynamicsError as error:
            raise JointDynamicsError(f'{path}: {error}') from None

    def to_yaml(self) -> str:
        """Return the document as YAML text from which `from_yaml` restores every number exactly."""
        return yaml.dump(
            self.document,
            Dumper=getattr(yaml, 'CSafeDumper', yaml.SafeDumper),
            sort_keys=False,
            allow_unicode=True,
            width=140,
        )

    def save(self, path: str | Path) -> None:
        """Write a file completely or not at all; raises JointDynamicsError where that fails."""
        validate(self.document)
        write_atomically(path, self.to_yaml())

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, in the robot's order."""
        return tuple(self.document['robot']['joint_names'])

    @property
    def link_names(self) -> tuple[str, ...]:
        """The joint that moves each link: `joint_names`, followed by the mimic joints."""
        return (*self.joint_names, *self.document['robot'].get('dependent_joints', ()))

    def robot_model(self) -> RobotModel:
        """Return the robot of this description, from the kinematics in it.

        Raises JointDynamicsError where it has none.
        """
        robot = self.document['robot']
        options = {
            'mounting': self.document.get('mounting'),
            'coupling': robot.get('coupling'),
            'parallelograms': robot.get('parallelograms'),
        }
        if 'urdf' in robot:
            return RobotModel.from_urdf(robot['urdf'], joints=self.joint_names, locked=robot.get('locked'), **options)
        if 'mdh' in robot:
            return RobotModel.from_mdh(robot['mdh'], **options)
        raise JointDynamicsError('dynamics description: robot.urdf or robot.mdh: expected one of them, found neither')

    @property
    def weightless(self) -> bool:
        """Whether the described torques leave gravity out, because the robot compensates its own weight."""
        return 'gravity' in self.document.get('inertial', {})

    @property
    def without_torque(self) -> tuple[str, ...]:
        """Joints whose torque was not recorded: they have no friction, and inertias of others or of the robot file."""
        return tuple(self.document.get('inertial', {}).get('without_torque', ()))

    def check_effort(self, weightless: bool, where: str) -> None:
        """Raise JointDynamicsError where torques are with gravity and the description without it, or the reverse.

        weightless: whether the torques leave gravity out; where: prefix of the message.
        """
        kinds = {True: 'torque without gravity', False: 'torque with gravity'}
        if weightless != self.weightless:
            raise JointDynamicsError(
                f'{where}: expected {kinds[self.weightless]}as in the dynamics description, found '
                f'{kinds[weightless]}: state the kind of `effort` (torque_without_gravity or torque), or identify again'
            )

    def check_robot(self, model: RobotModel, mass: bool = True) -> None:
        """Raise JointDynamicsError, naming joint and quantity, where `model` is not the robot described here.

        The identity is that in the description, or that of its kinematics; without either it cannot be checked, which
        is logged once. mass: whether to compare the nominal mass too.
        """
        robot = self.document['robot']
        if 'identity' not in robot and not {'urdf', 'mdh'} & set(robot):
            tell_unchecked()
            return
        if self._identity is None:
            self._identity = robot.get('identity') or identity_of(self.robot_model())
        links = self.document.get('inertial', {}).get('standard', {})
        identity = self._identity if mass else {key: value for key, value in self._identity.items() if key != 'mass'}
        check_identity(identity, model, sum(link['M'] for link in links.values()) if links else None)

    def joint(self, name: str) -> dict[str, Any]:
        """Return the part of the joint `name` (plain data); raise JointDynamicsError for an unknown joint."""
        if name not in self.document['joints']:
            raise JointDynamicsError(
                f'dynamics description: expected a joint of {", ".join(self.joint_names)}, found {name!r}'
            )
        return self.document['joints'][name]

    def _names(self, joint_names: tuple[str, ...] | list[str] | None) -> list[str]:
        return list(self.joint_names if joint_names is None else joint_names)

    def values(
        self, key: str, joint_names: tuple[str, ...] | list[str] | None = None, default: float | None = None
    ) -> FloatArray:
        """Return {value} fields as (n,) in their SI unit.

        Parameters
        ----------
        key
            the field, such as `drive_gain`, `rotor_inertia`, `damping`.
        joint_names
            the requested joints; None: all.
        default
            for joints without the field.

        Raises
        ------
        JointDynamicsError
            For a joint without the field, where there is no default.
        """
        values = []
        for name in self._names(joint_names):
            part = self.joint(name).get(key)
            if part is None and default is None:
                raise JointDynamicsError(
                    f'dynamics description: joints.{name}.{key}: expected this field, found nothing'
                )
            values.append(default if part is None else part['value'])
        return np.array(values, dtype=float)

    def scale(self, joint_names: tuple[str, ...] | list[str] | None = None) -> FloatArray:
        """Return the present friction scale α, (n, 2) [–, N·m·s/rad]: [1, 0] if not adapted [M6 eq 24]."""
        return np.array(
            [self.joint(name).get('friction', {}).get('scale', [1.0, 0.0]) for name in self._names(joint_names)],
            dtype=float,
        )

    def backlash(self, joint_names: tuple[str, ...] | list[str] | None = None) -> PeriodicMap:
        """Return half the lost motion, 𝓑(θ), of all joints, rad, zero where none was measured."""
        return self._maps('backlash', joint_names)

    def backlash_deviation(self, joint_names: tuple[str, ...] | list[str] | None = None) -> FloatArray:
        """Return the largest standard deviation of 𝓑(θ) of all joints, (n,) rad, zero where none is stated."""
        parts = [self.joint(name).get('backlash', {}) for name in self._names(joint_names)]
        return np.array([max(part.get('standard_deviations', ()), default=0.0) for part in parts], dtype=float)

    def backlash_load(self, joint_names: tuple[str, ...] | list[str] | None = None) -> tuple[FloatArray, FloatArray]:
        """Return how a load takes up the lost motion: shares b_i/𝓑 (n, 2) of `joint.stiffness`, and the lag (n,) s."""
        parts = [self.joint(name).get('backlash', {}) for name in self._names(joint_names)]
        shares = np.array([part.get('load_shares', LOAD_SHARES) for part in parts], dtype=float)
        return shares, np.array([part.get('load_lag', LOAD_LAG) for part in parts], dtype=float)

    def kinematic_error(self, joint_names: tuple[str, ...] | list[str] | None = None) -> PeriodicMap:
        """Return the kinematic error map θ̃(θ) of all joints, zero where none was identified."""
        return self._maps('kinematic_error', joint_names)

    def kinematic_error_deviation(self, joint_names: tuple[str, ...] | list[str] | None = None) -> PeriodicMap:
        """Return the standard deviation of θ̃(θ) of all joints, rad, zero where none is stated."""
        parts = [self.joint(name).get('kinematic_error', {}) for name in self._names(joint_names)]
        stated = [{**part, 'type': 'table', 'values': part.get('standard_deviations') or [0.0]} for part in parts]
        return PeriodicMap.stack([PeriodicMap.from_dict(part) for part in stated])

    def _maps(self, key: str, joint_names: tuple[str, ...] | list[str] | None) -> PeriodicMap:
        parts = [self.joint(name).get(key) for name in self._names(joint_names)]
        zero = PeriodicMap.constant(0.0)
        return PeriodicMap.stack([zero if part is None else PeriodicMap.from_dict(part) for part in parts])

    def standard_parameters(self, model: RobotModel) -> FloatArray:
        """Return the standard parameters (p,) [SI] of `model`, joints by name: links, rotors and coupled motors.

        Friction is not included; it belongs to the friction model (`joint_dynamics.arm`). Raises JointDynamicsError
        where a joint or the inertial part is missing, or `model` is another robot.
        """
        if 'inertial' not in self.document:
            raise JointDynamicsError('dynamics description: inertial: expected this field, found nothing')
        self.check_robot(model)
        standard = model.standard()
        for k, name in enumerate(model.link_names):
            standard.take_link(k, self.document['inertial']['standard'][name])
        for k, name in enumerate(model.joint_names):
            standard.rotor_inertia[k] = self.joint(name).get('rotor_inertia', {}).get('value', 0.0)
        if model.coupling is not None:
            coupled = self.document['inertial'].get('coupling', {})
            standard.coupled[:] = [coupled.get(name, 0.0) for name in model.coupling.parameter_names]
        return standard.values

    def payload(self) -> FloatArray:
        """Return the inertial parameters (10,) [SI] of the payload in the last joint's frame.

        Zeros where none is described; see `payload_attached`.
        """
        given = self.document.get('payload')
        if given is None:
            return np.zeros(len(INERTIAL))
        return np.array(
            [*given.get('inertia', (0.0,) * 6), *given['first_moments'], given['mass']['value']], dtype=float
        )

    @property
    def payload_attached(self) -> bool:
        """Whether the described payload is on the arm; False where it was only identified, and then removed."""
        return 'payload' in self.document and self.document['payload'].get('attached', True)

    def doubtful_joints(self, joint_names: tuple[str, ...] | list[str] | None = None) -> tuple[str, ...]:
        """Return a line for each joint that `identify` judged weak or wrong (`provenance.joints`): cause and remedy.

        Raises JointDynamicsError, naming the joint, where the entry does not have the form that `identify` writes.
        """
        provenance = self.document.get('provenance')
        verdicts: Any = provenance.get('joints') if isinstance(provenance, Mapping) else None
        lines = []
        for name in self._names(joint_names) if verdicts is not None else ():
            try:
                verdict = verdicts.get(name, {'state': 'reliable'})
                if verdict['state'] != 'reliable':
                    error, unit = verdict['error'], verdict.get('unit', 'N·m')
                    known = '' if error is None else f', its torque known within {error:.3g} {unit}'
                    lines.append(
                        f'{name} is {verdict["state"]} in the dynamics description: {verdict["why"]}{known}; '
                        f'{verdict["help"]}'
                    )
            except (AttributeError, TypeError, KeyError, ValueError) as error:
                raise JointDynamicsError(
                    f'dynamics description: provenance.joints.{name}: expected the fields that `identify` writes, '
                    'found '
                    f'{error!r}'
                ) from None
        return tuple(lines)


@cache
def tell_unchecked() -> None:
    """Log, once per process, that the robot of a description cannot be checked."""
    logging.getLogger(__name__).warning(
        'the dynamics description has no robot.identity: only joint names are compared with the robot; identify '
        'again to add it'
    )
