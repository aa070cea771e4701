"""A flexible-joint robot with known truth, independent of the physics code it tests."""
