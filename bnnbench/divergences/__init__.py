"""Divergences from posterior to prior: one file each."""
