"""Figures of the sprinkler, drawn from tables and samples, without torch."""
