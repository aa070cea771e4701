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
from joint_dynamics.report.figure import Packer, packed_html
from joint_dynamics.report.robot_shapes import Shape
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.limits import joint_unit

RATE = 30.0  # poses per second; the page interpolates between them
MAX_FRAMES = 1800  # poses of a motion, however long
CLOCK = 'robot'  # name of the view; figures with it as `clock` show the same time
TONES = ('predicted', 'measured', 'seventh')  # colours of links, every other link, and support


@dataclass(frozen=True)
class RobotView:
    """Poses (frames, 12) of every link: rotation row by row, then origin in m; shapes are fixed in their links.

    Attributes
    ----------
    names, units, limits
        of the joints, and their lowest and highest positions (n, 2).
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

    shapes: Sequence[Shape]
    poses: Sequence[FloatArray]
    names: Sequence[str]
    units: Sequence[str]
    limits: FloatArray
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
        # A joint without limits is shown within its motion.
        moved = np.column_stack([joints.min(axis=0) - 0.1, joints.max(axis=0) + 0.1])
        bounds = np.column_stack(limits)
        bounds = np.where(np.isfinite(bounds).all(axis=1, keepdims=True), bounds, moved)
        units = [joint_unit('rad', bool(slides)) for slides in model.prismatic]
        start, step = float(moments[0]), float(moments[1] - moments[0])
        names = model.joint_names
        return cls(shapes, poses, names, units, bounds, joints, path, start, step, floor or 0.0, margins, colours)

    def _specification(self, packer: Packer) -> dict[str, Any]:
        centre, reach = self._ball()
        return {
            'clock': CLOCK,
            'frames': len(self.q),
            'step': self.step,
            'start': self.start,
            'shapes': [{**shape.document(), 'colour': self._colour(shape)} for shape in self.shapes],
            'poses': [[packer.add(column) for column in pose.T] for pose in self.poses],
            'joints': [packer.add(column) for column in self.q.T],
            'path': [packer.add(column) for column in self.path.T],
            'limits': self.limits.tolist(),
            'units': list(self.units),
            'centre': [round(float(value), 4) for value in centre],
            'reach': reach,
            'cell': round(reach / 4, 1) or 0.1,
            'floor': self.floor,
        }

    def _ball(self) -> tuple[FloatArray, float]:
        """Return centre (3,) and radius, m, of the space of the motion."""
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
        low, span = self.limits[:, 0], np.ptp(self.limits, axis=1)
        begin, end = (np.clip(100 * (q - low) / span, 0, 100) for q in (self.q.min(axis=0), self.q.max(axis=0)))
        rows = ''.join(
            f'<span>{html.escape(name)}</span><span class="track"><span class="span"'
            f' style="left:{begin[j]:.1f}%;width:{end[j] - begin[j]:.1f}%"></span><span class="now"></span></span>'
            '<span class="value live"></span>'
            for j, name in enumerate(self.names)
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
