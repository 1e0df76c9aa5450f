"""The page of a run of EM: its figures and claim."""

from __future__ import annotations

from matplotlib.figure import Figure

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import GREY, PALETTE, legend, new_figure
from bnnbench.results.claims.claims import CheckResult, Claims
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, run_reader
from bnnbench.suites.inference_toys.expectation_maximisation import (
    BOUNDS,
    EM,
    FITTED,
    LOG_LIKELIHOOD,
    SETTINGS,
    STARTS,
    TRACE,
    ExpectationMaximisation,
)
from bnnbench.suites.inference_toys.pages.shared import LECTURE, plot_starts

claims = Claims()
read_run = run_reader(
    {
        STARTS: ("start", "log_likelihood"),
        TRACE: ("start", "iteration", "log_likelihood"),
        BOUNDS: ("iteration", "current_mean", "mean", "log_likelihood", "bound"),
    }
)

figures = Figures(read_run)


@figures(
    "Log-likelihood against the mean of one component (black) and its lower bounds after the first "
    "E-steps (dashed). Circles: the current estimate, where the bound touches the log-likelihood; "
    "triangles: the maximum of the bound, which is the next estimate"
)
def bound(run: SavedRun) -> Figure:
    table = run[BOUNDS]
    figure, (axes,) = new_figure(6.8, 4.4)
    first = table[table["iteration"] == 0]
    axes.plot(first["mean"], first["log_likelihood"], "black", lw=1.8, label="log-likelihood")
    for (iteration, rows), index in zip(table.groupby("iteration"), (0, 5, 2), strict=True):
        colour, label = PALETTE[index], f"bound after E-step {int(str(iteration)) + 1}"
        axes.plot(rows["mean"], rows["bound"], "--", color=colour, label=label)
        current = rows[["current_mean", "current_log_likelihood"]].iloc[0]
        axes.plot(*current, "o", color=colour, markersize=6)
        best = rows[["mean", "bound"]].loc[rows["bound"].idxmax()]
        axes.plot(*best, "^", color=colour, markersize=6)
    low, high = table["current_log_likelihood"].min(), table["log_likelihood"].max()
    axes.set_ylim(low - 0.1 * (high - low), high + 0.06 * (high - low))
    axes.plot([], [], "o", color=GREY, label="point of contact (E-step)")
    axes.plot([], [], "^", color=GREY, label="maximum of the bound (M-step)")
    axes.set_xlabel("mean of the lower component, other parameters fixed")
    axes.set_ylabel("log-likelihood and its bounds [nats]")
    legend(figure, axes, columns=2)
    return figure


@figures("Log-likelihood by iteration of EM, one line per random start; dots: last iteration")
def log_likelihood(run: SavedRun) -> Figure:
    figure, panels = new_figure(8.0, 3.7, 2)
    for axes, part in zip(panels, FITTED, strict=True):
        trace = run.rows(TRACE, part=part)
        plot_starts(axes, trace, "log_likelihood")
        values = trace["log_likelihood"]
        low, best = values[trace["iteration"] == 0].min(), values.max()
        axes.set_ylim(low, best + 0.05 * (best - low))
        starts = trace["start"].nunique()
        axes.set_title(f"{SETTINGS[part]}: {starts} starts", fontsize="small")
        axes.set_ylabel("log-likelihood [nats]")
    return figure


@claims(
    "Maximising the simpler objective maximises the likelihood",
    source=f"{LECTURE}, summary of EM",
    rule="BFGS, started near the result of EM, gains at most 1e-6 nats",
)
def reaches_maximum(run: SavedRun) -> CheckResult:
    rows = [run.answer(LOG_LIKELIHOOD, EM, SETTINGS[part]) for part in FITTED]
    gain = max(row["exact"] - row["value"] for row in rows)
    return gain <= 1e-6, f"BFGS gains at most {gain:.1e} nats"


def notes(folder: RunFolder) -> list[str]:
    """Return a note on each start that did not converge."""
    starts = read_run(folder)[STARTS]
    return [
        f"{SETTINGS[row['part']]}, start {row['start']}: {row['message']}."
        for row in starts[starts["status"] != "converged"].to_dict("records")
    ]


EXPERIMENT_PAGE = ExperimentPage(
    kind=ExpectationMaximisation.kind,
    title="Expectation maximisation",
    caption=(
        "EM: the best random start on each data set. Exact: the nearby maximum found by BFGS. The "
        "lower and upper components are ordered by mean. Petal lengths in cm."
    ),
    figures=figures,
    statements=claims,
    settings=SourceSettings(counts=("starts",)),
    notes=notes,
)
