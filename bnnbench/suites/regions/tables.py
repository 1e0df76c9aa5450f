"""The kind of run and the name of its table, without importing torch."""

from __future__ import annotations

KIND = "regions"

REGIONS = "regions"
"""Table with a row per split: the feature and its region (`feature`, `distinct`, `tied_at_edges`,
`is_true`, `low`, `high`, `region_rows`, `inside_rows`); scores in the region (`region.*`) and of
the rows inside the training range (`inside.*`); and how well a number recognises the rows of the
region (`auroc.*`)."""
