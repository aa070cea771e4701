"""What nodes share towards the robot: joint states and motor sides in, trajectories out."""
