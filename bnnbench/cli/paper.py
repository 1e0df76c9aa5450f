"""`bnnbench report --style paper`: one table and figures for a paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.cli import wanted
from bnnbench.cli.endings import note
from bnnbench.cli.reporting import say_left_out, writing

if TYPE_CHECKING:
    from bnnbench.results.choice import Choice


def paper_command(
    path: Path,
    choice: Choice,
    names: Mapping[str, str],
    error: str = "stderr",
    to: Path | None = None,
    beside: Path | None = None,
) -> int:
    """Writes the table and the figures of a paper and prints, last, where they lie.

    Args:
        path: an outputs folder, or any folder inside one.
        choice: of which runs, and what; RMSE and log-likelihood if no metric is chosen.
        names: to print, by method, data set or metric.
        error: what the figures' error bars show.
        to: where to write; `path/report` if not given.
        beside: a file of published values that stand in it, too.

    Raises:
        UserError: if there are no scores, a name or the file is wrong, or nothing can be written.
        OSError: if the disk is full.
    """
    from joblib import cpu_count

    from bnnbench.report.folder import ReportFolder
    from bnnbench.report.paper.contents import paper_table
    from bnnbench.report.paper.layout import PAGE
    from bnnbench.report.paper.writing import write_paper
    from bnnbench.results.metrics import printed_in
    from bnnbench.results.reader import require_scores

    runs = wanted.gathered(path, None, choice, beside)
    require_scores(runs)
    wanted.check_names(names, runs)
    say_left_out(runs)
    table = paper_table(runs, choice.wanted(printed_in("figures")), choice, names)
    report = ReportFolder(to) if to else ReportFolder.below(path)
    with writing(path, to):
        layout = write_paper(table, report, error, cpu_count())
    if not layout.fits:
        note(
            f"the table is some {layout.inches:.1f} inches wide, and a page has {PAGE:g}: choose "
            "fewer --methods, --datasets or --metric, or shorter names."
        )
    print(f"paper: {report.root / 'paper.tex'}")
    return 0
