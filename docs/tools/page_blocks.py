"""The generated blocks of README and pages: functions that return Markdown, by name."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd
from downstream import overview
from gp_calibration import gp_calibration
from machines import measured_on
from paired_scores import paired_scores
from peers import peers
from published_scores import MAX_Z
from scores import best_methods, conformal_coverage, distorted_forecasts
from sessions import session, tutorial
from stored_results import (
    RESULTS,
    SCORES,
    converged_runs,
    ensembles,
    one_run_each,
    reference_results,
    scored,
    splits,
    stored_runs,
    table,
)  # fmt: skip

from bnnbench.cli.commands.list import SUITES, costs, footnotes, summaries
from bnnbench.cli.reference_runs import cells_of
from bnnbench.experiment.run.execution import execute
from bnnbench.notes import join_words, with_interval
from bnnbench.report.blocks import (
    MISSING,
    format_number,
    format_z,
    plus_minus,
    two_digits,
    with_std,
)
from bnnbench.report.renderers import markdown
from bnnbench.report.sections.significance import p_value_text
from bnnbench.results.claims.claims import NOT_JUDGED, VERDICTS, Claim, why_not_judged
from bnnbench.results.compare.published_scores import pairs_with_published
from bnnbench.results.glossary import TERMS
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.published.protocol import published_settings
from bnnbench.results.read.configurations import distinct_names
from bnnbench.results.reference.tracks import TRACKS
from bnnbench.results.score.run_notes import unconverged_splits

SMALL_MEAN = 0.2
"""Means below this are printed with four decimals instead of three."""


def to_markdown(rows: list[dict[str, str]] | pd.DataFrame) -> str:
    """Return a Markdown table whose cells are printed as they are."""
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def tables_by(title: str, rows: list[dict[str, str]]) -> str:
    """Return a table for each value of a column, with this value as its title.

    A page of GitHub is too narrow for a table that has this column as well.
    """
    return "\n\n".join(
        f"**{name}**\n\n{to_markdown(own.drop(columns=title))}"
        for name, own in pd.DataFrame(rows).groupby(title, sort=False)
    )


def options_table(group: str) -> str:
    """Return a table of a group's options."""
    head = "`bnnbench reproduce`" if group == SUITES else f"`{group}=`"
    column = {name: f" {cell} |" for name, cell in costs(group).items()}
    rows = [
        f"| `{name}` |{column.get(name, '')} {markdown.cell(summary)} |"
        for name, summary in summaries(group).items()
    ]
    lines = [f"| {head} |{column.get('', '')} |", f"|:--|{'--:|' * bool(column)}:--|", *rows]
    return "\n".join([*lines, *(f"\n{note}".replace("*", "\\*") for note in footnotes(group))])


def speed() -> str:
    """Return the table of `make bench` and the machine that was measured.

    `ratio` is the time of the slower program over ours.
    """
    rows = pd.read_csv(RESULTS / "speed.csv")
    shown = rows[["measurement", "value", "unit", "ratio"]].astype(object)
    shown = shown.where(shown.notna(), None)
    table = shown.to_markdown(index=False, floatfmt=".3g", missingval="")
    return f"{table}\n\n{measured_on(rows)}"


def glossary() -> str:
    """Return the definition of every metric."""
    return markdown.glossary(TERMS)


def with_error(mean: float, stderr: float) -> str:
    """Return `mean ± stderr`; some published means have no visible error, or are missing."""
    if pd.isna(mean):
        return MISSING
    return plus_minus(mean, stderr) if pd.notna(stderr) else f"{mean:g}"


def against_thesis(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return our means next to those of the density-ratio thesis, with Welch's p."""
    return to_markdown([
        {
            "configuration": row["configuration"],
            "repetitions": str(row["repetitions"]),
            "failed": row["failures"] or MISSING,
            "ours": plus_minus(row["mean"], row["stderr"]),
            "thesis": with_error(row["thesis_mean"], row["thesis_stderr"]),
            "difference": format_number(row["difference"], "+.4f"),
            "p": p_value_text(row["p"]),
        }
        for row in rows
    ])  # fmt: skip


def scores_by_dataset(folder: str, metric: str) -> str:
    """Return a table of means: a row per method and configuration, a column per data set."""
    runs = scored(folder)
    names = distinct_names(runs["method"], runs, ["dataset"])
    pairs = runs.loc[names.index, [f"{metric}_mean", f"{metric}_stderr"]].itertuples(index=False)
    rows = runs.loc[names.index, ["dataset"]].assign(
        method=names, cell=[plus_minus(*pair) for pair in pairs]
    )
    wide = rows.pivot(index="method", columns="dataset", values="cell")
    return to_markdown(wide.fillna(MISSING).rename_axis(columns=None).reset_index())


def comparison(folder: str) -> str:
    """Return our means next to published ones, for runs that have them."""
    rows = []
    for run in table(folder).sort_values(["method", "dataset"]).to_dict("records"):
        for metric in SCORES:
            if pd.isna(run[f"{metric}_published"]):
                continue
            theirs = with_error(run[f"{metric}_published"], run[f"{metric}_published_stderr"])
            differs = run[f"{metric}_differs"]
            rows.append(
                {
                    "data set": run["dataset"],
                    "method": run["method"],
                    "metric": BY_KEY[metric].title,
                    "ours": with_error(run[f"{metric}_mean"], run[f"{metric}_stderr"]),
                    "published": theirs,
                    "z": format_z(run[f"{metric}_z"]),
                    "source": run[f"{metric}_source"].split(" (")[0],
                    "settings that differ": MISSING if pd.isna(differs) else differs,
                }
            )
    return to_markdown(rows)


def claims(folder: str, name: str = "claims") -> str:
    """Return the verdict on every claim of a source."""
    return verdict_table(table(folder, name))


def verdict_table(rows: pd.DataFrame, *more: str) -> str:
    """Return a table of the verdicts on claims, and below it which are not judged and why.

    Args:
        rows: a stored table of claims.
        more: further columns to show after the source.
    """
    rows = rows.fillna({"verdict": NOT_JUDGED})
    is_judged = rows["verdict"] != NOT_JUDGED
    shown = rows.loc[is_judged, ["text", "source", *more, "verdict", "evidence"]]
    fields = ["text", "source", "verdict", "evidence"]
    others = why_not_judged(Claim(*row, "") for row in rows.loc[~is_judged, fields].to_numpy())
    tables = [to_markdown(shown.rename(columns={"text": "claim"}).fillna(MISSING))]
    return "\n\n".join([*(tables if len(shown) else []), *others])


def paired_dropout() -> str:
    """Return the paired differences between MC dropout and its authors' scores."""
    rows = []
    for run in table("gal_uci", "paired_with_published").to_dict("records"):
        row = {"data set": run["dataset"], "splits": str(run["splits"])}
        for metric, name in (("rmse", "RMSE"), ("log_likelihood", "log-likelihood")):
            difference, error = run[f"{metric}_difference"], run[f"{metric}_stderr"]
            decimals = 4 if abs(run[f"{metric}_theirs"]) < SMALL_MEAN else 3
            row[f"{name}, published"] = f"{run[f'{metric}_theirs']:.{decimals}f}"
            row[f"{name}, difference"] = f"{difference:+.{decimals}f} ± {error:.{decimals}f}"
            row[f"{name}, correlation"] = f"{run[f'{metric}_correlation']:.2f}"
        rows.append(row)
    return to_markdown(rows)


def renyi_orders() -> str:
    """Return scores by order of Rényi's bound, and by preset if there are several."""
    orders = table("vr_uci", "renyi_orders")
    several = "method" in orders and orders["method"].nunique() > 1
    rows = [
        {
            "data set": run["dataset"],
            **({"method": run["method"]} if several else {}),
            "order": f"{run['alpha']:g}",
            "metric": BY_KEY[run["metric"]].title,
            "ours": plus_minus(run["ours"], run["ours_stderr"]),
            "published": with_error(run["published"], run["published_stderr"]),
            "z": format_z(run["z"]),
        }
        for run in orders.to_dict("records")
    ]
    return to_markdown(rows)


def search_bounds(folder: str) -> str:
    """Return the methods that chose a search bound, with the number of splits, by data set."""
    columns = {
        f"{name}, {end} bound": (name, end)
        for name in ("noise_precision", "prior_precision")
        for end in ("upper", "lower")
    }
    rows = []
    for dataset, own in splits(folder).fillna({"at_bound": ""}).groupby("dataset"):
        cells = {title: on_bound(own, str(dataset), *what) for title, what in columns.items()}
        rows.append({"data set": dataset, **cells})
    return to_markdown(rows)


def on_bound(splits: pd.DataFrame, dataset: str, name: str, end: str) -> str:
    """Return `vadam 20, bbb_x1 3`: the number of splits in which a method chose this bound.

    Args:
        splits: rows of a stored table.
        dataset: its name.
        name: the hyper-parameter.
        end: `upper` or `lower`.
    """
    low, high = published_settings("mc_dropout", "", dataset)[f"bounds.{name}"]
    is_upper = splits[f"hp.{name}"] > math.sqrt(low * high)
    at_bound = splits["at_bound"].str.split().map(lambda names: name in names)
    chosen = splits[at_bound & (is_upper == (end == "upper"))]
    counts = chosen.groupby("method").size().sort_values(ascending=False, kind="stable")
    return ", ".join(f"{method} {count}" for method, count in counts.items()) or MISSING


def posterior_distances() -> str:
    """Return the mean W1 of every method to the HMC chains: a column per data set."""
    rows = one_run_each(table("gold_standard", "distances"), "dataset", "method")
    wide = rows.groupby(["method", "dataset"])["w1"].mean().unstack()
    wide = wide.loc[wide.mean(axis=1).sort_values().index]
    text = wide.map(lambda value: f"{value:.3f}").rename(index={"hmc": "hmc (half against half)"})
    return to_markdown(text.rename_axis(columns=None).reset_index())


def converged_distances() -> str:
    """Return the distances of methods as commonly trained and converged, closest first."""
    wide = converged_runs().unstack()
    objective = wide["objective"]
    columns = {
        "W1, common": wide["w1", "common"],
        "W1, 4,000 epochs": wide["w1", "4000"],
        "function, common": wide["w1_function", "common"],
        "function, 4,000": wide["w1_function", "4000"],
        "energy distance, common": wide["energy_distance", "common"],
        "energy distance, 4,000": wide["energy_distance", "4000"],
        "objective gap, common": objective["common"] - objective["4000"],
        "objective gap, 1,000": objective["1000"] - objective["4000"],
    }
    text = (
        pd.DataFrame(columns)
        .sort_values("W1, common")
        .map(lambda value: MISSING if math.isnan(value) else f"{value:.4f}")
    )
    text = text.rename(index={"hmc": "hmc (half against half)"}).rename_axis(columns=None)
    return to_markdown(text.reset_index())


def long_chains() -> str:
    """Return the diagnostics of each split of the longer chains of yacht."""
    return to_markdown(
        [
            {
                "split": str(row["split"]),
                "R-hat": f"{row['diag.r_hat']:.3f}",
                "bulk ESS": f"{row['diag.bulk_ess']:.0f}",
                "tail ESS": f"{row['diag.tail_ess']:.0f}",
                "divergent transitions": f"{row['diag.divergences']:.0f}",
                "acceptance": f"{row['diag.acceptance']:.2f}",
            }
            for row in splits("gold_converged").query("method == 'hmc'").to_dict("records")
        ]
    )


def second_sampler() -> str:
    """Return diagnostics, scores and distances of NUTS and HMC, and the result of the rule."""
    columns = {
        "R-hat": ("r_hat", ".3f"), "bulk ESS": ("bulk_ess", ".0f"), "tail ESS": ("tail_ess", ".0f"),
        "RMSE": ("rmse", ".3f"), "log-likelihood": ("log_likelihood", ".3f"), "W1": ("w1", ".4f"),
        "function": ("w1_function", ".4f"), "energy distance": ("energy_distance", ".4f"),
    }  # fmt: skip
    parts = {"NUTS": "nuts", "HMC": "hmc", "NUTS against HMC": "between"}
    rows = [
        {"data set": row["dataset"], "draws": label}
        | {
            title: format(row[f"{key}_{part}"], digits) if f"{key}_{part}" in row else MISSING
            for title, (key, digits) in columns.items()
        }
        | {"result": row["rule"] if part == "between" else MISSING}
        for row in table("gold_nuts", "nuts").to_dict("records")
        for label, part in parts.items()
    ]
    return to_markdown(rows)


def chain_diagnostics() -> str:
    """Return the diagnostics of the HMC chains in the worst split of each data set."""
    chains = splits("gold_standard").query("method == 'hmc'")
    failed = {name: len(unconverged_splits(own)) for name, own in chains.groupby("dataset")}
    distances = table("gold_standard", "distances")
    halves = distances["method"] == "hmc"
    ratios = (
        distances[~halves].groupby(["dataset", "split"])["w1"].min()
        / distances[halves].set_index(["dataset", "split"])["w1"]
    )
    rows = [
        {
            "data set": dataset,
            "largest R-hat": f"{own['diag.r_hat'].max():.3f}",
            "least bulk ESS": f"{own['diag.bulk_ess'].min():.0f}",
            "least tail ESS": f"{own['diag.tail_ess'].min():.0f}",
            "most divergences": f"{own['diag.divergences'].max():.0f}",
            "least acceptance": f"{own['diag.acceptance'].min():.2f}",
            "splits that meet both limits": f"{len(own) - failed[dataset]} of {len(own)}",
            "least W1 / W1 of the halves": f"{ratios[dataset].min():.1f}",
            "chains": "reference" if failed[dataset] else "limits met at 95 %",
        }
        for dataset, own in chains.groupby("dataset")
    ]
    return to_markdown(rows)


def deep_ensembles() -> str:
    """Return our deep ensembles next to the published ones, with settings run on all data sets."""
    rows, found = [], ensembles()
    complete = found.groupby("settings")["dataset"].transform("nunique")
    found = found[complete == found["dataset"].nunique()]
    for (dataset, metric), own in found.groupby(["dataset", "metric"], sort=False):
        theirs = own.iloc[0]
        row = {"data set": dataset, "metric": BY_KEY[metric].title}
        row["published"] = with_error(theirs["published"], theirs["published_stderr"])
        for run in own.to_dict("records"):
            z = f" (z {format_z(run['z'])})" if pd.notna(run["z"]) else ""
            row[run["settings"]] = with_error(run["mean"], run["stderr"]) + z
        rows.append(row)
    return to_markdown(rows)


def deep_ensembles_within() -> str:
    """Return how many published scores of deep ensembles are within `MAX_Z` standard errors.

    They are counted on all data sets, and on those that were run with all settings.
    """
    found = ensembles()
    by_settings = {name: {*own["dataset"]} for name, own in found.groupby("settings", sort=False)}
    everywhere, shared = {*found["dataset"]}, set.intersection(*by_settings.values())
    columns = {"all data sets": everywhere, join_words(sorted(shared)): shared}
    known = found.dropna(subset="z")
    rows = []
    for settings, datasets in by_settings.items():
        row = {"settings": settings}
        for title, counted in columns.items():
            own = known[(known["settings"] == settings) & known["dataset"].isin(counted)]
            count = f"{(own['z'].abs() <= MAX_Z).sum()} of {len(own)}"
            row[title] = count if counted <= datasets else MISSING
        rows.append(row)
    return to_markdown(rows)


def paired_with_wgboost(folder: str, metric: str) -> str:
    """Return ours - WGBoost on the same splits, with its interval: a column per data set."""
    pairs = pairs_with_published(stored_runs(folder))
    pairs = pairs[pairs["b"].str.startswith("WGBoost") & (pairs["metric"] == metric)]
    cells = [
        f"{with_interval(row['difference'], row['low'], row['high'])} {row['outcome']}"
        for row in pairs.to_dict("records")
    ]
    wide = pairs.assign(cell=cells).pivot(index="a", columns="dataset", values="cell")
    wide = wide.rename_axis(index="method", columns=None).reset_index()
    return to_markdown(wide.fillna(MISSING))


def toy_verdicts() -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield each toy, the setting of its run, and its claims."""
    for path in sorted((RESULTS / "inference_toys").glob("*claims*.csv")):
        toy, _, setting = path.stem.partition("_claims")
        yield toy.replace("_", " "), setting.strip("_").replace("_", ", "), pd.read_csv(path)


def toy_claims() -> str:
    """Return the number of claims about each toy by verdict."""
    return to_markdown([
        {"toy": toy, "setting": setting or MISSING}
        | {word: str((rows["verdict"] == word).sum()) for word in VERDICTS.values()}
        for toy, setting, rows in toy_verdicts()
    ])  # fmt: skip


def toy_deviations() -> str:
    """Return the contradicted claims about toys, then the undecided ones."""
    parts = []
    for word in (VERDICTS[False], VERDICTS[None]):
        rows = [
            {
                "toy": f"{toy} {setting}".strip(),
                "claim": claim["text"],
                "evidence": claim["evidence"],
            }
            for toy, setting, claims in toy_verdicts()
            for claim in claims[claims["verdict"] == word].to_dict("records")
        ]
        parts += [f"{word.capitalize()}:", to_markdown(rows)] if rows else []
    return "\n\n".join(parts)


def straight_line() -> str:
    """Return learned, mean-field and exact posteriors of a straight line."""
    rows = pd.concat(map(pd.read_csv, sorted((RESULTS / "linear_regression").glob("*/*.csv"))))
    learned = rows["posterior"] == "learned"
    rows = pd.concat([rows[learned], rows[~learned].drop_duplicates(["posterior", "weight"])])
    names = rows["method"].where(rows["posterior"] == "learned", rows["posterior"])
    return to_markdown(
        [
            {
                "posterior": name,
                "weight": run["weight"],
                "mean": f"{run['mean']:.4f}",
                "standard deviation": f"{run['std']:.4f}",
                "KL to the exact posterior": f"{run['kl']:.3g}",
            }
            for name, run in zip(names, rows.to_dict("records"), strict=True)
        ]
    )


def seeds() -> str:
    """Return how far another seed moves the means over splits."""
    rows = []
    for (dataset, method), own in table("seeds").groupby(["dataset", "method"]):
        row = {"data set": dataset, "method": method, "seeds": str(len(own))}
        for metric in SCORES:
            means, errors = own[f"{metric}_mean"], own[f"{metric}_stderr"]
            title = BY_KEY[metric].title
            row[f"{title}, mean and sd over seeds"] = with_std(means.mean(), means.std())
            row[f"{title}, standard error over splits"] = two_digits(errors.mean())
        rows.append(row)
    return to_markdown(rows)


def run_path() -> str:
    """Return the body of the function that executes a run, without its docstring."""
    source = inspect.getsource(execute)
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    body = source.splitlines()[function.body[1].lineno - 1 :]
    return "\n".join(["```python", *(line.removeprefix("    ") for line in body), "```"])


def reference_tracks() -> str:
    """Return the tracks of the reference results."""
    counts = reference_results().runs["track"].value_counts()
    rows = [
        {"track": f"`{name}`", "runs": str(counts.get(name, 0)), "protocol": text}
        for name, text in TRACKS.items()
    ]
    return to_markdown(rows)


def reference_cells() -> str:
    """Return the number of splits of every method on every data set in the reference results."""
    cells = cells_of(reference_results()).table
    return to_markdown(cells.rename_axis(index="method", columns=None).reset_index())


BLOCKS: dict[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        session, tutorial, speed, glossary, deep_ensembles, deep_ensembles_within, paired_dropout,
        renyi_orders,
        posterior_distances, converged_distances, long_chains, second_sampler, chain_diagnostics,
        toy_claims, seeds,
        toy_deviations, straight_line, run_path, reference_tracks, reference_cells,
        distorted_forecasts, best_methods, conformal_coverage, paired_scores, peers,
        gp_calibration,
    )
} | {
    **{
        f"list_{group}": partial(options_table, group)
        for group in (
            "method", "dataset", "divergence", "prior", "likelihood", "loss", "search", "images",
            SUITES,
        )
    },
    "book_comparison": partial(comparison, "book_uci"),
    "search_bounds": partial(search_bounds, "book_uci"),
    "modern_bounds": partial(search_bounds, "modern_uci"),
    "book_rmse": partial(scores_by_dataset, "book_uci", "rmse"),
    "book_log_likelihood": partial(scores_by_dataset, "book_uci", "log_likelihood"),
    "book_claims": partial(claims, "book_uci"),
    "protein_comparison": partial(comparison, "book_protein"),
    "protein_rmse": partial(scores_by_dataset, "book_protein", "rmse"),
    "protein_log_likelihood": partial(scores_by_dataset, "book_protein", "log_likelihood"),
    "book_time_claims": partial(claims, "timing"),
    "modern_rmse": partial(scores_by_dataset, "modern_uci", "rmse"),
    "modern_log_likelihood": partial(scores_by_dataset, "modern_uci", "log_likelihood"),
    "modern_wgboost": partial(paired_with_wgboost, "modern_uci", "log_likelihood"),
    "tagi_comparison": partial(comparison, "tagi"),
    "ngboost": partial(comparison, "ngboost"),
    "ngboost_trees": partial(comparison, "ngboost_trees"),
    "gvi_claims": partial(claims, "gvi_uci", "gvi_claims"),
    "gvi_alpha_claims": partial(claims, "gvi_alpha", "gvi_claims"),
    "gvi_toy_claims": partial(claims, "gp_toy", "gvi_claims"),
    "downstream_overview": overview,
    "region_claims": partial(claims, "downstream/region_posterior", "region_claims"),
    "active_learning_claims": partial(
        claims, "downstream/active_learning", "active_learning_claims"
    ),
    "bandit_claims": partial(claims, "downstream/bandit", "bandit_claims"),
}  # fmt: skip
"""The blocks by the name of their marks."""
