"""Experiments as sets of independent units, and their resumable execution.

Its rooms, from the lowest: `store`, `kinds`, `splits`, `engines`, `run`. May import methods,
search, data and everything below; must not import pages or the command line.
"""
