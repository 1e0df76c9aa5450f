"""A folder per published source: its sweeps, claims, reference values, page and own experiments.

A suite may import everything below the command line but no other suite; nothing imports a suite
but `bnnbench.discovery`.
"""
