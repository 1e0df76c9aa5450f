"""Put generated numbers into README and pages: `python docs/tools/update_pages.py`.

It first decides the stored comparisons and claims again (`stored_verdicts`), and writes the
slowdowns without native code, which a message names, and the costs that `bnnbench list method`
prints. Two kinds of marks are filled from the tables
in `docs/results`:

- `<!-- name -->` ... `<!-- /name -->` on lines of their own: the block of that name, a function of
  `page_blocks.py`, `published_blocks.py`, `image_runs.py`, `gap_blocks.py`,
  `leaderboard.py` or `sprinkler_runs.py`;
- `<!-- value EXPRESSION -->...<!-- /value -->` within a line: a Python expression over `INLINE`.
  A line never begins with such a mark, since a comment there makes the whole line HTML.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import gap_blocks
import image_runs
import leaderboard
import numpy as np
import page_blocks
import pandas as pd
import published_blocks
import sprinkler_runs
from downstream import repetitions
from exercises import exercise
from paired_scores import pairs_within
from peers import peer_ratios
from published_scores import compared, verdicts, with_seeds, within_run_to_run, z_spread
from scores import share_in_band
from stored_results import VALUES, reference_results, table
from stored_verdicts import write_verdicts

from bnnbench.results.reference.relative_costs import STORED
from bnnbench.results.reference.slowdown import MEASURED
from bnnbench.results.reference.tracks import TRACKS
from bnnbench.suites.lam_density_ratio.adversaries import DIVERGED_FACTOR

BLOCKS = (
    page_blocks.BLOCKS
    | published_blocks.BLOCKS
    | image_runs.BLOCKS
    | gap_blocks.BLOCKS
    | leaderboard.BLOCKS
    | sprinkler_runs.BLOCKS
)

INLINE = VALUES | {
    "bound_draws": gap_blocks.DRAWS,
    "compared": compared,
    "diverged_factor": DIVERGED_FACTOR,
    "exercise": exercise,
    "largest_score": image_runs.largest_score,
    "optimal_work": sprinkler_runs.optimal_work,
    "relu_p": image_runs.relu_p,
    "pairs_within": pairs_within,
    "verdicts": verdicts,
    "with_seeds": with_seeds,
    "within_run_to_run": within_run_to_run,
    "z_spread": z_spread,
    "downstream_repetitions": repetitions,
    "peer_ratios": peer_ratios,
    "share_in_band": share_in_band,
}
"""What the marks of values may use."""

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

BOSTON_SPLIT = "one Boston split, "
"""Start of measurements whose ratio is the slowdown without native code."""

BLOCK = re.compile(r"^<!-- (\w+) -->\n.*?^<!-- /\1 -->$", re.DOTALL | re.MULTILINE)
VALUE = re.compile(r"<!-- value (.*?) -->.*?<!-- /value -->", re.DOTALL)


def filled(text: str) -> str:
    """Return the text of a page with its marks filled.

    Raises:
        KeyError: if a block has an unknown name.
    """

    def value(match: re.Match[str]) -> str:
        return f"<!-- value {match[1]} -->{eval(match[1], dict(INLINE))}<!-- /value -->"

    def block(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n\n{BLOCKS[match[1]]().strip()}\n\n<!-- /{match[1]} -->"

    return VALUE.sub(value, BLOCK.sub(block, text))


def slowdown() -> str:
    """Return the CSV file of slowdowns without native code that the package contains."""
    rows = table(".", "speed")
    found = rows[rows["measurement"].str.startswith(BOSTON_SPLIT)]
    methods = found["measurement"].str.removeprefix(BOSTON_SPLIT)
    plain = ~methods.str.contains(" ")
    shown = {"method": methods[plain], "factor": found["ratio"][plain].round(2)}
    return pd.DataFrame(shown).to_csv(index=False)


def costs() -> str:
    """Return the CSV file of CPU times relative to `map` that the package contains.

    Methods without runs in the first track are presets that fix what others search.
    """
    results = reference_results()
    times = results.splits.groupby("run")["cpu_ratio"].median()
    table = results.runs[["track", "method", "dataset"]].assign(time=times)
    first = table["track"] == next(iter(TRACKS))
    table = table[first | ~table["method"].isin(table["method"][first])]
    of_map = table[table["method"] == "map"].groupby("dataset")["time"].first()
    table["log"] = np.log(table["time"] / table["dataset"].map(of_map))
    both = table.dropna(subset="log").groupby(["method", "dataset"])["log"].mean().reset_index()
    methods = both.groupby("method")
    shown = {"ratio": np.exp(methods["log"].mean()), "datasets": methods["dataset"].agg(" ".join)}
    return pd.DataFrame(shown).to_csv(float_format="%.4g")


if __name__ == "__main__":
    write_verdicts()
    MEASURED.write_text(slowdown())
    STORED.write_text(costs())
    for page in PAGES:
        page.write_text(filled(page.read_text()))
