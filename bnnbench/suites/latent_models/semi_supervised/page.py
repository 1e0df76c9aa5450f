"""The page of a run on semi-supervised learning: claims and figures."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from bnnbench.experiment.store.answer_tables import ANSWERS, CURVES, SCORES, Sample
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
from bnnbench.results.claims.claims import OURS, CheckResult, Claims, NotTestable, all_hold
from bnnbench.results.claims.mean_tests import ALONE, TOGETHER, all_positive
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, images_of, run_reader
from bnnbench.suites.latent_models.names import BINARISATION, BOOK, IMAGES_OF_BOOK, QUANTITIES
from bnnbench.suites.latent_models.page_parts import EQUAL, check_margin, plot_curves
from bnnbench.suites.latent_models.published import settings_of_book
from bnnbench.suites.latent_models.semi_supervised.experiment import (
    APPROXIMATIONS,
    SemiSupervised,
    unit_of,
)
from bnnbench.suites.latent_models.semi_supervised.stack import (
    ENUMERATION,
    LABELLED,
    MIXED,
    PAIRED,
    SUPERVISED,
)

BASELINES = {"accuracy_equal": "equal epochs", "accuracy": "all epochs"}
"""Columns of the supervised accuracy."""

POOR = 30.0
"""Accuracy in per cent below which a classifier has "about 20 %"."""

SAME = 1.0
"""Percentage points of accuracy that do not count as a loss."""

COLOURS = {MIXED: PALETTE[1], PAIRED: BLUE, ENUMERATION: PALETTE[2], SUPERVISED: ORANGE}

SHIFT = 1.02
"""Factor of the number of labels between the points of two models."""

claims = Claims()

of_book = partial(claims, data=IMAGES_OF_BOOK)
"""Declares a claim about the book's images."""


def _gains(run: SavedRun, method: str, baseline: str) -> dict[int, np.ndarray]:
    """Return the accuracy above the supervised one, of each repetition, by number of labels."""
    return {
        labels: run.values(unit_of(method, labels), "accuracy")
        - run.values(unit_of(SUPERVISED, labels), baseline)
        for labels in run.sizes(f"{method}-")
    }


SOURCE = f"{BOOK}, 5.7, Table 5.2"

BEATS = (
    "for every number of labels, the accuracy is above that of the classifier alone, both after "
    f"equally many epochs and after all its epochs, paired by repetition {TOGETHER}"
)

TREND = (
    "the gain over the classifier after all its epochs falls with the number of labels: the "
    f"least-squares slope against its logarithm, of each repetition, is negative {ALONE}"
)


@of_book(
    "Images without labels improve the accuracy: minibatches as (5.38) says",
    source=SOURCE,
    rule=BEATS,
    method=MIXED,
)
@of_book(
    "Images without labels improve the accuracy: minibatches paired with labelled ones",
    source=SOURCE,
    rule=BEATS,
    method=PAIRED,
)
def beats_supervised(run: SavedRun, method: str) -> CheckResult:
    holds, evidence = all_positive({
        f"{labels} labels, {name}": Sample.of(gains)
        for baseline, name in BASELINES.items()
        for labels, gains in _gains(run, method, baseline).items()
    })  # fmt: skip
    return all_hold(holds), evidence


@of_book(
    "The fewer the labels, the larger the improvement: minibatches as (5.38) says",
    source=SOURCE,
    rule=TREND,
    method=MIXED,
)
@of_book(
    "The fewer the labels, the larger the improvement: minibatches paired with labelled ones",
    source=SOURCE,
    rule=TREND,
    method=PAIRED,
)
def fewer_labels_gain_more(run: SavedRun, method: str) -> CheckResult:
    gains = _gains(run, method, "accuracy")
    if len(gains) < 2:
        raise NotTestable("one number of labels")
    slopes = np.polyfit(np.log10(list(gains)), np.array(list(gains.values())), 1)[0]
    fall = Sample.of(-slopes)
    (falls,), evidence = all_positive({"fall in points for ten times as many labels": fall})
    listed = ", ".join(f"{labels}: {own.mean():+.1f}" for labels, own in gains.items())
    return falls, f"{evidence}; {listed}"


@of_book(
    "A classifier alone has about 20 % with the fewest labels",
    source=SOURCE,
    rule="the supervised accuracy with the fewest labels, after as many epochs as the "
    f"semi-supervised model, is below {POOR:g} % {ALONE}",
)
def baseline_is_poor(run: SavedRun) -> CheckResult:
    labels = run.sizes(f"{SUPERVISED}-")[0]
    found = run.values(unit_of(SUPERVISED, labels), "accuracy_equal")
    (poor,), evidence = all_positive({f"{POOR:g} % less accuracy": Sample.of(POOR - found)})
    return poor, f"{labels} labels: {found.mean():.1f} %; {evidence}"


@of_book(
    "The relaxation is much faster than a sum over ten classes",
    source=f"{BOOK}, 5.7",
    rule="training with relaxed labels takes at most half of the processor time of training with "
    "the sum, with the same numbers of labels and minibatches",
)
def relaxation_is_faster(run: SavedRun) -> CheckResult:
    ratios = {
        labels: run.values(unit_of(PAIRED, labels), "seconds").mean()
        / run.values(unit_of(ENUMERATION, labels), "seconds").mean()
        for labels in run.sizes(f"{ENUMERATION}-")
    }
    evidence = ", ".join(f"{n} labels: {1 / ratio:.1f} times" for n, ratio in ratios.items())
    return max(ratios.values()) <= 0.5, evidence


@claims(
    "The relaxation loses no accuracy against the sum over classes",
    source=OURS,
    rule="the accuracy with the sum is above that with relaxed labels by less than "
    f"{SAME:g} point, paired by repetition {EQUAL}",
)
def relaxation_loses_nothing(run: SavedRun) -> CheckResult:
    gains = {
        f"sum - relaxation, {labels} labels": run.difference(
            "accuracy", unit_of(ENUMERATION, labels), unit_of(PAIRED, labels)
        )
        for labels in run.sizes(f"{ENUMERATION}-")
    }
    return check_margin(gains, SAME, below=False)


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
            if (unit := unit_of(method, labels)) in run.units
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
