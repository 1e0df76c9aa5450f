"""The generic sections of a report, one module each: its table, its figure and `section`.

`report_writer.SECTIONS` names them in order, and `section_names` says which are shown by default.
Suites append their own (see `bnnbench.discovery`).
"""
