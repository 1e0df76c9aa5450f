"""Figures of the sprinkler, each a pure function from tables and samples; imports no torch."""
