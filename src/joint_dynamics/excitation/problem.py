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

"""The search as a smooth problem in the coefficients of the series.

Criterion and limits form one function with an exact gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.assessment import CRITERION_FUNCTIONS, Assessment, assess, keeps, margins_of
from joint_dynamics.excitation.collision import Clearance, has_geometry
from joint_dynamics.excitation.constraint import Constraint, make_constraints, motion_margins, within_limits
from joint_dynamics.excitation.excitation_settings import ExcitationSettings, LimitSettings
from joint_dynamics.excitation.fourier import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.motion import RobotMotion, Sensitivity
from joint_dynamics.excitation.trajectory import Trajectory
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings.base import per_joint

OVERSAMPLING = 10  # samples of the assessment per sample of the search
SEARCH_SLACK = 0.01  # share of a limit kept at the samples, for the time between them
SHARES = (1.0, *(1 - 0.002 * 1.35 ** np.arange(18)))  # factors tried until a motion keeps every limit: 1, 0.998, … 0.67
SIGN_SPEED = 0.03  # rad/s over which the Coulomb column changes sign in the search; the result has the sign itself


def all_constraints(model: RobotModel, settings: LimitSettings) -> list[Constraint]:
    """Return every limit a motion of this robot has to keep, clearance included where the URDF has collision geometry.

    Raises
    ------
    JointDynamicsError
        For a limit that the robot's model cannot provide, and for a floor without collision geometry.
    """
    constraints = make_constraints(model, settings)
    if settings.clearance is not None:
        if has_geometry(model):
            constraints.append(Clearance(model, settings))
        elif settings.floor is not None:
            raise JointDynamicsError(
                'limits.floor: expected a URDF with collision geometry, found none: bind limits.height instead'
            )
    return constraints


class ExcitationProblem:
    """Find coefficients of a Fourier series for one robot.

    The unknowns x (n · count,) are the coefficients divided by the largest value that the limits of their joint allow.
    earlier: motions of the robot already recorded; a motion is assessed together with them, by the sum of the
    information matrices.
    """

    def __init__(self, model: RobotModel, settings: ExcitationSettings, earlier: Sequence[Trajectory] = ()):
        self.model = model
        self.settings = settings
        self.limits = MotionLimits.of(model, settings.limits)
        self.constraints = all_constraints(model, settings.limits)
        base = model.base_parameters(settings.kinds)
        self._columns = model.columns(settings.kinds)[base.independent]
        self._criterion = CRITERION_FUNCTIONS[settings.criterion]
        self.posture = self._posture(settings.posture)
        self.basis = FourierBasis(settings.period, settings.harmonics, 1, settings.ramp_time, self.posture is None)
        self.times = np.linspace(0.0, self.basis.duration, self._count(1) + 1)
        *self._functions, self._rest = self.basis.functions(self.times)
        inside = (self.times >= settings.ramp_time) & (self.times <= settings.ramp_time + settings.period)
        # the period is played several times, the ramps once
        self._weights = np.sqrt(np.where(inside, float(settings.repeats), 1.0))
        k = np.arange(1, settings.harmonics + 1)
        w = 2 * np.pi * k / settings.period
        half = self.limits.half_range[:, None]
        wave = np.minimum.reduce(
            [
                np.repeat(half, len(k), axis=1),
                self.limits.velocity[:, None] / w,
                self.limits.acceleration[:, None] / w**2,
            ]
        )
        self._scale = np.concatenate([half, wave, wave], axis=1)
        self._known, self._known_samples = np.zeros((len(self._columns), len(self._columns))), 0
        for one in earlier:
            times = self.check_times(one)
            self._known += assess(model, one, times, (), settings.kinds).information
            self._known_samples += len(times)

    def _posture(self, given: Sequence[float] | Mapping[str, float] | None) -> FloatArray | None:
        if given is None:
            return None
        posture = per_joint(given, self.model.joint_names, 'posture')
        rest = posture[:, None]
        margins = margins_of(RobotMotion(self.model, rest, 0 * rest, 0 * rest), self.constraints)
        broken = [f'{kind} ({margin:.3g} of the limit)' for kind, margin in margins.items() if not margin > 0]
        if broken:
            raise JointDynamicsError(
                f'posture: expected one that keeps every limit, found broken at rest: {", ".join(broken)}'
            )
        return posture

    def _count(self, oversampling: int) -> int:
        cycle = self.settings.period / self.settings.harmonics / self.settings.samples_per_cycle / oversampling
        return int(np.ceil(self.basis.duration / cycle))

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self._scale.size

    def trajectory(self, x: FloatArray) -> FourierTrajectory:
        """Return the motion of the unknowns x (size,), one period of it."""
        return FourierTrajectory(
            self.model.joint_names, self.basis, x.reshape(self._scale.shape) * self._scale, self.posture
        )

    def unknowns(self, trajectory: FourierTrajectory) -> FloatArray:
        """Return the unknowns (size,) of a motion."""
        return (trajectory.coefficients / self._scale).ravel()

    def objective(
        self,
        x: FloatArray,
        sharpness: float,
        penalty: float,
        with_criterion: bool = True,
        reserve: Mapping[str, float] | None = None,
    ) -> tuple[float, FloatArray]:
        """Return smoothed criterion + penalty · Σ max(0, reserve − slack)² / samples, and its gradient (size,).

        Parameters
        ----------
        reserve
            per kind of limit the slack to keep at the samples, 0.01 by default.
        """
        motion = self._motion(x)
        sensitivity = Sensitivity(motion)
        value = 0.0
        for constraint in self.constraints:
            missing = np.maximum(0.0, (reserve or {}).get(constraint.kind, SEARCH_SLACK) - constraint.slack(motion))
            if missing.any():
                value += penalty * float((missing**2).sum()) / motion.samples
                constraint.pull_back(motion, -2 * penalty / motion.samples * missing, sensitivity)
        if with_criterion:
            rows = motion.regressor.rows[:, self._columns] * self._weights
            W = rows.transpose(1, 0, 2).reshape(len(self._columns), -1)
            known = self._known * self._count(1) / self._count(OVERSAMPLING)
            criterion, by_G = self._criterion(W @ W.T + known, sharpness)
            value += criterion
            by_rows = (2 * by_G @ W).reshape(len(self._columns), self.model.n, -1).transpose(1, 0, 2)
            weighted = sensitivity.rows
            weighted[:, self._columns] += by_rows * self._weights
        gradient = sum(part @ function.T for part, function in zip(sensitivity.collect(), self._functions, strict=True))
        return value, (gradient * self._scale).ravel()

    def _motion(self, x: FloatArray) -> RobotMotion:
        coefficients = x.reshape(self._scale.shape) * self._scale
        states = [coefficients @ function for function in self._functions]
        if self.posture is not None:
            states = [state + self.posture[:, None] * rest for state, rest in zip(states, self._rest, strict=True)]
        return RobotMotion(self.model, states[0], states[1], states[2], SIGN_SPEED)

    def check_times(self, trajectory: Trajectory) -> FloatArray:
        """Return times [s] at ten times the sampling of the search, over the whole motion, for its assessment."""
        return np.linspace(
            0.0,
            trajectory.duration,
            int(np.ceil(self._count(OVERSAMPLING) * trajectory.duration / self.basis.duration)) + 1,
        )

    def assess(self, trajectory: FourierTrajectory) -> Assessment:
        """Evaluate the criterion at ten times the sampling, with the settings' repeats, and the margins."""
        return replace(
            self.evaluate_criterion(trajectory), margins=motion_margins(self.model, trajectory, self.constraints)
        )

    def evaluate_criterion(self, trajectory: FourierTrajectory) -> Assessment:
        """Evaluate the criterion alone, by which the motions of a search are compared."""
        whole = trajectory.repeated(self.settings.repeats)
        return assess(
            self.model, whole, self.check_times(whole), (), self.settings.kinds, self._known, self._known_samples
        )

    def value(self, assessment: Assessment) -> float:
        """Return the value of the criterion: the condition number, or −log det / b."""
        if self.settings.criterion == 'log_det':
            return -assessment.log_det / assessment.base_parameters
        return assessment.condition_number

    def merit(self, assessment: Assessment) -> float:
        """Return the merit by which motions are chosen, smaller is better: the log of `value`, or −log det / b itself.

        It depends on the displayed value alone, so that the value of the best motion never gets worse.
        """
        value = self.value(assessment)
        return value if self.settings.criterion == 'log_det' else float(np.log(value))

    def lost_between(self, x: FloatArray) -> tuple[dict[str, float], dict[str, float]]:
        """Return, per kind of limit, by how much the slack between the samples falls below that at the samples.

        Also, per kind of limit, by how much the limit is broken.
        """
        trajectory, motion = self.trajectory(x), self._motion(x)
        slacks = {one.kind: one.margin(self.model, trajectory) / one.scale for one in self.constraints}
        return (
            {one.kind: max(0.0, one.smallest(motion) - slacks[one.kind]) for one in self.constraints},
            {kind: max(0.0, -slack) for kind, slack in slacks.items()},
        )

    def feasible(self, trajectory: FourierTrajectory, shares: Sequence[float] = SHARES) -> FourierTrajectory | None:
        """Return the motion, one period, shrunk about its posture just enough to keep every limit.

        None where even the smallest factor is not enough.

        Parameters
        ----------
        trajectory
            the motion.
        shares
            the factors to try, largest first.
        """
        for share in shares:
            candidate = trajectory if share == 1.0 else trajectory.scaled(share)
            # most of what breaks a limit does so at a sample, which is seen at once
            if keeps(self.model, candidate, self.times, self.constraints) and within_limits(
                self.model, candidate, self.constraints
            ):
                return candidate
        return None
