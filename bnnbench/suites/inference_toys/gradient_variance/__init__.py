"""Variance of score-function and pathwise estimates of the gradient of an expectation."""
