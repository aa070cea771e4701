"""A moving robot in the page: bodies and their poses along a motion, joints against their limits."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.limits import end_effector_frame, parent_joint
from joint_dynamics.excitation.motion import LinkFrames
from joint_dynamics.report.figure_html import Packer, packed_html
from joint_dynamics.report.robot_shapes import Shape
from joint_dynamics.robot import RobotModel

RATE = 30.0  # poses per second; the page interpolates between them
MAX_FRAMES = 1800  # poses of a motion, however long
TONES = ('predicted', 'measured', 'seventh')  # colours of links, every other link, and support


@dataclass(frozen=True)
class JointRange:
    """Name of a joint, its limits in `unit` (rad or m), and the range used by the motion."""

    name: str
    unit: str
    low: float
    high: float
    used: tuple[float, float]


@dataclass(frozen=True)
class RobotView:
    """Poses (frames, 12) of every link: rotation row by row, then origin in m; shapes are fixed in their links.

    Attributes
    ----------
    clock
        name of the view; figures with the same `clock` show the same time.
    start, step
        time of the first frame and between frames, s.
    q
        (frames, n), rad or m.
    path
        (frames, 3), of the end-effector in the base frame, m.
    floor
        height of the grid, m.
    margins
        (limit, smallest margin as a share of it), shown beside the joints.
    colours
        of the page, for the bodies that each joint moves; none: those of `TONES`.
    """

    clock: str
    shapes: Sequence[Shape]
    poses: Sequence[FloatArray]
    joints: Sequence[JointRange]
    q: FloatArray
    path: FloatArray
    start: float
    step: float
    floor: float = 0.0
    margins: Sequence[tuple[str, float]] = ()
    colours: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        model: RobotModel,
        time: FloatArray,
        q: FloatArray,
        shapes: Sequence[Shape],
        limits: tuple[FloatArray, FloatArray],
        end_effector: str | None = None,
        clock: str = 'robot',
        floor: float | None = None,
        margins: Sequence[tuple[str, float]] = (),
        colours: Sequence[str] = (),
    ) -> RobotView:
        """Return the view of a motion.

        Parameters
        ----------
        time, q
            (K,) s and (K, n) rad or m.
        limits
            lowest and highest positions, (n,) each, infinite where there are none.
        end_effector
            frame whose path is drawn; None: the last one.
        floor
            height of the ground in m, None: that of the base.
        """
        frames = int(np.clip(round((time[-1] - time[0]) * RATE) + 1, 2, MAX_FRAMES))
        moments = np.linspace(time[0], time[-1], frames)
        joints = np.column_stack([np.interp(moments, time, column) for column in q.T])
        links = LinkFrames(model.chain, np.ascontiguousarray(joints.T))
        poses = [
            np.concatenate([rotation.reshape(9, -1), np.broadcast_to(origin, (3, frames))]).T
            for rotation, origin in zip(links.rotation, links.origin, strict=True)
        ]
        frame = end_effector_frame(model, end_effector)
        path = links.point(parent_joint(frame) - 1, np.array(frame.placement.translation)).T
        ranges = []
        for j, name in enumerate(model.joint_names):
            used = float(joints[:, j].min()), float(joints[:, j].max())
            low, high = (float(limit[j]) for limit in limits)
            if not np.isfinite(high - low):
                low, high = used[0] - 0.1, used[1] + 0.1
            unit = 'm' if model.prismatic[j] else 'rad'
            ranges.append(JointRange(name, unit, low, high, used))
        step = float(moments[1] - moments[0])
        return cls(clock, shapes, poses, ranges, joints, path, float(time[0]), step, floor or 0.0, margins, colours)

    def _specification(self, packer: Packer) -> dict[str, Any]:
        centre, reach = self._ball()
        return {
            'clock': self.clock,
            'frames': len(self.q),
            'step': self.step,
            'start': self.start,
            'shapes': [{**shape.document(), 'colour': self._colour(shape)} for shape in self.shapes],
            'poses': [[packer.add(column) for column in pose.T] for pose in self.poses],
            'joints': [packer.add(column) for column in self.q.T],
            'path': [packer.add(column) for column in self.path.T],
            'limits': [{'low': joint.low, 'high': joint.high, 'unit': joint.unit} for joint in self.joints],
            'centre': [round(float(value), 4) for value in centre],
            'reach': reach,
            'cell': round(reach / 4, 1) or 0.1,
            'floor': self.floor,
        }

    def _ball(self) -> tuple[FloatArray, float]:
        """Return centre (3,) and radius, m, of what the motion fills."""
        points = np.concatenate([np.zeros((1, 3)), self.path, *(pose[:, 9:] for pose in self.poses)])
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        return centre, 1.1 * float(np.linalg.norm(points - centre, axis=1).max()) or 1.0

    def _colour(self, shape: Shape) -> str:
        return self.colours[shape.link] if self.colours and shape.link >= 0 else TONES[shape.tone]

    def to_html(self, caption: str, beside: str = '') -> str:
        """Return the view as part of the page.

        beside: HTML beside the robot; '': its joints within their limits.
        """
        packer = Packer()
        specification = self._specification(packer)
        label = 'the robot; drag or arrow keys: turn, + and −: nearer and farther, space: play'
        return (
            '<figure class="robot"><div class="stage"><div>'
            f'<canvas tabindex="0" role="img" aria-label="{label}"></canvas>'
            '<div class="player"><button type="button" class="play">play</button>'
            '<input type="range" min="0" value="0" aria-label="time"><span class="time"></span></div></div>'
            f'<div>{beside or self._tracks()}</div></div><figcaption>{html.escape(caption)}</figcaption>'
            f'{packed_html(specification, packer)}</figure>'
        )

    def _tracks(self) -> str:
        """Return the joints within their limits, and the margins."""
        rows = ''.join(
            f'<span>{html.escape(joint.name)}</span><span class="track" title="{joint.low:.3g} … {joint.high:.3g}'
            f' {joint.unit}"><span class="span" style="left:{_share(joint, joint.used[0]):.1f}%;'
            f'width:{_share(joint, joint.used[1]) - _share(joint, joint.used[0]):.1f}%"></span>'
            '<span class="now"></span></span><span class="value live"></span>'
            for joint in self.joints
        )
        margins = ''.join(
            f'<span>{html.escape(kind)}</span><span class="track"><span class="span" style="left:0;'
            f'width:{min(100.0, 100 * max(0.0, margin)):.1f}%"></span></span>'
            f'<span class="value">{100 * margin:.2g} % of the limit</span>'
            for kind, margin in self.margins
        )
        if margins:
            margins = f'<p class="note">Smallest margins</p><div class="joints">{margins}</div>'
        return f'<p class="note">Joints within their limits</p><div class="joints">{rows}</div>{margins}'


def _share(joint: JointRange, value: float) -> float:
    return float(np.clip(100 * (value - joint.low) / (joint.high - joint.low), 0.0, 100.0))
