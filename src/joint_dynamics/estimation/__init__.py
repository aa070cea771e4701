"""Online estimation, one sample at a time: stiffness, friction, torques, payload, health."""
