"""A Bayesian mixture of Gaussians: coordinate ascent, variational EM, stochastic VI, enumeration.

May import what suites may. `tables`, `rules`, `figures` and `page` import no torch.
"""
