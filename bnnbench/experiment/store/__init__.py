"""The files of a run: its folder, record, units, locks, and the version of the code."""
