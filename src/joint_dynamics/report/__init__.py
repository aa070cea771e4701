"""Figures and the self-contained HTML report."""

from joint_dynamics.report.html import Report

__all__ = ['Report']
