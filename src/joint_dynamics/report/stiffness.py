"""Stiffness of an identified robot's joints, over the deformation that the recordings show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.report.figure import Figure, Panel, Series
from joint_dynamics.report.friction import PERCENTILE, friction_samples
from joint_dynamics.report.html import Report

if TYPE_CHECKING:
    from joint_dynamics.identification import IdentificationResult

BEYOND = 1.5
"""A curve goes on so many times beyond what supports it, dashed."""


def add_stiffness(report: Report, result: IdentificationResult) -> None:
    """Add a section with torque over deformation of every joint whose stiffness was found; none where none was."""
    names = result.problem.model.joint_names
    arm = Arm.from_description(result.problem.model, result.description)
    if arm.stiffness is None or not np.any(arm.stiffness_described):
        return
    samples = friction_samples(result)
    panels, rows = [], []
    for j in np.flatnonzero(arm.stiffness_described):
        document: dict[str, Any] = result.description.joint(names[j])['stiffness']
        load = samples[j][1]
        if not len(load):
            continue
        most = float(np.percentile(np.abs(load), PERCENTILE))
        reach = float(arm.stiffness.deformation(most * np.eye(len(names))[j])[j])
        deviation = document.get('standard_deviations') or [np.nan]
        panels.append(_panel(arm, int(j), names[j], most, reach, float(deviation[0])))
        value = document['coefficients'][0]
        rows.append([names[j], value, deviation[0], 100 * deviation[0] / value, most, 1e3 * reach])
    report.add_section('Stiffness')
    report.add_table(
        ['joint', 'stiffness without load, N·m/rad', 'std', 'std %', 'seen up to, N·m', 'deformation there, mrad'],
        rows,
        f'Of the transmission, joint side; seen: {PERCENTILE:g} % of the training samples in motion',
    )
    report.add_figure(
        Figure(panels, 'deformation [mrad]', columns=2, height=150),
        'Torque over deformation, with two deviations of the stiffness; dashed: beyond what the recordings show',
    )


def _panel(arm: Arm, j: int, name: str, most: float, reach: float, deviation: float) -> Panel:
    phi = np.linspace(-BEYOND * reach, BEYOND * reach, 121)
    assert arm.stiffness is not None
    torque = arm.stiffness.torque(np.outer(phi, np.eye(arm.n)[j]))[:, j]
    inside = np.abs(phi) <= reach * (1 + 1e-9)
    spread = 2 * deviation * np.abs(phi)
    return Panel(
        name,
        '[N·m]',
        (
            Series('beyond', torque, 'seventh', 1e3 * phi, dashed=True),
            Series(
                'described',
                torque[inside],
                'predicted',
                1e3 * phi[inside],
                low=(torque - spread)[inside],
                high=(torque + spread)[inside],
            ),
        ),
        note=f'seen up to {most:.3g} N·m',
    )
