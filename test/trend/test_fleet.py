"""A folder of runs as a whole: alarms, what is left out, what is not done again, and who does the work."""

import csv
import shutil

import numpy as np
import pytest
import yaml

from joint_dynamics.cli.main import main
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.trend import TrendSettings, table_csv, trend, write_parquet
from joint_dynamics.trend.execution import DaskCluster, Processes

#: N·m, of each torque sample of the `fleet`.
NOISE = 0.3


@pytest.fixture
def folder(worn_folder, tmp_path):
    return shutil.copytree(worn_folder, tmp_path / 'fleet')


@pytest.fixture(scope='module')
def found(worn_folder):
    return trend(worn_folder, TrendSettings(processes=2))


def test_the_joint_that_wears_raises_the_alarm(found, fleet):
    assert {(alarm.robot, alarm.joint) for alarm in found.alarms} == {('arm_2', fleet.names[0])}
    coulomb = next(alarm for alarm in found.alarms if alarm.quantity == 'coulomb')
    assert coulomb.since.date().isoformat() == '2026-02-16'  # the seventh week
    assert coulomb.direction == 'rose'
    # F_C beside a slope and an offset has at most twice the deviation of a mean of some 780 samples; three runs after
    # the change, six before.
    tolerance = 4 * 2 * NOISE / np.sqrt(780) * np.sqrt(1 / 3 + 1 / 6)
    assert abs(coulomb.after[0] - coulomb.before[0] - 1.5) < tolerance


def test_the_table_has_a_row_per_run_joint_and_quantity(found, fleet, tmp_path):
    rows = list(csv.DictReader(table_csv(found.rows).splitlines()))
    assert len(rows) == 2 * 9 * len(fleet.names) * 3
    assert {row['quantity'] for row in rows} == {'coulomb', 'viscous', 'residual'}
    assert sum(row['alarm'] == 'True' for row in rows) == len(found.alarms)
    assert {row['segment'] for row in rows if row['robot'] == 'arm_1'} == {'0'}
    pyarrow = pytest.importorskip('pyarrow.parquet', reason='the extra `parquet` is not installed')
    write_parquet(found.rows, tmp_path / 'trend.parquet')
    read = pyarrow.read_table(tmp_path / 'trend.parquet')
    assert read.to_pylist() == found.rows


def test_one_bad_recording_is_named_and_left_out(folder, found):
    bad = next((folder / 'arm_1').glob('*.csv'))
    bad.write_text('time,q1\n0,nonsense\n')
    again = trend(folder, TrendSettings(processes=2))
    assert list(again.left_out) == [str(bad)]
    assert 'expected' in again.left_out[str(bad)]
    assert len(again.runs) == len(found.runs) - 1


def test_what_is_done_is_not_done_again(folder, fleet, tmp_path):
    out = tmp_path / 'out'
    first = trend(folder, TrendSettings(processes=1), out=out)
    assert first.anew == 18
    (folder / 'arm_1').rename(folder / 'arm_3')
    moved = trend(folder, TrendSettings(processes=1), out=out)
    assert moved.anew == 0
    assert {run.robot for run in moved.runs} == {'arm_2', 'arm_3'}
    assert [row['value'] for row in moved.rows if row['robot'] == 'arm_2'] == [
        row['value'] for row in first.rows if row['robot'] == 'arm_2'
    ]
    changed = next((folder / 'arm_3').glob('*.csv'))
    fleet.record(77).save_csv(changed)
    assert trend(folder, out=out).anew == 1
    config = {'identification': {'moving_speed': 0.05}}
    assert trend(folder, out=out, config=config).anew == 18


def test_a_killed_trend_goes_on_where_it_was(folder, tmp_path):
    class Halfway:
        """Processes that end in the middle, as by an interrupt."""

        def run(self, tasks):
            for k, item in enumerate(Processes(1).run(tasks)):
                if k == 5:
                    raise KeyboardInterrupt
                yield item

        def close(self):
            pass

    with pytest.raises(KeyboardInterrupt):
        trend(folder, out=tmp_path / 'out', execution=Halfway())
    assert trend(folder, out=tmp_path / 'out').anew == 18 - 5


def test_a_process_that_dies_costs_its_own_task(folder, fleet):
    runs = sorted((folder / 'arm_1').glob('*.csv'))[:3]
    task = {'kind': 'recording', 'recording': {}, 'identification': {}, 'reference': fleet.description().to_yaml()}
    tasks = [(path.name, {**task, 'paths': [str(path)]}) for path in runs]
    tasks.insert(1, ('deadly', {'kind': 'no such work'}))
    done = dict(Processes(1).run(tasks))
    assert done['deadly']['lost']
    assert 'ended with status' in done['deadly']['error']
    assert all('figures' in done[path.name] for path in runs)


def test_a_dask_cluster_finds_the_same(worn_folder, found):
    pytest.importorskip('distributed', reason='the extra `dask` is not installed')
    cluster = DaskCluster('local', 1)
    try:
        there = trend(worn_folder, execution=cluster)
    finally:
        cluster.close()
    assert there.rows == found.rows


def test_a_cluster_that_does_not_answer_is_refused():
    pytest.importorskip('distributed', reason='the extra `dask` is not installed')
    with pytest.raises(JointDynamicsError, match='expected the address of a scheduler'):
        DaskCluster('tcp://127.0.0.1:1', timeout=1.0)


def test_without_a_reference_one_is_needed_or_a_robot(folder):
    (folder / 'arm_1' / 'reference.yaml').unlink()
    with pytest.raises(JointDynamicsError, match='--robot FILE'):
        trend(folder)


def test_a_robot_is_identified_from_its_early_runs(fleet, tmp_path):
    fleet.write(tmp_path / 'runs', [0.0] * 4)
    robot = tmp_path / 'arm.yaml'
    robot.write_text(yaml.safe_dump(fleet.model.kinematics()['mdh']))
    (tmp_path / 'runs' / 'arm_1' / 'run_2026-01-01.csv').write_text('nothing')
    found = trend(tmp_path / 'runs', TrendSettings(reference_runs=2), robot=robot, out=tmp_path / 'out')
    assert len(found.runs) == 4
    assert len(found.left_out) == 1
    coulomb = [row for row in found.rows if row['quantity'] == 'coulomb']
    assert all(abs(row['value'] - row['reference']) < 6 * row['std'] for row in coulomb)


def test_the_command_writes_and_warns(folder, tmp_path, capsys):
    out = tmp_path / 'out'
    assert main(['trend', str(folder), '--out', str(out)]) == 1
    said = capsys.readouterr()
    assert 'changed: arm_2' in said.err
    assert {path.name for path in out.iterdir()} == {'trend.csv', 'summary.json', 'report.html', 'runs'}
    page = (out / 'report.html').read_text()
    assert 'What changed' in page
    assert 'http' not in page.split('</style>')[1]
    shutil.rmtree(folder / 'arm_2')
    assert main(['trend', str(folder), '--out', str(out)]) == 0
    assert '0 measured anew' in capsys.readouterr().out
