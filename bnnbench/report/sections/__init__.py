"""The sections of every report: a file each, with `section(runs, style)` and its `ORDER`.

A section is there by being a file here; suites add theirs behind (see `bnnbench.discovery`).
"""
