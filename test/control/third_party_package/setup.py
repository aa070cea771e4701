"""A package of somebody else, with one law in one module."""

from setuptools import setup

setup(
    name='third-party-law',
    version='1.0',
    py_modules=['third_party_law'],
    entry_points={'joint_dynamics.controllers': ['gravity = third_party_law:Gravity']},
)
