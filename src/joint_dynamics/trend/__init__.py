"""Many runs of one or many robots over time: friction, stiffness and backlash of each joint, and their slopes.

result = trend('fleet', TrendSettings(), robot=None)
result.series; result.rows; result.left_out
"""

from joint_dynamics.trend.fleet import Trend, TrendSettings, trend
from joint_dynamics.trend.measure import QUANTITIES, Figure, Measurement
from joint_dynamics.trend.runs import Run, find_runs
from joint_dynamics.trend.series import Series, Slope, table_csv

__all__ = [
    'QUANTITIES',
    'Figure',
    'Measurement',
    'Run',
    'Series',
    'Slope',
    'Trend',
    'TrendSettings',
    'find_runs',
    'table_csv',
    'trend',
]
