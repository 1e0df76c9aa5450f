"""Synthetic tables for papers."""

from __future__ import annotations

from bnnbench.report.paper.paper_table import PaperTable, ScoreCell, TableEntry, default_name
from bnnbench.results.metric_table import BY_KEY


def make_paper_table(
    sets: int = 2,
    methods: int = 2,
    metrics: tuple[str, ...] = ("rmse", "log_likelihood"),
    names: tuple[str, ...] = (),
    published: int = 0,
) -> PaperTable:
    """Make a table in which the first method is best.

    Args:
        sets: number of data sets.
        methods: number of methods with runs.
        metrics: keys of the metrics.
        names: names of the first methods.
        published: number of published methods.
    """
    named = [*names, *(f"method-{place}" for place in range(methods))][:methods]
    ours = [TableEntry(name, name, name) for name in named]
    theirs = [TableEntry(f"p{place}\n", "p", f"paper {place}", True) for place in range(published)]
    datasets = {f"set-{place}": f"set-{place}" for place in range(sets)}
    sign = {"higher": -1, "lower": 1}
    cells = {
        (dataset, one.key, key): ScoreCell(
            *(sign[BY_KEY[key].better] * (3.57 + place), 0.23, 1.0),
            best=place == 0,
            against_best={"outcome": "worse"} if 0 < place < len(ours) else {},
        )
        for dataset in datasets
        for place, one in enumerate((*ours, *theirs))
        for key in metrics
    }
    shown = {BY_KEY[key]: default_name(BY_KEY[key]) for key in metrics}
    sources = ("Smith & Co. 2024",) if theirs else ()
    entries = (*ours, *theirs)
    return PaperTable(datasets, entries, shown, cells, (20,), (), sources, ("set-0: a, run 1",))
