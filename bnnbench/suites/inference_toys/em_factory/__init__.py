"""Expectation maximisation for a factory with two missing counts (section 2.6.5.1)."""
