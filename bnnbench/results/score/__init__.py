"""Scores, intervals and curves that are computed from stored predictions."""
