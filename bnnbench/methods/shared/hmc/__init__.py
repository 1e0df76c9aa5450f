"""Hamiltonian Monte Carlo for a stack of chains: leapfrogs, adaptation, the sampler, diagnostics.

Knows densities as functions of positions, and networks in `network.py` alone. May import what
methods may, and no method.
"""
