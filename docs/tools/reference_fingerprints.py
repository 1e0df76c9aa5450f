"""Print the published splits of the nine UCI sets as `fingerprints.csv` of reference results.

`SHA256SUMS` must then be written again with `sha256sum`.

Usage: python docs/tools/reference_fingerprints.py > fingerprints.csv
"""

from __future__ import annotations

import sys

import pandas as pd

from bnnbench.data.splits import subset_fingerprints
from bnnbench.data.uci import N_SPLITS, read_table


def published_splits() -> pd.DataFrame:
    """Return a row per published split, sorted by data set and split."""
    rows = []
    for name in sorted(N_SPLITS):
        table = read_table(name)
        parts = [part for split in table.splits for part in (split.test, split.train)]
        prints = subset_fingerprints(table, parts)
        rows += [
            {
                "dataset": name,
                "split": split.index,
                "fingerprint": prints[2 * k],
                "training_fingerprint": prints[2 * k + 1],
                "training_rows": len(split.train),
                "test_rows": len(split.test),
            }
            for k, split in enumerate(table.splits)
        ]
    return pd.DataFrame(rows)


if __name__ == "__main__":
    published_splits().to_csv(sys.stdout, index=False, lineterminator="\n")
