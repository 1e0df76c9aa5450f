"""Reports: sections, figures, run pages and renderers.

Start with `blocks` (what pages consist of), `report_writer` (the report over many runs) and
`run_output` (the results of one run). Imports `results` and the layers below; names no publication.
"""
