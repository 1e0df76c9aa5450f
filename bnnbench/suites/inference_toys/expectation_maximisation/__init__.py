"""Expectation maximisation for two univariate Gaussians, compared with scikit-learn and BFGS."""
