"""The node `estimator`."""
