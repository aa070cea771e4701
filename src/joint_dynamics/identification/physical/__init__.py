"""Parameters that a robot can have.

Bodies with mass, friction that dissipates, and only the parameters that the data show.
"""
