"""What the demonstration found beside the truth of the simulated robot: comparison and report."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from joint_dynamics.report.html import Report
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

#: Friction of a joint is a function of speed, load and temperature; its linear stand-ins have no true value.
FRICTION = ('Fv_', 'Fc_', 'off_')
DEVIATIONS = 2.0


@dataclass(frozen=True)
class Comparison:
    """Identified base parameters of bodies and rotors beside the true ones.

    rows: (name, expression, identified, deviation, true) each, in the robot's order.
    """

    rows: tuple[tuple[str, str, float, float, float], ...]

    @property
    def errors(self) -> np.ndarray:
        """Identified minus true (b,)."""
        return np.array([row[2] - row[4] for row in self.rows])

    @property
    def deviations(self) -> np.ndarray:
        """Errors in stated standard deviations (b,)."""
        return self.errors / np.array([row[3] for row in self.rows])

    @property
    def coverage_percent(self) -> float:
        """Share of the parameters whose true value lies within two stated deviations."""
        return float(100.0 * np.mean(np.abs(self.deviations) <= DEVIATIONS))

    @property
    def median_error_deviations(self) -> float:
        """Median of |error| in stated deviations; 0.67 for normal errors that the deviations describe."""
        return float(np.median(np.abs(self.deviations)))

    @property
    def median_error_percent(self) -> float:
        """Median of |error| in percent of the true value, of the parameters above a hundredth of the largest of their kind."""
        true = np.array([row[4] for row in self.rows])
        kinds = np.array([row[0].rstrip('0123456789').rstrip('_').rstrip('R') for row in self.rows])
        largest = np.array([np.abs(true[kinds == kind]).max() for kind in kinds])
        rows = np.abs(true) > 0.01 * largest
        return float(100.0 * np.median(np.abs(self.errors[rows] / true[rows])))


def compare_parameters(identified: Sequence[Mapping[str, Any]], truth: Mapping[str, Any]) -> Comparison:
    """Return the base parameters of an identifier's summary.json beside those of the simulator's truth."""
    base = RobotModel.load(ur5e_urdf()).base_parameters()
    true = dict(zip(base.names, base.regroup(np.array(truth['parameters'])), strict=True))
    return Comparison(tuple((row['name'], row['expression'], row['value'], row['std'], float(true[row['name']]))
                            for row in identified if row['name'] in true and not row['name'].startswith(FRICTION)))


def demo_report(summary: Mapping[str, Any], results: Mapping[str, Any]) -> Report:
    """Return the report of one demonstration."""
    report = Report('joint_dynamics: the demonstration', 'A simulated UR5e with flexible joints, over DDS, every node its own process')
    report.add_section('In short')
    report.add_table(['', 'here', 'published'], headlines(summary))
    report.add_section('Base parameters')
    comparison = results['parameters']
    report.add_table(['parameter', 'identified', 'std', 'true', 'error in std', 'made of'],
                     [[name, value, std, true, (value - true) / std, expression] for name, expression, value, std, true in comparison.rows],
                     'SI units, joint side; rigid bodies and rotors')
    return report


def headlines(summary: Mapping[str, Any]) -> list[list[Any]]:
    """Return the rows of the table at the end."""
    rows: list[list[Any]] = [['base parameters within two stated deviations of the truth, %', summary.get('parameter_coverage_percent'), None]]
    return rows
