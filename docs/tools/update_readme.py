"""Puts measured numbers into the README and the pages: `python docs/tools/update_readme.py`.

Everything between `<!-- name -->` and `<!-- /name -->` is replaced by what lies in
`docs/results`: `session.txt` (the end of `make run`), `book_uci/results.csv` (put there by
`docs/tools/update_results.py`), `gal_uci/paired_with_published.csv` (likewise) and `speed.md`
(`make bench`); the glossary is the package's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from bnnbench.report.numbers import MISSING, plus_minus, z_value
from bnnbench.report.renderers import markdown
from bnnbench.results.glossary import TERMS
from bnnbench.results.published_protocol import BOUNDS, BOUNDS_OF

DOCS = Path(__file__).parents[1]
RESULTS = DOCS / "results"

SMALL = 0.2
"""Mean below which three decimals would say too little."""


def session() -> str:
    return f"```\n{(RESULTS / 'session.txt').read_text().rstrip()}\n```"


def speed() -> str:
    return (RESULTS / "speed.md").read_text().rstrip()


def with_published() -> pd.DataFrame:
    """The book's comparison, of the methods of which papers print an RMSE on some data set."""
    table = pd.read_csv(RESULTS / "book_uci" / "results.csv")
    known = table.loc[table["rmse_published"].notna(), "method"]
    found = table[table["method"].isin(known)].sort_values(["method", "dataset"])
    return found.fillna({"rmse_differs": MISSING, "rmse_source": MISSING})


def with_error(mean: float, stderr: float) -> str:
    """As in reports; some published means were printed with no error to see, or not at all."""
    if pd.isna(mean):
        return MISSING
    return plus_minus(mean, stderr) if pd.notna(stderr) else f"{mean:g}"


def results() -> str:
    rows = [
        {
            "data set": run["dataset"],
            "method": run["method"],
            "RMSE": with_error(run["rmse_mean"], run["rmse_stderr"]),
            "published": with_error(run["rmse_published"], run["rmse_published_stderr"]),
            "z": z_value(run["rmse_z"]),
            "log-likelihood": with_error(run["log_likelihood_mean"], run["log_likelihood_stderr"]),
            "source": run["rmse_source"].split(" (")[0],
            "settings that differ": run["rmse_differs"],
        }
        for run in with_published().to_dict("records")
    ]
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def headline() -> str:
    """A row per data set, a column per method: ours, and the published mean in brackets."""
    rows: dict[str, dict[str, str]] = {}
    for run in with_published().to_dict("records"):
        ours = plus_minus(run["rmse_mean"], run["rmse_stderr"])
        decimals = len(ours.split()[0].partition(".")[2])
        form = f".{decimals}f" if pd.notna(run["rmse_published_stderr"]) else "g"
        theirs = run["rmse_published"]
        cell = f"{ours} ({theirs:{form}})" if pd.notna(theirs) else ours
        rows.setdefault(run["dataset"], {})[run["method"]] = cell
    table = pd.DataFrame(rows).T.sort_index().rename_axis("data set").fillna(MISSING)
    return table.reset_index().to_markdown(index=False, disable_numparse=True)


def paired_dropout() -> str:
    """MC dropout beside the scores that its authors had on the same splits."""
    table = pd.read_csv(RESULTS / "gal_uci" / "paired_with_published.csv")
    rows = []
    for run in table.to_dict("records"):
        row = {"data set": run["dataset"], "splits": run["splits"]}
        for metric, name in (("rmse", "RMSE"), ("log_likelihood", "log-likelihood")):
            difference, error = run[f"{metric}_difference"], run[f"{metric}_stderr"]
            decimals = 4 if abs(run[f"{metric}_theirs"]) < SMALL else 3
            row[f"{name}, published"] = f"{run[f'{metric}_theirs']:.{decimals}f}"
            row[f"{name}, difference"] = f"{difference:+.{decimals}f} ± {error:.{decimals}f}"
            row[f"{name}, correlation"] = f"{run[f'{metric}_correlation']:.2f}"
        rows.append(row)
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def search_bounds() -> str:
    """By data set, which methods chose a value on a bound of the search, in how many splits."""
    columns = {
        f"{name} {end}": (name, end)
        for name in ("noise_precision", "prior_precision")
        for end in ("highest", "lowest")
    }
    rows = []
    for path in sorted((RESULTS / "book_uci").glob("splits_*.csv")):
        dataset = path.stem.partition("_")[2]
        splits = pd.read_csv(path).fillna({"at_bound": ""})
        cells = {title: on_bound(splits, dataset, *what) for title, what in columns.items()}
        rows.append({"data set": dataset, **cells})
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def on_bound(splits: pd.DataFrame, dataset: str, name: str, end: str) -> str:
    """`vadam 20, bbb_x1 3`: in how many splits each method chose this end of the search.

    Args:
        splits: rows of a table of `docs/tools/update_results.py`.
        dataset: its name.
        name: of the hyper-parameter.
        end: `highest` or `lowest`.
    """
    low, high = {**BOUNDS, **BOUNDS_OF.get(dataset, {})}[f"bounds.{name}"]
    upper = splits[f"hp.{name}"] > math.sqrt(low * high)
    there = splits["at_bound"].str.split().map(lambda names: name in names)
    chosen = splits[there & (upper == (end == "highest"))]
    counts = chosen.groupby("method").size().sort_values(ascending=False, kind="stable")
    return ", ".join(f"{method} {count}" for method, count in counts.items()) or MISSING


def glossary() -> str:
    """What every number is, as the package has it."""
    return markdown.glossary(TERMS)


BLOCKS: dict[Path, tuple[Callable[[], str], ...]] = {
    DOCS.parent / "README.md": (session, headline),
    DOCS / "glossary.md": (glossary,),
    DOCS / "measured.md": (results, search_bounds, speed),
    RESULTS / "README.md": (paired_dropout,),
}
"""Which page has which blocks; a block is named as its function."""


def filled(page: Path) -> str:
    """The text of a page with its blocks as they are to be.

    Raises:
        ValueError: if the page does not have the marks of a block once.
    """
    text = page.read_text()
    for block in BLOCKS[page]:
        name = block.__name__
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text, found = pattern.subn(lambda m, b=block: f"{m[1]}\n{b()}\n\n{m[2]}", text)
        if found != 1:
            raise ValueError(f"{page} has {found} blocks {name}, not one")
    return text


if __name__ == "__main__":
    for one in BLOCKS:
        one.write_text(filled(one))
