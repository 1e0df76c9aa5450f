"""Expectation maximisation for two univariate Gaussians, compared with scikit-learn and BFGS.

`names`, `model`, `rules`, `figures` and `page` do not import torch.
"""
