"""The node `identifier`."""
