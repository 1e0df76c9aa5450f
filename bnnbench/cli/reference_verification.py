"""Computes random splits of a reference run again and compares their scores."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.config.assemble import build_run
from bnnbench.config.compose import single_job
from bnnbench.config.configs import find_options
from bnnbench.config.instantiate import check_saved_estimator
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.provenance import describe_other_code
from bnnbench.results.metric_table import SCORE_KEYS
from bnnbench.results.read.run_files import read_splits
from bnnbench.results.reference.results import ReferenceResults
from bnnbench.results.settings import flatten, format_value
from bnnbench.types import UserError

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
