"""Tables of papers whose numbers nobody computed."""

from __future__ import annotations

from bnnbench.report.paper.contents import Cell, Contender, PaperTable, usual_name
from bnnbench.results.metrics import BY_KEY


def made(
    sets: int = 2,
    methods: int = 2,
    metrics: tuple[str, ...] = ("rmse", "log_likelihood"),
    names: tuple[str, ...] = (),
    published: int = 0,
) -> PaperTable:
    """So many data sets, methods of our own and published ones; the first method is best.

    Args:
        sets: how many data sets.
        methods: how many methods of our own.
        metrics: their keys.
        names: of the first methods.
        published: how many more are published.
    """
    named = [*names, *(f"method-{place}" for place in range(methods))][:methods]
    ours = [Contender(name, name, name) for name in named]
    theirs = [Contender(f"p{place}\n", "p", f"paper {place}", True) for place in range(published)]
    datasets = {f"set-{place}": f"set-{place}" for place in range(sets)}
    sign = {"higher": -1, "lower": 1}
    cells = {
        (dataset, one.key, key): Cell(
            sign[BY_KEY[key].better] * (3.57 + place), 0.23, 1.0, best=place == 0
        )
        for dataset in datasets
        for place, one in enumerate((*ours, *theirs))
        for key in metrics
    }
    shown = {BY_KEY[key]: usual_name(BY_KEY[key]) for key in metrics}
    sources = ("Smith & Co. 2024",) if theirs else ()
    contenders = (*ours, *theirs)
    return PaperTable(datasets, contenders, shown, cells, (20,), (), sources, ("set-0: a, run 1",))
