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

"""Friction over speed and stiffness over deformation of a robot's joints, with the samples behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics.arm import Arm, SteadyFriction
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.report.figure import Colour, Figure, Panel, Series
from joint_dynamics.report.html import Report
from joint_dynamics.report.live_table import with_deviation
from joint_dynamics.robot.limits import column_unit, joint_unit

if TYPE_CHECKING:
    from joint_dynamics.identification import IdentificationResult


SAMPLES = 1500  # samples shown of each joint, evenly chosen
KINDS = ('Fv', 'Fc', 'Fs', 'off')  # standard parameters of friction
SPEEDS = 120  # points of a curve
PERCENTILE = 99.0  # percentile of speed and load up to which samples support a curve
# Label and colour of samples by their load.
CLASSES: tuple[tuple[str, Colour], ...] = (
    ('load negative', 'third'),
    ('load small', 'fifth'),
    ('load positive', 'second'),
)


def friction_samples(result: IdentificationResult) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Return (speed [rad/s], load [N·m], friction [N·m]), (K,) each, per joint of the training samples in motion.

    Friction is the measured torque less that of the identified bodies and rotors; load is the torque of the bodies.
    """
    problem, chi = result.problem, result.solution.chi
    friction, bodies = _columns(result)
    parts: list[list[FloatArray]] = [[] for _ in problem.model.joint_names]
    moving = result.training[0].moving_speed
    for block in problem.blocks():
        other = np.einsum('jbs,b->js', block.rows[:, ~friction], chi[~friction])
        load = np.einsum('jbs,b->js', block.rows[:, bodies], chi[bodies])
        for j, part in enumerate(parts):
            use = np.abs(block.dq[j]) > moving
            if block.resting is not None:
                use &= ~block.resting[j]
            part.append(np.stack([block.dq[j][use], load[j][use], (block.tau - other)[j][use]]))
    samples = []
    for part in parts:
        rows = np.concatenate(part, axis=1)
        speed, load, torque = rows[:, :: max(1, -(-rows.shape[1] // SAMPLES))]
        samples.append((speed, load, torque))
    return samples


def _columns(result: IdentificationResult) -> tuple[BoolArray, BoolArray]:
    """Return which columns are friction, and which are of bodies (b,)."""
    problem = result.problem
    kinds = [problem.base.standard_names[column].partition('_')[0] for column in problem.base.independent]
    more = [term.is_friction for term in problem.terms for _ in term.names]
    friction = np.array([kind in KINDS for kind in kinds] + more)
    bodies = np.array([kind not in (*KINDS, 'Ia') for kind in kinds] + [False] * len(more))
    return friction, bodies


def add_friction(report: Report, result: IdentificationResult) -> None:
    """Add a section with the friction of every joint over its speed, samples and description."""
    arm = Arm.from_description(result.problem.model, result.description)
    if arm.friction is None:
        return
    samples = enumerate(friction_samples(result))
    panels = [friction_panel(arm, j, *arrays) for j, arrays in samples if len(arrays[0]) >= 20]
    if not panels:
        return
    report.add_section('Friction')
    report.add_figure(
        Figure(panels, f'joint speed [{column_unit("rad/s", arm.robot.prismatic)}]', columns=2, height=190),
        'Friction torque over speed. Points: training samples, measured torque less that of the identified bodies,'
        ' coloured by the load (small: the middle third of its range). Lines: friction of the description with two'
        f' deviations, up to the speed of {PERCENTILE:g} % of the samples. If it depends on the load, one line per'
        ' class, at the median load of the class',
    )


def friction_panel(arm: Arm, joint: int, speed: FloatArray, load: FloatArray, torque: FloatArray) -> Panel:
    """Return samples (K,) of one joint, by class of load, with the friction of the arm."""
    largest_load = float(np.percentile(np.abs(load), PERCENTILE))
    edges = np.array([-largest_load / 3, largest_load / 3]) if largest_load > 0 else np.array([-1.0, 1.0])
    places = np.digitize(load, edges)
    series: list[Series] = []
    medians: dict[int, float] = {}
    for k, (label, colour) in enumerate(CLASSES):
        chosen = places == k
        if chosen.any():
            series.append(Series(label, torque[chosen], colour, speed[chosen], 'points'))
            medians[k] = float(np.median(load[chosen]))
    steady = SteadyFriction(arm, joint)
    if len(steady.loads) > 1:
        for k, at in medians.items():
            series += _curves(steady, speed, at, f'described, {CLASSES[k][0]}', CLASSES[k][1])
    else:
        series += _curves(steady, speed, 0.0, 'described', 'predicted')
    unit = joint_unit('N·m', bool(arm.robot.prismatic[joint]))
    note = f'load {load.min():.3g} … {load.max():.3g} {unit}'.replace('-', '−')
    return Panel(steady.name, f'[{unit}]', series, note=note)


def _curves(steady: SteadyFriction, speed: FloatArray, load: float, label: str, colour: Colour) -> list[Series]:
    """Return the friction in both directions, over the speeds that samples support."""
    curves = []
    for sign in (-1.0, 1.0):
        own = np.abs(speed[np.sign(speed) == sign])
        if len(own) < 5:
            continue
        grid = sign * np.linspace(own.min(), np.percentile(own, PERCENTILE), SPEEDS)
        grid = np.sort(grid)
        torque = steady.torque(grid, load)
        deviation = 2 * steady.deviation(grid, load)
        curves.append(Series(label, torque, colour, grid, low=torque - deviation, high=torque + deviation))
        label = ''
    return curves


def add_stiffness(report: Report, result: IdentificationResult) -> None:
    """Add a section with torque over deformation of every joint whose stiffness is described; none where none is."""
    names = result.problem.model.joint_names
    arm = Arm.from_description(result.problem.model, result.description)
    if arm.stiffness is None or not np.any(arm.stiffness_described):
        return
    samples = friction_samples(result)
    panels = []
    for j in np.flatnonzero(arm.stiffness_described):
        document: dict[str, Any] = result.description.joint(names[j])['stiffness']
        load = samples[j][1]
        if not len(load):
            continue
        largest_load = float(np.percentile(np.abs(load), PERCENTILE))
        reach = float(arm.stiffness.deformation(largest_load * np.eye(len(names))[j])[j])
        value, deviation = document['coefficients'][0], (document.get('standard_deviations') or [np.nan])[0]
        phi = np.linspace(-reach, reach, 121)
        torque = arm.stiffness.torque(np.outer(phi, np.eye(arm.n)[j]))[:, j]
        spread = 2 * deviation * np.abs(phi)
        curve = Series('described', torque, 'predicted', 1e3 * phi, low=torque - spread, high=torque + spread)
        load_unit, unit = (joint_unit(unit, bool(arm.robot.prismatic[j])) for unit in ('N·m', 'N·m/rad'))
        note = f'{with_deviation(value, deviation)} {unit}'
        panels.append(Panel(names[j], f'[{load_unit}]', (curve,), note=note))
    deformation = column_unit('mrad', arm.robot.prismatic[arm.stiffness_described])
    report.add_section('Stiffness')
    report.add_figure(
        Figure(panels, f'deformation [{deformation}]', columns=2, height=150),
        'Torque of the transmission over deformation, joint side, with two deviations of the stiffness, up to the load'
        f' of {PERCENTILE:g} % of the training samples in motion; above each, its stiffness without load',
    )
