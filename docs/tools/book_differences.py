"""What is known of the differences between our runs and the book's Tables 5.1 and 5.2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pandas as pd
from image_folders import TITLES, VARIANTS, folder_of, stored, title_of
from page_blocks import to_markdown
from stored_results import RESULTS

from bnnbench.experiment.store.answer_tables import CURVES, SCORES
from bnnbench.experiment.store.record import read_record
from bnnbench.notes import quantity
from bnnbench.report.blocks import plus_minus
from bnnbench.results.claims.mean_tests import LEVEL, MeanTest
from bnnbench.suites.latent_models.page_parts import read_run
from bnnbench.suites.latent_models.semi_supervised.experiment import APPROXIMATIONS, unit_of
from bnnbench.suites.latent_models.semi_supervised.page import figures
from bnnbench.suites.latent_models.semi_supervised.stack import MIXED, PAIRED, SUPERVISED

LONGER = "planar_flows_300"
"""The variant whose plain VAE is trained for more epochs than the book's."""

REPRODUCED = 1.5
"""Mean absolute difference in points below which accuracies reproduce a column of the book."""

EARLY = (1, 2)
"""Epochs after which the classifier alone is compared with the book's."""

FEW = 3
"""Repetitions below which a test has little power."""


def differences(rows: pd.DataFrame) -> str:
    """Return for each run and model how many rows of `image_runs.book_rows` differ significantly.

    A single repetition is not tested.
    """
    lines = [f"Two-sided t-tests over repetitions; significant: p below {LEVEL}.{power(rows)}\n"]
    for (name, images, model), own in rows.groupby(["name", "images", "approximation"], sort=False):
        tested, gaps = own["p"].dropna(), own["value"] - own["published"]
        found = f"{(tested < LEVEL).sum()} of {len(tested)} differ significantly"
        lines.append(
            f"- {title_of(name, images)}, {model}: {found if len(tested) else 'not tested'}, "
            f"differences from {gaps.min():+.1f} to {gaps.max():+.1f}"
        )
    return "\n".join(lines)


def power(rows: pd.DataFrame) -> str:
    """Return a sentence on tests with few repetitions, after a space; empty if there are none."""
    few = sorted({count for count in rows["repetitions"] if 1 < count < FEW})
    if not few:
        return ""
    limit = MeanTest(0.0, 1.0, few[0] - 1).interval[1]
    of_limit = (
        f" (only differences above {limit:.1f} standard errors are significant)"
        if rows["error"].isna().all()
        else ""
    )
    return (
        f" With {few[0]} repetitions, the test has little power{of_limit}: numbers that do not "
        "differ significantly need not agree."
    )


def of_flows(rows: pd.DataFrame) -> Iterator[str]:
    """Explain differences of bounds of log p(x) by the number of planar steps (Table 5.1)."""
    images = rows["images"].iloc[0]
    run, book = read_run(stored("planar_flows")[images]), rows.set_index("setting")["published"]
    parts = [
        f"**{TITLES[images]}.** The cause of the differences is open: the book gives neither the "
        "number of latent variables nor the initial weights."
    ]
    if {"K = 0", "K = 1"} <= {*book.index}:
        ours = run.difference("log_p", "flow-1", "flow-0")
        parts.append(
            "In the book, the first planar step gains "
            f"{book['K = 1'] - book['K = 0']:.1f} nats over the plain VAE ({book['K = 0']:g}); in "
            f"our runs, it gains {plus_minus(ours.mean, ours.stderr)} nats."
        )
    scores = run.rows(SCORES, unit="flow-0")
    gap = (scores["elbo_train"] - scores["elbo"]).mean()
    parts.append(
        f"The ELBO of our plain VAE is {gap:.1f} nats higher on training images than on test "
        "images."
    )
    if "K = 0" in book.index and images in stored(LONGER):
        parts.append(of_longer_training(images, book["K = 0"]))
    path = RESULTS / "images" / "batch_normalisation" / f"{images}.csv"
    if "K = 0" in book.index and path.exists():
        parts.append(of_batch_normalisation(pd.read_csv(path), book["K = 0"]))
    yield " ".join(parts)


def of_longer_training(images: str, book: float) -> str:
    """Compare the plain VAE after more epochs with the book's log p(x)."""
    runs = [read_run(folder_of(name, images)) for name in ("planar_flows", LONGER)]
    before, after = (read_record(one.folder).identity["epochs"] for one in runs)
    own = [one.values("flow-0", "log_p") for one in runs]
    short, long = (values.mean() for values in own)
    return (
        f"After {after} instead of {before} epochs, the bound of our plain VAE is {long:.1f} "
        f"instead of {short:.1f} ({quantity(len(own[1]), 'repetition')}); the difference from "
        f"the book is then {long - book:+.1f} instead of {short - book:+.1f} nats."
    )


def of_batch_normalisation(rows: pd.DataFrame, book: float) -> str:
    """Compare the plain VAE with batch normalisation with the book's log p(x).

    Args:
        rows: the table of `batch_normalisation.py`.
        book: the book's value.
    """
    bound = rows.set_index("normalised")["bound"]
    plain = f", without it {bound[False]:.1f}" if False in bound.index else ""
    return (
        "A separate program (`docs/tools/batch_normalisation.py`, one repetition) adds batch "
        "normalisation, which the book does not mention. With it, the bound is "
        f"{bound[True]:.1f} after {rows['epochs'].max()} epochs{plain}; the difference from the "
        f"book is then {bound[True] - book:+.1f} nats."
    )


def of_accuracies(rows: pd.DataFrame) -> Iterator[str]:
    """Say which readings of the book reproduce the columns of Table 5.2 on some images."""
    title, models = TITLES[rows["images"].iloc[0]], [APPROXIMATIONS[m] for m in (MIXED, PAIRED)]
    readings = rows[rows["approximation"].isin(models)].groupby(
        ["approximation", "name"], sort=False
    )
    distances = {
        reading(model, name, own["repetitions"].iloc[0]): own["value"] - own["published"]
        for (model, name), own in readings
    }
    yield (
        f"**{title}, semi-supervised.** The book says neither how labelled images enter the "
        "minibatches nor how wide its networks are. "
        f"{which_reproduces(distances)}"
    )
    own = rows[rows["approximation"] == APPROXIMATIONS[SUPERVISED]]
    if own.empty:
        return
    table = of_classifier(own)
    after = {name: table[name] - table["book"] for name in table if name not in ("setting", "book")}
    yield f"**{title}, supervised.** {which_reproduces(after)} Accuracy of our classifier alone:"
    yield to_markdown(table.round(1))


def reading(model: str, name: str, repetitions: int) -> str:
    """Return what a run supposes about the book: `mixed batches (2 repetitions)`."""
    differs = [VARIANTS[name].title] if name in VARIANTS else []
    parts = [model.removeprefix("semi-supervised, "), *differs]
    return f"{', '.join(parts)} ({quantity(repetitions, 'repetition')})"


def of_classifier(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of the classifier alone after some numbers of epochs, in per cent.

    Args:
        rows: of `image_runs.book_rows`; those of the run with most repetitions count.

    Returns:
        A row for each number of labels, with `setting`, `book` and a column for each number.
    """
    most = rows[rows["name"] == rows.loc[rows["repetitions"].idxmax(), "name"]]
    run = figures.read(folder_of(*most[["name", "images"]].iloc[0]))
    units = [unit_of(SUPERVISED, int(label.split()[0])) for label in most["setting"]]
    table = pd.DataFrame({"setting": most["setting"], "book": most["published"]})
    for epochs in (*EARLY, read_record(run.folder).identity["epochs"]):
        found = run.rows(CURVES, epoch=epochs).groupby("unit")["accuracy_test"].mean()
        table[f"after {quantity(epochs, 'epoch')}"] = found[units].to_numpy()
    return table


def which_reproduces(differences: Mapping[str, pd.Series]) -> str:
    """Say how far readings are from a column of the book, and which reproduce it.

    Args:
        differences: ours minus the book's by reading, in points.
    """
    distances = {name: gaps.abs().mean() for name, gaps in differences.items()}
    listed = "; ".join(f"{name}: {distance:.1f}" for name, distance in distances.items())
    close = [name for name, distance in distances.items() if distance < REPRODUCED]
    verdict = (
        f"Below {REPRODUCED} points, which we call a reproduction: {'; '.join(close)}."
        if close
        else f"None is below {REPRODUCED} points; the nearest is "
        f"{min(distances, key=lambda name: distances[name])}."
    )
    return f"Mean absolute difference from the book's column in points: {listed}. {verdict}"


EXPLANATIONS: Mapping[str, Callable[[pd.DataFrame], Iterator[str]]] = {
    "planar_flows": of_flows,
    "semi_supervised": of_accuracies,
}
"""The functions by kind of experiment, from the rows of `image_runs.book_rows` on some images."""
