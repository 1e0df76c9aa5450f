"""Likelihoods, which map the outputs of a network to a distribution of the target.

May import losses, types and identity.
"""
