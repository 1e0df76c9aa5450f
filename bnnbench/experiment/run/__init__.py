"""A run: what it still has to compute, its execution and its progress."""
