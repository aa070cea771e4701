"""The linear system Y = W χ + ρ and its solutions: least squares, robust, with loops for nonlinear parts.

Also their covariance and residuals.
"""
