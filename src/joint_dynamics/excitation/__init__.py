"""Motions worth recording: optimised Fourier series and the test motions of the literature, within every limit of the robot."""
from joint_dynamics.excitation.assessment import Assessment
from joint_dynamics.excitation.fourier import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.optimise import ExcitationResult, Progress, optimise
from joint_dynamics.excitation.settings import ExcitationSettings, LimitSettings, Payload
from joint_dynamics.excitation.trajectory import MotionSamples, Trajectory

__all__ = [
    'Assessment', 'ExcitationResult', 'ExcitationSettings', 'FourierBasis', 'FourierTrajectory', 'LimitSettings', 'MotionSamples', 'Payload',
    'Progress', 'Trajectory', 'optimise',
]
