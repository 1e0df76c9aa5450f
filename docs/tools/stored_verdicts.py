"""Decide stored comparisons and claims again by the rules of today, from the stored tables alone.

`update_pages.py` stores the result. A claim that needs more than is stored keeps the verdict of its
run while its rule stays the same. Claims about the toys with exact answers always need more: run
`bnnbench reproduce inference_toys` and `bnnbench run experiment=estimator_parametrisations` again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import image_runs
import pandas as pd
import sprinkler_runs
from image_folders import VARIANTS, stored
from stored_results import NOT_STORED, RESULTS, stored_runs, table

from bnnbench.report.claims_table import claims_data
from bnnbench.report.sections.information_criteria import criteria_table
from bnnbench.results.claims.claims import VERDICTS, Claim, Statement, check_claims
from bnnbench.results.claims.saved_run import CLAIMS
from bnnbench.results.compare.outcomes import all_pairs
from bnnbench.results.compare.significance import add_names
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.active_learning.page import claims as active_learning
from bnnbench.suites.cinelli_book.comparison import claims as book_claims
from bnnbench.suites.cinelli_book.comparison import one_per_configuration
from bnnbench.suites.exploration.page import claims as bandit
from bnnbench.suites.felekis_gvi.comparison import arrange
from bnnbench.suites.felekis_gvi.page import claims as gvi_claims
from bnnbench.suites.regions.page import claims as regions
from bnnbench.suites.regions.page import true_regions

COMPARISONS = "comparisons"

NUMBERS = "%.5g"
"""Format of numbers; with more digits the largest table would be too large for git."""

GVI_FOLDERS = ("gvi_uci", "gvi_alpha", "gp_toy", "gvi_notebooks/alpha", "gvi_notebooks/toy")

TABLES: dict[str, tuple[str, Iterable[Statement], Callable[[pd.DataFrame], pd.DataFrame]]] = {
    "region_posterior/region_claims": ("regions", regions, true_regions),
    "active_learning/active_learning_claims": ("labels", active_learning, pd.DataFrame),
    "bandit/bandit_claims": ("regret", bandit, pd.DataFrame),
}
"""The table that claims on a downstream task are about, the claims, and what selects its rows."""


@cache
def runs_of(folder: str) -> Runs:
    """Return the stored runs of a folder; sections share what they compute of them."""
    return stored_runs(folder)


def comparisons(folder: str) -> pd.DataFrame:
    """Return all comparisons of a folder, with their outcomes."""
    runs = runs_of(folder)
    return add_names(runs.cached(all_pairs), labels(runs.scored))


def book(folder: str) -> list[Claim]:
    """Check the book's claims."""
    runs = runs_of(folder)
    return book_claims(one_per_configuration(runs.scored, runs.cached(all_pairs)))


def gvi(folder: str) -> list[Claim]:
    """Check the claims of the GVI thesis."""
    runs = runs_of(folder)
    has_sigma = (RESULTS / folder / "sigma.csv").exists()
    sigma = table(folder, "sigma") if has_sigma else pd.DataFrame()
    return gvi_claims(arrange(runs, runs.scored, sigma, criteria_table(runs)))


def claims() -> Iterator[tuple[str, list[Claim]]]:
    """Yield the name of each stored table of claims that can be computed again, and its claims."""
    yield from ((f"{folder}/{CLAIMS}", book(folder)) for folder in ("book_uci", "timing"))
    yield from ((f"{folder}/gvi_claims", gvi(folder)) for folder in GVI_FOLDERS)
    for name, (source, statements, select) in TABLES.items():
        folder, _, _ = (path := f"downstream/{name}").rpartition("/")
        yield path, check_claims(statements, select(table(folder, source)))
    for name in (*image_runs.KINDS, *VARIANTS):
        for images, folder in stored(name).items():
            yield f"images/{name}/{images}/{CLAIMS}", [*image_runs.checked(name, folder)]
    yield f"{sprinkler_runs.FOLDER}/{sprinkler_runs.CLAIMS}", sprinkler_runs.checked()


def or_stored(found: Iterable[Claim], before: pd.DataFrame) -> list[Claim]:
    """Return claims, with the stored verdict of those that need more than is stored.

    Args:
        found: the claims.
        before: the stored table. A verdict by another rule does not count.
    """
    judged = before[before["verdict"].isin(VERDICTS.values())]
    known = {(row["text"], row["rule"]): row for row in judged.to_dict("records")}
    return [
        replace(claim, verdict=row["verdict"], evidence=row["evidence"])
        if claim.evidence.startswith(NOT_STORED) and (row := known.get((claim.text, claim.rule)))
        else claim
        for claim in found
    ]


def verdict_tables() -> Iterator[tuple[Path, pd.DataFrame]]:
    """Yield the path of each stored table of comparisons or claims, and what it should hold."""
    for path in sorted(RESULTS.rglob(f"{COMPARISONS}.csv")):
        yield path, comparisons(str(path.parent.relative_to(RESULTS)))
    for name, found in claims():
        path = RESULTS / f"{name}.csv"
        yield path, claims_data(or_stored(found, pd.read_csv(path)))


def write_verdicts() -> None:
    """Store all comparisons and claims, as far as stored tables suffice."""
    for path, found in verdict_tables():
        found.to_csv(path, index=False, float_format=NUMBERS)
    table.cache_clear()
