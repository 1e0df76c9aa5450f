"""Divergences between posterior and prior, and priors.

May import types, checks and identity, but no methods.
"""
