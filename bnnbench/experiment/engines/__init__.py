"""Engines, which compute groups of units on this machine or on others.

Results on disk are authoritative, so an engine may drop a task or run it twice. May import all of
`experiment` except `run`; must not import pages or the command line.
"""
