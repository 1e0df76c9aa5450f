"""Functions that draw figures from the tables of `results`."""
