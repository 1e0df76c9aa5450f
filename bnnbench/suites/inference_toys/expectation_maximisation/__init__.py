"""Expectation maximisation for two univariate Gaussians, compared with scikit-learn and BFGS.

`names`, `model`, `claims`, `figures` and `page` do not import torch.
"""
