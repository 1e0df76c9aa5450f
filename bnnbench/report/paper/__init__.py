"""A compact LaTeX table and figures for a paper, both built from one `PaperTable`."""
