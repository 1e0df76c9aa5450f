"""Likelihoods, which say what a network's outputs mean: one file each.

May import losses, types and identity.
"""
