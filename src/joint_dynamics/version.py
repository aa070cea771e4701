"""The version of the package, which package.xml and setup.py repeat (a test compares them)."""

__version__ = '0.3.0'
