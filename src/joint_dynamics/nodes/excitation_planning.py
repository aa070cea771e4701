"""Motions for the excitation node: planned by its settings in a thread, or read from a file, within its limits."""

from __future__ import annotations

from collections.abc import Callable

from joint_dynamics.excitation import PlanSettings, Playback, Progress, Trajectory, load_trajectory, plan
from joint_dynamics.excitation.plan import NO_FLOOR, with_options
from joint_dynamics.nodes.background import Background
from joint_dynamics.nodes.config_file import section_of
from joint_dynamics.nodes.parameters import ParameterValues
from joint_dynamics.robot import RobotModel


class MotionPlanner:
    """Makes what can be played of a robot's motions; settings are those of the node's parameters when it is made.

    Attributes
    ----------
    remark
        what of the settings is worth a warning, '' where nothing is.

    Raises
    ------
    JointDynamicsError
        For settings that do not fit.
    """

    def __init__(self, robot: RobotModel, parameters: ParameterValues):
        section = section_of(parameters['config_file'], 'excitation')
        section = {key: value for key, value in section.items() if key != 'profile'}
        settings = PlanSettings.from_config(section, parameters['profile'])
        self._settings = with_options(settings, joint=parameters['joint'] or None)
        self._robot, self._repeats, self._speed = robot, parameters['repeats'], parameters['approach_speed']
        limits = self._settings.limits
        self.remark = NO_FLOOR if limits.floor is None and limits.height is None else ''

    def load(self, path: str) -> Playback:
        """Return the motion of a file; raises JointDynamicsError where it cannot be read or leaves the limits."""
        return self._playback_of(load_trajectory(path))

    def begin(self) -> Background[Playback]:
        """Begin to plan a motion in a thread."""
        return Background(self._plan, 'planning')

    def _plan(self, say: Callable[[str], None]) -> Playback:
        def tell(progress: Progress) -> None:
            best = 'nothing yet' if progress.best is None else f'best {progress.best:.2f}'
            say(f'planning: {progress.seconds:.0f} s, {best}')

        return self._playback_of(plan(self._robot, self._settings, tell).trajectory)

    def _playback_of(self, trajectory: Trajectory) -> Playback:
        return Playback(self._robot, self._settings.limits, trajectory, self._repeats, self._speed)
