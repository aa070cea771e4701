"""joint_dynamics: what the joints of a robot arm really do - identify, estimate, excite, feed forward (ROS 2)."""

__version__ = '0.1.0'
