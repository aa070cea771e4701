"""The node `excitation`."""
