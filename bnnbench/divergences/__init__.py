"""Divergences from posterior to prior, and priors: one file each.

May import types, checks and identity; a divergence knows no method.
"""
