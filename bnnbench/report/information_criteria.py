"""Information criteria of runs that scored the rows they were trained on (GVI thesis, 5.0.2)."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from bnnbench.report.section import Section
from bnnbench.results.tables import MISSING, labels, markdown_table, read_splits, record, runs_below
from bnnbench.suites.felekis_gvi.printed import theirs

CRITERIA = {"neg_log_likelihood": "NLL", "bic": "BIC", "aic": "AIC", "hqc": "HQC"}
"""Column to printed name, ours and the thesis's."""

NEEDED = {"train_log_likelihood", "training_rows", "parameters"}

CRITERIA_STATEMENT = (
    "NLL: minus the sum over the training points of the log of the density averaged over weight "
    "samples, original units; so L is the predictive likelihood of the data that were fitted, not "
    "a maximum. p counts every number that a fit learns: for a Gaussian over the weights their "
    "means and deviations, for an ensemble the weights of all members. BIC = p ln n + 2 NLL, AIC = "
    "2 p + 2 NLL, HQC = 2 p ln ln n + 2 NLL; means over splits. The complexity term rules all "
    "three, so what compares models is the NLL."
)

THESIS_STATEMENT = (
    "The thesis's printed criteria follow p = means and deviations of all weights (804, 41604 and "
    "81404) and n = 401 to rounding: BIC - AIC = p (ln n - 2) gives 401 in all rows but three "
    "misprinted ones. What is left, its -2 ln L, lies between -173 and 209 and is not twice its "
    "printed negative log-likelihood; of which points either is, it does not say. So the p terms "
    "compare and the fits do not. As a table: [criteria.csv](criteria.csv)."
)


def criteria(log_likelihood: float, parameters: float, rows: float) -> dict[str, float]:
    """The columns of `CRITERIA`, lower is better (thesis, section 5.0.2).

    The thesis prints HQC with `2 L` for `2 ln L`.

    Args:
        log_likelihood: of all rows together, nats.
        parameters: p.
        rows: n, at least 2.
    """
    fit = -2 * log_likelihood
    return {
        "neg_log_likelihood": -log_likelihood,
        "bic": parameters * math.log(rows) + fit,
        "aic": 2 * parameters + fit,
        "hqc": 2 * parameters * math.log(math.log(rows)) + fit,
    }


def criteria_table(path: Path) -> pd.DataFrame:
    """A row per finished run that scored its training part, ordered by data set, depth and name.

    Columns: the names of the run, `parameters`, `rows` (of a split, on average), those of
    `CRITERIA`, means over the splits that did not diverge, and `<column>_thesis`.
    """
    rows = []
    for run in runs_below(path):
        splits = read_splits(run)
        if not set(splits) >= NEEDED:
            continue
        kept = splits[splits["diverged"] == 0]
        scores = pd.DataFrame([
            criteria(s.train_log_likelihood * s.training_rows, s.parameters, s.training_rows)
            for s in kept.itertuples()
        ], columns=list(CRITERIA))  # fmt: skip
        named = record(run)
        printed = theirs("criteria", named)
        rows.append({
            **named,
            "parameters": int(splits["parameters"].iloc[0]),
            "rows": splits["training_rows"].mean(),
            **scores.mean().to_dict(),
            **{f"{name}_thesis": printed.get(name, math.nan) for name in CRITERIA},
        })  # fmt: skip
    if not rows:
        return pd.DataFrame()
    table = pd.DataFrame(rows)
    table = table.assign(label=labels(table, aside=("depth",)))
    table = table.sort_values(["dataset", "depth", "label"], ignore_index=True)
    names = ["experiment", "dataset", "method", "divergence", "depth", "label", "splits"]
    return table[[*names, "parameters", "rows", *CRITERIA, *(f"{n}_thesis" for n in CRITERIA)]]


def criteria_section(table: pd.DataFrame) -> Section | None:
    """BIC, AIC, HQC and the negative log-likelihood; None where no run scored its training part.

    Args:
        table: of `criteria_table`.
    """
    if table.empty:
        return None
    beside = bool(table["bic_thesis"].notna().any())
    columns = [*CRITERIA, *(f"{name}_thesis" for name in CRITERIA if beside)]
    names = [*CRITERIA.values(), *(f"{name}, thesis" for name in CRITERIA.values() if beside)]
    parts = ["## Information criteria", CRITERIA_STATEMENT, *[THESIS_STATEMENT] * beside]
    for dataset, group in table.groupby("dataset", sort=False):
        cells = [
            (
                row["label"], str(row["depth"]), str(row["parameters"]), f"{row['rows']:g}",
                *(f"{row[name]:.0f}" if math.isfinite(row[name]) else MISSING for name in columns),
            )
            for row in group.to_dict("records")
        ]  # fmt: skip
        parts += [f"### {dataset}", markdown_table(["Method", "Depth", "p", "n", *names], cells)]
    return Section(parts, {"criteria": table})
