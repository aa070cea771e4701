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

"""Exciting motions within every limit of the robot: optimised Fourier series and motions of the literature."""

from joint_dynamics.excitation.assessment import Assessment
from joint_dynamics.excitation.excitation_settings import ExcitationSettings, LimitSettings, PayloadSettings
from joint_dynamics.excitation.files import load_trajectory, to_csv, to_joint_trajectory
from joint_dynamics.excitation.fourier import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.optimise import ExcitationResult, Progress, optimise
from joint_dynamics.excitation.plan import Plan, PlanSettings, plan
from joint_dynamics.excitation.playback import Playback
from joint_dynamics.excitation.profiles import PROFILES, make_profile
from joint_dynamics.excitation.sequence import Braking, Move, SampledTrajectory, Succession
from joint_dynamics.excitation.trajectory import MotionSamples, PiecewiseTrajectory, Trajectory

__all__ = [
    'PROFILES',
    'Assessment',
    'Braking',
    'ExcitationResult',
    'ExcitationSettings',
    'FourierBasis',
    'FourierTrajectory',
    'LimitSettings',
    'MotionSamples',
    'Move',
    'PayloadSettings',
    'PiecewiseTrajectory',
    'Plan',
    'PlanSettings',
    'Playback',
    'Progress',
    'SampledTrajectory',
    'Succession',
    'Trajectory',
    'load_trajectory',
    'make_profile',
    'optimise',
    'plan',
    'to_csv',
    'to_joint_trajectory',
]
