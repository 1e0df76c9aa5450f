"""The generic sections of a report, one module each: its table, its figure and `section`.

`report_writer.SECTIONS` lists them in order. Suites append their own (see `bnnbench.discovery`).
"""
