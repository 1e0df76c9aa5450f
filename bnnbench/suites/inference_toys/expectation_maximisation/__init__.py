"""Expectation maximisation for two univariate Gaussians, compared with BFGS."""
