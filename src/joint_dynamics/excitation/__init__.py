"""Excitation trajectories: profiles, limits, optimiser."""
