"""Hyper-parameter search: pure functions from the trials so far to the next values."""
