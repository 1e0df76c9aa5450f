"""Experiments as sets of independent units, and their resumable execution.

May import methods, search, data and everything below; must not import pages or the command line.
"""
