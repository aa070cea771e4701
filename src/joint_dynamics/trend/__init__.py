"""Many runs of one or many robots over time: the condition of the joints in each, changes, and alarms.

result = trend('fleet', TrendSettings(), robot=None, out='out/trend')
result.alarms; result.rows; result.left_out
"""

from joint_dynamics.trend.analysis import (
    QUANTITIES,
    Alarm,
    Series,
    TrendSettings,
    find_alarms,
    table_csv,
    write_parquet,
)
from joint_dynamics.trend.change import ChangeTest, change_points
from joint_dynamics.trend.fleet import Trend, trend
from joint_dynamics.trend.measure import Figure, Measurement
from joint_dynamics.trend.runs import Run, find_runs

__all__ = [
    'QUANTITIES',
    'Alarm',
    'ChangeTest',
    'Figure',
    'Measurement',
    'Run',
    'Series',
    'Trend',
    'TrendSettings',
    'change_points',
    'find_alarms',
    'find_runs',
    'table_csv',
    'trend',
    'write_parquet',
]
