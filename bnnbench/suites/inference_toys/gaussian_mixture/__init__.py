"""A Bayesian mixture of Gaussians: coordinate ascent, variational EM, stochastic VI, enumeration.

`names`, `claims`, `figures` and `page` do not import torch.
"""
