"""A Bayesian mixture of Gaussians: variational approximations and exact enumeration."""
