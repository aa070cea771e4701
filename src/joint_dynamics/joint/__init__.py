"""One joint's physics: stiffness, static friction, Maxwell-slip (E-GMS), kinematic error and backlash."""
