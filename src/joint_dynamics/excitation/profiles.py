"""All test motions by name, built and checked: none is returned that breaks a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.assessment import Assessment, assess, keeps
from joint_dynamics.excitation.constraint import Constraint
from joint_dynamics.excitation.excitation_settings import KINDS, LimitSettings
from joint_dynamics.excitation.limits import MotionLimits
from joint_dynamics.excitation.load import parameters_with_payload
from joint_dynamics.excitation.piecewise import PiecewiseTrajectory
from joint_dynamics.excitation.problem import all_constraints
from joint_dynamics.excitation.proof import certified_within_limits
from joint_dynamics.excitation.single_joint import ConstantSpeed, LoadSweep, SlowReversals, Trapezoids
from joint_dynamics.excitation.whole_arm import BangCoastBang, Waypoints
from joint_dynamics.robot import RobotModel
from joint_dynamics.settings import refusal
from joint_dynamics.settings.per_joint import per_joint

Profile = BangCoastBang | ConstantSpeed | SlowReversals | LoadSweep | Trapezoids | Waypoints
PROFILES: dict[str, type[Profile]] = {
    'bang_coast_bang': BangCoastBang,
    'constant_speed': ConstantSpeed,
    'slow_reversals': SlowReversals,
    'load_sweep': LoadSweep,
    'trapezoids': Trapezoids,
    'waypoints': Waypoints,
}
STEP = 0.005
"""Greatest way [rad] of any joint between two samples of a check."""
INSIDE = 1e-6
"""Share of every joint's limits that a motion made to reach them leaves, so that rounding cannot take it beyond."""
DRAWS = 20
REACHES = (1.0, 0.8, 0.6, 0.45, 0.3)


def check_times(trajectory: PiecewiseTrajectory) -> FloatArray:
    """Return times [s] to evaluate a motion at.

    No joint moves further than 5 mrad between them, and both sides of every knot are there.
    """
    knots = trajectory.knots
    speed = np.abs(trajectory.motion(knots)[1]).max(axis=0)
    pieces = []
    for begin, end, fastest in zip(knots[:-1], knots[1:], np.maximum(speed[:-1], speed[1:]), strict=True):
        count = int(np.ceil((end - begin) * max(fastest / STEP, 10.0)))
        pieces.append(np.linspace(begin, np.nextafter(end, begin), count + 1))
    return np.append(np.concatenate(pieces), knots[-1])


def make_profile(
    model: RobotModel,
    profile: str | Profile,
    options: Mapping[str, Any] | None = None,
    limits: LimitSettings | None = None,
    posture: Any = None,
) -> tuple[PiecewiseTrajectory, Assessment]:
    """Return a test motion and its assessment.

    A bang-coast-bang that breaks a limit of the whole arm (torque, end-effector, clearance) is drawn again, with less
    reach in the end.

    Parameters
    ----------
    profile
        a name in PROFILES with its `options`, or the settings object itself.
    posture
        [rad] where the joints that do not move stand (and bang-coast-bang begins), a list or {joint: angle}; None: 0,
        or the nearest allowed angle.

    Raises
    ------
    JointDynamicsError
        For options that do not fit, and when the motion breaks a limit, which it names.
    """
    limits = limits or LimitSettings()
    if isinstance(profile, str):
        if profile not in PROFILES:
            raise refusal('profile', f'one of {", ".join(PROFILES)}', profile)
        if profile not in ('bang_coast_bang', 'waypoints') and 'joint' not in (options or {}):
            raise JointDynamicsError(f'{profile}.joint: expected one of {", ".join(model.joint_names)}, found none')
        profile = PROFILES[profile].from_mapping(options or {})
    motion_limits = MotionLimits.of(model, limits).inside(INSIDE)
    constraints = all_constraints(model, limits)
    rest = (
        np.clip(0.0, motion_limits.lower, motion_limits.upper)
        if posture is None
        else per_joint(posture, model.joint_names, 'posture')
    )
    if isinstance(profile, BangCoastBang):
        trajectory = _drawn(model, profile, motion_limits, rest, constraints)
    elif isinstance(profile, LoadSweep):
        trajectory = profile.build(model, motion_limits, rest, parameters_with_payload(model, limits))
    else:
        trajectory = profile.build(model, motion_limits, rest)
    return trajectory, checked(model, trajectory, constraints)


def checked(model: RobotModel, trajectory: PiecewiseTrajectory, constraints: list[Constraint]) -> Assessment:
    """Return the assessment of a motion; raise JointDynamicsError when it may break a limit."""
    found = assess(model, trajectory, check_times(trajectory), constraints, KINDS)
    if not found.feasible:
        kind, margin = found.worst
        raise JointDynamicsError(
            f'profile: expected a motion within the limits, found {kind} exceeded by {-margin:.2%} of its limit: '
            'choose other ends, speeds or posture'
        )
    return found


def _drawn(
    model: RobotModel, profile: BangCoastBang, limits: MotionLimits, posture: FloatArray, constraints: list[Constraint]
) -> PiecewiseTrajectory:
    """Return the first of several draws that keeps the limits, the last one drawn if none does."""
    for reach in REACHES:
        for draw in range(DRAWS):
            trajectory = replace(profile, reach=reach * profile.reach, seed=profile.seed + draw).build(
                model, limits, posture
            )
            # most of what breaks a limit of the whole arm does so at a few samples already
            if keeps(model, trajectory, check_times(trajectory)[::20], constraints[3:]) and certified_within_limits(
                model, trajectory, constraints
            ):
                return trajectory
    return trajectory
