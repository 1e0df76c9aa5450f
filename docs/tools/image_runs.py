"""Runs on images: what is stored of them, and what pages show of them.

A run is stored in the folder that `image_folders.py` names, and its figures in `docs/figures`.
Pages show what is stored, and the command of what is not, so that they need no edit for a further
run. `python docs/tools/image_runs.py` draws the figures again for which the stored tables suffice.
"""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
from book_differences import EXPLANATIONS, differences
from figures import FIGURES, png
from figures import store as store_figure
from gap_blocks import gap_sentence, with_gap
from image_folders import (
    TITLES,
    VARIANTS,
    all_stored,
    check_same_settings,
    folder_of,
    kind_of,
    name_of,
    names_of,
    stored,
    title_of,
)
from page_blocks import against_thesis, tables_by, to_markdown, verdict_table, with_error
from stored_results import NOT_STORED

from bnnbench.discovery import plugins
from bnnbench.experiment.store.answer_tables import ANSWERS, CURVES, SCORES
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import DamagedRun
from bnnbench.report.blocks import MISSING, plus_minus
from bnnbench.report.claims_table import claims_data
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.report.sections.significance import p_value_text
from bnnbench.results.claims.claims import NOT_JUDGED, OTHER_DATA, THESE_SETTINGS, Claim
from bnnbench.results.claims.mean_tests import MeanTest, against_value, welch
from bnnbench.results.claims.saved_run import CLAIMS, read_answers
from bnnbench.suites.lam_density_ratio.adversarial_vb.claims import FEW, MANY, D
from bnnbench.suites.lam_density_ratio.adversarial_vb.evidence import evidence_of
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import GAN
from bnnbench.suites.lam_density_ratio.adversarial_vb.page import (
    TABLES,
    comparison_rows,
    deviations,
)
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, RELU_RATIO
from bnnbench.suites.latent_models.names import MNIST, quantities
from bnnbench.suites.latent_models.published import published_error
from bnnbench.types import UserError

SOURCES = ("mnist", "fashion_mnist")
"""Images of the book and the thesis; others are for a quick look."""

SHORT_EPOCHS = (
    "experiment.epoch_ends=labelled experiment.batches=[paired] experiment.enumerated=[] "
    "experiment.supervised_epochs=40 experiment.repetitions=10"
)
"""Settings of a run of the semi-supervised model whose epochs end with the labelled images."""

COMMANDS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("latent_sizes", "mnist"): ("experiment.repetitions=1", "45 minutes"),
    ("planar_flows", "mnist"): (
        "experiment.repetitions=2 experiment.training_samples=[5]", "2 hours"
    ),
    ("planar_flows_300", "mnist"): (
        "experiment.lengths=[0] experiment.training_samples=[] experiment.epochs=300 "
        "experiment.repetitions=1",
        "12 minutes",
    ),
    ("semi_supervised", "mnist"): (
        "experiment.repetitions=2 experiment.enumerated=[100,6000]", "5 hours"
    ),
    ("semi_supervised_labelled", "mnist"): (SHORT_EPOCHS, "25 minutes"),
    ("semi_supervised_labelled", "fashion_mnist"): (
        SHORT_EPOCHS, "25 minutes"
    ),
    ("distortion_rate", "mnist"): ("experiment.repetitions=1", "40 minutes"),
    ("planar_flows", "fashion_mnist"): (
        "experiment.repetitions=2 experiment.lengths=[0,1,8,32] experiment.training_samples=[]",
        "2 hours",
    ),
    ("semi_supervised", "fashion_mnist"): (
        "experiment.repetitions=2 experiment.batches=[paired] experiment.enumerated=[]",
        "2 hours",
    ),
    ("latent_sizes", "fashion_mnist"): (
        "experiment.repetitions=1 experiment.latents=[2,32,128]", "80 minutes"
    ),
    ("adversarial_vb", "mnist"): ("experiment.repetitions=2", "70 minutes"),
}  # fmt: skip
"""Settings of the runs on the sources' images, and their time on one core."""

SEEN = {
    "codes": "Coloured dots",
    **dict.fromkeys(("avb_samples", "interpolation", "manifold", "reconstructions", "samples"),
                    "Rows of small images"),
}  # fmt: skip
"""What figures consist of, in the alternative text, if not of lines."""

CURVE_FORMAT = "%.5g"
"""Format of numbers in curves, which are drawn only."""

NOTHING = "No such run is stored yet."


def page_of(name: str) -> ExperimentPage:
    """Return the page of an experiment or a variant."""
    kind = kind_of(name)
    (module,) = plugins("page", {kind})
    (page,) = (page for page in module.EXPERIMENT_PAGES if page.kind == kind)
    return page


def store(run: RunFolder) -> Path:
    """Store the record, tables, verdicts and figures of a run; return their folder.

    Verdicts and figures come from the code of today.

    Raises:
        UserError: if its settings are those of several variants, or not those of the stored run.
    """
    record = read_record(run)
    name, page = name_of(record.kind, record.identity), page_of(record.kind)
    images = page.data_of(run)
    assert images is not None
    target = folder_of(name, images)
    check_same_settings(run, target)
    shutil.rmtree(target.root, ignore_errors=True)
    target.root.mkdir(parents=True)
    for path in (run.record, *map(run.table, (ANSWERS, SCORES))):
        shutil.copy(path, target.root)
    curves = pd.read_csv(run.table(CURVES))
    curves.to_csv(target.table(CURVES), index=False, float_format=CURVE_FORMAT)
    shutil.copy(run.environment, target.root / "machine.json")
    claims_data(page.claims(run)).to_csv(target.table(CLAIMS), index=False)
    for old in FIGURES.glob(f"{name}_{images}_*.png"):
        old.unlink()
    for figure in figure_names(name):
        _draw(name, images, figure, run)
    return target.root


def _draw(name: str, images: str, figure: str, run: RunFolder) -> None:
    drawn = page_of(name).figures[figure](run)
    store_figure(io.BytesIO(png(drawn)), f"{name}_{images}_{figure}")


def redraw() -> None:
    """Draw the figures of the stored runs again, except those of arrays, which are not stored."""
    for kind in KINDS:
        for name, images, folder in all_stored(kind):
            for figure in figure_names(name):
                with suppress(DamagedRun):
                    _draw(name, images, figure, folder)


def figure_names(name: str) -> Sequence[str]:
    """Return the names of the figures that are shown of an experiment or a variant."""
    return VARIANTS[name].figures if name in VARIANTS else [*page_of(name).figures]


def checked(name: str, folder: RunFolder) -> Iterator[Claim]:
    """Check each claim on a stored run, as far as its tables suffice."""
    page = page_of(name)
    for statement in page.statements:
        text, source, rule = statement
        try:
            yield from replace(page, statements=[statement]).claims(folder)
        except UserError:  # arrays are not stored
            yield Claim(text, source, NOT_JUDGED, f"{NOT_STORED} arrays", rule.rule)


def repetitions(folder: RunFolder) -> int:
    """Return the number of repetitions of a stored run."""
    return int(read_record(folder).metadata["repetitions"])


def results(kind: str, tables: Callable[[RunFolder], Iterator[str]]) -> str:
    """Return what is stored of an experiment, by images, and how to run what is not.

    Variants follow the main run on the same images.

    Args:
        kind: of experiment.
        tables: yields the tables of a stored run.
    """
    page = page_of(kind)
    parts = [f"*{page.caption}*"]
    for images in TITLES:
        for name in names_of(kind):
            title = f"{title_of(name, images)}{'' if images in SOURCES else ', a quick look'}"
            if images in (runs := stored(name)):
                notes = " ".join(page.notes(runs[images]))
                parts += [f"#### {title}", f"{about(name, images)} {notes}".strip()]
                parts += [*tables(runs[images]), *figures(name, images)]
            elif (name, images) in COMMANDS:
                parts += [f"#### {title}", not_run(name, images)]
    return "\n\n".join(parts)


def about(name: str, images: str) -> str:
    """Return the number of repetitions of a stored run, with links to its files."""
    files = {"means": "answers.csv", "repetitions": "scores.csv", "settings": "record.json",
             "claims and rules": "claims.csv"}  # fmt: skip
    links = [f"[{title}](images/{name}/{images}/{file})" for title, file in files.items()]
    count = repetitions(folder_of(name, images))
    return f"{count} repetition{'s' * (count > 1)} ({', '.join(links)})."


def not_run(name: str, images: str) -> str:
    """Return how to make a run that is not stored."""
    settings, time = COMMANDS[name, images]
    command = f"bnnbench run experiment={kind_of(name)} images={images} {settings}"
    return f"Not run yet (about {time} on one core):\n\n```sh\n{command}\n```"


def figures(name: str, images: str, only: Collection[str] = ()) -> Iterator[str]:
    """Yield the figures of a stored run with their captions: all, or those of these names."""
    for figure in only or figure_names(name):
        path = f"../figures/{name}_{images}_{figure}.png"
        title, caption = title_of(name, images), page_of(name).figures.captions[figure]
        about = re.split(r", as in |; |\. | \((?:book|thesis)", caption)[0]
        about = about if about[1].isupper() else about[0].lower() + about[1:]
        alt = f"{SEEN.get(figure, 'Lines')} show {about}. Images: {title}."
        yield f"![{alt}]({path})\n\n*{caption}. Images: {title}.*"


def value(mean: float, error: float) -> str:
    """Return a mean with its standard error if there is one."""
    return plus_minus(mean, error) if error > 0 else f"{mean:.5g}"


def answers(*columns: str) -> Callable[[RunFolder], Iterator[str]]:
    """Return a function that yields a table of some scores, by approximation and setting."""

    def tables(folder: RunFolder) -> Iterator[str]:
        found, record = read_answers(folder), read_record(folder)
        names = quantities(record.identity.get("importance_samples"))
        shown = [names[column] for column in columns]
        found = found[found["quantity"].isin(shown)]
        cells = [value(*pair) for pair in found[["value", "standard_error"]].to_numpy()]
        keys = ["approximation", "setting"]
        wide = found.assign(cell=cells).pivot(index=keys, columns="quantity", values="cell")
        first = {name: k for k, name in enumerate(found["approximation"].unique())}
        rows = found[keys].drop_duplicates()
        rows = rows.sort_values("approximation", key=lambda name: name.map(first), kind="stable")
        wide = wide.reindex(index=pd.MultiIndex.from_frame(rows), columns=shown)
        wide = wide.astype(object).fillna(MISSING).rename_axis(columns=None)
        yield to_markdown(wide.reset_index())
        if "log_p" in columns and record.metadata["images"] == MNIST:
            yield gap_sentence()

    return tables


def thesis_tables(folder: RunFolder) -> Iterator[str]:
    """Yield Tables 10.1 and 10.2 of the density-ratio thesis next to the numbers of a run."""
    evidence, differ = evidence_of(folder), deviations(read_record(folder).identity)
    for number, latents in TABLES.items():
        rows = comparison_rows(evidence, latents, bool(differ))
        yield f"Table {number}, {latents} latent variables, mean absolute error:"
        yield against_thesis(rows)


def largest_score(images: str, column: str, *divergences: str) -> str:
    """Return the largest score of D with ten latent variables in a run of adversarial VB.

    Args:
        images: of the run.
        column: of the scores.
        divergences: to look at, by default all.
    """
    scores = evidence_of(stored("adversarial_vb")[images]).run[SCORES]
    own = scores[(scores["latents"] == MANY) & (scores["estimator"] == D)]
    return f"{own.loc[own['divergence'].isin(divergences or DIVERGENCES), column].max():.2g}"


def relu_p(images: str) -> str:
    """Return Welch's p of the error of T = log(max(0, a)) against D (GAN, 2 latent variables)."""
    evidence = evidence_of(stored("adversarial_vb")[images])
    return f"{welch(*(evidence.error(FEW, GAN, name) for name in (RELU_RATIO, D))).p:.2g}"


def book_rows(kind: str) -> pd.DataFrame:
    """Return the answers of the main runs and their variants that have a value of the book.

    Returns:
        The answers with `name` and `images` of the folder, `repetitions`, `error`, the book's or
        NaN if it prints none, and `p` of the t-test over our repetitions against the book's value,
        NaN for a single repetition. The book's errors are taken for standard errors.
    """
    tables = [pd.DataFrame()]
    for name, images, folder in all_stored(kind):
        rows, count = read_answers(folder).dropna(subset="published"), repetitions(folder)
        rows = rows.assign(name=name, images=images, repetitions=count)
        rows["error"] = [published_error(images, label) for label in rows["setting"]]
        numbers = rows[["value", "standard_error", "published", "error"]].fillna({"error": 0})
        rows["p"] = [
            against_value(MeanTest(ours, stderr, count - 1), book, error).p
            for ours, stderr, book, error in numbers.to_numpy()
        ]
        tables.append(rows)
    return pd.concat(tables, ignore_index=True)


def book_table(kind: str) -> str:
    """Return our answers next to the book's, with what is known of the differences."""
    rows = book_rows(kind)
    if rows.empty:
        return NOTHING
    cells = [
        {
            "run": title_of(row["name"], row["images"]),
            "model": row["approximation"],
            "setting": row["setting"],
            "repetitions": str(row["repetitions"]),
            "ours": value(row["value"], row["standard_error"]),
            "book": with_error(row["published"], row["error"]),
            "difference": f"{row['value'] - row['published']:+.1f}",
            "p": p_value_text(row["p"]),
        }
        for row in rows.to_dict("records")
    ]
    explain = EXPLANATIONS[kind]
    known = [text for _, own in rows.groupby("images", sort=False) for text in explain(own)]
    return "\n\n".join([tables_by("run", cells), differences(rows), *known])


def claims(kind: str) -> str:
    """Return the verdicts by run, and which claims are not judged.

    That a claim is about other data is said only if no stored run is about its own. Of a variant,
    only claims that are judged are shown.
    """
    tables = [
        pd.read_csv(folder.table(CLAIMS)).assign(name=name, images=images)
        for name, images, folder in all_stored(kind)
    ]
    if not tables:
        return NOTHING
    rows = pd.concat(tables)
    rows = rows[(rows["name"] == kind) | rows["verdict"].notna()]
    rows["images"] = [title_of(*pair) for pair in rows[["name", "images"]].to_numpy()]
    other = rows["evidence"].str.startswith(OTHER_DATA)
    about = rows[~other]
    rest = rows[other & ~rows["text"].isin(about["text"])].drop_duplicates("text")
    about = about.assign(evidence=about["evidence"].where(
        about["verdict"].notna(), [*map(_with_images, about["images"], about["evidence"])]
    ))  # fmt: skip
    order = {text: k for k, text in enumerate(rows["text"].unique())}
    found = pd.concat([about, rest]).sort_values("text", key=lambda text: text.map(order),
                                                 kind="stable")  # fmt: skip
    return verdict_table(found, "images")


def _with_images(images: str, reason: str) -> str:
    """Return the reason why a claim is not judged, with the images of the run."""
    start = f"{THESE_SETTINGS} ("
    if reason.startswith(start):
        return f"{start}{images}: {reason.removeprefix(start)}"
    return f"{images}, {reason}"


def exhibit(kind: str, name: str) -> str:
    """Return a figure with its caption, on the first images of `TITLES` with a stored run."""
    return next(text for images in stored(kind) for text in figures(kind, images, [name]))


SHOWN = {
    "latent_sizes": ("log_p", "elbo", "rate", "active_units"),
    "distortion_rate": ("rate", "distortion", "elbo", "log_p"),
    "planar_flows": ("log_p", "iwae_5", "elbo"),
    "semi_supervised": ("accuracy", "unlabelled_bound"),
}
"""Scores that the tables of an experiment show."""

KINDS = (*SHOWN, "adversarial_vb")
"""The experiments on images."""

BLOCKS: dict[str, Callable[[], str]] = {
    **{f"{kind}_results": partial(results, kind, answers(*c)) for kind, c in SHOWN.items()},
    **{
        f"{kind}_claims": with_gap(check) if "log_p" in SHOWN.get(kind, ()) else check
        for kind in KINDS
        if (check := partial(claims, kind))
    },
    "adversarial_vb_results": partial(results, "adversarial_vb", thesis_tables),
    "book_table_5_1": with_gap(partial(book_table, "planar_flows")),
    "book_table_5_2": partial(book_table, "semi_supervised"),
    **{
        f"{kind}_{name}": partial(exhibit, kind, name)
        for kind in SHOWN
        for name in page_of(kind).figures.captions
    },
}
"""The blocks by the name of their marks, as in `page_blocks`."""


if __name__ == "__main__":
    redraw()
