"""Figures, each a pure function from tables of `results` to a `Figure`; knows no page."""
