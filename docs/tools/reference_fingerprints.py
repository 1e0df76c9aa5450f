"""Print the published splits of the nine UCI sets as `fingerprints.csv` of reference results.

`SHA256SUMS` must then be written again with `sha256sum`.

Usage: python docs/tools/reference_fingerprints.py DATA_FOLDER > fingerprints.csv
"""

from __future__ import annotations

import sys

import pandas as pd

from bnnbench.data.archive import FOLDERS
from bnnbench.data.splits import subset_fingerprints
from bnnbench.data.uci import UCI


def published_splits(directory: str) -> pd.DataFrame:
    """Return a row per published split, sorted by data set and split."""
    rows = []
    for name in sorted(FOLDERS):
        table = UCI(name=name, directory=directory).load()
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
    published_splits(sys.argv[1]).to_csv(sys.stdout, index=False, lineterminator="\n")
