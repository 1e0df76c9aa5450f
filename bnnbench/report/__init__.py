"""Reports: sections, figures, run pages and renderers.

Start with `blocks` (what pages consist of), `report_writer` (the report over many runs) and
`run_output` (the results of one run). Imports `results` and the layers below; names no publication.

Functions that draw a figure take `error`, a key of `blocks.ERROR_BARS`, and print `title`, or the
`name` of the run, above it. Their tables come from the function that builds the section.
"""
