"""One Recording of aligned arrays, from rosbag2, CSV or live topics."""
from joint_dynamics.recording.recording import QUANTITIES, Recording

__all__ = ['QUANTITIES', 'Recording']
