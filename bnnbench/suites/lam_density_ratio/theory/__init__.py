"""Numerical checks of the thesis's theory, independent of the sprinkler."""
