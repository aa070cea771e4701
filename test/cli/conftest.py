import pytest
import yaml

from joint_dynamics.cli.main import main
from joint_dynamics.recording import Recording


class Outcome:
    """Exit status and output of one command."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def error(self):
        """The one line that says what is wrong; no traceback, nothing beside it."""
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


@pytest.fixture
def run(capsys):
    """Call `run('identify', …)` as a shell would, in this process."""
    def call(*arguments):
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        return Outcome(status, *capsys.readouterr())
    return call


@pytest.fixture
def arm_file(tmp_path, ur_table):
    """The robot as an MDH table on disk."""
    path = tmp_path / 'arm.yaml'
    path.write_text(yaml.safe_dump(ur_table))
    return path


@pytest.fixture(scope='session')
def motion(ur):
    """q, tau of a smooth, exciting motion of 8 s at 200 Hz, torques from pinocchio under known masses."""
    import numpy as np
    import pinocchio
    rng = np.random.default_rng(3)
    t = np.arange(0, 8, 1 / 200)
    k = 2 * np.pi * 0.25 * np.arange(1, 5)
    a, b = rng.normal(size=(2, 4, 6)) * 0.5
    sine, cosine = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
    q = sine @ (a / k[:, None]) + cosine @ (b / k[:, None])
    dq = cosine @ a - sine @ b
    ddq = -sine @ (a * k[:, None]) - cosine @ (b * k[:, None])
    body = ur.pinocchio.copy()
    for j, mass in enumerate((3.7, 8.4, 2.3, 1.2, 1.2, 0.3)):
        body.inertias[j + 1] = pinocchio.Inertia(mass, rng.normal(scale=0.1, size=3), np.diag([0.05, 0.06, 0.04]))
    workspace = body.createData()
    tau = np.array([pinocchio.rnea(body, workspace, *state) for state in zip(q, dq, ddq, strict=True)]) + 3 * np.sign(dq) + 5 * dq
    return t, q, tau + rng.normal(scale=0.2, size=tau.shape)


@pytest.fixture
def run_file(tmp_path, ur, motion):
    """The motion as a CSV file; `change(t, q, tau)` may spoil it, `columns` rename or drop columns."""
    def write(name='run.csv', change=None):
        t, q, tau = (array.copy() for array in motion)
        recording = Recording(ur.joint_names, t, q, tau=tau)
        path = tmp_path / name
        recording.save_csv(path)
        if change is not None:
            path.write_text(change(path.read_text()))
        return path
    return write
