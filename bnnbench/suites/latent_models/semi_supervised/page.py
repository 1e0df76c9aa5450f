"""The page of a run on semi-supervised learning."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from bnnbench.experiment.store.answer_tables import ANSWERS, CURVES, SCORES
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
)
from bnnbench.results.claims.saved_run import SavedRun, images_of, run_reader
from bnnbench.results.claims.source_settings import SourceSettings
from bnnbench.suites.latent_models.names import BINARISATION, QUANTITIES
from bnnbench.suites.latent_models.plots import plot_curves
from bnnbench.suites.latent_models.saved_run import settings_of_book
from bnnbench.suites.latent_models.semi_supervised.claims import claims
from bnnbench.suites.latent_models.semi_supervised.experiment import APPROXIMATIONS, SemiSupervised
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    LABELLED,
    MIXED,
    PAIRED,
    SUPERVISED,
)

COLOURS = {MIXED: PALETTE[1], PAIRED: BLUE, ENUMERATION: PALETTE[2], SUPERVISED: ORANGE}

SHIFT = 1.02
"""Factor of the number of labels between the points of two models."""

figures = Figures(
    run_reader({
        SCORES: ("repetition", "accuracy", "accuracy_equal"),
        CURVES: ("repetition", "epoch", "accuracy_test"),
    })
)  # fmt: skip


def _short(model: str) -> str:
    """Return the name of a model without what all but the classifier alone have in common."""
    return model.removeprefix("semi-supervised, ")


@figures(
    "Accuracy on test images by number of labels (book, Table 5.2); mean ± standard error over "
    "repetitions. Supervised: the classifier alone; all others are semi-supervised models. Lines "
    "join neighbouring numbers of labels; points are moved sideways where they would overlap"
)
def accuracy_by_labels(run: SavedRun) -> Figure:
    figure, (axes,) = new_figure(8.2, 4.4)
    answers = run[ANSWERS].assign(labels=run[ANSWERS]["setting"].str.split().str[0].astype(int))
    book = answers[answers["quantity"] == QUANTITIES["accuracy_equal"]].dropna(subset="published")
    book = book.assign(model=book["approximation"].str.split(",").str[0])
    for (model, own), marker in zip(book.groupby("model"), "x+", strict=False):
        axes.plot(own["labels"], own["published"], marker, color=GREY, label=f"book, {model}")
    sizes = run.sizes(f"{SUPERVISED}-")
    lines = [(method, "accuracy", "-") for method in COLOURS]
    centre, scores = len(lines) / 2, run[SCORES]
    if (scores["accuracy"] != scores["accuracy_equal"]).any():
        lines.append((SUPERVISED, "accuracy_equal", "--"))
    for k, (method, column, dashes) in enumerate(lines):
        name = APPROXIMATIONS[method]
        ending = ", as many epochs as the others" if dashes == "--" else ""
        chosen = (answers["approximation"] == name) & (answers["quantity"] == QUANTITIES[column])
        if not chosen.any():
            continue
        rows = answers[chosen].set_index("labels").reindex(sizes)  # a gap where none was run
        shift = SHIFT ** (k - centre)
        axes.errorbar(rows.index * shift, rows["value"], rows["standard_error"], fmt=f"o{dashes}",
                      color=COLOURS[method], capsize=2, markersize=4, linewidth=1.2,
                      label=_short(name) + ending)  # fmt: skip
    axes.set(xscale="log", xlabel="number of labels", ylabel="accuracy [%]")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    legend(figure, axes)
    return figure


@figures(
    "Accuracy on test images by epoch, one panel per number of labels; mean over repetitions. "
    "Supervised: the classifier alone, whose epoch is a pass through the labelled images; all "
    "others are semi-supervised models"
)
def accuracy_by_epoch(run: SavedRun) -> Figure:
    sizes = run.sizes(f"{SUPERVISED}-")
    lowest, highest = run[CURVES]["accuracy_test"].agg(["min", "max"])
    figure, panels = new_figure(8.4, 3.0, len(sizes))
    for axes, labels in zip(panels, sizes, strict=True):
        lines: dict[str, PlotOptions] = {
            unit: {"color": colour, "label": _short(APPROXIMATIONS[method])}
            for method, colour in COLOURS.items()
            if (unit := f"{method}-{labels:05d}") in run.units
        }
        plot_curves(axes, run, "accuracy_test", lines)
        axes.set(xscale="log", title=f"{labels:,} labels", ylabel="accuracy [%]")
        axes.xaxis.set_major_locator(LogLocator(numticks=9))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.minorticks_off()
        axes.tick_params(axis="x", labelsize="small")
        axes.set_ylim(0.95 * lowest, 1.02 * highest)
        axes.label_outer()
    legend(figure, panels)
    return figure


def epoch_notes(folder: RunFolder) -> list[str]:
    """Return a sentence if epochs end with the labelled minibatches."""
    if read_record(folder).identity.get("epoch_ends") != LABELLED:
        return []
    return [
        "Epochs end with the last labelled minibatch: all models take ceil(labels / batch size) "
        "steps in each, with other images without labels in every epoch."
    ]


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
    notes=epoch_notes,
    data_of=images_of(BINARISATION),
    settings=SourceSettings(
        free=("batches", "enumerated", "epoch_ends", "supervised_epochs"),
        grids=("labels",),
        chosen=settings_of_book,
    ),
)
