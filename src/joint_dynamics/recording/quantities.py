"""The arrays that a recording may have."""

#: In the order in which they are written.
QUANTITIES = ('q', 'dq', 'tau', 'current', 'theta', 'dtheta', 'temperature', 'load_torque')
#: What says where the joints are, of a recording or its inputs; the first that is there gives the joints.
POSITIONS = ('q', 'motor_position', 'theta')
#: Interpolated over long stretches and held at the ends; everything else must be there all the time.
SLOW = ('temperature',)
