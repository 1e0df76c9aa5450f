"""Write the published splits of the nine UCI sets to `fingerprints.csv` of reference results.

Usage: python docs/tools/reference_fingerprints.py bnnbench/results/reference
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from bnnbench.data.bundled import N_SPLITS, read_table
from bnnbench.data.splits import subset_fingerprints
from bnnbench.results.reference.results import FINGERPRINTS, read_archive
from bnnbench.results.reference.write import locked, to_csv, write_archive


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
    folder, table = Path(sys.argv[1]), to_csv(published_splits())
    with locked(folder):
        write_archive(folder, {**read_archive(folder), FINGERPRINTS: table.encode()})
