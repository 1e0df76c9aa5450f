"""Inference methods for Bayesian neural networks: one module and one YAML file each.

May import networks, optimisers, losses, likelihoods, divergences and `shared`.
"""
