"""Hamiltonian Monte Carlo for a stack of chains: integrator, adaptation, sampler, diagnostics.

Only `network.py` and `metric.py` depend on networks; the other modules take any density. May import
whatever methods may import, but no method.
"""
