"""A Bayesian mixture of Gaussians: coordinate ascent, variational EM, stochastic VI, enumeration.

`names`, `rules`, `figures` and `page` do not import torch.
"""
