"""Which runs the reference results lack, and splits of their runs that are computed again."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bnnbench.config.assemble import build_run
from bnnbench.config.compose import single_job
from bnnbench.config.configs import find_options, read_option
from bnnbench.config.instantiate import check_saved_estimator, target_class
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.provenance import describe_other_code
from bnnbench.results.metric_table import SCORE_KEYS
from bnnbench.results.published.protocol import OTHER_PRESETS
from bnnbench.results.read.run_files import read_splits
from bnnbench.results.reference.results import ReferenceResults
from bnnbench.results.reference.tracks import PROTOCOL_TRACKS
from bnnbench.results.settings import flatten, format_value
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.methods.shared.contract import Method


MISSING, NOT_APPLICABLE = "-", "n/a"


@dataclass(frozen=True)
class Cells:
    """Results by method and data set, under the published protocol.

    Attributes:
        table: rows are methods, columns data sets: the number of splits (`18 of 20` if some are
            missing), `MISSING` or `NOT_APPLICABLE`.
        reasons: why a method does not apply to some data sets.
        missing: methods without a complete run, by data set.
    """

    table: pd.DataFrame
    reasons: Mapping[str, str]
    missing: Mapping[str, tuple[str, ...]]

    @property
    def commands(self) -> list[str]:
        """Commands that fill the missing cells; data sets with the same methods share one."""
        datasets: dict[tuple[str, ...], list[str]] = {}
        for dataset, methods in self.missing.items():
            datasets.setdefault(methods, []).append(dataset)
        return [
            f"bnnbench run -m method={','.join(methods)} dataset={','.join(names)}"
            for methods, names in datasets.items()
        ]


def cells_of(results: ReferenceResults) -> Cells:
    """Return the cells of reference results under the published protocol."""
    groups = results.fingerprints.groupby("dataset")
    published, rows = groups.size(), groups["training_rows"].max()
    runs = results.runs[results.runs["track"].isin(PROTOCOL_TRACKS)]
    present = runs.groupby(["method", "dataset"])["splits"].max().to_dict()
    methods = find_options("method").items()
    own = [name for name, option in methods if not option.owner and name not in OTHER_PRESETS]
    ours = [name for name in own if "estimator" not in read_option("method", name)]
    classes = {name: target_class("method", read_option("method", name)) for name in ours}

    def cell(method: str, dataset: str) -> str:
        splits, of, found = present.get((method, dataset), 0), published[dataset], classes[method]
        if splits:
            return str(of) if splits == of else f"{splits} of {of}"
        too_many = found.max_rows is not None and rows[dataset] > found.max_rows
        return NOT_APPLICABLE if too_many or found.linear_only else MISSING

    cells = {dataset: [cell(name, dataset) for name in ours] for dataset in published.index}
    table = pd.DataFrame(cells, index=ours)
    refused = table == NOT_APPLICABLE
    finished = pd.DataFrame({name: table[name] == str(published[name]) for name in table})
    missing = {name: tuple(table.index[~(refused | finished)[name]]) for name in table}
    return Cells(
        table[~refused.all(axis=1)],
        {name: reason(classes[name]) for name in ours if refused.loc[name].any()},
        {dataset: names for dataset, names in missing.items() if names},
    )


def reason(method: type[Method]) -> str:
    """Return the limits of a method in words."""
    if method.linear_only:
        return "accepts no hidden layers"
    return f"accepts at most {method.max_rows:,} training rows"


TOLERANCE = 1e-6
"""Largest relative difference of scores computed again; reference scores have seven digits."""


@dataclass(frozen=True)
class Verification:
    """Scores of splits that were computed again.

    Attributes:
        table: a row per split and score: `split`, `score`, `reference`, `now` and `difference`, the
            relative difference.
        other_code: description of the code that computed the run; empty if it is this code.
    """

    table: pd.DataFrame
    other_code: str

    @property
    def equal(self) -> bool:
        """Whether all scores agree; splits that diverged both times do."""
        both = self.table[["reference", "now"]].isna().all(axis=1)
        return bool((both | (self.table["difference"] <= TOLERANCE)).all())


def verify_run(results: ReferenceResults, run: str, splits: int) -> Verification:
    """Compute random splits of a reference run again, in a temporary folder.

    Raises:
        UserError: if there is no such run, or the options of this version do not give its settings.
    """
    if run not in results.runs.index:
        raise UserError(
            f"there is no reference run {run!r} in {results.folder}; give a value of the column "
            "run of bnnbench.reference().",
            "RUN",
            "unknown_run",
        )
    rows = results.splits[results.splits["run"] == run].set_index("split")
    chosen = sorted(np.random.default_rng().choice(rows.index, min(splits, len(rows)), False))
    with tempfile.TemporaryDirectory() as folder:
        again = same_run(results.runs.loc[run], run, chosen, Path(folder))
        now = read_splits(execute(again)).set_index("split")
    table = pd.DataFrame([
        {"split": split, "score": score, "reference": before, "now": now.at[split, score]}
        for split in chosen
        for score, before in rows.loc[split, list(SCORE_KEYS)].items()
    ])  # fmt: skip
    difference = (table["now"] / table["reference"] - 1).abs()
    (before,), (code,) = results.runs.loc[run, "code_versions"], again.record.code_versions
    return Verification(table.assign(difference=difference), describe_other_code(before, code))


def same_run(before: Mapping[str, Any], digest: str, splits: Sequence[int], outputs: Path) -> Run:
    """Return the run with the settings of a reference run, on some splits.

    Raises:
        UserError: if the options of this version do not give its settings.
    """
    words = [
        *(f"{name}={before[name]}" for name in ("method", "dataset", "seed")),
        f"splits=[{','.join(map(str, splits))}]",
        f"outputs_dir={outputs}",
    ]
    if before["experiment"] in find_options("experiment"):
        words.append(f"experiment={before['experiment']}")
    run = build_run(single_job(words))
    found = flatten(run.record.identity)
    own = {n: value for n, value in before["settings"].items() if n.startswith("method.")}
    words += [
        f"{name}={format_value(value)}" for name, value in own.items() if found.get(name) != value
    ]
    job = single_job(words)
    check_saved_estimator(job.resolved()["method"])
    run = build_run(job)
    if run.record.digest != digest:
        raise UserError(
            f"the options of this version do not give the settings of run {digest}; use the "
            "version that computed it.",
            "RUN",
            "other_settings",
        )
    return run
