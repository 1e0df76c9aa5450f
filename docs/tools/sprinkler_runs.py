"""The tables and claims of the density-ratio thesis on the sprinkler."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from page_blocks import against_thesis, verdict_table
from stored_results import NOT_STORED, RESULTS, table

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.claims.claims import Claim, NotTestable
from bnnbench.suites.lam_density_ratio import names
from bnnbench.suites.lam_density_ratio.comparison.claims import checked_claims
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    SprinklerEvidence,
    SprinklerRun,
    evidence_of,
    read_sprinkler,
)
from bnnbench.suites.lam_density_ratio.comparison.section import (
    ONE_RUN,
    SCORES,
    comparison_rows,
    run_row,
)
from bnnbench.suites.lam_density_ratio.comparison.thesis import (
    SCHEDULE_OF_SETTING,
    ThesisCell,
    thesis_settings,
)
from bnnbench.suites.lam_density_ratio.schedule import SCHEDULES, Schedule

FOLDER = "lam_density_ratio"

GATHERED = f"{FOLDER}/{names.KIND}"
"""Where gathered runs are stored, each with its record, repetitions and curves."""

CLAIMS, RUNS = "density_ratio_claims", "density_ratio_runs"

NUMBERS = "%.5g"
"""Format of single scores and curves."""

OPTIMAL = "experiment=sprinkler experiment.contrast=joint experiment.schedule=optimal experiment."

COMMANDS = f"""\
bnnbench run -m {OPTIMAL}repetitions=10 experiment.numerics=stable \
experiment.divergence=kl_posterior_prior,gan experiment.estimator=log_ratio
bnnbench run {OPTIMAL}repetitions=10 experiment.estimator=relu_ratio"""
"""The runs of Table 8.2, and of the ReLU ratio with the joint contrast."""

STABLE = (
    "Our runs have `experiment.numerics=stable`, a form of the losses that does not saturate and "
    "is the same for D, r and T. It differs from that of the thesis's programs only in rounding "
    "and in a constant of 1e-18 in logarithms. These runs therefore do not show whether D, r or T "
    "fails in single precision."
)

NOT_RUN = f"Not run yet (about 1.5 hours on one core):\n\n```sh\n{COMMANDS}\n```"


def store(run: RunFolder) -> Path:
    """Store a run in place of that of the same settings, and return its folder."""
    row, path = run_row(read_sprinkler(run)), RESULTS / FOLDER / f"{RUNS}.csv"
    rows = pd.read_csv(path)
    is_same = rows.apply(lambda other: settings_of(other) == settings_of(row), axis=1)
    for old in gathered_runs():
        if old.digest in [*rows.loc[is_same, "run"], row["run"]]:
            shutil.rmtree(old.folder.root)
    target = RunFolder((RESULTS / GATHERED).joinpath(*run.root.parts[-2:]))
    target.root.mkdir(parents=True)
    shutil.copy(run.record, target.record)
    shutil.copy(run.environment, target.root / "machine.json")
    for name in (names.REPETITIONS, names.CURVES):
        if run.table(name).exists():  # there are no curves if all repetitions failed early
            values = pd.read_csv(run.table(name))
            values.to_csv(target.table(name), index=False, float_format=NUMBERS)
    rows = pd.concat([rows[~is_same], pd.DataFrame([row])])
    rows.sort_values("configuration", kind="stable").to_csv(path, index=False)
    return target.root


def settings_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the settings of a row of `RUNS`, without the number of repetitions."""
    keys = ("configuration", "numerics", "observations", "seed")
    return (*(str(row[key]) for key in keys), *deviating_settings(row))


def deviating_settings(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the settings in which a row of `RUNS` differs from the thesis."""
    differ = "" if pd.isna(row["settings_differ"]) else str(row["settings_differ"])
    return tuple(text for text in differ.split(", ") if text and not text.endswith("repetitions"))


def gathered_runs() -> list[SprinklerRun]:
    """Return the runs whose repetitions and curves are stored."""
    records = sorted((RESULTS / GATHERED).rglob(RunFolder(Path()).record.name))
    return [read_sprinkler(RunFolder(path.parent)) for path in records]


def evidence() -> SprinklerEvidence:
    """Return all stored runs; of those that were not gathered again, means and spreads only."""
    gathered = gathered_runs()
    known, rows = {run.digest for run in gathered}, table(FOLDER, RUNS).to_dict("records")
    return evidence_of([*gathered, *(stored_run(row) for row in rows if row["run"] not in known)])


def thesis_table(number: str) -> str:
    """Return a table of the thesis next to ours, or how to make it."""
    rows = [*comparison_rows(found := evidence(), number)]
    return against_thesis(rows) if found.tables[number] else NOT_RUN


def optimal_joint() -> str:
    """Return Table 8.2 next to our stable runs, and the single scores of each."""
    found, scores = evidence(), []
    for divergence, name in names.DIVERGENCES.items():
        cell = ThesisCell("optimal", "joint", divergence, "log_ratio")
        if (run := found.runs.get(cell)) and run.is_stable:
            values = ", ".join(f"{score:.4f}" for score in sorted(run.finished["average_kl"]))
            scores.insert(0, f"- {name}, {ONE_RUN}. Average KL of each repetition: {values}.")
    return "\n\n".join([thesis_table("8.2"), *([STABLE, "\n".join(scores)] if scores else [])])


@dataclass(frozen=True, kw_only=True)
class StoredRun(SprinklerRun):
    """A run of which means and spreads over repetitions are stored, but nothing else.

    Attributes:
        samples: mean and spread of the finished repetitions by score.
        settings_differ: deviations from the thesis in words.
    """

    samples: Mapping[str, Sample]
    settings_differ: tuple[str, ...]

    @property
    def deviating_settings(self) -> tuple[str, ...]:
        """Settings that differ from the thesis, except the number of repetitions."""
        return self.settings_differ

    @property
    def changed_settings(self) -> str:
        """Empty: stored runs have the settings of a schedule."""
        return ""

    def sample(self, column: str = "average_kl") -> Sample:
        """Return the stored mean and spread of a score."""
        return self.samples[column]

    @property
    def finished_curves(self) -> pd.DataFrame:
        """Raise `NotTestable`."""
        raise NotTestable(f"{NOT_STORED} curves")

    def differences(self, other: SprinklerRun) -> Sample:
        """Raise `NotTestable`."""
        raise NotTestable(f"{NOT_STORED} scores of single repetitions")


def stored_run(row: Mapping[str, object]) -> StoredRun:
    """Return the run of a row of `density_ratio_runs.csv`."""
    setting, contrast, divergence, estimator = str(row["configuration"]).split(", ")
    kinds = {title: key for key, title in (names.DIVERGENCES | names.SYMBOLS).items()}
    (iterations, *_) = thesis_settings(setting, contrast)["iterations"]
    metadata = {
        "contrast": contrast, "divergence": kinds[divergence], "estimator": kinds[estimator],
        "schedule": SCHEDULE_OF_SETTING[setting], "observations": row["observations"],
        "numerics": row["numerics"], "iterations": iterations,
    }  # fmt: skip
    size, failed = int(str(row["repetitions"])), int(str(row["failed"]))
    failures = "" if pd.isna(row["failures"]) else str(row["failures"])
    kinds_of_failure = (part.split(" ", 3) for part in failures.split(", ") if part)
    status = [kind for count, _, _, kind in kinds_of_failure for _ in range(int(count))]
    samples = {
        name: Sample(float(str(row[name])), float(str(row[f"{name}_std"])), size - failed)
        for name in SCORES
    }
    return StoredRun(
        pd.DataFrame({"status": [*status, *[names.OK] * (size - failed)]}),
        digest=str(row["run"]), metadata=metadata, folder=RunFolder(Path()), samples=samples,
        settings_differ=deviating_settings(row),
    )  # fmt: skip


def optimal_work() -> str:
    """Return the work of the schedule `optimal` as a share of that of `published`: `2 %`.

    It is counted in draws for the estimator, with the prior contrast.
    """
    optimal, published = (
        Schedule(**{f.name: SCHEDULES[name]["prior"][f.name] for f in fields(Schedule)})
        for name in ("optimal", "published")
    )
    draws = (one.total_estimator_steps * one.samples for one in (optimal, published))
    return f"{100 * next(draws) / next(draws):.0f} %"


def checked() -> list[Claim]:
    """Check the claims on the stored runs."""
    return checked_claims(evidence())


BLOCKS: dict[str, Callable[[], str]] = {
    "lam_table_8_1": partial(thesis_table, "8.1"),
    "lam_table_8_2": optimal_joint,
    "lam_table_9_1": partial(thesis_table, "9.1"),
    "lam_table_9_2": partial(thesis_table, "9.2"),
    "lam_claims": lambda: verdict_table(table(FOLDER, CLAIMS)),
}
"""The blocks by the name of their marks."""
