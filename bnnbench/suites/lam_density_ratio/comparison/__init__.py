"""Comparison of our sprinkler runs with the thesis: tables, tests and claims, without torch."""
