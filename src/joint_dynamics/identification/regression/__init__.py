"""The linear system Y = W χ + ρ and its solutions: least squares, robust, with loops for what is not linear.

Covariance and residuals.
"""
