"""Losses of a data point under its Gaussian: one file each. May import checks and identity."""
