"""Runs on images: what is stored of them, and what pages show of them.

A run is stored in `docs/results/images/EXPERIMENT/IMAGES`, and its figures in `docs/figures`. Pages
show what is stored, and the command of what is not, so that they need no edit for a further run.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
from book_differences import EXPLANATIONS
from figures import FIGURES, png
from figures import store as store_figure
from page_blocks import to_markdown, verdict_table, with_error
from published_scores import MAX_Z
from stored_results import NOT_STORED, RESULTS

from bnnbench.discovery import plugins
from bnnbench.experiment.answer_tables import ANSWERS, CURVES, SCORES
from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.blocks import MISSING, format_z, plus_minus
from bnnbench.report.claims_table import claims_data
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.results.claims import NOT_JUDGED, OTHER_DATA, Claim
from bnnbench.results.published.counterparts import z_score
from bnnbench.results.saved_run import CLAIMS, read_answers
from bnnbench.suites.lam_density_ratio.adversarial_vb.evidence import evidence_of
from bnnbench.suites.lam_density_ratio.adversarial_vb.tables import (
    TABLES,
    comparison_rows,
    deviations,
)
from bnnbench.suites.latent_models.published import published_error
from bnnbench.types import UserError

TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "digits": "Digits"}
"""Titles of the sets of images, in the order of the pages."""

SOURCES = ("mnist", "fashion_mnist")
"""Images of the book and the thesis; others are for a quick look."""

COMMANDS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("latent_sizes", "mnist"): ("experiment.repetitions=1", "45 minutes"),
    ("planar_flows", "mnist"): (
        "experiment.repetitions=2 experiment.training_samples=[5]", "2 hours"
    ),
    ("semi_supervised", "mnist"): (
        "experiment.repetitions=2 experiment.enumerated=[100,6000]", "5 hours"
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

CURVE_FORMAT = "%.5g"
"""Format of numbers in curves, which are drawn only."""

NOTHING = "No such run is stored yet."


def page_of(kind: str) -> ExperimentPage:
    """Return the page of an experiment."""
    (module,) = plugins("page", {kind})
    (page,) = (page for page in module.EXPERIMENT_PAGES if page.kind == kind)
    return page


def folder_of(kind: str, images: str) -> RunFolder:
    """Return the folder of a stored run, which has the run's record and tables."""
    return RunFolder(RESULTS / "images" / kind / images)


def stored(kind: str) -> dict[str, RunFolder]:
    """Return the folders of the stored runs of an experiment, by their images."""
    folders = {images: folder_of(kind, images) for images in TITLES}
    return {images: folder for images, folder in folders.items() if folder.record.exists()}


def store(run: RunFolder) -> Path:
    """Store the record, tables, verdicts and figures of a run; return their folder.

    Verdicts and figures come from the code of today.
    """
    kind = read_record(run).kind
    page = page_of(kind)
    images = page.data_of(run)
    assert images is not None
    target = folder_of(kind, images)
    shutil.rmtree(target.root, ignore_errors=True)
    target.root.mkdir(parents=True)
    for path in (run.record, *map(run.table, (ANSWERS, SCORES))):
        shutil.copy(path, target.root)
    curves = pd.read_csv(run.table(CURVES))
    curves.to_csv(target.table(CURVES), index=False, float_format=CURVE_FORMAT)
    shutil.copy(run.environment, target.root / "machine.json")
    claims_data(page.claims(run)).to_csv(target.table(CLAIMS), index=False)
    for old in FIGURES.glob(f"{kind}_{images}_*.png"):
        old.unlink()
    for name, draw in page.figures.items():
        store_figure(io.BytesIO(png(draw(run))), f"{kind}_{images}_{name}")
    return target.root


def checked(kind: str, folder: RunFolder) -> Iterator[Claim]:
    """Check each claim on a stored run, as far as its tables suffice."""
    page = page_of(kind)
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

    Args:
        kind: of experiment.
        tables: yields the tables of a stored run.
    """
    page, runs = page_of(kind), stored(kind)
    parts = [f"*{page.caption}*"]
    for images, name in TITLES.items():
        title = name if images in SOURCES else f"{name}, a quick look"
        if images in runs:
            notes = " ".join(page.notes(runs[images]))
            parts += [f"#### {title}", f"{about(kind, images)} {notes}".strip()]
            parts += [*tables(runs[images]), *figures(kind, images)]
        elif (kind, images) in COMMANDS:
            parts += [f"#### {title}", not_run(kind, images)]
    return "\n\n".join(parts)


def about(kind: str, images: str) -> str:
    """Return the number of repetitions of a stored run, with links to its files."""
    files = {"means": "answers.csv", "repetitions": "scores.csv", "settings": "record.json",
             "claims and rules": "claims.csv"}  # fmt: skip
    links = [f"[{title}](images/{kind}/{images}/{file})" for title, file in files.items()]
    count = repetitions(folder_of(kind, images))
    return f"{count} repetition{'s' * (count > 1)} ({', '.join(links)})."


def not_run(kind: str, images: str) -> str:
    """Return how to make a run that is not stored."""
    settings, time = COMMANDS[kind, images]
    command = f"bnnbench run experiment={kind} images={images} {settings}"
    return f"Not run yet (about {time} on one core):\n\n```sh\n{command}\n```"


def figures(kind: str, images: str, names: Collection[str] = ()) -> Iterator[str]:
    """Yield the figures of a stored run with their captions: all, or those of these names."""
    for name, caption in page_of(kind).figures.captions.items():
        if names and name not in names:
            continue
        path = f"../figures/{kind}_{images}_{name}.png"
        title = f"{name.replace('_', ' ')}, {TITLES[images]}"
        yield f"![{title}]({path})\n\n*{caption}. Images: {TITLES[images]}.*"


def value(mean: float, error: float) -> str:
    """Return a mean with its standard error if there is one."""
    return plus_minus(mean, error) if error > 0 else f"{mean:.5g}"


def answers(*quantities: str) -> Callable[[RunFolder], Iterator[str]]:
    """Return a function that yields a table of some quantities, by approximation and setting."""

    def tables(folder: RunFolder) -> Iterator[str]:
        found = read_answers(folder)
        found = found[found["quantity"].isin(quantities)]
        cells = [value(*pair) for pair in found[["value", "standard_error"]].to_numpy()]
        keys = ["approximation", "setting"]
        wide = found.assign(cell=cells).pivot(index=keys, columns="quantity", values="cell")
        first = {name: k for k, name in enumerate(found["approximation"].unique())}
        rows = found[keys].drop_duplicates()
        rows = rows.sort_values("approximation", key=lambda name: name.map(first), kind="stable")
        wide = wide.reindex(index=pd.MultiIndex.from_frame(rows), columns=[*quantities])
        wide = wide.astype(object).fillna(MISSING).rename_axis(columns=None)
        yield to_markdown(wide.reset_index())

    return tables


def thesis_tables(folder: RunFolder) -> Iterator[str]:
    """Yield Tables 10.1 and 10.2 of the density-ratio thesis next to the numbers of a run."""
    evidence, differ = evidence_of(folder), deviations(read_record(folder).identity)
    for number, latents in TABLES.items():
        rows = comparison_rows(evidence, latents, bool(differ))
        yield f"Table {number}, {latents} latent variables, mean absolute error:"
        yield to_markdown([
            {
                "configuration": row["configuration"],
                "finished": f"{row['repetitions'] - row['failed']} of {row['repetitions']}",
                "ours": plus_minus(row["mean"], row["stderr"]),
                "thesis": with_error(row["thesis_mean"], row["thesis_stderr"]),
                "z": format_z(row["z"]),
            }
            for row in rows
        ])  # fmt: skip


def book_rows(kind: str) -> pd.DataFrame:
    """Return our answers with a value of the book, with `images`, `repetitions`, `error` and `z`.

    `error` is the book's, NaN if it prints none; `z` is then in our standard errors.
    """
    tables = [pd.DataFrame()]
    for images, folder in stored(kind).items():
        rows = read_answers(folder).dropna(subset="published")
        errors = [published_error(images, label) for label in rows["setting"]]
        rows = rows.assign(images=images, error=errors, repetitions=repetitions(folder))
        pairs = rows[["value", "standard_error", "published", "error"]].fillna({"error": 0})
        tables.append(rows.assign(z=[z_score(*row) for row in pairs.to_numpy()]))
    return pd.concat(tables, ignore_index=True)


def book_table(kind: str) -> str:
    """Return our answers next to the book's, with what is known of the differences."""
    rows = book_rows(kind)
    if rows.empty:
        return NOTHING
    cells = [
        {
            "images": TITLES[row["images"]],
            "model": row["approximation"],
            "setting": row["setting"],
            "repetitions": str(row["repetitions"]),
            "ours": value(row["value"], row["standard_error"]),
            "book": with_error(row["published"], row["error"]),
            "difference": f"{row['value'] - row['published']:+.1f}",
            "z": format_z(row["z"]),
        }
        for row in rows.to_dict("records")
    ]
    return "\n\n".join([to_markdown(cells), *differences(kind, rows)])


def differences(kind: str, rows: pd.DataFrame) -> Iterator[str]:
    """Yield a paragraph for each model and set of images, from `book_rows`."""
    for (images, model), own in rows.groupby(["images", "approximation"], sort=False):
        far = int((own["z"].abs() > MAX_Z).sum())
        gaps = own["value"] - own["published"]
        text = (
            f"**{TITLES[images]}, {model}**: {len(own) - far} of {len(own)} within {MAX_Z} "
            f"standard errors, differences from {gaps.min():+.1f} to {gaps.max():+.1f}."
        )
        run = page_of(kind).figures.read(folder_of(kind, images))
        yield f"{text} {EXPLANATIONS[model](run, own)}" if far else text


def claims(kind: str) -> str:
    """Return the verdicts by images, and which claims are not judged.

    That a claim is about other data is said only if no stored run is about its own.
    """
    runs = stored(kind)
    if not runs:
        return NOTHING
    rows = pd.concat([
        pd.read_csv(folder.table(CLAIMS)).assign(images=TITLES[images])
        for images, folder in runs.items()
    ])  # fmt: skip
    other = rows["evidence"].str.startswith(OTHER_DATA)
    about = rows[~other]
    rest = rows[other & ~rows["text"].isin(about["text"])].drop_duplicates("text")
    about = about.assign(evidence=about["evidence"].where(
        about["verdict"].notna(), about["images"] + ", " + about["evidence"]
    ))  # fmt: skip
    order = {text: k for k, text in enumerate(rows["text"].unique())}
    found = pd.concat([about, rest]).sort_values("text", key=lambda text: text.map(order),
                                                 kind="stable")  # fmt: skip
    return verdict_table(found, "images")


def exhibit(kind: str, name: str) -> str:
    """Return a figure with its caption, on the first images of `TITLES` with a stored run."""
    return next(text for images in stored(kind) for text in figures(kind, images, [name]))


QUANTITIES = {
    "latent_sizes": ("log p(x), test", "ELBO, test", "rate, test", "active units"),
    "distortion_rate": ("rate, test", "distortion, test", "ELBO, test", "log p(x), test"),
    "planar_flows": ("log p(x), test", "IWAE_5 bound, test", "ELBO, test"),
    "semi_supervised": ("accuracy, test [%]", "bound of unlabelled images, test"),
}
"""What the tables of an experiment show."""

KINDS = (*QUANTITIES, "adversarial_vb")
"""The experiments on images."""

BLOCKS: dict[str, Callable[[], str]] = {
    **{f"{kind}_results": partial(results, kind, answers(*q)) for kind, q in QUANTITIES.items()},
    **{f"{kind}_claims": partial(claims, kind) for kind in KINDS},
    "adversarial_vb_results": partial(results, "adversarial_vb", thesis_tables),
    "book_table_5_1": partial(book_table, "planar_flows"),
    "book_table_5_2": partial(book_table, "semi_supervised"),
    **{
        f"{kind}_{name}": partial(exhibit, kind, name)
        for kind in QUANTITIES
        for name in page_of(kind).figures.captions
    },
}
"""The blocks by the name of their marks, as in `page_blocks`."""
