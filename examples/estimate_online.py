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

"""Follow stiffness and friction of one joint sample by sample, as the estimator node does.

The joint turns to and fro under a load; after 30 s its friction is 30 % higher, as by wear or a change of lubricant.
"""

import numpy as np

from joint_dynamics import FrictionEstimator, MaxwellSlip, StiffnessEstimator

PERIOD = 0.002
STIFFNESS = np.array([1.8e4, 8e7])  # N·m/rad, N·m/rad³
COULOMB = 7.0  # N·m
VISCOUS = 10.0  # N·m·s/rad
rng = np.random.default_rng(0)
time = np.arange(0.0, 60.0, PERIOD)
theta = 0.8 * np.sin(1.3 * time)
omega = 0.8 * 1.3 * np.cos(1.3 * time)

slip = MaxwellSlip(presliding=5e-4)  # H in [-1, 1]: sgn ω once sliding, a hysteresis at reversals
stiffness = StiffnessEstimator(1, order=2, period=PERIOD, scale=2e-3)
friction = FrictionEstimator(1, PERIOD, rate=0.5)
levels = np.where(time < 30.0, 1.0, 1.3)
history = np.empty(time.size)
for k in range(time.size):
    # measured deformation φ = θ − q and torque, both with noise
    phi = 2e-3 * np.sin(2.1 * time[k])
    torque = STIFFNESS @ [phi, phi**3] + rng.normal(scale=0.3)
    stiffness.update([phi + rng.normal(scale=5e-6)], [torque])

    coulomb = COULOMB * slip.step(theta[k])
    measured = levels[k] * coulomb + VISCOUS * omega[k] + rng.normal(scale=0.3)
    # without the nominal viscous friction: α₁ scales the Coulomb part, α₂ is the change of the viscous part
    friction.update([measured - VISCOUS * omega[k]], np.atleast_1d(coulomb), omega[k : k + 1])
    history[k] = friction.parameters[0, 0]

before = history[int(28 / PERIOD)]
after = history[-1]
print('stiffness      ', stiffness.coefficients[0], '±', stiffness.standard_deviation[0], 'true', STIFFNESS)
print(f'Coulomb friction times {before:.3f} before and {after:.3f} after the change, true 1 and 1.3')
