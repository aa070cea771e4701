"""What the chain in one process made, stage after stage, and how good it is beside the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import FloatArray
from joint_dynamics.demo import scenario
from joint_dynamics.demo.comparison import Comparison, compare_parameters, friction_errors, map_nrmse
from joint_dynamics.demo.demo_settings import ChainSettings
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import JointEstimator
from joint_dynamics.identification import IdentificationResult
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import FlexibleJointRobot


@dataclass
class ChainRun:
    """What the chain made, stage after stage; arrays (n,) unless stated otherwise.

    `recordings`: exciting motion, constant speeds, work. `result`, `description`: of the identification, the
    description with the joints' physics.
    `estimator`: started from that description; `untaught`: from what `identify` alone wrote.
    `contacts`: samples in which the first called a contact though nothing touched the arm, of `learned` samples.
    `pushes`: those felt, and all. `tracking` [rad²] and `torque` [(N·m)²]: mean squares by law, `none`, `static` and
    `adaptive`.
    `worn_tracking`, `worn_torque`: the same of the worn and warm robot, by `nominal` (friction as when new) and
    `adaptive`, both with hysteresis. `worn_stiffness`: NRMSE of the stiffness maps at the end of that.
    """

    settings: ChainSettings
    robot: FlexibleJointRobot
    model: RobotModel
    recordings: list[Recording] = field(default_factory=list)
    result: IdentificationResult | None = None
    description: DynamicsDescription | None = None
    estimator: JointEstimator | None = None
    untaught: JointEstimator | None = None
    contacts: int = 0
    learned: int = 0
    pushes: tuple[int, int] = (0, 0)
    tracking: dict[str, FloatArray] = field(default_factory=dict)
    torque: dict[str, FloatArray] = field(default_factory=dict)
    worn_tracking: dict[str, FloatArray] = field(default_factory=dict)
    worn_torque: dict[str, FloatArray] = field(default_factory=dict)
    worn_stiffness: FloatArray | None = None
    _before_wear: dict[str, Any] | None = None

    def figures(self) -> dict[str, Any]:
        """Return the errors against the truth, by plain names: percent, mrad, N·m.

        Those not named `worn_…` are of the new robot, and do not change when its joints wear.
        """
        return {**(self._figures_now() if self._before_wear is None else self._before_wear), **self._worn_figures()}

    def keep_figures(self) -> None:
        """Keep the figures as they are now, of the new robot: `figures` returns them whatever happens to it later."""
        self._before_wear = self._figures_now()

    def _figures_now(self) -> dict[str, Any]:
        if (
            self.result is None
            or self.description is None
            or self.estimator is None
            or self.untaught is None
            or self.estimator.stiffness is None
            or self.untaught.stiffness is None
            or (described := Arm.from_description(self.model, self.description).stiffness) is None
        ):
            raise JointDynamicsError(
                'chain: expected it to have been run to the estimator, found a stage that is missing'
            )
        truth, work = self.robot.truth.as_document(), scenario.cycle()
        comparison = self.comparison()
        friction = friction_errors(self.description, self.estimator.friction_scale()[0], truth)
        moving = self.result.summary()['validation_moving_overall_percent']
        return {
            'laws': str(self.robot.laws),
            'coverage_percent': comparison.coverage_percent,
            'median_error_percent': comparison.median_error_percent,
            'work_residual_percent': moving,
            'stiffness_described_nrmse': map_nrmse(described.coefficients, self.model, work, truth),
            'stiffness_nrmse': map_nrmse(self.estimator.stiffness.coefficients, self.model, work, truth),
            'stiffness_untaught_nrmse': map_nrmse(self.untaught.stiffness.coefficients, self.model, work, truth),
            'friction_identified_percent': friction['friction_error_identified_percent'],
            'friction_adapted_percent': friction['friction_error_adapted_percent'],
            'pushes_felt': self.pushes[0],
            'pushes': self.pushes[1],
            'contact_percent': 100.0 * self.contacts / max(self.learned, 1),
            **{f'tracking_{law}_mrad': 1e3 * float(np.sqrt(value.mean())) for law, value in self.tracking.items()},
            **{f'torque_{law}': float(np.sqrt(value.mean())) for law, value in self.torque.items()},
        }

    def _worn_figures(self) -> dict[str, Any]:
        """Return what adaptation leaves of the mean squares of the worn robot, in percent by joint."""
        if self.worn_stiffness is None:
            return {}
        return {
            'worn_stiffness_nrmse': self.worn_stiffness,
            **{
                f'worn_{name}_left_percent': 100.0 * by_law['adaptive'] / by_law['nominal']
                for name, by_law in (('torque', self.worn_torque), ('tracking', self.worn_tracking))
            },
        }

    def comparison(self) -> Comparison:
        """Return the base parameters beside the truth."""
        assert self.result is not None
        return compare_parameters(self.result.summary()['parameters'], self.robot.truth.as_document())
