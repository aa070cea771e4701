"""Friction of an identified robot over speed and load, with the samples it was read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from joint_dynamics.arm import Arm, SteadyFriction
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.report.figure import Colour, Figure, Panel, Series
from joint_dynamics.report.html import Report

if TYPE_CHECKING:
    from joint_dynamics.identification import IdentificationResult

SAMPLES = 1500
"""Of each joint, as many samples are shown, evenly chosen."""
KINDS = ('Fv', 'Fc', 'Fs', 'off')
SPEEDS = 120
PERCENTILE = 99.0
"""The range of speed and load that samples support leaves out as many as 1 % of them, which stand alone."""
CLASSES: tuple[tuple[str, Colour], ...] = (
    ('load negative', 'third'),
    ('load small', 'fifth'),
    ('load positive', 'second'),
)


def friction_samples(result: IdentificationResult) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Return (speed [rad/s], load [N·m], friction [N·m]), (K,) each, per joint of the training samples in motion.

    Friction is the measured torque less what the identified bodies and rotors take; load is what the bodies take.
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
    found = []
    for part in parts:
        rows = np.concatenate(part, axis=1)
        speed, load, torque = rows[:, :: max(1, -(-rows.shape[1] // SAMPLES))]
        found.append((speed, load, torque))
    return found


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
    panels = []
    for j, (speed, load, torque) in enumerate(friction_samples(result)):
        if len(speed) >= 20:
            panels.append(friction_panel(arm, j, speed, load, torque))
    if not panels:
        return
    report.add_section('Friction')
    report.add_figure(
        Figure(panels, 'joint speed [rad/s]', columns=2, height=190),
        'Friction torque over speed: training samples (measured torque less that of the identified bodies) by the sign'
        ' of the load that the bodies give, and the friction of the description with two deviations, over the speeds'
        f' that {PERCENTILE:g} % of the samples reach. One line where it does not depend on load, else one per class,'
        " at the class's median load. Small: the middle third of the range of loads"
        + (
            ''
            if result.problem.model.coupling is None
            else '. Coupled drives rub with the speed of more than one joint'
        ),
    )


def friction_panel(arm: Arm, joint: int, speed: FloatArray, load: FloatArray, torque: FloatArray) -> Panel:
    """Return samples (K,) of one joint, by class of load, with the friction of the arm."""
    most = float(np.percentile(np.abs(load), PERCENTILE))
    edges = np.array([-most / 3, most / 3]) if most > 0 else np.array([-1.0, 1.0])
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
    note = f'load {load.min():.3g} … {load.max():.3g} N·m'.replace('-', '−')
    return Panel(steady.name, '[N·m]', series, note=note)


def _curves(steady: SteadyFriction, speed: FloatArray, load: float, label: str, colour: Colour) -> list[Series]:
    """Return the friction in both directions, over the speeds that samples support."""
    found = []
    for sign in (-1.0, 1.0):
        own = np.abs(speed[np.sign(speed) == sign])
        if len(own) < 5:
            continue
        grid = sign * np.linspace(own.min(), np.percentile(own, PERCENTILE), SPEEDS)
        grid = np.sort(grid)
        torque = steady.torque(grid, load)
        deviation = 2 * steady.deviation(grid, load)
        found.append(Series(label, torque, colour, grid, low=torque - deviation, high=torque + deviation))
        label = ''
    return found
