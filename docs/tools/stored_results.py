"""Read the tables stored in `docs/results`, and the values that pages and figures show."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from bnnbench.discovery import built_in_suites, time_text
from bnnbench.experiment.store.split_files import KIND
from bnnbench.notes import join_words
from bnnbench.report.blocks import plus_minus
from bnnbench.results.claims.claims import NOT_JUDGED, VERDICTS
from bnnbench.results.claims.saved_run import CLAIMS
from bnnbench.results.compare.power import detectable_differences, limit_ratio
from bnnbench.results.compare.published_scores import z_score
from bnnbench.results.published.values import published_values
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import never_ranked
from bnnbench.results.reference.results import read_reference_results

RESULTS = Path(__file__).parents[1] / "results"

SPLITS = 20
"""Splits of each data set in the book's comparison."""

SCORES = ("rmse", "log_likelihood")

NOT_STORED = "the stored runs have no"
"""Begins the evidence of a claim that needs more than is stored."""

DEEP_ENSEMBLE = "Deep Ensembles (M=5, 40 epochs, adv. training)"
"""Name of the method in the published values."""

ENSEMBLE_SCORES = ("rmse", "log_likelihood_gaussian")
"""Scores that Lakshminarayanan et al. (2017) print."""


@cache
def table(folder: str, name: str = "results") -> pd.DataFrame:
    """Return a stored table, for example `table("book_uci", "running_times")`."""
    path = RESULTS / folder / f"{name}.csv"
    return pd.read_csv(path if path.exists() else path.with_suffix(".csv.gz"))


def folders() -> list[str]:
    """Return the folders with stored runs, as `table` takes them."""
    paths = sorted(path.parent for path in RESULTS.rglob("results.csv"))
    return [str(path.relative_to(RESULTS)) for path in paths]


reference_results = cache(read_reference_results)
"""Returns the reference results of the package, read once."""


def splits(folder: str) -> pd.DataFrame:
    """Return every split of every run of a folder, with the column `dataset`."""
    paths = sorted((RESULTS / folder).glob("splits_*.csv"))
    rows = pd.concat(
        [pd.read_csv(path).assign(dataset=path.stem.removeprefix("splits_")) for path in paths],
        ignore_index=True,
    )
    # Older runs have none; all splits of these sets are published ones.
    return rows if "training_fingerprint" in rows else rows.assign(training_fingerprint="")


def stored_runs(folder: str) -> Runs:
    """Return the runs of a folder as the report reads them, without their files."""
    return Runs(RESULTS / folder, {KIND: scored(folder)}, splits(folder), {})


def scored(folder: str) -> pd.DataFrame:
    """Return the runs of a folder, all on all splits, with `settings` as far as they differ."""
    runs = table(folder).set_index("run")
    names = [name for name in runs if "." in name and not name.startswith(("hp.", "diag."))]
    settings = [
        {name: value for name, value in run.items() if pd.notna(value)}
        for run in runs[names].to_dict("records")
    ]
    barred = [", ".join(never_ranked(run)) for run in runs.to_dict("records")]
    return runs.assign(settings=settings, mark="", settings_differ="", incomplete=barred)


def one_run_each(rows: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Return rows of runs by split, if no two runs share the keys.

    Raises:
        ValueError: for two runs that a table would merge.
    """
    counts = rows.groupby([*keys])["run"].nunique()
    if (counts > 1).any():
        raise ValueError(
            f"several runs share a row: {', '.join(map(str, counts.index[counts > 1]))}"
        )
    return rows


def ensembles() -> pd.DataFrame:
    """Return our deep ensembles next to the published ones.

    Returns:
        Columns `settings` (`0.01, plain, softplus`: learning rate, training and, if it is not the
        log standard deviation, what gives the variance), `dataset`, `metric`, `mean`, `stderr`,
        `published`, `published_stderr` and `z`, the difference in combined standard errors. The
        printed settings are first.
    """
    folders = sorted(path.name for path in RESULTS.glob("deep_ensembles*"))
    runs = pd.concat([table(folder) for folder in folders])
    order = ["likelihood", "method.adversarial", "training.learning_rate"]
    runs = runs.sort_values(order, ascending=[True, False, False], kind="stable")
    runs = one_run_each(runs, *order, "dataset")
    rows = []
    for run in runs.to_dict("records"):
        parts = [f"{run['training.learning_rate']:g}"]
        parts += ["adversarial" if run["method.adversarial"] else "plain"]
        parts += [name for _, _, name in [run["likelihood"].partition("_")] if name]
        for metric in ENSEMBLE_SCORES:
            theirs = published_values()[run["dataset"], metric, DEEP_ENSEMBLE]
            ours, error = run[f"{metric}_mean"], run[f"{metric}_stderr"]
            rows.append({
                "settings": ", ".join(parts), "dataset": run["dataset"], "metric": metric,
                "mean": ours, "stderr": error,
                "published": theirs.mean, "published_stderr": theirs.stderr,
                "z": z_score(ours, error, theirs.mean, theirs.stderr),
            })  # fmt: skip
    return pd.DataFrame(rows)


def book_hours() -> int:
    """Return the hours to which the book's own times add up."""
    return round((table("timing", "running_times")["book_seconds"] * SPLITS).sum() / 3600)


def row(folder: str, name: str = "results", **where: object) -> pd.Series:
    """Return the only row of a stored table with the given values.

    Raises:
        ValueError: if there is not exactly one.
    """
    found = table(folder, name)
    for column, value in where.items():
        found = found[found[column] == value]
    if len(found) != 1:
        raise ValueError(f"{folder}/{name}.csv has {len(found)} rows with {where}, not one")
    return found.iloc[0]


def score(folder: str, dataset: str, method: str, metric: str = "rmse", **where: object) -> str:
    """Return a mean and its standard error, for example `1.34 ± 0.05`."""
    run = row(folder, dataset=dataset, method=method, **where)
    return plus_minus(run[f"{metric}_mean"], run[f"{metric}_stderr"])


def published(folder: str, dataset: str, method: str, metric: str = "rmse") -> str:
    """Return a published mean and its standard error."""
    run = row(folder, dataset=dataset, method=method)
    return plus_minus(run[f"{metric}_published"], run[f"{metric}_published_stderr"])


def mean_over_seeds(folder: str, dataset: str, method: str, metric: str = "rmse") -> str:
    """Return the mean over seeds and its standard error."""
    means = table(folder).query("dataset == @dataset and method == @method")[f"{metric}_mean"]
    return plus_minus(means.mean(), means.sem())


def distance(dataset: str, method: str, column: str = "w1") -> str:
    """Return the mean distance of a method to the HMC chains over splits."""
    rows = table("gold_standard", "distances")
    rows = rows[(rows["dataset"] == dataset) & (rows["method"] == method)]
    return f"{rows[column].mean():.3f}"


@cache
def converged_runs() -> pd.DataFrame:
    """Return means over splits of the runs of `gold_converged`, by method and stage of training.

    The stages are `common`, and the number of epochs of converged training. The row of `hmc` is the
    distance between the halves of its chains.
    """
    runs = splits("gold_converged").set_index("run")
    diagnostics = ["diag.r_hat", "diag.bulk_ess", "diag.leapfrogs"]
    facts = runs.groupby("run")[["method", "experiment"]].first()
    facts = facts.join(runs.groupby("run")[diagnostics].mean())
    rows = table("gold_converged", "distances").drop(columns="method").join(facts, on="run")
    epochs = rows["epochs"].astype(int).astype(str)
    rows["stage"] = epochs.where(rows["experiment"] == "gold_converged", "common")
    columns = ["w1", "w1_function", "energy_distance", "epistemic_ratio", "objective", *diagnostics]
    return (
        one_run_each(rows, "dataset", "method", "stage")
        .groupby(["method", "stage"])[columns]
        .mean()
    )


def converged(method: str, column: str = "w1", stage: str = "4000", digits: int = 4) -> str:
    """Return a mean of `converged_runs`."""
    return f"{converged_runs().loc[(method, stage), column]:.{digits}f}"


def count(folder: str, column: str) -> int:
    """Return how many different values a column of `results.csv` has."""
    return table(folder)[column].nunique()


def pbp_authors() -> str:
    """Return the RMSE of the PBP authors' own program on our splits of protein."""
    runs = pd.read_csv(RESULTS / "pbp_authors.csv")["rmse"]
    return plus_minus(runs.mean(), runs.sem())


def paired_within(errors: float) -> int:
    """Return how many paired differences of MC dropout lie within so many standard errors of 0."""
    rows = table("gal_uci", "paired_with_published")
    return sum(
        int((rows[f"{metric}_difference"].abs() <= errors * rows[f"{metric}_stderr"]).sum())
        for metric in SCORES
    )


def renyi_within(errors: float, method: str, *datasets: str) -> str:
    """Return `8 of 10`: scores of Rényi's bound within so many standard errors.

    Args:
        errors: in combined standard errors.
        method: the preset.
        datasets: all if none is given.
    """
    rows = table("vr_uci", "renyi_orders").query("method == @method and z == z")
    rows = rows[rows["dataset"].isin(datasets or rows["dataset"])]
    return f"{(rows['z'].abs() <= errors).sum()} of {len(rows)}"


def published_within(folder: str, errors: float) -> str:
    """Return `8 of 10`: scores of a folder within so many standard errors of published ones."""
    z = table(folder)[[f"{metric}_z" for metric in SCORES]].stack().dropna()
    return f"{(z.abs() <= errors).sum()} of {len(z)}"


def detectable(test_fraction: float, splits: int | None = None) -> str:
    """Return the difference, in standard deviations, that this or any number of splits detects."""
    if splits is None:
        return f"{limit_ratio() * (test_fraction / (1 - test_fraction)) ** 0.5:.2f}"
    pairs = pd.DataFrame({"splits": [splits], "std": 1.0, "rho": test_fraction})
    return f"{detectable_differences(pairs).item():.2f}"


def verdict_counts(folder: str, name: str = CLAIMS) -> str:
    """Return `of 24 claims, 9 are confirmed, 11 contradicted and 4 undecided`."""
    found = table(folder, name)["verdict"]
    words = {**{word: word for word in VERDICTS.values()}, NOT_JUDGED: "not judged"}
    counts_by_word = found.fillna(NOT_JUDGED).map(words).value_counts()
    (first, *rest) = [(n, word) for word in words.values() if (n := counts_by_word.get(word, 0))]
    counts = join_words([f"{first[0]} are {first[1]}", *(f"{n} {word}" for n, word in rest)])
    return f"of {len(found)} claims, {counts}"


def verdict_on(folder: str, start: str, name: str = CLAIMS) -> str:
    """Return `confirmed`, or `undecided (about 7 repetitions would decide)`.

    Args:
        folder: of the stored table.
        start: how the text of one claim begins.
        name: of the table.
    """
    rows = table(folder, name)
    (claim,) = rows[rows["text"].str.startswith(start)].to_dict("records")
    if claim["verdict"] != VERDICTS[None]:
        return str(claim["verdict"])
    return f"{claim['verdict']} ({claim['evidence'].rpartition('; ')[2]})"


def takes(name: str) -> str:
    """Return the time that a suite takes on two idle cores, such as `43 min`."""
    (suite,) = (suite for suite in built_in_suites() if suite.name == name)
    return time_text(suite.minutes[-1])


VALUES = {
    function.__name__: function
    for function in (
        takes, book_hours, score, published,
        mean_over_seeds, distance, converged, count, pbp_authors, paired_within, renyi_within,
        published_within, detectable, verdict_counts, verdict_on,
    )
} | {"len": len, "table": table, "reference": reference_results}  # fmt: skip
"""What the marks `<!-- value ... -->` of pages may use."""
