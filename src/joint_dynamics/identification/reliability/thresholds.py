"""All thresholds of the checks, in one table: value, [unit], and where it comes from.

A threshold that was set in view of a robot is judged on others (docs/explanation/verdict.md).
"""

import numpy as np

# Evidence of another explanation (alternatives, search)
LOG_LIKELIHOOD_THRESHOLD = 20.0
"""[nats] Log-likelihood that an alternative has to gain before it is named: odds of e²⁰ (5·10⁸), what
remains of them after a few hundred alternatives, a prior that trusts the user a thousandfold, and residuals
that are no noise but a model's own."""
MIN_EFFECT = 0.05
"""[share] Share of a torque (rms) that something has to make before it is held against the recordings."""
MIN_VUONG_STATISTIC = 2.0
"""[standard errors] Standard errors over blocks of time from which a gain is no matter of a few blocks, where a
model is wrong."""
FREE_SCALE_THRESHOLD = 3.0
"""[nats] Log-likelihood by which a sign or a scale has to beat a torque without any scale, another zero a right angle,
and other friction another torque: odds of twenty."""
MIN_EVIDENCE = float(np.log(300 * 1000))
"""[nats] Evidence that a zero, a delay, scales or a difference between parts has to bring, each one of a continuum:
worth three hundred alternatives, with a prior that trusts the user a thousandfold. Evidence is a gain of log-
likelihood divided by how much worse the model fits than its noise lets expect (`overdispersion`)."""
KINDS = 17
"""[kinds] Kinds of faults that are looked for by likelihood: the twelve of `least_evidence`, zeros, a delay,
scales, a payload, parts that differ. A fault is first of a kind, and then one of those of its kind."""
TORQUE_KINDS = ('torque_sign', 'drive_gain', 'torque_order')
"""[codes]"""
MOTION_KINDS = 10
"""[kinds] Zeros, and kinds of `least_evidence` that are none of `TORQUE_KINDS`: of positions, time and mounting."""
FALSE_ALARMS = 0.01
"""[share] Share of good recordings that each of three may refuse for any of its alternatives, at most: the data
alone, the torques by the robot file, the motion by it."""
TORQUE_FACTORS = (1e-3, 0.01, 0.1, 0.25, 0.5, 2.0, 4.0, 10.0, 100.0, 1e3)
"""[factors] Factors tried on one joint's torque."""
TIME_FACTORS = (1e-3, 1e-2, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.4, 2.0, 3.0, 5.0, 10.0, 20.0, 100.0, 1e3)
"""[factors] Of time stamps that are tried; between them the best is refined."""
TIME_STEP, SIZE_PRECISION, ROUND = 1.5, 3e-3, 0.03
"""[factor, of ln or rad, of ln or rad] The best is refined so far to both sides, to this; nearer than the last
it stays."""
UP_DIRECTIONS = {
    'up along +x': (0.0, -np.pi / 2, 0.0),
    'up along −x': (0.0, np.pi / 2, 0.0),
    'up along +y': (np.pi / 2, 0.0, 0.0),
    'up along −y': (-np.pi / 2, 0.0, 0.0),
    'up along +z': (0.0, 0.0, 0.0),
    'up along −z': (np.pi, 0.0, 0.0),
}
"""[rad] Ways a base may stand, with the roll, pitch and yaw of `robot.mounting`."""
TURNS, ZERO_RANGE = (np.pi / 2, -np.pi / 2, np.pi), np.pi / 4
"""[rad] Another zero of a joint is looked for at these and at a first step, and so far to both sides of the best."""
DECOUPLING_FACTORS = (1e-6, 1e6)
"""[factors] Factors that take one joint's torque out of the common system."""
SCALE_PENALTY = 1.5
"""[factor] A scale is no yes or no: a model that is somewhat wrong is helped by one of many, which therefore has
to gain so many times `LOG_LIKELIHOOD_THRESHOLD`."""
GROUP_ADVANTAGE = 10.0
"""[nats] A group of torques reordered with signs, one of a hundred, has to gain so much more than one change after the
other: odds of 200 beyond their number."""
FOLDS = 5
"""[parts] Of every recording, each predicted by parameters of the others before a correction counts as proved."""
PROOF = 1.53
"""[standard errors] By which a correction gains over the `FOLDS`: nine in ten, by Student's t of four degrees."""
MAX_NAMED = 3
"""[variants] So many alternatives are named at most."""
TIE_SHARE = 0.2
"""[share] Alternatives whose log-likelihood is within this share of the best one's are named beside it: mirror
images of one another often are."""
RESOLVED = 0.005
"""[share] Share of a torque (rms) below which no recording tells one explanation from another: drives, encoders
and clocks are not that good."""
MOST_SAMPLES = 1024
"""[samples] More are not looked at: at twice the bandwidth of their motion good recordings of 10 to 60 s keep 100 to
400."""
BLOCKS = 20
"""[blocks] Blocks of time in all over which a gain has to be steady: twice those of the deviations, as two parts
share them."""

# Bodies and the robot file
BODIES_UNEXPLAINED_SHARE = 0.3
"""[share] Share of the torque (rms) that always speaks against the robot when bodies leave it more over."""
MODEL_DETAILS = 2.0
"""[factor] So many times what the explanation leaves over bodies have to leave more over: good recordings have 0.1
to 0.6 (real robots) and up to 1.0 (simulated flexible joints)."""

# Delay
LATE = 0.015
"""[s] A delay longer than this by its deviation is a matter of the stamps: one period of slow controllers (125 Hz)
and as much for the drives' filters are not."""
PRESLIDING = 1e-3
"""[rad or m] Way over which friction turns at a reversal: of joints some tenths of a milliradian to a few."""
MAX_DELAY = 0.4
"""[s] Delays up to this are looked for."""
LEFT_OUT = 0.1
"""[share] Share of all recorded time that the longest delay may make: so much is left out at each end."""

# What begins at a moment
LEAST_JUMP, JUMP_SHARE, JUMP_STEP = 0.01, 0.01, 1e-3
"""[rad, of the travel, rad] Encoders that jump by less are a matter of transmissions; the step of the derivative."""
OWN_SHARE = 1e-3
"""[share] Of a column's power this much has to be its own."""
LEAST_SCALE_CHANGE, LEAST_FRICTION_CHANGE = 0.1, 0.2
"""[share] By which a torque, or a joint's friction, has to change at a moment: warm joints change theirs by as much."""

# Scales of the torques
MAX_SCALE_DEVIATION = 0.5
"""[of ln] Deviation of β from which the data do not tell a joint's scale: a factor of two is then within 1.4 of
them."""
PRIOR_DEVIATION = 3.0
"""[of ln] Deviation of β that is taken as known before any data (a factor of twenty): what no other joint feels
stays there."""
DATA_SHEET_FACTOR = 1.5
"""[factor] Scales up to this factor apart may be drive gains of a data sheet or another robot of the series, and are no
other unit."""
MOST_OFF = 1 / 3
"""Share of the scales that may be off by a unit or a gain each: the others say what they are. Of more, they are of
another kind, as currents."""
NOTED_FACTOR = 1.2
"""[factor] Factor apart from which scales are noted where data tell: of drive gains each within a tenth."""
SCALES_STATISTIC_FACTOR = 2.0
"""[factor] Free ratios of all torques help a model that is somewhat wrong more than any one factor does. What
tells them from it is vuong_statistic over blocks of time: they have to be so many times as steady as
`MIN_VUONG_STATISTIC`."""

# What is left over
FRICTION_DETAILS = 1 / 3
"""[share] Share of a joint's friction torque that may be left over: that much load, temperature and low speed
change it."""
MIN_UNEXPLAINED_SHARE = 0.3
"""[share] Share of a joint's variation (rms) that has to be left over before it is compared with friction: less is
a matter of the model's details."""

# Prediction of another motion
MAX_RATIO_TO_TRAINING = 3.0
"""[factor] Another motion may leave this many times the training's share of torque over; beyond, more is wrong
than that it is another motion."""
EQUAL_RATIO_TO_TRAINING = 1.5
"""[factor] Up to this many times the training's share a prediction is as good as the training and needs no
explanation."""
POOR_PERCENT = 15.0
"""[%] Share of the torque below which a prediction is not held against the description unless a change of the
torques explains what is left."""
USELESS_PERCENT = 50.0
"""[%] Share of the torque from which a prediction is of no use, however much the training left over itself."""
EXPLAINED_SHARE = 0.5
"""[share] Share of what is left over that the deviations of the parameters have to make before they are its cause.
Half of it in rms, a quarter in power."""
UNRELATED_SHARE = 0.7
"""[share] Share of a joint's variation (rms) left over from which its torque has nothing to do with the motion:
less than half of its power is explained."""
BETTER = 0.5
"""[share] A change of the torques has to leave less than this share of the residual (rms)."""
NEARLY_ALL = 1 / 3
"""[share] Share of the residual (rms) that a payload may leave over where no more than a tenth of the torque was
left."""
DEVIATION_RATIO = 2.0
"""[factor] So many times the training's own predicted deviation another motion's has to be: else the training is
no poorer for that motion than for itself, and the deviations say what there is to say."""
RANGE_TOLERANCE = 1.2
"""[factor] Share of the largest training value from which a motion has left it: filters move extremes by some
percent."""

# Signals of one recording
BREAKAWAY = 3.0
"""[factor] So many times the Coulomb level no joint holds that has slipped: twice the most that recorded ones do
(1.5)."""

# Units
DISAGREEMENT_FACTOR = 3.0
"""[factor] Factor by which torques and the robot file's inertials have to disagree: tools and cables weigh less
than that, ampere and N·m differ by more."""
SMALL_TORQUE_SHARE = 0.03
"""[share] Share of the effort limits below which all torques lie when they are currents; the weight of an arm's
own links alone takes more."""
SAID = 0.5
"""[share] Share of a torque's power beyond friction that the robot file has to explain before its scale says
anything."""

# Signals of one recording
SLOWEST = 0.01
"""[rad/s] A recording whose every joint stays below this shows no dynamics."""
FASTEST = 60.0
"""[rad/s] No joint of an arm reaches this (573 rpm)."""
FAULTY_SHARE = 0.02
"""[share] Share of the samples of a recording from which a fault counts."""
MOSTLY_ONE_VALUE = 0.7
"""[share] Share of the moving samples with one and the same torque from which it was not measured: friction alone takes
two values."""
JUMP_FACTOR = 3.0
"""[factor] A step is a jump when this many times as long as those around it: two samples are missing, or more."""
SPIKE_FACTOR = 10.0
"""[factor] A sample is a spike when it is this many times as far from the median of its neighbours as samples are
otherwise (99.9 %)."""
SPIKE_POWER = 0.01
"""[share] Share of a signal's power that its spikes have to hold: 10 % of its rms, of which the filters leave a
few percent."""
ABRUPT = 0.2
"""[share] A position is stuck when it stops from, or starts with, this share of the joint's rms speed at once."""
BRAKING = 100.0
"""[rad/s²] Harder no joint of an arm stops or starts (the TX40 reaches 78)."""
HARDER = 3.0
"""[factor] Nor does it stop this many times as hard as it bends elsewhere in the recording; it may start so, where it
breaks loose from its friction at rest."""
SAME_SIGNAL_CORRELATION = 0.95
"""[correlation] Correlation from which measured speed and derivative of the position are the same thing at some
scale."""
SPEED_SCALE_FACTOR = 1.25
"""[factor] Factor from which that scale is not one."""
TRAVEL = 0.2
"""[rad] rad (m): a joint that travels less says nothing of its ratio; deformation and kinematic error are some
mrad."""
RATIO_TOLERANCE = 0.1
"""[share] Deformation, kinematic error and lost motion together, beside `TRAVEL`: a share of it by which the ratio
may be off."""

# Verdict per joint, uses
FLOOR_SHARE = 0.01
"""[share] Of a joint's rated torque (rms): what torque sensors and drives resolve, noise and bias together; less is no
matter of the model. Hardly loaded joints of arms with torque sensors leave 0.0014 and 0.0033 (LBR Med 7, joints 1 and
7) and 0.005 (LWR 4, joint 7) over, whatever they do; twice the largest of these."""
RATED_FACTOR = 2.0
"""[factor] So many times the largest torque of a recording the strongest joint of its arm is rated for, at least:
excitation takes a half to a quarter of what drives give."""
PLACEHOLDER_FACTOR = 9.0
"""[factor] Three times the largest torque of the arm's own weight is what a joint of such an arm could need, with
payload and acceleration; limits that are all three times beyond that are placeholders."""
HEAVIEST = 785.0
"""[kg/m³] Mass over the cube of the reach: a tenth of a block of steel as long, wide and high as the arm's reach; arms
have 30 to 250."""
FEEDFORWARD_PERCENT = 25.0
"""[%] Of its torque that a joint may leave over for a feedforward that takes three quarters of the work."""
CONTACT_SHARE = 0.03
"""[share] Of its rated torque that a joint may leave over where contacts are to be told from it."""
PAYLOAD_PERCENT = 15.0
"""[%] Of all torque that may be left over where a payload is to be found by what it adds."""
