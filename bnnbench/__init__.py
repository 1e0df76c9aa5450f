"""bnnbench: the experiment runner for Bayesian neural networks."""

__version__ = "0.1.0"
