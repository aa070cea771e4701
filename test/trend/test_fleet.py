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

"""A folder of runs as a whole: slopes, omitted runs, and processes or cluster."""

import csv
import os
import shutil

import numpy as np
import pytest
import yaml

from joint_dynamics.cli.main import main
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.trend import TrendSettings, table_csv, trend
from joint_dynamics.trend.fleet import in_processes, on_cluster
from joint_dynamics.trend.measure import work


def here(tasks):
    """Measure in this process: quicker than one process for each run."""
    return map(work, tasks)


@pytest.fixture
def folder(worn_folder, tmp_path):
    return shutil.copytree(worn_folder, tmp_path / 'fleet')


@pytest.fixture(scope='module')
def found(worn_folder):
    return trend(worn_folder, execute=here)


def test_the_joint_that_wears_has_a_significant_slope(found, fleet):
    assert {(each.robot, each.joint) for each in found.significant} == {('arm_2', fleet.names[0])}
    coulomb = next(each.slope for each in found.significant if each.quantity == 'coulomb')
    # 0.5 N·m a week; F_C beside a slope and an offset has at most twice the deviation of a mean of some 780 samples
    run = 2 * 0.3 / np.sqrt(780)
    assert abs(7 * coulomb.per_day - 0.5) < 4 * run / np.sqrt(17.5)  # Σ(k − 2.5)² of six runs is 17.5


def test_table_has_a_row_per_run_joint_and_quantity(found, fleet):
    rows = list(csv.DictReader(table_csv(found.rows).splitlines()))
    assert len(rows) == 2 * 6 * len(fleet.names) * 3
    assert {row['quantity'] for row in rows} == {'coulomb', 'viscous', 'residual'}


def test_bad_recordings_are_named_and_left_out(folder, found):
    bad, pipe = folder / 'arm_1' / 'run_2026-01-05.csv', folder / 'arm_1' / 'pipe_2026-01-06.mcap'
    bad.write_text('time,q1\n0,nonsense\n')
    os.mkfifo(pipe)
    again = trend(folder, execute=here)
    assert set(again.left_out) == {str(bad), str(pipe)}
    assert len(again.runs) == len(found.runs) - 1


def test_a_process_that_dies_costs_its_own_run(folder, fleet):
    runs = sorted((folder / 'arm_1').glob('*.csv'))[:1]
    settings = {'recording': {}, 'identification': {}, 'reference': fleet.description().to_yaml()}
    tasks = [{**settings, 'path': str(path)} for path in runs]
    tasks.insert(0, {'no': 'task'})
    done = list(in_processes(tasks, 1))
    assert ['error' in outcome for outcome in done] == [True, False]


def test_a_dask_cluster_finds_the_same(worn_folder, found):
    distributed = pytest.importorskip('distributed', reason='the extra `dask` is not installed')
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        there = trend(worn_folder, execute=on_cluster(cluster.scheduler_address))
    assert there.rows == found.rows


def test_a_cluster_that_does_not_answer_is_refused(monkeypatch):
    pytest.importorskip('distributed', reason='the extra `dask` is not installed')
    monkeypatch.setattr('joint_dynamics.trend.fleet.SCHEDULER_TIMEOUT', 1.0)
    with pytest.raises(JointDynamicsError, match=r'127\.0\.0\.1:1'):
        on_cluster('tcp://127.0.0.1:1')


def test_a_reference_is_needed(folder, fleet):
    (folder / 'arm_1' / 'reference.yaml').rename(folder / 'new.yaml')
    with pytest.raises(JointDynamicsError, match='arm_1'):
        trend(folder)


def test_settings_that_are_gone_name_their_remedy():
    with pytest.raises(JointDynamicsError, match=r'trend\.before.*0\.3\.0.*significance'):
        TrendSettings.from_mapping(yaml.safe_load('before: 5'))


def test_the_command_writes_and_warns(folder, tmp_path, capsys):
    out = tmp_path / 'out'
    for path in sorted((folder / 'arm_1').glob('*.csv'))[1:] + sorted((folder / 'arm_2').glob('*.csv'))[4:]:
        path.unlink()
    assert main(['trend', str(folder), '--out', str(out)]) == 1
    assert 'arm_2' in capsys.readouterr().err
    assert {path.name for path in out.iterdir()} == {'trend.csv', 'summary.json', 'report.html'}
    assert 'http' not in (out / 'report.html').read_text().split('</style>')[1]
    shutil.rmtree(folder / 'arm_2')
    assert main(['trend', str(folder), '--out', str(out)]) == 0
