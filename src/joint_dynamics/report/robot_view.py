"""A moving robot in the page: bodies and their poses along a motion, joints against their limits."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.excitation.limits import end_effector_frame, parent_joint
from joint_dynamics.excitation.motion import LinkFrames
from joint_dynamics.report.figure_html import Packer
from joint_dynamics.report.robot_shapes import Shape
from joint_dynamics.report.svg import text_of
from joint_dynamics.robot import RobotModel

RATE, MOST_FRAMES = 30.0, 1800
"""Poses per second, and how many of them at most: between them the page goes straight."""


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
        frames = int(np.clip(round((time[-1] - time[0]) * RATE) + 1, 2, MOST_FRAMES))
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
        return cls(clock, shapes, poses, ranges, joints, path, float(time[0]), step, floor or 0.0, margins)

    def _specification(self, packer: Packer) -> dict[str, Any]:
        centre, reach = self._ball()
        return {
            'clock': self.clock,
            'frames': len(self.q),
            'step': self.step,
            'start': self.start,
            'shapes': [shape.document() for shape in self.shapes],
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

    def to_html(self, caption: str) -> str:
        """Return the view as part of the page."""
        packer = Packer()
        text = json.dumps(self._specification(packer), ensure_ascii=False, allow_nan=False).replace('<', '\\u003c')
        rows = ''.join(
            f'<span>{html.escape(joint.name)}</span><span class="track" title="{joint.low:.3g} … {joint.high:.3g}'
            f' {joint.unit}"><span class="span" style="left:{_share(joint, joint.used[0]):.1f}%;'
            f'width:{_share(joint, joint.used[1]) - _share(joint, joint.used[0]):.1f}%"></span>'
            f'<span class="now"></span></span><span class="value">{text_of(round(joint.used[0], 2))} …'
            f' {text_of(round(joint.used[1], 2))} {joint.unit}</span>'
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
        label = 'the robot; drag or arrow keys: turn, + and −: nearer and farther, space: play'
        return (
            '<figure class="robot"><div class="stage"><div>'
            f'<canvas tabindex="0" role="img" aria-label="{label}"></canvas><div class="static">{self._svg()}</div>'
            '<div class="player"><button type="button" class="play">play</button>'
            '<input type="range" min="0" value="0" aria-label="time"><span class="time"></span>'
            '<button type="button" class="speed" aria-label="speed">1×</button></div></div>'
            f'<div><p class="note">Joints within their limits</p><div class="joints">{rows}</div>'
            f'{margins}</div></div><figcaption>{html.escape(caption)}</figcaption>'
            f'<script type="application/json" class="specification">{text}</script>'
            f'<script type="text/plain" class="arrays">{packer.text()}</script></figure>'
        )

    def _svg(self) -> str:
        """Return some postures as lines from joint to joint, with the path of the end-effector."""
        (centre, reach), size = self._ball(), 360.0
        yaw, pitch = -0.9, 0.42

        def projected(points: FloatArray) -> FloatArray:
            x, y, z = (points - centre).T
            u, v = np.cos(yaw) * x + np.sin(yaw) * y, -np.sin(yaw) * x + np.cos(yaw) * y
            unit = 0.5 * size / reach
            return np.column_stack([size / 2 + unit * u, size / 2 - unit * (np.sin(pitch) * v + np.cos(pitch) * z)])

        def line(points: FloatArray, style: str) -> str:
            text = 'L'.join(f'{a:.1f} {b:.1f}' for a, b in projected(points))
            return f'<path d="M{text}" {style}/>'

        parts = [line(self.path, 'class="s c-third"')]
        for k, strength in zip(np.linspace(0, len(self.q) - 1, 4).astype(int), (1.0, 0.25, 0.25, 0.5), strict=True):
            points = np.array([np.zeros(3), *(pose[k, 9:] for pose in self.poses), self.path[k]])
            style = f'class="s c-predicted" stroke-linecap="round" style="stroke-width:7;stroke-opacity:{strength}"'
            parts.append(line(points, style))
        return f'<svg viewBox="0 0 {size:g} {size:g}" role="img" aria-label="postures">{"".join(parts)}</svg>'


def _share(joint: JointRange, value: float) -> float:
    return float(np.clip(100 * (value - joint.low) / (joint.high - joint.low), 0.0, 100.0))
