"""The Gaussian that minimises each divergence from a mixture, and mean-field approximations.

The modules that a page imports do not import torch.
"""
