"""A compact table and figures for a paper.

Its contents are one `PaperTable`; LaTeX and figures are made of that. May import what a report may.
"""
