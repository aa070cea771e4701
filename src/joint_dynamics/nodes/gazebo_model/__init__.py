"""The node `gazebo_model`."""
