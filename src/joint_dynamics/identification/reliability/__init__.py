"""Whether what was identified can be relied on: excitation, residuals, diagnostics."""
