"""Ways to fit a Bayesian neural network and to predict: one file each, named by one YAML.

May import networks, optimisers, losses, likelihoods, divergences and `shared`.
"""
