"""The page of a run on planar flows and importance-weighted autoencoders."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.answer_tables import ANSWERS, SCORES
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.results.saved_run import SavedRun, images_of
from bnnbench.results.source_settings import SourceSettings
from bnnbench.suites.latent_models.bounds import BOUND_SIZES
from bnnbench.suites.latent_models.names import BINARISATION, IWAE, PLANAR, QUANTITIES
from bnnbench.suites.latent_models.planar_flows.claims import claims
from bnnbench.suites.latent_models.planar_flows.experiment import PlanarFlows
from bnnbench.suites.latent_models.plots import plot_curves
from bnnbench.suites.latent_models.saved_run import read_run, settings_of_book, subset_notes

STYLES = {
    "log_p": ("log p(x)", BLUE),
    **{f"iwae_{k}": (f"IWAE bound, {k}", PALETTE[i + 2]) for i, k in enumerate(BOUND_SIZES)},
    "elbo": ("ELBO", ORANGE),
}

figures = Figures(read_run)


@figures(
    "log p(x) of test images and its bounds by number of planar steps (book, Table 5.1), and of "
    "IWAEs by number of samples in training; mean ± standard error over repetitions. Crosses: the "
    "book's log p(x), for runs on its images"
)
def log_p_by_length(run: SavedRun) -> Figure:
    figure, panels = new_figure(9, 4.0, 2)
    _plot_bounds(panels[0], run, PLANAR, "planar steps K")
    _plot_bounds(panels[1], run, IWAE, "samples T in training")
    legend(figure, panels, columns=5)
    return figure


def _plot_bounds(axes: Axes, run: SavedRun, approximation: str, label: str) -> None:
    """Plot the bounds of a model at evenly spaced positions, one for each setting."""
    for column, (name, colour) in STYLES.items():
        rows = run.rows(ANSWERS, approximation=approximation, quantity=QUANTITIES[column])
        if rows.empty:
            continue
        ticks = np.arange(len(rows))
        axes.errorbar(ticks, rows["value"], rows["standard_error"], fmt="o-", color=colour,
                      label=name, markersize=4, linewidth=1.2, capsize=2)  # fmt: skip
        axes.set_xticks(ticks, [text.split(" = ")[1] for text in rows["setting"]])
        if rows["published"].notna().any():
            axes.plot(ticks, rows["published"], "x", color=GREY, label="book, log p(x)")
    axes.set(xlabel=label, ylabel="nats", title=approximation)


@figures(
    "ELBO by epoch; mean over repetitions. Solid: test images; dashed: training images. With "
    "planar steps, the rate is estimated from one sample"
)
def elbo_by_epoch(run: SavedRun) -> Figure:
    figure, (axes,) = new_figure(6.4, 4.2)
    plot_curves(axes, run, "elbo", {unit: unit.replace("-", " ") for unit in run.units})
    last = run[SCORES][["elbo", "elbo_train"]]
    axes.set_ylim(last.min(axis=None) - 3, last.max(axis=None) + 2)
    axes.set_ylabel("ELBO [nats]")
    legend(figure, axes)
    return figure


EXPERIMENT_PAGE = ExperimentPage(
    kind=PlanarFlows.kind,
    title="Planar flows and importance-weighted training",
    caption=(
        "Mean ± standard error over repetitions, nats per test image. log p(x): importance "
        "sampling with q(z|x) as proposal, a lower bound in expectation. K: planar steps, whose "
        "parameters are outputs of the encoder; T: samples in the bound that training maximises."
    ),
    figures=figures,
    statements=claims,
    data_of=images_of(BINARISATION),
    settings=SourceSettings(free=("lengths", "training_samples"), chosen=settings_of_book),
    notes=subset_notes,
)
