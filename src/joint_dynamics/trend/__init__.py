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

"""Many runs of one or many robots over time: friction, stiffness and backlash of each joint, and their slopes.

result = trend('fleet', TrendSettings())
result.series; result.rows; result.left_out
"""

from joint_dynamics.trend.fleet import Trend, TrendSettings, trend
from joint_dynamics.trend.measure import QUANTITIES
from joint_dynamics.trend.series import Run, Series, Slope, find_runs, table_csv

__all__ = ['QUANTITIES', 'Run', 'Series', 'Slope', 'Trend', 'TrendSettings', 'find_runs', 'table_csv', 'trend']
