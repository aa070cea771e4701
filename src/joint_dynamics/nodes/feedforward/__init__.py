"""The node `feedforward`."""
