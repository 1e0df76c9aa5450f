"""Contracts of methods, divergences and data sets.

Each check is a function that returns None or a sentence about the failure. The package's tests and
`bnnbench check` run the same functions. May import everything up to `experiment`.
"""
