"""The generic sections of a report, one module each with a function `section(runs, style)`.

`report_writer.SECTIONS` lists them in order. Suites append their own (see `bnnbench.discovery`).
"""
