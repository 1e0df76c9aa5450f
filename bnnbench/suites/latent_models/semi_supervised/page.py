"""The page of a run on semi-supervised learning."""

from __future__ import annotations

from matplotlib.figure import Figure

from bnnbench.experiment.answer_tables import ANSWERS, CURVES, SCORES
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.results.saved_run import SavedRun, images_of, run_reader
from bnnbench.results.source_settings import SourceSettings
from bnnbench.suites.latent_models.names import BINARISATION, QUANTITIES
from bnnbench.suites.latent_models.saved_run import settings_of_book
from bnnbench.suites.latent_models.semi_supervised.claims import claims
from bnnbench.suites.latent_models.semi_supervised.experiment import APPROXIMATIONS, SemiSupervised
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    MIXED,
    PAIRED,
    SUPERVISED,
)

COLOURS = {MIXED: PALETTE[1], PAIRED: BLUE, ENUMERATION: PALETTE[2], SUPERVISED: ORANGE}

figures = Figures(
    run_reader({
        SCORES: ("repetition", "accuracy", "accuracy_equal"),
        CURVES: ("repetition", "epoch", "accuracy_test"),
    })
)  # fmt: skip


@figures(
    "Accuracy on test images by number of labels (book, Table 5.2); mean ± standard error over "
    "repetitions. The classifier alone is shown after as many epochs as the semi-supervised models "
    "(dashed) and after all its epochs (solid). Crosses: the book's, for runs on its images"
)
def accuracy_by_labels(run: SavedRun) -> Figure:
    figure, (axes,) = new_figure(6.6, 4.4)
    lines = [(method, "accuracy", "-") for method in COLOURS]
    for method, column, dashes in (*lines, (SUPERVISED, "accuracy_equal", "--")):
        name = APPROXIMATIONS[method]
        rows = run.rows(ANSWERS, approximation=name, quantity=QUANTITIES[column])
        rows = rows.assign(labels=rows["setting"].str.split().str[0].astype(int))
        rows = rows.sort_values("labels")
        if rows.empty:
            continue
        axes.errorbar(rows["labels"], rows["value"], rows["standard_error"], fmt=f"o{dashes}",
                      color=COLOURS[method], capsize=2, markersize=4, linewidth=1.2,
                      label=name + (", equal epochs" if dashes == "--" else ""))  # fmt: skip
    rows = run.rows(ANSWERS, quantity=QUANTITIES["accuracy_equal"])
    rows = rows.assign(model=rows["approximation"].str.partition(",")[0])
    for (model, own), marker in zip(rows.groupby("model"), "x+", strict=False):
        if own["published"].notna().any():
            labels = own["setting"].str.split().str[0].astype(int)
            axes.plot(labels, own["published"], marker, color=GREY, label=f"book, {model}")
    axes.set(xscale="log", xlabel="number of labels", ylabel="accuracy [%]")
    sizes = run.sizes(f"{SUPERVISED}-")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    legend(figure, axes, columns=2)
    return figure


@figures(
    "Accuracy on test images by epoch, one panel per number of labels; mean over repetitions. An "
    "epoch of the classifier alone is a pass through the labelled images"
)
def accuracy_by_epoch(run: SavedRun) -> Figure:
    sizes = run.sizes(f"{SUPERVISED}-")
    lowest, highest = run[CURVES]["accuracy_test"].agg(["min", "max"])
    figure, panels = new_figure(2.6 * len(sizes), 3.2, len(sizes))
    for axes, labels in zip(panels, sizes, strict=True):
        for method, colour in COLOURS.items():
            rows = run.rows(CURVES, unit=f"{method}-{labels:05d}")
            mean = rows.groupby("epoch")["accuracy_test"].mean()
            if len(mean):
                axes.plot(mean.index, mean, color=colour, label=APPROXIMATIONS[method])
        axes.set(xscale="log", xlabel="epoch", title=f"{labels} labels")
        axes.set_ylim(0.95 * lowest, 1.02 * highest)
    panels[0].set_ylabel("accuracy [%]")
    legend(figure, panels, columns=4)
    return figure


EXPERIMENT_PAGE = ExperimentPage(
    kind=SemiSupervised.kind,
    title="Semi-supervised learning",
    caption=(
        "Mean ± standard error over repetitions, on test images. Mixed batches: one shuffled set, "
        "as (5.38) says; paired batches: each comes with as many labelled images. Enumeration: sum "
        "over classes instead of relaxed labels. Bound of unlabelled images: U(x) by a sum over "
        "classes, nats."
    ),
    figures=figures,
    statements=claims,
    data_of=images_of(BINARISATION),
    settings=SourceSettings(free=("labels", "batches", "enumerated"), chosen=settings_of_book),
)
