"""The arrays that a recording may have."""

#: In the order in which they are written.
QUANTITIES = ('q', 'dq', 'tau', 'current', 'theta', 'dtheta', 'temperature', 'load_torque')
