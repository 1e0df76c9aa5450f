"""The comparison with other libraries, from `docs/results/peers.csv`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from machines import measured_on

PEERS = Path(__file__).parents[1] / "results" / "peers.csv"
OURS = "bnnbench"


def medians(rows: pd.DataFrame) -> pd.DataFrame:
    """Return medians over splits.

    Args:
        rows: of `tests/benchmarks/peers.py`, one per program and split.

    Returns:
        A row per method and program, in order, with `first`, the seconds of the first split, and
        `ratio`, the seconds of a library over those of bnnbench for the same method (missing for
        bnnbench). The first split, which prepares the others, does not count in `seconds`.
    """
    keys, rows = ["method", "program"], rows.astype({"epochs": str, "batch": str})
    first = rows[rows["split"] == 0].set_index(keys)["seconds"]
    found = rows.groupby(keys, sort=False).median(numeric_only=True)
    found["seconds"] = rows[rows["split"] > 0].groupby(keys)["seconds"].median()
    facts = rows.groupby(keys, sort=False)[["epochs", "batch", "not_matched"]].first()
    found = found.join(facts).assign(first=first).reset_index()
    is_ours = found["program"].str.startswith(OURS)
    ours = found[is_ours].set_index("method")["seconds"]
    ratio = found["seconds"] / found["method"].map(ours)
    return found.assign(ratio=ratio.where(~is_ours))


def significant(value: float) -> str:
    """Return a number with two significant digits, or nothing if it is missing."""
    return "" if pd.isna(value) else f"{float(f'{value:.2g}'):g}"


def peers_table(rows: pd.DataFrame) -> str:
    """Return a Markdown table with a row per method and program."""
    table = medians(rows)
    table["not_matched"] = table["not_matched"].where(table["ratio"].notna(), "")
    for name in ("seconds", "ratio", "first", "import_seconds", "peak_gb"):
        table[name] = table[name].map(significant)
    for name in ("rmse", "log_likelihood"):
        table[name] = table[name].map("{:.2f}".format)
    titles = {
        "method": "method", "program": "program", "epochs": "epochs", "batch": "batch",
        "samples": "samples", "threads": "threads", "seconds": "CPU [s]", "ratio": "ratio",
        "first": "first split [s]", "import_seconds": "import [s]", "peak_gb": "memory [GB]",
        "rmse": "RMSE", "log_likelihood": "log-likelihood", "not_matched": "not matched",
    }  # fmt: skip
    shown = table[[*titles]].rename(columns=titles).astype({"samples": int, "threads": int})
    return shown.to_markdown(index=False, disable_numparse=True)


def peers() -> str:
    """Return the table of the stored comparison and the machine on which it was made."""
    rows = pd.read_csv(PEERS)
    return f"{peers_table(rows)}\n\n{measured_on(rows)}"


def peer_ratios() -> str:
    """Return `3 to 400`, the least and the largest ratio of CPU seconds."""
    ratios = medians(pd.read_csv(PEERS))["ratio"]
    return f"{significant(ratios.min())} to {significant(ratios.max())}"
