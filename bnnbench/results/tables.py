"""Numbers of finished runs as tables: a run's summary, all runs gathered, both as print."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from tabulate import tabulate

from bnnbench.experiment.run_folder import RunFolder, finished_runs
from bnnbench.results.published import COMPARED
from bnnbench.types import UserError

UNTOLD = {"divergence": "", "likelihood": "gaussian", "loss": "nll", "at_bound": ""}
"""Text columns of `splits.csv`, and what an empty cell or a column that is not there yet means."""

METRICS = {
    "rmse": "RMSE",
    "log_likelihood": "Log-likelihood",
    "log_likelihood_joint": "Log-likelihood, joint",
    "log_likelihood_gaussian": "Log-likelihood, Gaussian",
    "crps": "CRPS",
    "search_seconds": "Search [s]",
    "fit_seconds": "Fit [s]",
    "predict_seconds": "Predict [s]",
    "total_seconds": "Total [s]",
}
"""Column of `splits.csv` to printed name."""

DIAGNOSTIC = "diag."
"""What the columns begin with in which a method tells of its fit's quality."""

SHOWN = ("rmse", "log_likelihood", "log_likelihood_joint", "crps", "total_seconds")
"""The metrics that fit on a page; `results.csv` holds them all."""

RESULTS = ("Method", *(METRICS[metric] for metric in SHOWN), "Splits")
COMPARISON = ("Method", "Metric", "Ours", "Published", "z", "Source")
"""Column names of `result_rows` and `comparison_rows`."""

WORDS = (
    "Method",
    "Metric",
    "Source",
    "Data set",
    "Divergence",
    "Claim",
    "Verdict",
    "Evidence",
    "Rule",
)
"""Column names of a Markdown table that do not stand over numbers."""

MISSING = "–"  # noqa: RUF001 (an en dash is what print uses for "nothing here")

COMPARISON_STATEMENT = (
    "z = (ours - published) / sqrt(se1² + se2²), in combined standard errors. A published standard "
    "deviation is divided by the square root of its number of splits; z is left out where the "
    "paper gives no error or one that rounds to zero. The splits share training points, so every "
    "standard error here is optimistic and so is z."
)


def metric_name(metric: str) -> str:
    """As printed: `diag.kept_samples` is "Kept samples"."""
    own = metric.removeprefix(DIAGNOSTIC).replace("_", " ").capitalize()
    return METRICS.get(metric, own)


def statement(counts: Iterable[int]) -> str:
    """What the numbers of a table are, for its caption, given each run's number of splits."""
    numbers = sorted(set(counts))
    splits = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    entry = f"mean ± standard error over {splits} splits" if splits != "1" else "value on one split"
    return (
        f"{entry}; original units; log-likelihood = mean over test points of the log of the Monte "
        "Carlo average density"
    )


def read_splits(run: RunFolder) -> pd.DataFrame:
    """The rows of `splits.csv`, one per split.

    Raises:
        UserError: if the file is missing, empty or not such a table.
    """
    # pandas reads an empty cell, and the word "None", as a missing number.
    try:
        splits = pd.read_csv(run.splits, dtype=dict.fromkeys(UNTOLD, object))
        if len(splits) and {"diverged", *METRICS, "divergence", "at_bound"} <= set(splits):
            return splits.assign(**{n: UNTOLD[n] for n in UNTOLD.keys() - splits}).fillna(UNTOLD)
    except (OSError, ValueError):
        pass
    raise UserError(
        f"{run.splits} is missing or not a table of splits although the run is marked "
        f"{run.done.name}; remove its folder and run the experiment again."
    )


def summarise(splits: pd.DataFrame) -> pd.DataFrame:
    """Mean, spread and count of each metric and diagnostic over splits that did not diverge.

    Args:
        splits: rows of `splits.csv`.

    Returns:
        One row per metric, then per column `diag.*`: `metric`, `mean`, `std` (divisor n - 1),
        `stderr` (std / sqrt(n)) and `n`, in the units of `splits`. The spread of a single
        split is missing, not zero.
    """
    columns = [*METRICS, *(name for name in splits if str(name).startswith(DIAGNOSTIC))]
    scores = splits.loc[splits["diverged"] == 0, columns].astype(float)
    n, std = len(scores), scores.std(ddof=1)
    spread = {"mean": scores.mean(), "std": std, "stderr": std / math.sqrt(n or 1), "n": n}
    return pd.DataFrame(spread).rename_axis("metric").reset_index()


def record(run: RunFolder) -> dict[str, Any]:
    """One row of `gather`."""
    splits = read_splits(run)
    settings = ["experiment", "dataset", "method", "divergence", "likelihood", "loss", "depth"]
    row = splits.loc[0, settings].to_dict()
    row["variant"] = run.root.resolve().name
    row["splits"], row["diverged"] = len(splits), int(splits["diverged"].sum())
    for values in summarise(splits).to_dict("records"):
        row |= {f"{values['metric']}_{key}": values[key] for key in ("mean", "std", "stderr")}
    return row


def runs_below(path: Path) -> list[RunFolder]:
    """Every finished run at or below `path` that has scores on splits, in path order.

    Raises:
        UserError: if `path` does not exist or holds no such run.
    """
    if not path.is_dir():
        raise UserError(
            f"There is no folder {path}; give the folder that your runs were written to "
            "(outputs, unless you set outputs_dir) or any folder inside it."
        )
    # A report may hold copies of runs; they must not count twice.
    runs = [run for run in finished_runs(path) if "report" not in run.root.relative_to(path).parts]
    # What another experiment left has no splits; it is not a damaged run of this one.
    scored = [run for run in runs if not run.posterior.is_file()]
    if runs and not scored:
        raise UserError(
            f"{path} holds finished runs, but none with scores on splits: those of "
            "experiment=linear_regression show their results themselves."
        )
    if not runs:
        raise UserError(
            f"{path} holds no finished run, that is no folder with a DONE file; let a run finish "
            "first or give the folder that your runs were written to."
        )
    return scored


def gather(path: Path) -> pd.DataFrame:
    """One row per finished run at or below `path`, ordered by data set, then method.

    Columns: `experiment`, `dataset`, `method`, `divergence`, `likelihood`, `loss`, `depth`,
    `variant` (the run's folder), `splits` (all of them), `diverged` (those left out of the means)
    and, for each metric, `<metric>_mean`, `<metric>_std` and `<metric>_stderr` as `summarise`
    defines them.

    Raises:
        UserError: if `path` does not exist or holds no finished run.
    """
    rows = pd.DataFrame(map(record, runs_below(path)))
    return rows.sort_values(["dataset", "method", "experiment", "variant"], ignore_index=True)


def labels(results: pd.DataFrame, aside: Sequence[str] = ()) -> list[str]:
    """A name for each row, unique among the rows of its data set.

    The method's label, followed where several runs share it by whatever tells them apart:
    divergence, likelihood, loss, depth, experiment and, if all those agree, the variant's folder.

    Args:
        results: what `gather` returns.
        aside: columns that are shown otherwise, by place or colour: rows that differ in them may
            have one name.
    """
    names = results["method"].astype(str)
    forms = dict.fromkeys(
        ["divergence", "likelihood", "loss", "depth", "experiment", "variant"], "{}"
    )
    apart = [results[column] for column in ("dataset", *aside)]
    for column, form in (forms | {"depth": "depth {}"}).items():
        values = results.groupby([*apart, names])[column].transform("nunique")
        names = names.where(values == 1, names + " · " + results[column].map(form.format))
    return names.tolist()


def plus_minus(mean: float, error: float) -> str:
    """`mean ± error`: the error to two significant digits, the mean to the same decimals."""
    if not math.isfinite(mean):
        return MISSING
    # Equal numbers leave an error of a few last bits.
    if not (math.isfinite(error) and error > 1e-12 * abs(mean)):
        return f"{mean:.4g}"
    # Rounding comes first: 0.0996 is 0.10 and needs two decimals, not three.
    decimals = max(0, 1 - math.floor(math.log10(float(f"{error:.1e}"))))
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


def result_rows(results: pd.DataFrame, metrics: Sequence[str] = SHOWN) -> list[tuple[str, ...]]:
    """The printed cells of each run: label, `metrics`, splits; by default those of `RESULTS`."""
    rows = []
    for label, run in zip(labels(results), results.to_dict("records"), strict=True):
        cells = (plus_minus(run[f"{metric}_mean"], run[f"{metric}_stderr"]) for metric in metrics)
        lost = f" ({run['diverged']} diverged)" if run["diverged"] else ""
        rows.append((label, *cells, f"{run['splits']}{lost}"))
    return rows


def comparison_rows(results: pd.DataFrame) -> list[list[tuple[str, ...]]]:
    """For each run, its printed cells under `COMPARISON`: one row per published metric.

    Args:
        results: what `with_published` returns.
    """
    rows = []
    for label, run in zip(labels(results), results.to_dict("records"), strict=True):
        known = [metric for metric in COMPARED if math.isfinite(run[f"{metric}_published"])]
        rows.append([(label, *comparison(run, metric)) for metric in known])
    return rows


def comparison(run: dict[Any, Any], metric: str) -> tuple[str, ...]:
    """The cells of `COMPARISON` after the label."""
    z = run[f"{metric}_z"]
    return (
        METRICS[metric],
        plus_minus(run[f"{metric}_mean"], run[f"{metric}_stderr"]),
        plus_minus(run[f"{metric}_published"], run[f"{metric}_published_stderr"]),
        f"{z:+.1f}" if math.isfinite(z) else MISSING,
        run[f"{metric}_source"],
    )


def markdown_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: words to the left, numbers to the right."""
    align = ["left" if name in WORDS else "right" for name in names]
    return tabulate(rows, names, tablefmt="pipe", colalign=align, disable_numparse=True)


def latex_cell(text: str) -> str:
    """`text` with LaTeX's special characters made plain and its numbers in math mode."""
    if re.fullmatch(r"[-+]?[\d.]+(e[-+]\d+)?( ± [\d.]+)?", text):
        return "$" + text.replace("±", r"\pm") + "$"
    text = re.sub(r"([&%$#_{}])", r"\\\1", text)
    for sign, command in {"±": r"$\pm$", "·": r"$\cdot$", "²": "$^2$", MISSING: "--"}.items():
        text = text.replace(sign, command)
    return text


def latex_table(
    label: str, caption: str, names: Sequence[str], groups: Mapping[str, Iterable[Sequence[str]]]
) -> str:
    """A booktabs table with row groups that may run over several pages.

    Args:
        label: what follows `tab:`.
        caption: plain text.
        names: column names.
        groups: rows by the group's heading.
    """
    forms = {"Method": "l", "Metric": "l", "Source": "p{45mm}"}
    lines = [
        rf"\begin{{longtable}}{{{''.join(forms.get(name, 'r') for name in names)}}}",
        rf"\caption{{{latex_cell(caption)}}}\label{{tab:{label}}} \\",
        r"\toprule",
        " & ".join(map(latex_cell, names)) + r" \\",
        r"\endhead",
    ]
    for heading, rows in groups.items():
        lines.append(r"\midrule")
        lines.append(rf"\multicolumn{{{len(names)}}}{{l}}{{\textit{{{latex_cell(heading)}}}}} \\")
        lines += [r"\quad " + " & ".join(map(latex_cell, row)) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])
