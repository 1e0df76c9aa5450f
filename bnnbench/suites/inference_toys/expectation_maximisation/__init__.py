"""Expectation maximisation for two Gaussians on a line, beside scikit-learn and direct search.

May import what suites may. `tables`, `model`, `rules`, `figures` and `page` import no torch.
"""
