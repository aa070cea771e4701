"""What every node is made of: parameters, topics, lifecycle, diagnostics, executor, processes."""
