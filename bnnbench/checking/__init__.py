"""Contracts of what can be added, each check a function that returns a sentence or None.

The package's own tests and `bnnbench check` ask the same functions. May import everything up to
`experiment`.
"""
