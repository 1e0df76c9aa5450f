"""Pages, sections, figures and renderers; imports results and what lies below, names no source.

Read `section` first, then `overview` (the report over many runs) and `split_page` (of one run).
"""
