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

"""A robot to identify whose torques come from pinocchio and friction written down here.

Not from the package's regressor.
"""

from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.identification.observations import FilterPlan, Observation
from joint_dynamics.identification.regression.least_squares import Solution
from joint_dynamics.identification.result import IdentificationResult
from joint_dynamics.recording import Recording
from joint_dynamics.robot import PER_JOINT, RobotModel
from joint_dynamics.signals.filtering import ParallelDecimator


class TrueRobot:
    """A UR5e-like arm with known standard parameters, which moves on random Fourier series."""

    def __init__(self, model, seed=2024):
        rng = np.random.default_rng(seed)
        self.model = model
        n = model.n
        self.standard = np.zeros((n, PER_JOINT))
        masses = np.array([3.8, 8.4, 2.3, 1.2, 1.2, 0.2, 0.2])[:n]
        for k in range(n):
            size = np.array([0.08, 0.08, 0.35 if k in (1, 2) else 0.08])
            centre = rng.normal(scale=0.3 * size)
            tensor = masses[k] * (
                np.diag((size @ size - size**2) / 3) + centre @ centre * np.eye(3) - np.outer(centre, centre)
            )
            self.standard[k, :10] = (*tensor[np.triu_indices(3)], *(masses[k] * centre), masses[k])
        self.standard[:, 10] = np.array([1.5, 1.5, 1.2, 0.3, 0.3, 0.3, 0.3])[:n]
        self.standard[:, 11] = np.array([12.0, 12.0, 10.0, 3.0, 3.0, 3.0, 3.0])[:n]
        self.standard[:, 12] = np.array([9.0, 9.0, 7.0, 2.0, 2.0, 2.0, 2.0])[:n]
        self.standard[:, 13] = rng.normal(scale=0.3, size=n)
        self.rigid = model.pinocchio.copy()
        for k, (xx, xy, xz, yy, yz, zz, mx, my, mz, mass) in enumerate(self.standard[:, :10]):
            self.rigid.inertias[k + 1] = pinocchio.Inertia.FromDynamicParameters(
                np.array([mass, mx, my, mz, xx, xy, yy, xz, yz, zz])
            )

    @property
    def base(self):
        """True base parameters."""
        return self.model.base_parameters().regroup(self.standard.ravel())

    def motion(self, rng, duration, rate, harmonics=5, frequency=0.1):
        """q, dq, ddq on a random series, amplitudes so that speeds stay near 2 rad/s."""
        t = np.arange(0, duration, 1 / rate)
        k = 2 * np.pi * frequency * np.arange(1, harmonics + 1)
        a, b = rng.normal(size=(2, harmonics, self.model.n)) * 0.7
        phase = np.outer(t, k)
        sine, cosine = np.sin(phase), np.cos(phase)
        a, b, k = 0.6 * a, 0.6 * b, k[:, None]
        return t, sine @ (a / k) + cosine @ (b / k), cosine @ a - sine @ b, -sine @ (a * k) - cosine @ (b * k)

    def torque(self, q, dq, ddq):
        """Motor torque on the joint side."""
        workspace = self.rigid.createData()
        rigid = np.array([pinocchio.rnea(self.rigid, workspace, *state) for state in zip(q, dq, ddq, strict=True)])
        Ia, Fv, Fc, offset = self.standard[:, 10:].T
        return rigid + Ia * ddq + Fv * dq + Fc * np.sign(dq) + offset

    def record(self, seed, duration=20.0, rate=500.0, noise=0.02, counts=2**20, correlated=False, **motion):
        """A recording with quantised positions and torque noise of `noise` times each joint's rms torque."""
        rng = np.random.default_rng(seed)
        t, q, dq, ddq = self.motion(rng, duration, rate, **motion)
        tau = self.torque(q, dq, ddq)
        white = rng.normal(size=tau.shape)
        if correlated:
            from scipy.signal import lfilter

            white = lfilter([1.0], [1.0, -0.9], white, axis=0)
            white /= white.std(axis=0)
        step = 2 * np.pi / counts
        tau = tau + noise * np.sqrt((tau**2).mean(axis=0)) * white
        return Recording(self.model.joint_names, t, np.round(q / step) * step, tau=tau, name=f'run {seed}')


@pytest.fixture(scope='session')
def true_robot(ur):
    return TrueRobot(ur)


@pytest.fixture(scope='session')
def true_robot_of():
    """The class, to make one for another model."""
    return TrueRobot


GEN3 = ('RecordTrajectory_quadratic', 'RunTrajectory1', *(f'joint_{joint}_trapez' for joint in range(1, 5)))
"""Training recordings of Gen3; `opti_traj_testing1` is left to predict."""


@pytest.fixture(scope='session')
def gen3(data):
    """Model of Gen3, and its training recordings."""
    model = RobotModel.load(data / 'gen3' / 'gen3.urdf')
    return model, [Recording.load(data / 'gen3' / run).select(model.joint_names) for run in GEN3]


@pytest.fixture(scope='session')
def two_links():
    """Two links in a vertical plane: the smallest arm with gravity and with joints that feel each other."""
    rows = [{'alpha': np.pi / 2, 'a': 0.0, 'd': 0.1, 'theta': 0.0}, {'alpha': 0.0, 'a': 0.4, 'd': 0.0, 'theta': 0.3}]
    return RobotModel.from_mdh({'joints': rows})


def observe_two_links(seed=0, samples=600, *, rate=100.0, factor=None, cutoff=4.0, tau=None):
    """Both joints on a random series with speeds near 1 rad/s.

    factor: every so many samples kept, low-pass filtered at `cutoff` Hz; None: all, by a kernel of one sample.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / rate
    k = 2 * np.pi * np.array([0.31, 0.47, 0.83])[:, None]
    a, b = rng.normal(size=(2, 3, 2)) * 0.5
    sine, cosine = np.sin(t[:, None] * k.T), np.cos(t[:, None] * k.T)
    q, dq, ddq = sine @ (a / k) + cosine @ (b / k), cosine @ a - sine @ b, -sine @ (a * k) - cosine @ (b * k)
    decimator = ParallelDecimator(samples, cutoff, rate, factor or 1)
    if factor is None:
        decimator.kernel, decimator.half = np.ones(1), 0
    tau = np.zeros_like(q) if tau is None else tau
    return Observation('run', t, q, dq, ddq, q, dq, ddq, tau, None, decimator, np.full(2, True))


@pytest.fixture(scope='session')
def observed():
    return observe_two_links


@pytest.fixture(scope='session')
def made_result():
    """Return the parts of a result: two parameters, one recording of 4 N·m with a residual of 0.5 N·m."""
    fit = SimpleNamespace(
        name='run <1>', time=np.zeros(321), dq=np.ones((3, 1)), moving=np.ones((3, 1), dtype=bool),
        residual=np.full((3, 1), 0.5), tau=np.full((3, 1), 4.0), unit='N·m', band=3.0,
        full=SimpleNamespace(band=10.0), summary=lambda: {'recording': 'run'},
    )  # fmt: skip
    fit.in_fixed_band = fit
    solution = Solution(
        np.array([1.23456, -2.0]), np.array([0.1, 0.2]), np.eye(2), condition_number=np.inf,
        inflation=np.array([1.0, 400.0]),
    )  # fmt: skip

    def of(names=('p<', 'q'), **changes):
        base = SimpleNamespace(count=2, expressions=['a & b', 'c'])
        values = {
            'problem': SimpleNamespace(base=base, names=list(names), model=SimpleNamespace(joint_names=('a', 'b'))),
            'settings': SimpleNamespace(method='wls'), 'plan': FilterPlan(1.5, 7.5, 3.0, None, 0.2),
            'solution': solution, 'covariance': np.diag(np.square([0.0123, 0.5])), 'training': [fit], 'validation': [],
            'reasons': [], 'seconds': 1.5, 'standard_parameters': None, 'description': None, **changes,
        }  # fmt: skip
        return IdentificationResult(**values)

    return of


TRUTH = {
    'ZZ_1': 0.5, 'MX_1': 1.5, 'MY_1': 0.2, 'M_1': 5.0, 'ZZ_2': 0.25, 'MX_2': 0.5, 'MY_2': 0.1, 'M_2': 2.0, 'Ia_1': 0.5,
    'Ia_2': 0.1, 'Fv_1': 2.0, 'Fv_2': 1.0, 'Fc_1': 1.5, 'Fc_2': 0.6, 'off_1': 0.1,
}  # fmt: skip


def base_of(model, values):
    """Return the base parameters of standard parameters by name, the others zero."""
    return model.base_parameters().regroup(np.array([values.get(name, 0.0) for name in model.parameter_names]))


@pytest.fixture(scope='session')
def base_parameters_of():
    return base_of


@pytest.fixture(scope='session')
def truth():
    """Standard parameters of the two links, by name."""
    return TRUTH
