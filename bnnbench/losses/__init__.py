"""Losses of a target under a Gaussian prediction. May import checks and identity."""
