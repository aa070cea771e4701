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

"""All thresholds of the checks, with unit and reason; explanation: docs/explanation/verdict.md, causes.md."""

import numpy as np

# Evidence of another explanation
MIN_EVIDENCE = float(np.log(200 / 0.01))  # nats over ĉ: 200 explanations together refuse one good recording in 100
LOG_LIKELIHOOD_THRESHOLD = 20.0  # nats of a gain without ĉ: odds of 5e8
SCALE_EVIDENCE = 30.0  # nats of a scale without ĉ: a free factor can absorb model error
FREE_SCALE_THRESHOLD = 3.0  # nats that a sign or scale gains over a torque without any scale: odds of 20
MIN_EFFECT = 0.05  # share of a torque (rms) that a cause has to make
RESOLVED = 0.005  # share of a torque (rms) that drives, encoders and clocks do not resolve
HARM = 2.0  # standard errors over the folds, from which a correction harms
PROOF = 1.53  # standard errors over the folds that prove a correction: nine in ten, Student's t of four degrees
BETTER = 0.5  # share of the residual (rms) that a simple change of predicted torques leaves at most
WORSE = 1.1  # residual (rms) of a joint on unseen data after a correction over that before, at most

# Delay
LATE = 0.015  # s, a period of slow controllers (125 Hz) and as much for the drives' filters
PRESLIDING = 1e-3  # rad (m), way over which friction turns at a reversal: joints have 1e-4 to 3e-3
MAX_DELAY = 0.4  # s, longest delay that is looked for
LEFT_OUT = 0.1  # share of the recorded time that the longest delay may take at each end

# Residual and prediction
FRICTION_DETAILS = 1 / 3  # share of a joint's friction that load, temperature and low speed change
MIN_UNEXPLAINED_SHARE = 0.3  # share of a joint's variation (rms) from which the residual is compared with friction
UNRELATED_SHARE = 0.7  # the same, from which the torque has nothing to do with the motion: half of its power
MAX_RATIO_TO_TRAINING = 3.0  # residual of another motion over that of the training, from which something is wrong
EQUAL_RATIO_TO_TRAINING = 1.5  # the same, up to which a prediction is as good as the training
POOR_PERCENT = 15.0  # % of the torque, below which a prediction is not held against the description
USELESS_PERCENT = 50.0  # % of the torque, from which a prediction is of no use
EXPLAINED_SHARE = 0.5  # share of the residual (rms) that parameter deviations make before they are its cause

# Units
DISAGREEMENT_FACTOR = 3.0  # torques over those of the file's inertials: tools weigh less, A and N·m differ by more
SMALL_TORQUE_SHARE = 0.03  # share of the effort limits below which all torques are currents

# Signals of one recording
SLOWEST = 0.01  # rad/s, a recording whose every joint stays below shows no dynamics
FASTEST = 60.0  # rad/s, no joint of an arm is faster
FAULTY_SHARE = 0.02  # share of the samples from which a fault counts
MOSTLY_ONE_VALUE = 0.7  # share of the moving samples with one torque: not measured; friction alone takes two values
JUMP_FACTOR = 3.0  # steps around it, from which a step is a jump: two samples are missing
SPIKE_FACTOR = 10.0  # deviation from the neighbours' median over the ordinary one (99 %)
SPIKE_POWER = 0.01  # share of a signal's power that its spikes hold: a tenth of its rms
BRAKING = 100.0  # rad/s², no joint of an arm stops or starts harder (the TX40 reaches 78)
SPEED_SCALE_FACTOR = 1.25  # factor between measured speed and derivative of the position, from which it is not one
TRAVEL = 0.2  # rad (m), a joint that travels less does not show its ratio
LEAST_JUMP = 0.01  # rad (m), smaller jumps are attributed to transmissions

# Verdict per joint, uses
FLOOR_SHARE = 0.01  # of a joint's rated torque (rms): twice what hardly loaded joints with torque sensors leave
PLACEHOLDER_FACTOR = 9.0  # effort limits over the largest torque of the arm's weight, from which all are placeholders
FEEDFORWARD_PERCENT = 25.0  # % of its torque that a joint may leave over for feedforward
CONTACT_SHARE = 0.03  # of its rated torque that a joint may leave over where contacts are to be detected
PAYLOAD_PERCENT = 15.0  # % of all torque that may be left over where a payload is to be identified
